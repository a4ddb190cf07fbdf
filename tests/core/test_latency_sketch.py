"""The latency sketch as Python sees it: stated error, merging, bytes, refusals. (Deeper: the crate's own tests.)"""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import LatencySketch
from tests.core.naive_log import quantile

LATENCIES = st.lists(st.one_of(st.integers(0, 5000), st.integers(0, LatencySketch.MAX_LATENCY_US)), max_size=100)


def sketch_of(latencies_us: list[int]) -> LatencySketch:
    sketch = LatencySketch()
    for latency_us in latencies_us:
        sketch.record(latency_us)
    return sketch


def test_the_stated_error_is_below_half_a_per_cent() -> None:
    assert LatencySketch.RELATIVE_ERROR <= 0.005


@given(LATENCIES.filter(bool), st.floats(0, 1))
def test_quantiles_keep_the_stated_error(latencies_us: list[int], q: float) -> None:
    exact, answer = quantile(latencies_us, q), sketch_of(latencies_us).quantile(q)
    assert answer is not None
    assert abs(answer - exact) <= LatencySketch.RELATIVE_ERROR * exact


@given(LATENCIES.filter(bool))
def test_moments_are_exact(latencies_us: list[int]) -> None:
    sketch = sketch_of(latencies_us)
    assert (sketch.count, sketch.sum_us) == (len(latencies_us), sum(latencies_us))
    assert (sketch.min_us, sketch.max_us) == (min(latencies_us), max(latencies_us))
    assert sketch.mean_us == pytest.approx(statistics.fmean(latencies_us), rel=1e-12)
    assert sketch.stddev_us == pytest.approx(statistics.pstdev(latencies_us), rel=1e-9, abs=1e-6)


@given(LATENCIES, LATENCIES)
def test_merging_and_bytes_lose_nothing(some: list[int], others: list[int]) -> None:
    merged = sketch_of(some)
    merged.merge(LatencySketch.from_bytes(sketch_of(others).to_bytes()))
    assert merged == sketch_of([*others, *some])
    assert merged.to_bytes() == sketch_of([*others, *some]).to_bytes()


def test_a_sketch_merged_into_itself_is_doubled() -> None:
    sketch = sketch_of([1, 500])
    sketch.merge(sketch)
    assert sketch == sketch_of([1, 1, 500, 500])
    assert sketch != sketch_of([1, 500])


def test_an_empty_sketch_answers_none() -> None:
    empty = LatencySketch()
    assert (empty.quantile(0.5), empty.mean_us, empty.stddev_us, empty.min_us, empty.max_us) == (None,) * 5


def test_bad_values_are_refused() -> None:
    sketch = sketch_of([7])
    with pytest.raises(ValueError, match="is more than"):
        sketch.record(LatencySketch.MAX_LATENCY_US + 1)
    with pytest.raises(OverflowError):
        sketch.record(-1)
    for q in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            sketch.quantile(q)
    for data in (b"", b"\x02", b"\x01\x01", sketch.to_bytes() + b"\x00"):
        with pytest.raises(ValueError, match="not a latency sketch"):
            LatencySketch.from_bytes(data)
    assert sketch == sketch_of([7])


def test_more_latencies_than_the_sums_can_hold_are_refused() -> None:
    sketch = LatencySketch()
    sketch.record(LatencySketch.MAX_LATENCY_US, 1 << 44)
    assert sketch.stddev_us == 0.0
    with pytest.raises(ValueError, match="in one sketch"):
        sketch.merge(sketch)
    with pytest.raises(ValueError, match="in one sketch"):
        sketch.record(1)
