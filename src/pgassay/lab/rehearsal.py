"""One arm's server for something else than a trial: on a clone of the snapshot that its trials will start from.

What is tried on it (does it start at all? does every statement run? is the load like the one it stands for?) leaves
nothing behind: the clone is discarded, and the snapshot is kept for the run.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pgassay.bench.errors import ClusterError
from pgassay.bench.server import Server
from pgassay.lab import host_stage
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.preparation import prepare
from pgassay.lab.start_state import settle
from pgassay.postgres.installation import COPY_DATABASE, COPY_OF

Result = TypeVar("Result")

WORKSPACE = "rehearsal"
_LIBRARIES = "shared_preload_libraries"


def with_settings(own: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Both, where `wanted` prevails; libraries are loaded besides the arm's own, not in their place."""
    libraries = [each[_LIBRARIES] for each in (own, wanted) if each.get(_LIBRARIES)]
    return {**own, **wanted, **({_LIBRARIES: ", ".join(libraries)} if libraries else {})}


def rehearse(arm: ResolvedArm, wanted: Mapping[str, str], work: Callable[[Server], Result]) -> Result:
    """What `work` returns of the arm's server, settled as for a trial, with the settings `wanted` besides its own.

    Where the server does not start with these (a library that is not installed) it starts without them. Raises
    `BenchError` where the snapshot cannot be made or the server does not start.
    """
    prepare(arm)
    drive, site = arm.drive, arm.site
    clone = drive.clone(arm.snapshot_key, WORKSPACE)
    try:
        try:
            server = arm.installation.start(clone, with_settings(arm.settings, wanted), site.socket_directory)
        except ClusterError:
            server = arm.installation.start(clone, arm.settings, site.socket_directory)
        try:
            settle(server, arm.setup.load, clone, site.caches)
            return work(server)
        finally:
            with site.held():
                server.stop(immediately=True)
    finally:
        with site.held():
            drive.discard(clone)


def require_start(arm: ResolvedArm) -> None:
    """Start the arm's server once as a trial does, on an empty cluster, and stop it.

    `postgres -C` accepts a library that is not there and memory that the machine lacks; only a start shows them. Raises
    `BenchError` in the server's words.
    """
    drive, site = arm.drive, arm.site
    options = {name: value for name, value in arm.setup.init_options.items() if name not in (COPY_OF, COPY_DATABASE)}
    workspace = drive.workspace(WORKSPACE)
    try:
        arm.installation.initialize(workspace, options)
        drive.lay_out(workspace)
        with host_stage.hosted(arm, workspace) as hosting:
            server, _ = host_stage.start(hosting, arm, workspace)
            with site.held():
                server.stop(immediately=True)
    finally:
        with site.held():
            drive.discard(workspace)
