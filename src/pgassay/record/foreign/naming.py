"""Levels that stand in a file's path or in an option and not in the file: `--pattern` and `--treatment`.

`pg-{page}/{scale}/run-{run}/pgbench.log` takes its fields from the end of a path; `size=8kB:'fast/*'` gives one to
every file that matches.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import PurePath

from pgassay.record.foreign import messages
from pgassay.record.foreign.values import ForeignRun, Reading

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
