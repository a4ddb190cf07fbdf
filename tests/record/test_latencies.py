"""Latencies of a trial: the buckets that are read here are those that the Rust core wrote."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import LatencySketch
from pgassay.load import responses
from pgassay.record.latencies import FILE, buckets_of, latencies
from pgassay.testing.planted import make_run

RECORDED = st.dictionaries(st.integers(0, LatencySketch.MAX_LATENCY_US), st.integers(1, 1000), min_size=1, max_size=60)


def sketch_of(recorded: dict[int, int]) -> LatencySketch:
    sketch = LatencySketch()
    for latency_us, count in recorded.items():
        sketch.record(latency_us, count)
    return sketch


@given(RECORDED, st.floats(0.01, 0.99))
def test_buckets_are_those_of_the_core(recorded: dict[int, int], share: float) -> None:
    sketch = sketch_of(recorded)
    found = buckets_of(sketch.to_bytes())
    assert found.counts.sum() == sketch.count
    assert np.all(np.diff(found.middle_us) > 0)
    exact = sketch.quantile(share)
    assert exact is not None
    assert found.quantile_us(share) == pytest.approx(exact, rel=LatencySketch.RELATIVE_ERROR, abs=0.5)


@given(RECORDED, st.data())
def test_what_is_cut_short_is_refused_or_tells_less(recorded: dict[int, int], data: st.DataObject) -> None:
    whole = sketch_of(recorded).to_bytes()
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = buckets_of(cut)
    except ValueError:
        return
    assert found.counts.sum() < sketch_of(recorded).count


def test_an_empty_sketch_has_no_buckets_and_another_version_is_refused() -> None:
    assert not buckets_of(LatencySketch().to_bytes()).counts.size
    with pytest.raises(ValueError, match="version"):
        buckets_of(b"\x02\x00")


def test_a_trial_gives_its_window_and_its_seconds_and_one_without_gives_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    fast, slow = sketch_of({1000: 90}), sketch_of({8000: 10})
    both = sketch_of({1000: 90, 8000: 10})
    text = [base64.b64encode(each.to_bytes()).decode() for each in (fast, slow, both)]
    kept = {
        "format": 1, "start_us": 5_000_000, "interval_us": 1_000_000, "first_wall_ns": 7_000_000_000, "total": text[2],
        "intervals": text[:2], "scripts": {"0": text[0], "1": text[1]},
    }  # fmt: skip
    path = run.trial_directory(2) / FILE
    path.write_text(json.dumps(kept))
    found = latencies(run, 2)
    assert found is not None
    assert found.whole.counts.tolist() == [90, 10]
    assert found.whole.middle_us == pytest.approx([1000, 8000], rel=0.004)
    assert [(second, int(each.counts.sum())) for second, each in found.seconds] == [(2.0, 90), (3.0, 10)]
    means = {place: each.mean_us for place, each in found.scripts.items()}
    assert means == pytest.approx({0: 1000, 1: 8000}, rel=0.004)
    assert latencies(run, 3) is None
    path.write_text("{")
    assert latencies(run, 2) is None, "a figure lacks it, the report does not end"


@given(st.lists(RECORDED, min_size=1, max_size=5))
def test_latencies_of_slices_are_kept_whole_and_slice_by_slice(slices: list[dict[int, int]]) -> None:
    kept = json.loads(
        responses.encode_slices([[(1000 * us, count) for us, count in each.items()] for each in slices], 0.5)
    )
    assert kept["interval_us"] == 500_000
    read = [buckets_of(base64.b64decode(each)) for each in kept["intervals"]]
    assert [each.counts.sum() for each in read] == [sum(each.values()) for each in slices]
    whole = buckets_of(base64.b64decode(kept["total"]))
    assert whole.counts.sum() == sum(map(sum, (each.values() for each in slices)))
    assert max(each.quantile_us(1.0) for each in read) == whole.quantile_us(1.0)


def test_latencies_of_slices_are_kept_by_script_where_there_are_several() -> None:
    first, second = (1_000_000, 3), (9_000_000, 1)
    kept = json.loads(responses.encode_slices([[first, second]], 0.5, [[first], [second]]))
    read = [buckets_of(base64.b64decode(kept["scripts"][place])) for place in ("0", "1")]
    assert [each.mean_us for each in read] == pytest.approx([1000, 9000], rel=0.004)
    assert [int(each.counts.sum()) for each in read] == [3, 1]
    assert "scripts" not in json.loads(responses.encode_slices([[first]], 0.5))
