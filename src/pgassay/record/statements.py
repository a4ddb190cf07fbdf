"""The statements of a load as they were tried before a run: `statements.json`, written by `pgassay ask`.

What a statement is, by which plan each variant answers it, and how many rows: on clones of the same data, with the same
values. How long each takes comes from the trials (`latencies`). A run of another command has no such file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from pgassay.record import formats
from pgassay.record.errors import CHECK, as_record_error
from pgassay.record.reading import Run

FILE = "statements.json"
FORMAT = 1


@dataclass(frozen=True)
class StatementRecord:
    """One statement: `script` is the name of its script's file, `text` its own.

    By arm: `plans` as the server explained one call, with its rows and blocks, and `rows` that `calls` calls returned
    or changed. Not `repeats`: the baseline itself gave other rows when it was asked again, so rows tell nothing.
    """

    script: str
    text: str
    calls: int = 0
    plans: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    repeats: bool = True

    def differs(self, arm: str, baseline: str) -> bool:
        """Does this arm give another number of rows than the baseline, although the same was asked of both?"""
        known = arm in self.rows and baseline in self.rows
        return self.repeats and known and self.rows[arm] != self.rows[baseline]


@dataclass(frozen=True)
class _File:
    format: int
    statements: tuple[StatementRecord, ...]


def encode(statements: Sequence[StatementRecord]) -> bytes:
    """The file's contents."""
    return msgspec.json.format(msgspec.json.encode(_File(FORMAT, tuple(statements))), indent=1) + b"\n"


def statements(run: Run) -> tuple[StatementRecord, ...]:
    """The statements of a run; empty where none were tried. Raises `DamagedError`."""
    path = run.path / FILE
    if not run.disk.exists(path):
        return ()
    with as_record_error(run.path, "read the statements", CHECK):
        return formats.decode(_File, run.disk.read(path), run.path, FILE).statements
