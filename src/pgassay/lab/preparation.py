"""Golden snapshots: a cluster is initialised, loaded, given its table options and aged once for each key.

Every trial then starts from a clone. A snapshot is taken with the server stopped cleanly; a half-made one never counts.
Drives that are to be aged are aged on the fresh snapshot: the load runs once on a clone of it while the drive records,
then writes are drawn from that record until the drive has settled (docs/drives.md, "Fresh or aged").
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pgassay.files import Directory
from pgassay.interfaces.errors import ClusterError, QueryError
from pgassay.interfaces.factor import BAKED, Stage
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.server import Server
from pgassay.interfaces.store import Ageing
from pgassay.lab import checks, host_stage
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.environment import Caches
from pgassay.lab.settings import holding
from pgassay.postgres.factors import NamedServer
from pgassay.postgres.installation import COPY_DATABASE
from pgassay.probe.statistics import FIRST_USER_OID

_PREWARM = (
    f"SELECT pg_prewarm(oid, %s) FROM (SELECT oid FROM pg_class WHERE oid >= {FIRST_USER_OID}"
    " AND relkind IN ('r', 'i', 'm', 't') ORDER BY relpages) s"
)
"""Of all that is no catalogue's, the largest last; one statement, because a counted server takes long for each."""


def settle(server: Server, options: LoadOptions, data_directory: Path, caches: Caches, *, limited: bool = False) -> str:
    """Bring the server to its start state: cache state, VACUUM if asked, CHECKPOINT, in that order, because a VACUUM
    after the CHECKPOINT would start the window dirty. Returns how the cache state came about, for the record.

    `prewarmed` uses pg_prewarm where the extension exists (which reads through the page cache and so warms that as
    well); elsewhere the page cache alone is warmed, and the record says so. Of a server with `limited` memory only its
    own processes read the files: pages that we read would be charged to us.
    """
    how = _cache_state(options.cache, server, data_directory, caches, limited=limited)
    if options.vacuum:
        server.execute("VACUUM")
    server.execute("CHECKPOINT")
    return how


def _cache_state(wanted: str, server: Server, data_directory: Path, caches: Caches, *, limited: bool) -> str:
    if wanted == "cold":
        with suppress(QueryError):  # without it the record says less of what was cached
            server.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache")
        return f"cold ({caches.make_cold(data_directory)})"
    if wanted == "warm" and not limited:
        return f"warm ({caches.make_warm(data_directory)})"

    def otherwise(reason: str) -> str:
        if limited:
            return f"cold (the server's memory is limited, and it cannot read its files itself: {reason})"
        return f"page cache only ({caches.make_warm(data_directory)}; {reason})"

    if not server.query("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm'"):
        return otherwise("pg_prewarm is not installed")
    mode = "read" if wanted == "warm" else "buffer"
    try:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        server.query(_PREWARM, (mode,))
    except QueryError as error:
        return otherwise(f"pg_prewarm failed: {error.message}")
    return "warm (read by the server)" if wanted == "warm" else "prewarmed (pg_prewarm)"


AGEING_SEED = 0
"""Of the load that ages a drive: another one than any trial's."""


@dataclass(frozen=True)
class PreparedSnapshot:
    """An arm's snapshot: its key, whether it had to be made, and how long that took."""

    key: str
    made: bool
    seconds: float


Notify = Callable[[PreparedSnapshot], None]


def notify_nobody(prepared: PreparedSnapshot) -> None:
    """For callers that keep no journal of snapshots."""


def prepare_snapshot(arm: ResolvedArm, notify: Notify = notify_nobody) -> PreparedSnapshot:
    """Make the arm's golden snapshot if it is not there yet; raises `BenchError` where that fails.

    `notify` hears of it before a new snapshot is put in its place: a run killed between the two makes the snapshot
    again and knows already how long that took, so that it decides as an uninterrupted one would. Of one that is aged
    it hears afterwards, the ageing included: such a snapshot dies with the run, which makes and ages it again anyway.
    """
    key, drive, environment = arm.snapshot_key, arm.drive, arm.environment
    if drive.has_snapshot(key):
        prepared = PreparedSnapshot(key, made=False, seconds=0.0)
        notify(prepared)
        return prepared
    started_ns = environment.clock.monotonic_ns()
    ageing = drive.ageing()

    def made() -> PreparedSnapshot:
        return PreparedSnapshot(key, made=True, seconds=(environment.clock.monotonic_ns() - started_ns) / 1e9)

    workspace = drive.workspace(f"prepare-{key}")
    try:
        with checks.of_full_drive(drive, workspace):
            _make_cluster(arm, workspace)
        prepared = made()
        if ageing is None:
            notify(prepared)
        with environment.held():
            levels = [f"{bound.name}={bound.level.typed}" for bound in arm.at(*BAKED)]
            what = ", ".join([f"PostgreSQL {arm.installation.version}", *levels])  # for users who have to make room
            drive.take_snapshot(key, workspace, what)
    except BaseException:
        with environment.held():
            drive.discard(workspace)
        raise
    if ageing is not None:
        first = next(each for each in arm.whole.arms if each.snapshot_key == key)
        _age_drive(first, ageing, key)
        prepared = made()
        notify(prepared)
    return prepared


def _make_cluster(arm: ResolvedArm, workspace: Path) -> None:
    init_options = arm.setup.init_options
    arm.installation.initialize(workspace, init_options)
    arm.drive.lay_out(workspace)
    settings = dict(arm.environment.server.preparing)
    if "max_wal_size" in settings:
        settings["max_wal_size"] = holding(settings["max_wal_size"], init_options)
    server = arm.installation.start(workspace, settings, arm.environment.socket_directory)
    filled = False
    try:
        _fill(arm, server)
        levels = {each.name: each.level.canonical for each in arm.at(*BAKED) if each.name != NamedServer.pattern}
        arm.environment.server.require_alike(str(sorted({**arm.load.data_key(), **levels}.items())), server)
        filled = True
    finally:
        with arm.environment.held():
            server.stop(immediately=not filled)


def _fill(arm: ResolvedArm, server: Server) -> None:
    """The load's data with the levels of the data stage; a copy has its data and keeps their layout, so nothing is
    loaded and nothing vacuumed."""
    load = arm.load
    if arm.setup.copied_database:
        for bound in arm.at(Stage.DATA):
            bound.factor.on_copied_data(bound.name, bound.level, server)
        server.execute("CHECKPOINT")
        return
    load.create(server)
    for bound in arm.at(Stage.DATA):
        bound.factor.on_empty_schema(bound.name, bound.level, server)
    load.fill(server)
    for bound in arm.at(Stage.DATA):
        bound.factor.on_loaded_data(bound.name, bound.level, server)
    load.age(server)
    server.execute("CHECKPOINT")


def _age_drive(arm: ResolvedArm, ageing: Ageing, key: str) -> None:
    """Age the drives of this snapshot by the load of `arm`; a snapshot whose drive could not be aged is forgotten.

    `arm` is the study's first that starts from the snapshot, whichever trial comes first. Else the order of a block,
    which is drawn, would decide whether a drive was aged by updates or by deletes.
    """
    drive, environment = arm.drive, arm.environment
    try:
        clone = drive.clone(key, f"wear-{key}")
        try:
            ageing.begin()
            _run_load_once(arm, clone)
        finally:
            with environment.held():
                drive.discard(clone)
        with environment.held():
            ageing.finish(key)
    except BaseException:
        with environment.held():
            ageing.abandon()
            drive.forget_snapshot(key)
        raise


def _run_load_once(arm: ResolvedArm, clone: Path) -> None:
    """Nothing is measured here, so the result is not looked at: a load that fails ages the drive little."""
    environment = arm.environment
    output = environment.socket_directory / "wearing"
    server = arm.installation.start(clone, arm.settings, environment.socket_directory)
    try:
        settle(server, arm.setup.load, clone, environment.caches)
        output.mkdir()
        arm.load.run(server, output, AGEING_SEED)
    finally:
        with environment.held():
            server.stop()
            with Directory.open(output.parent) as place:
                place.remove_tree(output.name)


Result = TypeVar("Result")

WORKSPACE = "rehearsal"
_LIBRARIES = "shared_preload_libraries"


def with_settings(own: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Both, where `wanted` prevails; libraries are loaded besides the arm's own, not in their place."""
    libraries = [each[_LIBRARIES] for each in (own, wanted) if each.get(_LIBRARIES)]
    return {**own, **wanted, **({_LIBRARIES: ", ".join(libraries)} if libraries else {})}


def rehearse(arm: ResolvedArm, wanted: Mapping[str, str], work: Callable[[Server], Result]) -> Result:
    """What `work` returns of the arm's server, settled as for a trial, with the settings `wanted` besides its own.

    What is tried on it (does every statement run? is the load like the one it stands for?) leaves nothing behind: the
    clone is discarded, and the snapshot is kept for the run.

    Where the server does not start with these (a library that is not installed) it starts without them. Raises
    `BenchError` where the snapshot cannot be made or the server does not start.
    """
    prepare_snapshot(arm)
    drive, environment = arm.drive, arm.environment
    clone = drive.clone(arm.snapshot_key, WORKSPACE)
    try:
        try:
            server = arm.installation.start(clone, with_settings(arm.settings, wanted), environment.socket_directory)
        except ClusterError:
            server = arm.installation.start(clone, arm.settings, environment.socket_directory)
        try:
            settle(server, arm.setup.load, clone, environment.caches)
            return work(server)
        finally:
            with environment.held():
                server.stop(immediately=True)
    finally:
        with environment.held():
            drive.discard(clone)


def require_start(arm: ResolvedArm) -> None:
    """Start the arm's server once as a trial does, on an empty cluster, and stop it.

    `postgres -C` accepts a library that is not there and memory that the machine lacks; only a start shows them. Raises
    `BenchError` in the server's words.
    """
    drive, environment = arm.drive, arm.environment
    options = {name: value for name, value in arm.setup.init_options.items() if name != COPY_DATABASE}
    workspace = drive.workspace(WORKSPACE)
    try:
        arm.installation.initialize(workspace, options)
        drive.lay_out(workspace)
        with host_stage.hosted(arm, workspace) as hosting:
            server, _ = host_stage.start(hosting, arm, workspace)
            with environment.held():
                server.stop(immediately=True)
    finally:
        with environment.held():
            drive.discard(workspace)
