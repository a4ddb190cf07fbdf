"""Golden snapshots: a cluster is initialised, loaded, given its table options and aged once for each key.

Every trial then starts from a clone. A snapshot is taken with the server stopped cleanly; a half-made one never counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.bench.factor import Stage
from pgassay.bench.server import Server
from pgassay.lab.composition import Composition, compose, snapshot_key
from pgassay.lab.site import Site
from pgassay.study.levels import Arm
from pgassay.study.model import Study

PREPARING: Mapping[str, str] = {
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
    "fsync": "off",
}
"""Settings while a snapshot is made: nobody measures here, and the snapshot is synced to disk when it is taken."""


@dataclass(frozen=True)
class Prepared:
    """An arm's snapshot and what came of making it."""

    key: str
    made: bool
    seconds: float


def key_of(study: Study, arm: Arm, site: Site) -> str:
    """The key of the snapshot that this arm starts from."""
    composition = compose(study.levels_of(arm), site.catalogue)
    installation = site.installation(composition.setup.installation)
    return snapshot_key(composition, installation, site.load(composition.setup.load["driver"], installation))


def prepare(study: Study, arm: Arm, site: Site) -> Prepared:
    """Make the arm's golden snapshot if it is not there yet."""
    composition = compose(study.levels_of(arm), site.catalogue)
    key = key_of(study, arm, site)
    if site.drive.has_snapshot(key):
        return Prepared(key, made=False, seconds=0.0)
    started_ns = site.clock.monotonic_ns()
    installation = site.installation(composition.setup.installation)
    workspace = site.drive.workspace(f"prepare-{key}")
    try:
        data_directory = workspace / "data"
        installation.initialize(data_directory, composition.setup.init_options)
        server = installation.start(data_directory, PREPARING, site.socket_directory)
        try:
            _fill(composition, server, site)
        finally:
            server.stop()
        site.drive.take_snapshot(key, workspace)
    except BaseException:
        site.drive.discard(workspace)
        raise
    return Prepared(key, made=True, seconds=(site.clock.monotonic_ns() - started_ns) / 1e9)


def _fill(composition: Composition, server: Server, site: Site) -> None:
    options = composition.setup.load
    load = site.load(options["driver"], site.installation(composition.setup.installation))
    load.create(server, options)
    for bound in composition.at(Stage.DATA):
        bound.factor.on_empty_schema(bound.name, bound.level, server)
    load.fill(server, options)
    for bound in composition.at(Stage.DATA):
        bound.factor.on_loaded_data(bound.name, bound.level, server)
    load.age(server, options)
    server.execute("CHECKPOINT")
