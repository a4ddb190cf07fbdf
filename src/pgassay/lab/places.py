"""The default directories on this machine: clusters and builds of PostgreSQL.

Root's live under /var/lib and are open to the servers' account; everyone else's in their own folders, as the XDG base
directory specification has it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.bench.places import Account
from pgassay.bench.running import Clock, Runner
from pgassay.errors import UsageError
from pgassay.postgres.builds.cache import VARIABLE as CACHE_VARIABLE
from pgassay.postgres.find import Finder

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
    """Where builds are kept: $PGASSAY_CACHE; beside the clusters for root, or with $PGASSAY_DATA_DIR; else the user's
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
    """What looks for PostgreSQL on this machine, the embedded wheel's copy among it."""
    return Finder(runner, clock, account, environment, copies=embedded_directory(environment))


def require_kept(directory: Path | None, resolved: "ResolvedStudy") -> None:
    """Raise `UsageError` where no drive of the study would keep a snapshot in this place for snapshots.

    Images and emulated drives keep theirs by themselves; those of a server that is not ours are databases of it.
    """
    drives = [each for arm in resolved.arms for each in arm.setup.drive.drives]
    if directory is None or not (resolved.site.attached or all(each.kind.holds_one_cluster for each in drives)):
        return
    raise _nothing_kept(directory)


def _nothing_kept(place: Path) -> UsageError:
    """For `--snapshots-in` without a directory or device among the drives."""
    why = "images, emulated drives and the server of --server keep it by themselves"
    return UsageError(f'no prepared data of this study would be kept in "{place}": {why}', "leave out --snapshots-in")
