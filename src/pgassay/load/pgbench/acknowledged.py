"""The ledger of a load: which transactions pgbench was told to be committed, and what a database has of them.

Outside: pgbench's own log, which lies on another drive. A client's transactions follow each other, so the n-th line of
a client belongs to its ledger row n; the time is that at which pgbench had the answer (manual, "pgbench", per-
transaction logging). Inside: the table `pgassay_ledger` and the balances, which change by the same amounts.
"""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pgassay.bench.load import LedgerState
from pgassay.bench.server import Server

_CLIENT, _LATENCY, _SECOND, _MICROSECOND = 0, 2, 4, 5
_NOT_DONE = ("failed", "skipped")
_ROWS = "SELECT client, count(*), max(sequence) FROM pgassay_ledger WHERE run = {run} GROUP BY client"
_SUMS = (
    "SELECT (SELECT coalesce(sum(delta), 0) FROM pgassay_ledger), (SELECT sum(abalance) FROM pgbench_accounts),"
    " (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(bbalance) FROM pgbench_branches)"
)
_THERE = "SELECT to_regclass('pgassay_ledger') IS NOT NULL"


def read(folder: Path, prefix: str) -> Mapping[int, Sequence[tuple[int, bool]]]:
    """Client to its transactions in order: when answered (wall clock, ns), and whether committed; of packed logs."""
    found: dict[int, list[tuple[int, bool]]] = {}
    for path in sorted(folder.glob(f"{prefix}.*.gz")):
        with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
            _collect(file, found)
    return dict(sorted(found.items()))


def _collect(file: Iterable[str], found: dict[int, list[tuple[int, bool]]]) -> None:
    for line in file:
        words = line.split()
        if len(words) > _MICROSECOND:
            at_ns = int(words[_SECOND]) * 1_000_000_000 + int(words[_MICROSECOND]) * 1000
            found.setdefault(int(words[_CLIENT]), []).append((at_ns, words[_LATENCY] not in _NOT_DONE))


def state(server: Server, run: int) -> LedgerState:
    """What a database has of the load with this random seed; raises `QueryError` where it cannot be read."""
    if not server.query(_THERE)[0][0]:
        return LedgerState({}, ())
    rows = {int(client): (int(count), int(most)) for client, count, most in server.query(_ROWS.format(run=run))}
    return LedgerState(rows, tuple(int(each) for each in server.query(_SUMS)[0]))
