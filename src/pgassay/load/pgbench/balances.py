"""What pgbench's own scripts keep equal: each adds its amount to every table of its transaction (manual, "pgbench").

TPC-B (tpcb-like) changes an account, a teller, a branch and adds the amount to the history; simple-update leaves
tellers and branches as they are. The ledger script has a table of its own in place of the history (`acknowledged`).
"""

from collections.abc import Collection, Mapping

from pgassay.bench.server import Server
from pgassay.load import messages

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
    return {"inconsistent": messages.sums_differ(sums)} if len(set(sums.values())) > 1 else {}
