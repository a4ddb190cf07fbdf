"""Faults of a fleet."""

from collections.abc import Mapping

from pgassay.errors import PgassayError


class FleetError(PgassayError):
    """A fault of the fleet: a scheduler that is not there, a host that fails, a parcel that is damaged."""


def nobody_left(failed: Mapping[str, str], seconds: float) -> FleetError:
    """Blocks that nobody can bring home: every host has been missing, or was left out before."""
    out = "".join(f"; {host} was left out: {reason}" for host, reason in failed.items())
    return FleetError(f"no host was heard for {seconds:.0f} s{out}", "start the workers again, and resume the run")
