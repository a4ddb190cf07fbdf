"""Maintenance after a window, timed: a CHECKPOINT, and a VACUUM that visits every page of every table.

Both do their work page by page, so larger pages leave fewer (Coelho 2014); `load.maintenance = "on"` asks for it.
Where a trial counts transactions, the CHECKPOINT lies inside the window and closes its one cycle: see `regime`.
"""

from collections.abc import Mapping, Sequence

from pgassay.bench.load import LoadOptions
from pgassay.bench.running import Clock
from pgassay.bench.server import Server
from pgassay.lab.settings import mode_of
from pgassay.probe.server_views import Checkpoints
from pgassay.probe.statistics import FIRST_USER_OID, statement, values_by_source
from pgassay.study.responses import Better, Response
from pgassay.study.work import WORK

CHECKPOINT = (
    Response("closing_checkpoint_ms", "CHECKPOINT at the end of the work", "ms", Better.LOWER),
    Response("closing_checkpoint_pages", "pages that the CHECKPOINT at the end wrote", "count", Better.LOWER),
    Response("checkpoint_ms_per_1000_pages", "CHECKPOINT at the end of the work, for 1000 pages", "ms", Better.LOWER),
)
VACUUM = (
    Response("vacuum_ms", "VACUUM of every page of all tables", "ms", Better.LOWER),
    Response("vacuum_pages", "pages of the tables and indexes that VACUUM visited", "count", Better.LOWER),
    Response("vacuum_ms_per_1000_pages", "VACUUM of every page, for 1000 pages", "ms", Better.LOWER),
)

_TOLD_S = 2.0
"""How long to wait for the count: the checkpointer answers first and counts later (before 15 up to half a second)."""
_PAUSE_S = 0.02
_OURS = f"FROM pg_class WHERE oid >= {FIRST_USER_OID} AND relkind"
_TABLES = f"SELECT oid::regclass::text {_OURS} IN ('r', 'm') ORDER BY oid"
_PAGES = f"SELECT coalesce(sum(relpages), 0)::bigint {_OURS} IN ('r', 'm', 't', 'i')"


def responses(options: Sequence[LoadOptions]) -> tuple[Response, ...]:
    """The responses that trials with these load options, one of each arm, have in addition."""
    vacuum = any(each.maintenance for each in options)
    closing = vacuum or any(mode_of(each) == WORK for each in options)
    return (*(CHECKPOINT if closing else ()), *(VACUUM if vacuum else ()))


def checkpoint(server: Server, clock: Clock) -> dict[str, float | None]:
    """Run one CHECKPOINT; returns the responses of `CHECKPOINT`: its length (ms) and the pages that it wrote.

    Pages are None where the server did not count them in time.
    """
    before = _counted(server)
    started_ns = clock.monotonic_ns()
    server.execute("CHECKPOINT")
    taken_ms = (clock.monotonic_ns() - started_ns) / 1e6
    pages = None
    for _ in range(int(_TOLD_S / _PAUSE_S)):
        after = _counted(server)
        if after["checkpoints_requested"] != before["checkpoints_requested"]:
            pages = _less(after["buffers_checkpoint"], before["buffers_checkpoint"])
            break
        clock.sleep(_PAUSE_S)
    return _named(CHECKPOINT, taken_ms, pages)


def vacuum(server: Server, clock: Clock) -> dict[str, float | None]:
    """VACUUM every table with its indexes, skipping no page, so that the work depends on the number of pages alone.

    Returns the responses of `VACUUM`: its length (ms) and the pages of all tables and indexes.
    """
    tables = [str(name) for (name,) in server.query(_TABLES)]
    started_ns = clock.monotonic_ns()
    for table in tables:
        server.execute(f"VACUUM (DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON) {table}")
    taken_ms = (clock.monotonic_ns() - started_ns) / 1e6
    return _named(VACUUM, taken_ms, float(server.query(_PAGES)[0][0]))


def _counted(server: Server) -> Mapping[str, float | None]:
    views = [Checkpoints().view(server.version.major)]
    return values_by_source(views, server.query(statement(views))[0])[Checkpoints.name]


def _less(end: float | None, start: float | None) -> float | None:
    return None if end is None or start is None else end - start


def _named(declared: tuple[Response, ...], taken_ms: float, pages: float | None) -> dict[str, float | None]:
    each = taken_ms * 1000 / pages if pages else None
    return dict(zip((response.name for response in declared), (taken_ms, pages, each), strict=True))
