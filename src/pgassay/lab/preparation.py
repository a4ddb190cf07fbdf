"""Golden snapshots: a cluster is initialised, loaded, given its table options and aged once for each key.

Every trial then starts from a clone. A snapshot is taken with the server stopped cleanly; a half-made one never counts.
Drives that are to be aged are aged on the fresh snapshot: the load runs once on a clone of it while the drive records,
then writes are drawn from that record until the drive has settled (docs/drives.md, "Fresh or aged").
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.factor import BAKED, Stage
from pgassay.bench.server import Server
from pgassay.bench.store import Ageing
from pgassay.files import Directory
from pgassay.lab import failures
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.settings import holding
from pgassay.lab.start_state import settle

AGEING_SEED = 0
"""Of the load that ages a drive: another one than any trial's."""


@dataclass(frozen=True)
class Prepared:
    """An arm's snapshot: its key, whether it had to be made, and how long that took."""

    key: str
    made: bool
    seconds: float


Tell = Callable[[Prepared], None]


def tell_nobody(prepared: Prepared) -> None:
    """For callers that keep no journal of snapshots."""


def prepare(arm: ResolvedArm, tell: Tell = tell_nobody) -> Prepared:
    """Make the arm's golden snapshot if it is not there yet; raises `BenchError` where that fails.

    `tell` hears of it before a new snapshot is put in its place: a run killed between the two makes the snapshot again
    and knows already how long that took, so that it decides as an uninterrupted one would. Of one that is aged it
    hears afterwards, the ageing included: such a snapshot dies with the run, which makes and ages it again in any case.
    """
    key, drive, site = arm.snapshot_key, arm.drive, arm.site
    if drive.has_snapshot(key):
        prepared = Prepared(key, made=False, seconds=0.0)
        tell(prepared)
        return prepared
    started_ns = site.clock.monotonic_ns()
    ageing = drive.ageing()

    def made() -> Prepared:
        return Prepared(key, made=True, seconds=(site.clock.monotonic_ns() - started_ns) / 1e9)

    workspace = drive.workspace(f"prepare-{key}")
    try:
        with failures.of_full_drive(drive, workspace):
            _make_cluster(arm, workspace)
        prepared = made()
        if ageing is None:
            tell(prepared)
        with site.held():
            drive.take_snapshot(key, workspace, contents(arm))
    except BaseException:
        with site.held():
            drive.discard(workspace)
        raise
    if ageing is not None:
        _age_drive(arm.whole.first_with(key), ageing, key)
        prepared = made()
        tell(prepared)
    return prepared


def _make_cluster(arm: ResolvedArm, workspace: Path) -> None:
    """The cluster with its data, stopped."""
    init_options = arm.setup.init_options
    arm.installation.initialize(workspace, init_options)
    arm.drive.lay_out(workspace)
    settings = dict(arm.site.preparing)
    if "max_wal_size" in settings:
        settings["max_wal_size"] = holding(settings["max_wal_size"], init_options)
    server = arm.installation.start(workspace, settings, arm.site.socket_directory)
    filled = False
    try:
        _fill(arm, server)
        filled = True
    finally:
        with arm.site.held():
            server.stop(immediately=not filled)


def _fill(arm: ResolvedArm, server: Server) -> None:
    """The load's data with the levels of the data stage; a cluster that is a copy has its data, and keeps their layout:
    nothing is loaded and nothing vacuumed."""
    load = arm.load
    if arm.setup.has_data:
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


def contents(arm: ResolvedArm) -> str:
    """What a snapshot holds, in words, for users who have to make room."""
    levels = [f"{bound.name}={bound.level.typed}" for bound in arm.at(*BAKED)]
    return ", ".join([f"PostgreSQL {arm.installation.version}", *levels])


def _age_drive(arm: ResolvedArm, ageing: Ageing, key: str) -> None:
    """Age the drives of this snapshot by the load of `arm`; a snapshot whose drive could not be aged is forgotten.

    `arm` is the study's first that starts from the snapshot, whichever trial comes first. Else the order of a block,
    which is drawn, would decide whether a drive was aged by updates or by deletes.
    """
    drive, site = arm.drive, arm.site
    try:
        clone = drive.clone(key, f"wear-{key}")
        try:
            ageing.begin()
            _run_load_once(arm, clone)
        finally:
            with site.held():
                drive.discard(clone)
        with site.held():
            ageing.finish(key)
    except BaseException:
        with site.held():
            ageing.abandon()
            drive.forget_snapshot(key)
        raise


def _run_load_once(arm: ResolvedArm, clone: Path) -> None:
    """Nothing is measured here, so the result is not looked at: a load that fails ages the drive little."""
    site = arm.site
    output = site.socket_directory / "wearing"
    server = arm.installation.start(clone, arm.settings, site.socket_directory)
    try:
        settle(server, arm.setup.load, clone, site.caches)
        output.mkdir()
        arm.load.run(server, output, AGEING_SEED)
    finally:
        with site.held():
            server.stop()
            with Directory.open(output.parent) as place:
                place.remove_tree(output.name)
