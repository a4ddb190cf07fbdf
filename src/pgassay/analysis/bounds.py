"""Which resource saturates first, and at what rate: the utilisation law.

A resource that can do C a second and is asked for D a transaction serves at most C / D transactions a second (Denning
and Buzen, ACM Computing Surveys 1978). An upper bound: locks, latency and think time may stop the load earlier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from pgassay.analysis import messages


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
    """A resource's bound. `used` is the share of it in use at the measured rate; above 1 the capacity is too low."""

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
            left_out.append(messages.no_cost(capacity.title))
        elif not (isfinite(capacity.per_s) and capacity.per_s > 0.0):
            left_out.append(messages.no_capacity(capacity.title, capacity.source))
        elif cost <= 0.0:
            left_out.append(messages.no_use(capacity.title))
        else:
            limit = capacity.per_s / cost
            found.append(Bound(capacity, cost, limit, measured_per_s / limit))
    found.sort(key=lambda bound: bound.per_s)
    if not found:
        return Bounds((), tuple(left_out), messages.nothing_bounds())
    first = found[0]
    return Bounds(
        tuple(found), tuple(left_out), messages.saturates_first(first.capacity.title, first.per_s, first.used)
    )
