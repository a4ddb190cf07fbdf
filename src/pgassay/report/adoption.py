"""How to put a winner into practice, and what that risks; from the PostgreSQL manual, "Storage Parameters" and
"Setting Parameters".

Whether a setting takes a restart, the servers under test have told the record. What is not crash-safe is never
recommended (see `crash_safety`), so its risks are not told here.
"""

from collections.abc import Iterable, Mapping, Sequence

from pgassay.record.values import TrialRecord
from pgassay.report import build_adoption, host_adoption
from pgassay.study.levels import Combination

_LOSES = ("off", "local", "false", "0", "no")
"""Levels of synchronous_commit that wait for less than a flush, or for no standby."""
_HOW = {
    "restart": "restart the server",
    "reload": "reload (SELECT pg_reload_conf()); sessions that set it themselves keep theirs",
}


def adopted_by(trials: Iterable[TrialRecord]) -> dict[str, str]:
    """Factor to what its level takes, as these trials recorded it: `reload`, `restart`, or steps, one a line."""
    return {name: level.adopt for trial in trials for name, level in trial.levels.items() if level.adopt is not None}


def advice(treatment: Combination, adopted: Mapping[str, str]) -> Sequence[str]:
    """A step for each level of the treatment, with its risk; `adopted` as from `adopted_by`."""
    found: list[str] = []
    for name, level in treatment.levels.items():
        how = adopted.get(name, "")
        told = how.splitlines() if how not in _HOW else []
        own = told or build_adoption.steps(name, level.typed) or host_adoption.steps(name, level.typed)
        found += own or [_step(name, level.typed, how)]
    return list(dict.fromkeys(found))


def _step(name: str, value: str, how: str) -> str:
    space, _, rest = name.partition(".")
    if name == "table.fillfactor" or (space == "table" and rest.endswith(".fillfactor")):
        table = rest.removesuffix(".fillfactor") if rest != "fillfactor" else "TABLE"
        return (
            f"ALTER TABLE {table} SET (fillfactor = {value}); it holds for new pages only: VACUUM FULL {table} rewrites"
            " the old ones under an ACCESS EXCLUSIVE lock and needs room for a second copy (pg_repack does it online)"
        )
    if name == "index.fillfactor":
        return (
            f"ALTER INDEX INDEX_NAME SET (fillfactor = {value}); then REINDEX INDEX CONCURRENTLY INDEX_NAME, which"
            " needs room for a second copy"
        )
    if space == "server":
        return _setting(rest, value, how)
    if space in ("postgres", "build", "init"):
        return f"{name} = {value}: needs a cluster of its own: initdb, then pg_dump and pg_restore (or pg_upgrade)"
    if space == "drive":
        return f"{name} = {value}: move the cluster (stop, copy, start) or restore a base backup there"
    if space == "load":
        return f"{name} = {value}: a property of the load; change it in the application or its pool"
    return f"{name} = {value}: as those who ran it did it"


def _setting(name: str, value: str, how: str) -> str:
    step = _HOW.get(how, "reload or restart, as pg_settings.context tells")
    loses = name == "synchronous_commit" and value in _LOSES
    risk = "; risk: the last transactions before a crash may be lost, though nothing is damaged" if loses else ""
    return f"ALTER SYSTEM SET {name} = '{value}'; {step}{risk}"
