"""The default directories on this machine, for clusters and builds of PostgreSQL, and how these are found or built.

Root's live under /var/lib and are open to the servers' account; everyone else's in their own folders, as the XDG base
directory specification has it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.errors import PgassayError, UsageError
from pgassay.host import accounts
from pgassay.host.accounts import require_reach
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.places import Account
from pgassay.interfaces.running import Clock, Runner
from pgassay.postgres.builds.builder import Builder, Notify, Toolchain, notify_nobody
from pgassay.postgres.builds.cache import VARIABLE as CACHE_VARIABLE
from pgassay.postgres.builds.cache import Cache
from pgassay.postgres.builds.sources import Sources
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation

if TYPE_CHECKING:
    from pgassay.lab.arms import ResolvedStudy


DATA_VARIABLE = "PGASSAY_DATA_DIR"


def default_directory(environment: Mapping[str, str]) -> Path:
    """Where clusters live by default: $PGASSAY_DATA_DIR; /var/lib/pgassay for root; else the user's data home."""
    named = environment.get(DATA_VARIABLE)
    if named:
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/lib/pgassay")
    home = Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return home / "pgassay"


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where builds are kept: $PGASSAY_CACHE; with the clusters for root, or with $PGASSAY_DATA_DIR; else the user's
    cache home.
    """
    named = environment.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0 or environment.get(DATA_VARIABLE):
        return default_directory(environment).absolute() / "builds"
    home = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home.absolute() / "pgassay"


def embedded_directory(environment: Mapping[str, str]) -> Path:
    """Where a copy of the embedded wheel's PostgreSQL lies, if servers cannot reach it where it is installed."""
    return default_directory(environment).absolute() / "embedded"


def local_finder(runner: Runner, clock: Clock, account: Account, environment: Mapping[str, str] = os.environ) -> Finder:
    return Finder(runner, clock, account, environment, copies=embedded_directory(environment))


def require_kept(directory: Path | None, resolved: "ResolvedStudy") -> None:
    """Raise `UsageError` where no drive of the study would keep a snapshot in this place for snapshots.

    Images and emulated drives keep theirs by themselves; those of a server that is not ours are databases of it.
    """
    drives = [each for arm in resolved.arms for each in arm.setup.drive.drives]
    elsewhere = all(each.kind.holds_one_cluster for each in drives) or not resolved.environment.server.ours
    if directory is None or not elsewhere:
        return
    why = "images, emulated drives and the server of --server keep it by themselves"
    raise UsageError(
        f'no prepared data of this study would be kept in "{directory}": {why}', "leave out --snapshots-in"
    )


@dataclass(frozen=True)
class Building:
    """What the user allows. A dry run is not `allowed` to build; `jobs` compilers run at once (0: one a core)."""

    allowed: bool = True
    allow_deb_src: bool = False
    jobs: int = 0
    notify: Notify = notify_nobody


def builder_of(
    building: Building,
    runner: Runner,
    clock: Clock,
    account: Account,
    finder: Finder,
    environment: Mapping[str, str] = os.environ,
) -> Builder:
    """The builder of this machine; raises `BenchError` where the servers' account cannot reach the cache."""
    cache = Cache(cache_directory(environment))
    require_reach(cache.root, account)
    try:
        installed = str(finder.find().version)
    except PgassayError:
        installed = ""
    return Builder(
        cache=cache,
        runner=runner,
        clock=clock,
        account=account,
        finder=finder,
        sources=Sources(cache, runner, fallback=installed, allow_deb_src=building.allow_deb_src),
        toolchain=Toolchain(runner, environment),
        jobs=building.jobs or os.cpu_count() or 1,
        notify=building.notify,
    )


def local_builder(building: Building) -> Builder:
    account, clock = accounts.choose(), SystemClock()
    runner = LocalRunner(account)
    return builder_of(building, runner, clock, account, local_finder(runner, clock, account))


STAND_IN = "stand-in"
"""How a PostgreSQL was found that a plan takes for one that is not built yet."""


def stand_in(finder: Finder, version: str) -> LocalInstallation:
    """An installed PostgreSQL in place of a build that is missing, of that version if there is one, for a plan.

    Raises `UsageError` where none is installed.
    """
    try:
        found = finder.find(version or None)
    except UsageError:
        found = finder.find()
    return replace(found, found_by=STAND_IN)
