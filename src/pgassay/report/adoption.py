"""How to put a winner into practice, and what that risks; from PostgreSQL's manual.

What a level takes the record knows: the servers under test said whether a setting takes a restart, factors of the host
say their steps (records of earlier versions have none of these). For builds: "Installation from Source Code",
"pg_upgrade", "Limits", and the sources: pg_control holds both block sizes, the server refuses a cluster of others, and
pg_upgrade refuses two that differ (check_control_data).

A treatment that a power failure may destroy (fsync or full_page_writes off: "Reliability and the Write-Ahead Log") may
be measured, is always marked, and is never recommended; what else trades durability is never recommended without a word
on what may be lost (`study.durability`).
"""

from collections.abc import Iterable, Mapping, Sequence

from pgassay.record.values import TrialRecord
from pgassay.study.durability import loss
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Study
from pgassay.study.units import format_bytes, parse_memory, split_quantity

_HOW = {
    "restart": "restart the server",
    "reload": "reload (SELECT pg_reload_conf()); sessions that set it themselves keep their value",
}
_ALSO = " was also set on "
"""In the step of a factor that took hold where it is of no use (fillfactor on tables that are only inserted into)."""
_PAGE_HEADER_BYTES = 32
"""Of a page apart from its largest row: header and one line pointer (MaxHeapTupleSize)."""

_OWN = (
    "build your own PostgreSQL, since packages have 8kB and no setting changes it: configure {option}; build it and"
    " every extension again for every minor release"
)
_MOVE = (
    "a new cluster: initdb, then pg_dump and pg_restore, or logical replication for little downtime; pg_upgrade,"
    " physical standbys and base backups work only between servers of the same block sizes, so standbys and"
    " restored backups need this build too"
)


def crash_risks(levels: Mapping[str, Level]) -> tuple[str, ...]:
    """The levels that give up crash safety, each with what may happen; empty when all are safe."""
    return tuple(
        f"{name} = {level.typed} is not crash-safe: {lost.text}"
        for name, level in levels.items()
        if (lost := loss(name, level.canonical)) is not None and not lost.crash_safe
    )


def durability_traded(levels: Mapping[str, Level], baseline: Mapping[str, Level]) -> str:
    """What a treatment may lose that the baseline keeps; empty where it is as durable."""
    found = {
        name: lost.text
        for name, level in levels.items()
        if (lost := loss(name, level.canonical)) is not None
        and (name not in baseline or loss(name, baseline[name].canonical) != lost)
    }
    return "; ".join(dict.fromkeys(found.values()))


def crash_warnings(study: Study) -> tuple[str, ...]:
    """A sentence for each such level of any arm."""
    found = [risk for arm in study.arms for risk in crash_risks(study.levels_of(arm))]
    return tuple(f"{risk}; it is measured here and never recommended" for risk in dict.fromkeys(found))


def adopted_by(trials: Iterable[TrialRecord]) -> dict[str, str]:
    """Factor to what its level takes, as these trials of one treatment recorded it: `reload`, `restart`, or steps."""
    return {name: level.adopt for trial in trials for name, level in trial.levels.items() if level.adopt is not None}


def advice(treatment: Combination, adopted: Mapping[str, str]) -> Sequence[str]:
    """A step for each level of the treatment, with its risk; `adopted` as from `adopted_by`."""
    found: list[str] = []
    for name, level in treatment.levels.items():
        how = adopted.get(name, "")
        recorded = how.splitlines() if how not in _HOW else []
        own = recorded or build_steps(name, level.typed)
        found += own or [_step(name, level.typed, how)]
    return list(dict.fromkeys(found))


def _step(name: str, value: str, how: str) -> str:
    space, _, rest = name.partition(".")
    if name == "table.fillfactor" or (space == "table" and rest.endswith(".fillfactor")):
        table = rest.removesuffix(".fillfactor") if rest != "fillfactor" else "NAME"
        which = "of each table that is updated: " if table == "NAME" else ""
        return (
            f"{which}ALTER TABLE {table} SET (fillfactor = {value}); it holds for new pages only: VACUUM FULL {table}"
            " rewrites the old ones under an ACCESS EXCLUSIVE lock and needs room for a second copy (pg_repack does it"
            " online)"
        )
    if name == "index.fillfactor":
        return (
            f"ALTER INDEX INDEX_NAME SET (fillfactor = {value}); then REINDEX INDEX CONCURRENTLY INDEX_NAME, which"
            " needs room for a second copy"
        )
    if space == "server":
        step = _HOW.get(how, "reload or restart: pg_settings.context says which")
        risk = f"; risk: {lost.text}" if (lost := loss(rest, value)) is not None else ""
        return f"ALTER SYSTEM SET {rest} = '{value}'; {step}{risk}"
    if space in ("postgres", "build", "init"):
        return f"{name} = {value}: needs a new cluster: initdb, then pg_dump and pg_restore (or pg_upgrade)"
    if space == "drive":
        return f"{name} = {value}: move the cluster (stop, copy, start) or restore a base backup there"
    if space == "host":
        return f"{name} = {value}: a setting of the machine, see docs/studies.md"
    if space == "load":
        return f"{name} = {value}: a property of the load; change it in the application or its pool"
    return f"{name} = {value}: set it as in this run"


def build_steps(name: str, typed: str) -> list[str]:
    """What a level of `build.*` or `init.*` takes to adopt; empty for a level of another kind."""
    if name in ("build.block_size", "build.wal_block_size") and not (split_quantity(typed) or ("", ""))[1]:
        return []  # an imported level is what its column held, and may have no unit
    if name == "build.block_size":
        kilobytes = parse_memory(typed) // 1024
        limit = format_bytes(kilobytes * 1024 - _PAGE_HEADER_BYTES)
        return [
            f"{name} = {typed}: {_OWN.format(option=f'--with-blocksize={kilobytes}')}",
            _MOVE,
            f"limits change with the page: at most {limit} of a row in it (more goes to TOAST where the types allow), a"
            " btree key about a third of it; settings counted in blocks change their bytes (shared_buffers and others"
            " given in kB or MB do not)",
        ]
    if name == "build.wal_block_size":
        option = f"--with-wal-blocksize={parse_memory(typed) // 1024}"
        return [f"{name} = {typed}: {_OWN.format(option=option)}", _MOVE]
    if name == "build.cflags":
        return [f"{name} = {typed}: configure CFLAGS='{typed}'; the cluster stays, restart it with the new programs"]
    if name == "build.version":
        return [
            f"{name} = {typed}: within one major version install and restart; to another major one pg_upgrade, or dump"
            " and restore (read the release notes' migration section first)"
        ]
    if name == "build.source":
        return [f"{name} = {typed}: a build of your own; the cluster stays if catalogue version and block sizes agree"]
    if name == "init.data_checksums":
        option = "--enable" if typed in ("on", "true", "yes", "1") else "--disable"
        return [
            f"{name} = {typed}: stop the cluster cleanly, pg_checksums {option}, which reads or rewrites every page"
        ]
    if name == "init.wal_segment_size":
        return [
            f"{name} = {typed}: stop the cluster cleanly, pg_resetwal --wal-segsize (in MB), check what archives WAL"
        ]
    return []


def side_effects(trials: Iterable[TrialRecord]) -> tuple[str, ...]:
    """What a level was set on to no use, as its factor recorded it: part of what a treatment costs here."""
    every = (level.adopt or "" for trial in trials for level in trial.levels.values())
    steps = (step for how in dict.fromkeys(every) for step in how.splitlines() if _ALSO in step)
    return tuple(dict.fromkeys(steps))
