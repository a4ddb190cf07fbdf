"""What a reader of foreign files is: it knows its files by their contents, and reads the runs that they hold.

Another package adds one as an entry point of the group `pgassay.importers` that names a `Reader` object.
"""

import codecs
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from pgassay import untrusted
from pgassay.importing.fields import REPETITION, Given, Pattern, Roles
from pgassay.importing.values import LeftOut, Reading, combine
from pgassay.study.responses import Better

TEXT_BYTES_MAX = 64 * 2**20
"""A longer text is no summary and no table of runs; logs are read by the core and may be of any length."""
HEAD_BYTES = 64 * 2**10


@dataclass(frozen=True)
class ForeignFile:
    """A file to recognise: its path, its first `HEAD_BYTES` bytes, and on demand its text.

    What a pipe holds is `piped`, all of it: it can be read once only.
    """

    path: Path
    head: bytes
    size_bytes: int
    piped: bytes | None = None

    @staticmethod
    def open(path: Path) -> "ForeignFile":
        """The file at `path`, or what `<(…)` and `/dev/stdin` name; raises `OSError`."""
        if path.is_relative_to("/dev/fd") or path == Path("/dev/stdin"):
            found = untrusted.read_bytes(path, pipes=True, most=TEXT_BYTES_MAX)
            return ForeignFile(path, found[:HEAD_BYTES], len(found), found)
        with untrusted.open_file(path) as file:
            return ForeignFile(path, file.read(HEAD_BYTES), os.fstat(file.fileno()).st_size)

    @property
    def is_binary(self) -> bool:
        """Whether a zero byte stands among the first bytes, as in no text but UTF-16."""
        return b"\0" in self.head and not self.head.startswith(_UTF_16)

    @property
    def is_long(self) -> bool:
        """Whether it has more than `TEXT_BYTES_MAX` bytes."""
        return self.size_bytes > TEXT_BYTES_MAX

    @cached_property
    def first_lines(self) -> str:
        """The first bytes as text; empty for a binary file."""
        return "" if self.is_binary else _decoded(self.head)

    @cached_property
    def text(self) -> str:
        """The whole text; empty for a file that is binary or too long to be a summary or a table."""
        if self.is_binary or self.is_long:
            return ""
        return _decoded(untrusted.read_bytes(self.path) if self.piped is None else self.piped)


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _decoded(text: bytes) -> str:
    """UTF-8, or UTF-16 with its mark, which is what PowerShell's `>` writes."""
    encoding = "utf-16" if text.startswith(_UTF_16) else "utf-8-sig"
    return text.decode(encoding, errors="replace").replace("\r\n", "\n")


@dataclass(frozen=True)
class Options:
    """What the user says about the files: roles of columns, names for a table's columns, fields and filters.

    `where` keeps runs with these fields; `log_has` names extra columns of a pgbench log ("lag", "retries").
    """

    roles: Roles = field(default_factory=Roles)
    header: str = ""
    pattern: Pattern | None = None
    given: tuple[Given, ...] = ()
    where: tuple[tuple[str, str], ...] = ()
    better: Better | None = None
    log_has: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Fields that `pattern` and `given` make: each is a factor unless it has another role."""
        taken = {name for name, _ in self.where}
        own = [name for name in (self.pattern.names if self.pattern else ()) if name not in REPETITION]
        return tuple(name for name in (*own, *(each.name for each in self.given)) if name not in taken)


class Reader(ABC):
    """One origin of results.

    `name` is what messages and records call it. `suggested` are the fields that tell treatments apart when the user
    names none, the best first; `conditions` those that are conditions as soon as one of `suggested` differs. The two
    must hold every setting that a run names: runs that differ in one are no repetitions. `reads_together` says that
    several files may be one run (an output and its log): such files are read last, all at once; all others one at a
    time.
    """

    name: str
    suggested: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    reads_together: bool = False

    @abstractmethod
    def recognises(self, file: ForeignFile, options: Options) -> bool:
        """Whether the file is one of this origin, by its contents; another reader is asked if not."""

    @abstractmethod
    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        """For each run directory, file or group of files its path and its runs, or the reason why it has none.

        The reason reads after the path, as in "is empty". Raises `UsageError` where the user must say more.
        """


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def unwrapped(text: str, first: re.Pattern[str]) -> str:
    """The lines as their program printed them: without indentation, a quote's mark, or what a collector put before.

    `first` matches a line that the program prints, anywhere in the line: what stands before it there is taken off every
    line that begins alike, whatever its digits are (a time, a process).
    """
    lines = [_COLOUR.sub("", line).rstrip() for line in text.splitlines()]
    for line in lines:
        found = first.search(line)
        if found and found.start():
            before = re.compile(re.sub(r"\d+", r"\\d+", re.escape(line[: found.start()])))
            lines = [before.sub("", line, count=1) if before.match(line) else line for line in lines]
        if found:
            break
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Mark:
    """A line that a program prints once in a run, or `often`; a number in it (its group) never falls within a run."""

    line: re.Pattern[str]
    often: bool = False


def read_each(place: str, text: str, marks: Sequence[Mark], read: Callable[[str, str], Reading | str]) -> Reading | str:
    """Every run of a text that may hold several, each read by itself by `read(place, text)`.

    `marks` stand in the order in which a run prints them: a run begins where a mark comes that the run so far has
    passed. A text that holds none of them twice is one run in whatever order its lines are: errors may follow results.
    """
    lines = text.splitlines(keepends=True)
    seen = [(number, *mark) for number, line in enumerate(lines) if (mark := _marked(line, marks))]
    once = [index for _, index, _ in seen if not marks[index].often]
    begins, fallen = [0], False
    for (_, before, earlier), (number, index, value) in pairwise(seen):
        falls = index == before and value is not None and earlier is not None and value <= earlier
        fallen = fallen or falls
        if index < before or falls or (index == before and not marks[index].often):
            begins.append(number)
    if len(begins) == 1 or (len(once) == len(set(once)) and not fallen):
        return read(place, text)
    parts = ["".join(lines[begin:end]) for begin, end in pairwise([*begins, len(lines)])]
    readings = []
    for begin, part in zip(begins, parts, strict=True):
        where = f"{place} line {begin + 1}"
        one = read(where, part)
        readings.append(Reading("", (), (), (LeftOut(where, one),)) if isinstance(one, str) else one)
    return combine(readings)


def _marked(line: str, marks: Sequence[Mark]) -> tuple[int, float | None] | None:
    for index, mark in enumerate(marks):
        found = mark.line.match(line)
        if found:
            return index, float(found[1]) if mark.line.groups else None
    return None
