"""What a database has of a load's transactions: rows of the ledger, and balances that pgbench's scripts keep equal.

Outside: pgbench's own log, which lies on another drive. A client's transactions follow each other, so the n-th line of
a client belongs to its ledger row n; the time is that at which pgbench had the answer (manual, "pgbench", per-
transaction logging). Inside: the table `pgassay_ledger` and the balances, which change by the same amounts.

Each of pgbench's scripts adds its amount to every table of its transaction (manual, "pgbench"). TPC-B (tpcb-like)
changes an account, a teller, a branch and adds the amount to the history; simple-update leaves tellers and branches as
they are. The ledger script has a table of its own in place of the history.
"""

import gzip
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pgassay.bench.load import LedgerState
from pgassay.bench.server import Server

_CLIENT, _LATENCY, _SECOND, _MICROSECOND = 0, 2, 4, 5
_NOT_DONE = ("failed", "skipped")
_THERE = "SELECT to_regclass('pgassay_ledger') IS NOT NULL"
_ROWS = "SELECT client, count(*), max(sequence) FROM pgassay_ledger WHERE run = {run} GROUP BY client"
_NAMES = ("ledger", "accounts", "tellers", "branches")
_TELLERS = "(SELECT sum(tbalance) FROM pgbench_tellers)"
_BRANCHES = "(SELECT sum(bbalance) FROM pgbench_branches)"
_LEDGER_SUMS = (
    "SELECT (SELECT coalesce(sum(delta), 0) FROM pgassay_ledger), (SELECT sum(abalance) FROM pgbench_accounts),"
    f" {_TELLERS}, {_BRANCHES}"
)
_BY_INDEX = "SET enable_seqscan = off; SET jit = off"
"""For the rows of a moment among millions, also before the table was ever analyzed. A plan that reads a whole table all
the same is taken to be so dear that it would be compiled."""
_LATER = "SELECT * FROM pgassay_ledger WHERE run = {run} AND client = {client} AND sequence > {sequence}"
_GREATEST = "(SELECT max(sequence) FROM pgassay_ledger WHERE run = {run} AND client = {client})"
_LATER_ROWS = "SELECT client, count(*), sum(delta) FROM ({later}) later GROUP BY client"
_LATER_SUMS = (
    f"SELECT {_TELLERS}, {_BRANCHES}, (SELECT count(*) FROM (SELECT DISTINCT ON (aid) aid, balance"
    " FROM ({later}) later ORDER BY aid, at DESC) last WHERE balance IS DISTINCT FROM"
    " (SELECT abalance FROM pgbench_accounts a WHERE a.aid = last.aid))"
)
"""A query within the query, so that accounts are looked up one by one: a join might read all of them."""


def read(folder: Path, prefix: str) -> Mapping[int, Sequence[tuple[int, bool]]]:
    """Client to its transactions in order: when answered (wall clock, ns), and whether committed; of packed logs."""
    found: dict[int, list[tuple[int, bool]]] = {}
    for path in sorted(folder.glob(f"{prefix}.*.gz")):
        with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
            for words in map(str.split, file):
                if len(words) > _MICROSECOND:
                    at_ns = int(words[_SECOND]) * 1_000_000_000 + int(words[_MICROSECOND]) * 1000
                    found.setdefault(int(words[_CLIENT]), []).append((at_ns, words[_LATENCY] not in _NOT_DONE))
    return dict(sorted(found.items()))


def state(server: Server, run: int, clients: int, since: LedgerState | None = None) -> LedgerState:
    """What a database has of the load with this random seed; raises `QueryError` where it cannot be read.

    With `since` the sum over all accounts is left out: instead each account that a later row names must have the
    balance which the last such row has.
    """
    if not server.query(_THERE)[0][0]:
        return LedgerState({}, {})
    later = None if since is None else _later(server, run, clients, since)
    if later is not None:
        return later
    rows = {int(client): (int(count), int(most)) for client, count, most in server.query(_ROWS.format(run=run))}
    sums = (int(each) for each in server.query(_LEDGER_SUMS)[0])
    return LedgerState(rows, dict(zip(_NAMES, sums, strict=True)))


def _later(server: Server, run: int, clients: int, since: LedgerState) -> LedgerState | None:
    """None where a row that was the last one then is gone."""
    server.execute(_BY_INDEX)
    last = {client: since.rows.get(client, (0, 0))[1] for client in range(clients)}
    (found,) = server.query("SELECT " + ", ".join(_GREATEST.format(run=run, client=client) for client in last))
    greatest = {client: int(most or 0) for client, most in zip(last, found, strict=True)}
    if any(greatest[client] < most for client, most in last.items()):
        return None
    later = " UNION ALL ".join(
        _LATER.format(run=run, client=client, sequence=sequence) for client, sequence in last.items()
    )
    counted = server.query(_LATER_ROWS.format(later=later))
    more = {int(client): int(count) for client, count, _ in counted}
    rows = {
        client: (since.rows.get(client, (0, 0))[0] + more.get(client, 0), most)
        for client, most in greatest.items()
        if most
    }
    ((tellers, branches, differing),) = server.query(_LATER_SUMS.format(later=later))
    ledger = since.sums["ledger"] + sum(int(amount) for _, _, amount in counted)
    return LedgerState(rows, {"ledger": ledger, "tellers": int(tellers), "branches": int(branches)}, int(differing))


_TABLES: Mapping[str, tuple[str, ...]] = {
    "tpcb-like": ("accounts", "tellers", "branches", "history"),
    "simple-update": ("accounts", "history"),
    "select-only": (),
}
"""Script to the tables that it adds its amount to."""
_SUMS = {
    "accounts": "SELECT sum(abalance) FROM pgbench_accounts",
    "tellers": "SELECT sum(tbalance) FROM pgbench_tellers",
    "branches": "SELECT sum(bbalance) FROM pgbench_branches",
    "history": "SELECT coalesce(sum(delta), 0) FROM pgbench_history",
}


def broken(server: Server, scripts: Collection[str]) -> dict[str, str]:
    """`inconsistent` with the sums where they differ; empty where they agree, or where a script is not known."""
    if not all(script in _TABLES for script in scripts):
        return {}
    written = [set(_TABLES[script]) for script in scripts if _TABLES[script]]
    common = [name for name in _SUMS if written and all(name in each for each in written)]
    if len(common) < 2:
        return {}
    ((*found,),) = server.query("SELECT " + ", ".join(f"({_SUMS[name]})" for name in common))
    sums = {name: int(amount) for name, amount in zip(common, found, strict=True)}
    return {"inconsistent": sums_differ(sums)} if len(set(sums.values())) > 1 else {}


def sums_differ(sums: Mapping[str, int]) -> str:
    """Says that a transaction is there in part."""
    return "a transaction is there in part: sums of " + ", ".join(f"{name} {amount}" for name, amount in sums.items())
