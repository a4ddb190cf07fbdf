"""Golden snapshots: a cluster is initialised, loaded, given its table options and aged once for each key.

Every trial then starts from a clone. A snapshot is taken with the server stopped cleanly; a half-made one never counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.factor import BAKED, Stage
from pgassay.bench.server import Installation, Server
from pgassay.bench.store import Drive
from pgassay.lab import full_drives, regime
from pgassay.lab.composition import Composition, compose, snapshot_key
from pgassay.lab.drives import drive_of
from pgassay.lab.loads import load_of
from pgassay.lab.memory import planned_trial_s
from pgassay.lab.site import Site
from pgassay.lab.starting import PREPARING
from pgassay.lab.wearing import wear
from pgassay.study.levels import Arm
from pgassay.study.model import Study


@dataclass(frozen=True)
class Prepared:
    """An arm's snapshot and what came of making it."""

    key: str
    made: bool
    seconds: float


Tell = Callable[[Prepared], None]


def tell_nobody(prepared: Prepared) -> None:
    """Nothing."""


def key_of(study: Study, arm: Arm, site: Site) -> str:
    """The key of the snapshot that this arm starts from."""
    composition = compose(study.levels_of(arm), site.catalogue)
    installation = site.installation(composition.setup.installation)
    return snapshot_key(composition, installation, load_of(composition, site))


def prepare(study: Study, arm: Arm, site: Site, tell: Tell = tell_nobody) -> Prepared:
    """Make the arm's golden snapshot if it is not there yet.

    `tell` hears of it before a new snapshot is put in its place: a run killed between the two makes the snapshot again
    and knows already how long that took, so that it decides as an uninterrupted one would. Of one that is aged it
    hears afterwards, the ageing included: such a snapshot dies with the run, which makes and ages it again in any case.
    """
    composition = compose(study.levels_of(arm), site.catalogue)
    key = key_of(study, arm, site)
    drive = drive_of(study, composition, site)
    if drive.has_snapshot(key):
        prepared = Prepared(key, made=False, seconds=0.0)
        tell(prepared)
        return prepared
    started_ns = site.clock.monotonic_ns()
    aged = drive.ageing() is not None

    def made() -> Prepared:
        return Prepared(key, made=True, seconds=(site.clock.monotonic_ns() - started_ns) / 1e9)

    installation = site.installation(composition.setup.installation)
    workspace = drive.workspace(f"prepare-{key}")
    try:
        with full_drives.named(drive, workspace):
            _make(composition, installation, drive, workspace, site)
        prepared = made()
        if not aged:
            tell(prepared)
        with site.held():
            drive.take_snapshot(key, workspace, _in_words(composition, installation))
    except BaseException:
        with site.held():
            drive.discard(workspace)
        raise
    if aged:
        wear(study, wearing(study, key, site), site, drive, key)
        prepared = made()
        tell(prepared)
    return prepared


def _make(composition: Composition, installation: Installation, drive: Drive, workspace: Path, site: Site) -> None:
    """The cluster with its data, stopped."""
    installation.initialize(workspace, composition.setup.init_options)
    drive.lay_out(workspace)
    wal_size = regime.holding(PREPARING["max_wal_size"], composition.setup.init_options)
    server = installation.start(workspace, {**PREPARING, "max_wal_size": wal_size}, site.socket_directory)
    filled = False
    try:
        _fill(composition, server, site)
        filled = True
    finally:
        with site.held():
            server.stop(immediately=not filled)


def wearing(study: Study, key: str, site: Site) -> Composition:
    """Whose load wears a snapshot: that of the study's first arm that starts from it, whichever trial comes first.

    Else the order of a block, which is drawn, would decide whether a drive was aged by updates or by deletes.
    """
    first = next(arm for arm in study.arms if key_of(study, arm, site) == key)
    return compose(study.levels_of(first), site.catalogue)


def ageing_s(study: Study, site: Site) -> float:
    """What ageing the study's drives will take, about: once for each snapshot the load runs as in a trial."""
    worn: dict[str, float] = {}
    for arm in study.arms:
        if drive_of(study, compose(study.levels_of(arm), site.catalogue), site).ageing() is not None:
            worn.setdefault(key_of(study, arm, site), planned_trial_s(study, arm))
    return sum(worn.values())


def _in_words(composition: Composition, installation: Installation) -> str:
    """What a snapshot holds, for whoever has to make room."""
    levels = [f"{bound.name}={bound.level.typed}" for bound in composition.at(*BAKED)]
    return ", ".join([f"PostgreSQL {installation.version}", *levels])


def _fill(composition: Composition, server: Server, site: Site) -> None:
    options = composition.setup.load
    load = load_of(composition, site)
    load.create(server, options)
    for bound in composition.at(Stage.DATA):
        bound.factor.on_empty_schema(bound.name, bound.level, server)
    load.fill(server, options)
    for bound in composition.at(Stage.DATA):
        bound.factor.on_loaded_data(bound.name, bound.level, server)
    load.age(server, options)
    server.execute("CHECKPOINT")
