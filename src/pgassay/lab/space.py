"""Space: what a study will need before it runs, and what each table and index took at the end of a window.

Small pages waste a larger share of the disk on headers, and most on the smallest: published runs at 1 kB pages filled
their disk and were stored as results (Vondra 2022), so room is asked for by page size.
"""

from pgassay.bench.server import Server
from pgassay.bench.store import Drive
from pgassay.lab import messages
from pgassay.lab.arms import WAL_BYTES, ResolvedStudy
from pgassay.probe.statistics import FIRST_USER_OID
from pgassay.study.drives import kinds_in

PREFIX = "relation"
RELATIONS_MAX = 40
"""The largest ones are told; a schema may have thousands."""

_SIZES = (
    "SELECT c.relkind = 'i', c.oid::regclass::text,"
    " CASE WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END AS bytes"
    f" FROM pg_class c WHERE c.oid >= {FIRST_USER_OID} AND c.relkind IN ('r', 'm', 'i')"
    " AND c.relnamespace <> 'pg_toast'::regnamespace"
    f" ORDER BY bytes DESC, 2 LIMIT {RELATIONS_MAX}"
)


def relations(server: Server) -> dict[str, float]:
    """Bytes of each table (with TOAST and maps) and each index: `relation.table.NAME_bytes`, `relation.index.…`."""
    rows = server.query(_SIZES)
    return {f"{PREFIX}.{'index' if index else 'table'}.{name}_bytes": float(size) for index, name, size in rows}


def need(resolved: ResolvedStudy) -> tuple[int, int]:
    """Bytes that the study's snapshots and its largest clone need beyond what is there, and how many snapshots.

    A drive that is sized for the study has room for as much WAL as its settings admit.
    """
    sizes: dict[str, int] = {}
    missing = 0
    for arm in resolved.arms:
        key = arm.snapshot_key
        if key in sizes:
            continue
        sizes[key] = arm.data_bytes
        if _beside(arm.drive) and not arm.drive.has_snapshot(key):
            missing += sizes[key]
    first = resolved.arms[0]
    wal_bytes = WAL_BYTES if _beside(first.drive) else resolved.needs(first.setup.drive).wal_least_bytes
    return missing + max(sizes.values()) + wal_bytes, len(sizes)


def _beside(drive: Drive) -> bool:
    """Are snapshots kept beside the clones? An image or an emulated drive keeps them outside, and holds one cluster."""
    kind = kinds_in(drive.kind)[0]
    return kind is not None and not kind.holds_one_cluster


def require(resolved: ResolvedStudy) -> tuple[int, int]:
    """As `need`; raises `PgassayError` where there is not so much."""
    needed, snapshots = need(resolved)
    mount = resolved.arms[0].drive.mount()
    if needed > mount.free_bytes:
        raise messages.too_little_space(mount.path, needed, mount.free_bytes)
    return needed, snapshots
