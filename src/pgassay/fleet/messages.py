"""What a fleet refuses or reports, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Mapping

from pgassay.errors import PgassayError, UsageError


class FleetError(PgassayError):
    """A fault of the fleet: a scheduler that is not there, a host that fails, a parcel that is damaged."""


class DamagedError(FleetError):
    """What came is not what was sent; sent again it may be."""


def other_version(host: str, theirs: str, ours: str) -> FleetError:
    """Two versions of the program in one record would be two experiments."""
    return FleetError(f"{host} has pgassay {theirs}, the head {ours}", "install the same version on all")


def host_failed(block: int, reason: str) -> FleetError:
    """A block that no host could bring to its end."""
    return FleetError(f"block {block} failed: {reason}", "resume the run when the hosts are well again")


def nobody_left(failed: Mapping[str, str], seconds: float) -> FleetError:
    """Blocks that nobody can bring home: every host has been missing, or was left out before."""
    out = "".join(f"; {host} was left out: {reason}" for host, reason in failed.items())
    return FleetError(f"no host was heard for {seconds:.0f} s{out}", "start the workers again, and resume the run")


def damaged_parcel(block: int, reason: str) -> FleetError:
    """What came home is not what was sent."""
    return FleetError(f"block {block} came home damaged: {reason}", "resume the run: the block is run again")


_ALONE = "run the study on one machine, without --on"


def cannot_travel(reasons: Mapping[str, str]) -> UsageError:
    """Files of the user's that cannot be sent to the hosts, each with the reason."""
    told = "; ".join(f'"{name}" {why}' for name, why in reasons.items())
    return UsageError(f"the study names files that cannot be sent to the hosts: {told}", _ALONE)


IS_FOLDER = "is a directory"
IS_NO_FILE = "is no plain file"
ODD_NAME = "has a quote, a backslash or a control character in its path"
NOT_SENT = "is named for something that only a file of the host itself can be"
RELATIVE = "is named by a path that does not begin at the root"


SCHEDULER_LOST = "the scheduler is gone"
LOST_SCHEDULER = "the scheduler does not answer; looking for it again"
SHARED = "several workers on one machine stood for several hosts, so how hosts differ is not known"
MIXED = "hosts of several kinds ran blocks, as was allowed"
