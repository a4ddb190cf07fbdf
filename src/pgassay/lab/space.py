"""Space: what a study will need before it runs, and what each table and index took at the end of a window.

Small pages waste a larger share of the disk on headers, and most on the smallest: published runs at 1 kB pages filled
their disk and were stored as results (Vondra 2022), so room is asked for by page size.
"""

from collections.abc import Callable, Mapping, Sequence

from pgassay.bench.load import Load
from pgassay.bench.server import Server
from pgassay.bench.store import Drive
from pgassay.lab import messages
from pgassay.lab.composition import Composition, snapshot_key
from pgassay.lab.fairness import BLOCK_SIZE, STOCK_BYTES
from pgassay.lab.loads import load_of
from pgassay.lab.site import Site
from pgassay.probe.tables import FIRST_USER_OID
from pgassay.study.units import parse_memory

WAL_BYTES = 1 << 30
"""Room for WAL beside a clone's data."""
PREFIX = "relation"
RELATIONS_MAX = 40
"""The largest ones are told; a schema may have thousands."""
_SNAPSHOTS_BESIDE = ("directory", "device")
_HEADER_BYTES = 128
"""Of a page: header and special space, and what is too little for one more row or key, on average."""

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


DriveOf = Callable[[Composition], Drive]


def need(
    compositions: Sequence[Composition], site: Site, drive_of: DriveOf, wal_least_bytes: int = WAL_BYTES
) -> tuple[int, int]:
    """Bytes that the study's snapshots and its largest clone need beyond what is there, and how many snapshots.

    A drive that is sized for the study has room for the WAL that its settings admit, `wal_least_bytes`.
    """
    sizes: dict[str, int] = {}
    missing = 0
    for composition in compositions:
        load = load_of(composition, site)
        installation = site.installation(composition.setup.installation)
        key = snapshot_key(composition, installation, load)
        if key in sizes:
            continue
        sizes[key] = data_bytes(composition, load)
        drive = drive_of(composition)
        if _beside(drive) and not drive.has_snapshot(key):
            missing += sizes[key]
    wal_bytes = WAL_BYTES if _beside(drive_of(compositions[0])) else wal_least_bytes
    return missing + max(sizes.values()) + wal_bytes, len(sizes)


def _beside(drive: Drive) -> bool:
    """Are snapshots kept beside the clones? An image or an emulated drive keeps them outside, and holds one cluster."""
    return drive.kind.partition("+")[0] in _SNAPSHOTS_BESIDE


def data_bytes(composition: Composition, load: Load) -> int:
    """What the load says that its rows take, at this FILLFACTOR and page size."""
    rows_bytes = load.estimated_bytes(composition.setup.load)
    fill = next((each.level.canonical for each in composition.bound if each.name == "table.fillfactor"), "100")
    return int(rows_bytes * 100 / max(10, int(fill)) * page_overhead(composition.setup.installation))


def page_overhead(installation: Mapping[str, str]) -> float:
    """How much more room than on a stock server's pages: 1 for those, 1.1 at 1 kB."""
    asked = installation.get(BLOCK_SIZE)
    block_bytes = parse_memory(asked) if asked else STOCK_BYTES
    return max(1.0, (1 + _HEADER_BYTES / block_bytes) / (1 + _HEADER_BYTES / STOCK_BYTES))


def require(
    compositions: Sequence[Composition], site: Site, drive_of: DriveOf, wal_least_bytes: int = WAL_BYTES
) -> tuple[int, int]:
    """As `need`; raises `UsageError` where there is not so much."""
    needed, snapshots = need(compositions, site, drive_of, wal_least_bytes)
    mount = drive_of(compositions[0]).mount()
    if needed > mount.free_bytes:
        raise messages.too_little_space(mount.path, needed, mount.free_bytes)
    return needed, snapshots
