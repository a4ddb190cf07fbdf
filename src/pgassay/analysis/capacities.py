"""What a machine can do in a second, and the rate at which each resource would saturate: the utilisation law.

A resource that can do C a second and is asked for D a transaction serves at most C / D transactions a second (Denning
and Buzen, ACM Computing Surveys 1978). This is an upper bound: locks, latency and think time may stop the load earlier.
A resource bounds every cost that draws on it: WAL and all other writes go through the same drive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, nan

from pgassay.analysis.numbers import rounded

OVERUSED = 1.05
"""Beyond this share in use a capacity is understated: what was measured of it, at another time or load, was too low."""


@dataclass(frozen=True)
class Capacity:
    """What the machine can do of one cost: `per_s` in the cost's unit (CPU: 1e6 µs × cores; WAL: bytes/s)."""

    response: str
    title: str
    per_s: float
    source: str
    """Where the capacity was measured or read, as a report prints it."""


@dataclass(frozen=True)
class Bound:
    """A resource's bound. `used` is the share of it in use at the measured rate, at most `OVERUSED`."""

    capacity: Capacity
    cost: float
    per_s: float
    used: float


@dataclass(frozen=True)
class Bounds:
    """Bounds from the tightest on, what could not be bounded and why, and one sentence."""

    bounds: tuple[Bound, ...]
    left_out: tuple[str, ...]
    text: str


def bounds(costs: Mapping[str, float | None], capacities: Sequence[Capacity], measured_per_s: float) -> Bounds:
    """Bound the rate by each capacity whose cost per transaction is known (by response name)."""
    found: list[Bound] = []
    left_out: list[str] = []
    for capacity in capacities:
        cost = costs.get(capacity.response)
        if cost is None or not isfinite(cost):
            left_out.append(f"{capacity.title}: its cost per transaction was not measured")
        elif not (isfinite(capacity.per_s) and capacity.per_s > 0.0):
            left_out.append(
                f"{capacity.title}: its capacity is not known{f' ({capacity.source})' if capacity.source else ''}"
            )
        elif cost <= 0.0:
            left_out.append(f"{capacity.title}: the load does not use it")
        else:
            limit = capacity.per_s / cost
            used = measured_per_s / limit
            if used > OVERUSED:
                left_out.append(_understated(capacity.title, used, capacity.source))
            else:
                found.append(Bound(capacity, cost, limit, used))
    found.sort(key=lambda bound: bound.per_s)
    if not found:
        return Bounds((), tuple(left_out), nothing_bounds())
    first = found[0]
    return Bounds(tuple(found), tuple(left_out), _saturates_first(first.capacity.title, first.per_s, first.used))


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
class MeasuredCapacity:
    """A capacity: `per_s` in the resource's unit, and where it is from, as a report prints it."""

    resource: Resource
    per_s: float
    source: str


def capacities_of(measured: Sequence[MeasuredCapacity]) -> tuple[Capacity, ...]:
    """One for every cost of every resource; NaN and "not measured" for what is not among `measured`."""
    known = {each.resource: each for each in measured}
    found = []
    for resource, costs in COSTS.items():
        mine = known.get(resource, MeasuredCapacity(resource, nan, NOT_MEASURED))
        found += [Capacity(name, title, mine.per_s, mine.source) for name, title in costs]
    return tuple(found)


def _saturates_first(title: str, per_s: float, used: float) -> str:
    """The tightest bound in a sentence: `per_s` transactions a second, of which the share `used` was measured."""
    if used >= 0.995:
        return f"{title} is full: all of it was in use"
    text = f"{title} saturates first, at about {rounded(per_s)} transactions per second"
    return f"{text}; {100 * used:.0f} % of it was in use"


def _understated(title: str, used: float, source: str) -> str:
    """A capacity of which the load used more than there is: it says nothing about the limit."""
    told = f"{title}: the load used {used:.2g} times the capacity that was measured"
    return f"{told} ({source}), so that figure is too low for a limit"


def nothing_bounds() -> str:
    """No capacity or no cost at all."""
    return "no resource could be bounded"
