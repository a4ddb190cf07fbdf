"""What a window measured: counter differences, costs of a transaction, and the evidence that the checks look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.load import LoadResult
from pgassay.probe.costs import costs
from pgassay.probe.differences import differences


@dataclass(frozen=True)
class Measures:
    """`responses` are the load's own and the costs; `counters` the differences by `source.name`."""

    responses: Mapping[str, float | None]
    counters: Mapping[str, float | None]
    window_monotonic_ns: int
    window_wall_ns: int
    started_monotonic_ns: int


def measure(
    before: Sequence[Reading], after: Sequence[Reading], result: LoadResult, meters: Mapping[str, Meter]
) -> Measures:
    """Set the readings at the window's edges and the load's own result together."""
    counters = differences(before, after, meters)
    return Measures(
        responses={**result.responses, **costs(counters, result.transactions)},
        counters=counters,
        window_monotonic_ns=result.finished_monotonic_ns - result.started_monotonic_ns,
        window_wall_ns=result.finished_wall_ns - result.started_wall_ns,
        started_monotonic_ns=result.started_monotonic_ns,
    )
