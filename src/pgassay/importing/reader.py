"""What a reader of foreign files is: it knows its files by their contents, and reads the runs that they hold.

Another package adds one as an entry point of the group `pgassay.importers` that names a `Reader` object.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pgassay import untrusted
from pgassay.importing.fields import REPETITION, Given, Pattern, Roles
from pgassay.importing.values import Reading
from pgassay.study.responses import Better

TEXT_BYTES_MAX = 64 * 2**20
"""A longer text is no summary and no table of runs; logs are read by the core and may be of any length."""
HEAD_BYTES = 64 * 2**10


@dataclass(frozen=True)
class ForeignFile:
    """A file to recognise: its path, its first `HEAD_BYTES` bytes, and on demand its text."""

    path: Path
    head: bytes
    size_bytes: int

    @staticmethod
    def open(path: Path) -> "ForeignFile":
        """The file at `path`; raises `OSError`."""
        with untrusted.open_file(path) as file:
            return ForeignFile(path, file.read(HEAD_BYTES), os.fstat(file.fileno()).st_size)

    @property
    def is_binary(self) -> bool:
        """Whether a zero byte stands among the first bytes, as in no text."""
        return b"\0" in self.head

    @property
    def is_long(self) -> bool:
        """Whether it has more than `TEXT_BYTES_MAX` bytes."""
        return self.size_bytes > TEXT_BYTES_MAX

    @cached_property
    def first_lines(self) -> str:
        """The first bytes as text; empty for a binary file."""
        return "" if self.is_binary else self.head.decode(errors="replace")

    @cached_property
    def text(self) -> str:
        """The whole text; empty for a file that is binary or too long to be a summary or a table."""
        return "" if self.is_binary or self.is_long else self.path.read_text(encoding="utf-8", errors="replace")


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
