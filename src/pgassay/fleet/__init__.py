"""A study over many machines: a head that decides and records, workers that run blocks, Dask between them.

No scheduler, transport or retry of ours (docs/fleet.md). The head asks the same design as a run on one machine, block
by block in order; workers run blocks ahead of it, whole, and what they send home is checked and committed by the head.
So the record is that of a run on one machine, but for the name of each block's host.
"""

from pgassay.errors import PgassayError


class FleetError(PgassayError):
    """A fault of the fleet: a scheduler that is not there, a host that fails, a parcel that is damaged."""
