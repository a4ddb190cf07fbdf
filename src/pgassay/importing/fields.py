"""Fields of foreign runs: where those come from that no file holds, and what each means in a study.

`--pattern pg-{page}/{scale}/run-{run}/pgbench.log` takes fields from the end of a path; `--treatment size=8kB:'fast/*'`
gives one to every file that matches. `--columns ROLE=COLUMN[:NAME],…` gives roles to columns of a table and to fields
of any origin; NAME is the factor's name in the study (`treatment=bs:build.block_size`). Nothing is guessed in silence.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import NamedTuple

from pgassay.errors import UsageError
from pgassay.importing.values import FILE, FOLDER, ForeignRun, Reading

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
        raise UsageError(
            f'--pattern "{text}" must name at least one field in braces, each once',
            "for example --pattern 'pg-{page_kB}/{scale}/run-{run}/pgbench.log'",
        )
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
        raise UsageError(
            f'--treatment wants NAME=VALUE or NAME=VALUE:PATTERN, not "{text}"',
            "for example --treatment shared_buffers=8GB:'runs/8GB/*'",
        )
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
    runs = tuple(replace(run, fields={**run.fields, **fields}) for run in reading.runs)
    return replace(reading, runs=runs)


def natural(path: PurePath) -> tuple[tuple[int, int, str], ...]:
    """A sorting key in which run-10 comes after run-9."""
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts)


MANY = ("treatment", "condition", "covariate", "value", "ignore")
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
    ignore: tuple[Use, ...] = ()
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
        return (*(use.field for use in (*self.levels, *self.value, *self.ignore)), *(each for each in single if each))


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
            raise UsageError(
                f'--columns wants ROLE=COLUMN, not "{text}"',
                f"the roles are: {', '.join(ALL)}; for example --columns treatment=page_size,value=tps,block=run",
            )
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
    Else it is those of the reader's suggestions that differ between runs, and the first where none does. Whatever else
    differs between runs that would then count as repetitions becomes a condition. Raises `UsageError` for a field that
    is not there, and where nothing at all tells treatments apart although it is `needed`.
    """
    known = {name for run in reading.runs for name in run.fields}
    if not roles.block and reading.repetition and reading.repetition not in roles.fields:
        roles = replace(roles, block=reading.repetition)
    for name in roles.fields:
        if name not in known and name not in (use.field for use in roles.value):
            raise UsageError(f'the source has no field "{name}"', f"it has: {', '.join(sorted(known)) or 'none'}")
    taken = set(roles.fields)
    own = [name for name in dict.fromkeys(named) if name not in taken]
    if roles.treatment or own:
        roles = replace(roles, treatment=(*roles.treatment, *(Use(name, name) for name in own)))
        return _with_conditions(roles, reading, of_path=bool(own))
    free = [name for name in reading.suggested if name not in taken]
    asked = [name for name in reading.conditions if name not in taken]
    chosen = _differing(free, reading.runs)
    if not chosen:
        chosen = _differing(asked, reading.runs) or free[:1]
    if not chosen and needed:
        left = sorted(known - {use.field for use in roles.value})
        raise UsageError(
            "no option says which field distinguishes the treatments",
            f"for example --columns treatment={next(iter(left), 'COLUMN')}; there are: {', '.join(left) or 'none'}",
        )
    said = f"treatments differ by {' and '.join(chosen)}; no option says otherwise"
    roles = replace(roles, treatment=tuple(Use(name, name) for name in chosen))
    roles, more = _with_conditions(roles, reading)
    return roles, (said, *more) if _differing(chosen, reading.runs) else more


def levels_of(uses: Iterable[Use], fields: Mapping[str, str]) -> dict[str, str]:
    """Factor name to level as typed; a field that this run does not have is "unknown"."""
    return {use.name: fields.get(use.field, "").strip() or "unknown" for use in uses}


_OF_PATH = (FOLDER, FILE)
_AT_SECOND_HAND = ("partition_method", "options", "version", *_OF_PATH)
"""Fields that follow another: they count where that one does not tell the same runs apart."""
SETTING = re.compile(
    r"(scale|sf|scale_factor|scaling_factor|clients?|connections|threads|jobs|virtual_users|vus|warehouses|protocol"
    r"|query_mode|mode|script|test|workload|benchmark|database|system|machine|instance(_type)?|host|version|drive"
    r"|(\w+[_ ])?(users|vus?|terminals|ware|warehouses|clients))",
    re.IGNORECASE,
)
"""Names of columns that say what was run, and never its result."""


def _differing(names: Iterable[str], runs: Sequence[ForeignRun]) -> list[str]:
    """Those that differ between runs; of a path only what the others do not say: `c16/` with 16 clients is none."""
    chosen = [name for name in names if name not in _AT_SECOND_HAND and len(_seen((name,), runs)) > 1]
    for name in _AT_SECOND_HAND:
        if name in names and len(_seen((*chosen, name), runs)) > len(_seen(chosen, runs)):
            chosen.append(name)
    return chosen


def _seen(names: Iterable[str], runs: Iterable[ForeignRun]) -> set[tuple[str, ...]]:
    listed = tuple(names)
    return {tuple(run.fields.get(name, "") for name in listed) for run in runs}


def _with_conditions(roles: Roles, reading: Reading, *, of_path: bool = False) -> tuple[Roles, tuple[str, ...]]:
    """What still differs between runs of one arm as conditions, with what to say of it.

    `of_path` says that options took the path apart, so that what is left of it numbers repetitions.
    """
    known = [name for name in (*reading.suggested, *reading.conditions) if name != FOLDER]
    if of_path:
        known = [name for name in known if name not in _OF_PATH]
    found: list[str] = []
    levels = [use.field for use in roles.levels]
    for name in (*known, *(each for each in reading.columns if SETTING.fullmatch(each))):
        if name in roles.fields or name in found:
            continue
        if len(_seen((*levels, *found, name), reading.runs)) > len(_seen((*levels, *found), reading.runs)):
            found.append(name)
    if not found:
        return roles, ()
    said = (
        f"runs of one treatment differ by {' and '.join(found)}: conditions, which are never compared with each other"
    )
    return replace(roles, condition=(*roles.condition, *(Use(name, name) for name in found))), (said,)


_MOMENT = re.compile(r"(?<!\d)(\d{4}-?\d{2}-?\d{2}([T_ -]?\d{2}[-:.]?\d{2}([-:.]?\d{2})?)?|\d{6,})Z?(?!\d)")
_NUMBERED = re.compile(r"(?:[-_. ]|(?<![^\W\d_])(?:run|rep|iter|round|block))(\d+)$", re.IGNORECASE)


def file_names(paths: Iterable[Path]) -> dict[Path, str]:
    """What the names of files say of their contents: without suffix, moments, and numbers of repetitions.

    A number at the end numbers repetitions if those of the same name go from 0 or 1 without a gap.
    """
    stems = {path: _MOMENT.sub("", path.stem).strip("-_. ") for path in paths}
    numbers: dict[str, set[int]] = {}
    for stem in stems.values():
        if found := _NUMBERED.search(stem):
            numbers.setdefault(stem[: found.start()], set()).add(int(found[1]))

    def name_of(stem: str) -> str:
        found = _NUMBERED.search(stem)
        if found is None:
            return stem
        counted = numbers[stem[: found.start()]]
        whole = min(counted) <= 1 and counted == set(range(min(counted), max(counted) + 1))
        return stem[: found.start()].rstrip("-_. ") if whole else stem

    return {path: name_of(stem) for path, stem in stems.items()}
