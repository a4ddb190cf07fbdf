"""What a machine can do in a second, as plain values: whoever measures one hands it in here, bounds follow.

A resource bounds every cost that draws on it: WAL and all other writes go through the same drive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import nan

from pgassay.analysis.bounds import Capacity

NOT_MEASURED = "not measured: pgassay calibrate measures it"


class Resource(StrEnum):
    """What saturates, with the unit of its capacity a second."""

    CPU = "cpu"
    """µs of all processors, server and load program together."""
    CLIENT_CPU = "client_cpu"
    """µs of the processors that the load program's threads can use."""
    FLUSHES = "flushes"
    """Writes of a block, each flushed before the next."""
    WRITTEN_BYTES = "written_bytes"
    """Bytes written in sequence."""
    READS = "reads"
    """Random reads of a block."""


DRIVE = (Resource.FLUSHES, Resource.WRITTEN_BYTES, Resource.READS)
"""Those of the drive that the data are on."""

COSTS: Mapping[Resource, Sequence[tuple[str, str]]] = {
    Resource.CPU: (("cpu_us_per_transaction", "CPU (server and load program)"),),
    Resource.CLIENT_CPU: (("client_cpu_us_per_transaction", "CPU of the load program's threads"),),
    Resource.FLUSHES: (("disk_flushes_per_transaction", "flushing the device"),),
    Resource.WRITTEN_BYTES: (
        ("wal_bytes_per_transaction", "WAL"),
        ("disk_written_bytes_per_transaction", "writing to the device"),
    ),
    Resource.READS: (("disk_reads_per_transaction", "reading from the device"),),
}
"""Each resource's costs of a transaction: response and title."""


@dataclass(frozen=True)
class Measured:
    """A capacity: `per_s` in the resource's unit, and where it is from, as a report prints it."""

    resource: Resource
    per_s: float
    source: str


def capacities_of(measured: Sequence[Measured]) -> tuple[Capacity, ...]:
    """One for every cost of every resource; NaN and "not measured" for what is not among `measured`."""
    known = {each.resource: each for each in measured}
    found = []
    for resource, costs in COSTS.items():
        mine = known.get(resource, Measured(resource, nan, NOT_MEASURED))
        found += [Capacity(name, title, mine.per_s, mine.source) for name, title in costs]
    return tuple(found)
