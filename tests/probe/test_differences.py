"""Differences between two readings: resets and gaps give None, never a negative or a made-up number."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pgassay.bench.counters import Meter, Reading
from pgassay.probe.differences import difference, differences

METERS = {
    "a.count": Meter("count", "count"),
    "a.size": Meter("size", "bytes", cumulative=False),
    "b.x": Meter("x", "ms"),
}


def reading(source: str, **values: float | None) -> Reading:
    return Reading(source, 0, 0, values)


def test_counters_differ_and_gauges_stand() -> None:
    before = [reading("a", count=10.0, size=5.0), reading("b", x=1.0)]
    after = [reading("a", count=15.0, size=4.0), reading("b", x=1.0)]
    assert differences(before, after, METERS) == {"a.count": 5.0, "a.size": 4.0, "b.x": 0.0}


def test_a_reset_a_gap_and_a_missing_source_are_none() -> None:
    before = [reading("a", count=10.0, size=None)]
    after = [reading("a", count=3.0, size=None)]
    assert differences(before, after, METERS) == {"a.count": None, "a.size": None, "b.x": None}


def test_the_outer_readings_count() -> None:
    before = [reading("a", count=1.0, size=0.0), reading("a", count=2.0, size=0.0)]
    after = [reading("a", count=8.0, size=1.0), reading("a", count=9.0, size=2.0)]
    assert differences(before, after, METERS)["a.count"] == 8.0
    assert differences(before, after, METERS)["a.size"] == 2.0


numbers = st.none() | st.floats(0, 1e15)


@given(numbers, numbers)
def test_never_negative(start: float | None, end: float | None) -> None:
    found = difference(start, end)
    if start is None or end is None or end < start:
        assert found is None
    else:
        assert found == end - start


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_parts_add_up_to_the_whole(steps: list[float]) -> None:
    totals = [sum(steps[: number + 1]) for number in range(len(steps))]
    parts = [difference(old, new) for old, new in pairwise(totals)]
    whole = difference(totals[0], totals[-1])
    assert whole is not None
    assert abs(sum(part or 0.0 for part in parts) - whole) <= 1e-6 * max(1.0, whole)
