"""A load that writes its transactions down in the database, so that one which a power cut took is found.

What the program says was acknowledged is compared with what the database has; see `LoadOptions.keeps_ledger`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pgassay.bench.server import Server


@dataclass(frozen=True)
class LedgerState:
    """What a database has of a load that writes its transactions down: of each client its rows and the greatest
    sequence number in them; sums of amounts, by name, that are equal unless a transaction is there in part; and how
    many amounts are not what the last of their transactions left."""

    rows: Mapping[int, tuple[int, int]]
    sums: Mapping[str, int]
    differing: int = 0


@runtime_checkable
class LedgerLoad(Protocol):
    """A load that can tell which of its transactions were acknowledged, where `LoadOptions.keeps_ledger` says so."""

    def ledger_state(self, server: Server, seed: int, since: LedgerState | None = None) -> LedgerState:
        """What this database has of the run with this seed; raises `QueryError` where it cannot be read.

        With `since`, an earlier state of the same run, older rows are taken from there and only what came later is
        read, so that the time does not grow with the run; all is read where that state is not there any more.
        """

    def acknowledged(self, output: Path) -> Mapping[int, Sequence[tuple[int, bool]]]:
        """By a finished run's output, client to its transactions in order: when each was answered (wall clock, ns),
        and whether it was committed."""
