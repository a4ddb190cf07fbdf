"""Fields of foreign runs: where those come from that no file holds, and what each means in a study.

`--pattern pg-{page}/{scale}/run-{run}/pgbench.log` takes fields from the end of a path; `--treatment size=8kB:'fast/*'`
gives one to every file that matches. `--columns ROLE=COLUMN[:NAME],…` gives roles to columns of a table and to fields
of any origin; NAME is the factor's name in the study (`treatment=bs:build.block_size`). Nothing is guessed in silence.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import PurePath
from typing import NamedTuple

from pgassay.importing import messages
from pgassay.importing.values import FOLDER, ForeignRun, Reading

_FIELD = re.compile(r"\{([A-Za-z_][\w.]*)\}")
REPETITION = ("run", "block", "rep", "repetition", "iteration")
"""Fields of a pattern that number repetitions unless they are given another role."""


@dataclass(frozen=True)
class Pattern:
    """A pattern for the end of a path, with the fields that it names."""

    names: tuple[str, ...]
    expression: re.Pattern[str]

    def fields(self, path: PurePath) -> dict[str, str] | None:
        """What the path says; None where it does not match."""
        found = self.expression.search(path.as_posix())
        return dict(zip(self.names, found.groups(), strict=True)) if found else None


def parse_pattern(text: str) -> Pattern:
    """A field is anything within one step of the path; the rest is literal. Raises `UsageError`."""
    names = tuple(_FIELD.findall(text))
    if not names or len(set(names)) < len(names):
        raise messages.bad_pattern(text)
    pieces = _FIELD.split(text)
    literal = [re.escape(piece) if place % 2 == 0 else "([^/]+?)" for place, piece in enumerate(pieces)]
    return Pattern(names, re.compile(f"(?:^|/){''.join(literal)}$"))


@dataclass(frozen=True)
class Given:
    """A level that an option gives to the files that match."""

    name: str
    value: str
    files: str = "*"


def parse_given(text: str) -> Given:
    """`NAME=VALUE` for every file, `NAME=VALUE:GLOB` for some; raises `UsageError`."""
    name, equals, rest = text.partition("=")
    value, colon, files = rest.rpartition(":")
    if not colon:
        value, files = rest, "*"
    if not equals or not name.strip() or not value.strip() or not files:
        raise messages.bad_level(text)
    return Given(name.strip(), value.strip(), files)


def fields_of_path(path: PurePath, pattern: Pattern | None, given: Iterable[Given]) -> dict[str, str]:
    """All that the path and the options say of a file."""
    found = dict((pattern.fields(path) if pattern else None) or {})
    for each in given:
        if fnmatch(path.as_posix(), each.files) or fnmatch(path.as_posix(), f"*/{each.files}"):
            found[each.name] = each.value
    return found


def with_fields(reading: Reading, fields: Mapping[str, str]) -> Reading:
    """The reading with these fields in every run; they overrule what the file itself says."""
    if not fields:
        return reading
    runs = tuple(_with(run, fields) for run in reading.runs)
    return replace(reading, runs=runs)


def _with(run: ForeignRun, fields: Mapping[str, str]) -> ForeignRun:
    return replace(run, fields={**run.fields, **fields})


def natural(path: PurePath) -> tuple[tuple[int, int, str], ...]:
    """A sorting key in which run-10 comes after run-9."""
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts)


MANY = ("treatment", "condition", "covariate", "value")
ONE = ("block", "second", "started", "duration", "planned", "status")
ALL = (*MANY, *ONE)


class Use(NamedTuple):
    """A field and what it is called in the study."""

    field: str
    name: str


@dataclass(frozen=True)
class Roles:
    """The roles that were given; empty where none was."""

    treatment: tuple[Use, ...] = ()
    condition: tuple[Use, ...] = ()
    covariate: tuple[Use, ...] = ()
    value: tuple[Use, ...] = ()
    block: str = ""
    second: str = ""
    started: str = ""
    duration: str = ""
    planned: str = ""
    status: str = ""

    @property
    def levels(self) -> tuple[Use, ...]:
        """Every field that names a level."""
        return (*self.treatment, *self.condition, *self.covariate)

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field that has a role."""
        single = (self.block, self.second, self.started, self.duration, self.planned, self.status)
        return (*(use.field for use in (*self.levels, *self.value)), *(each for each in single if each))


def parse_roles(texts: Iterable[str]) -> Roles:
    """The roles of all `--columns` options together; raises `UsageError`."""
    many: dict[str, list[Use]] = {role: [] for role in MANY}
    one: dict[str, str] = {}
    for text in (part.strip() for each in texts for part in each.split(",")):
        role, equals, column = (part.strip() for part in text.partition("="))
        name = ""
        if role in MANY:
            column, _, name = (part.strip() for part in column.partition(":"))
        if not equals or not column or role not in ALL or role in one:
            raise messages.bad_column_role(text, ALL)
        if role in MANY:
            many[role].append(Use(column, name or column))
        else:
            one[role] = column
    return Roles(**{role: tuple(uses) for role, uses in many.items()}, **one)  # type: ignore[arg-type]


def settle_roles(
    reading: Reading, roles: Roles, named: Iterable[str] = (), *, needed: bool = True
) -> tuple[Roles, tuple[str, ...]]:
    """The roles with treatments filled in where none was given, and what to say of the choice.

    `named` are fields that options of the user's made (`--pattern`, `--treatment`): each without a role is a factor.
    Else it is those of the reader's suggestions that differ between runs, and the first where none does. Raises
    `UsageError` for a field that is not there, and where nothing at all tells treatments apart although it is `needed`.
    """
    known = {name for run in reading.runs for name in run.fields}
    if not roles.block and reading.repetition and reading.repetition not in roles.fields:
        roles = replace(roles, block=reading.repetition)
    for name in roles.fields:
        if name not in known and name not in (use.field for use in roles.value):
            raise messages.no_field(name, known)
    taken = set(roles.fields)
    own = [name for name in dict.fromkeys(named) if name not in taken]
    if roles.treatment or own:
        return _with_treatments(roles, (*roles.treatment, *(Use(name, name) for name in own))), ()
    free = [name for name in reading.suggested if name not in taken]
    differing = [name for name in free if len({run.fields.get(name, "") for run in reading.runs}) > 1]
    chosen = _without_copies(differing, reading.runs) or free[:1]
    if not chosen and needed:
        raise messages.no_treatment(known - {use.field for use in roles.value})
    if not differing:
        return _with_treatments(roles, tuple(Use(name, name) for name in chosen)), ()
    said = f"treatments differ by {' and '.join(chosen)}; no option says otherwise"
    return _with_treatments(roles, tuple(Use(name, name) for name in chosen)), (said,)


def levels_of(uses: Iterable[Use], fields: Mapping[str, str]) -> dict[str, str]:
    """Factor name to level as typed; a field that this run does not have is "unknown"."""
    return {use.name: fields.get(use.field, "").strip() or "unknown" for use in uses}


def _with_treatments(roles: Roles, treatment: tuple[Use, ...]) -> Roles:
    return replace(roles, treatment=treatment)


def _without_copies(names: list[str], runs: Iterable[ForeignRun]) -> list[str]:
    """Leave out the folder where it only repeats another field: `c16/` beside 16 clients says the same twice."""
    listed = list(runs)

    def parts(name: str) -> tuple[int, ...]:
        first: dict[str, int] = {}
        return tuple(first.setdefault(run.fields.get(name, ""), len(first)) for run in listed)

    others = {parts(name) for name in names if name != FOLDER}
    return [name for name in names if name != FOLDER or parts(name) not in others]
