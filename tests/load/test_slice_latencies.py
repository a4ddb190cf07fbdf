"""Latencies of servers that took turns are kept as sketches: whole, slice by slice, and by script."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import LatencySketch
from pgassay.load import responses

RECORDED = st.dictionaries(st.integers(0, LatencySketch.MAX_LATENCY_US), st.integers(1, 1000), min_size=1, max_size=60)


def read(text: str) -> LatencySketch:
    return LatencySketch.from_bytes(base64.b64decode(text))


@given(st.lists(RECORDED, min_size=1, max_size=5))
def test_latencies_of_slices_are_kept_whole_and_slice_by_slice(slices: list[dict[int, int]]) -> None:
    kept = json.loads(
        responses.encode_slices([[(1000 * us, count) for us, count in each.items()] for each in slices], 0.5)
    )
    assert kept["interval_us"] == 500_000
    assert [read(each).count for each in kept["intervals"]] == [sum(each.values()) for each in slices]
    whole = read(kept["total"])
    assert whole.count == sum(map(sum, (each.values() for each in slices)))
    assert whole.max_us == max(max(each) for each in slices)


def test_latencies_of_slices_are_kept_by_script_where_there_are_several() -> None:
    first, second = (1_000_000, 3), (9_000_000, 1)
    kept = json.loads(responses.encode_slices([[first, second]], 0.5, [[first], [second]]))
    mine = [read(kept["scripts"][place]) for place in ("0", "1")]
    assert [each.mean_us for each in mine] == pytest.approx([1000, 9000])
    assert [each.count for each in mine] == [3, 1]
    assert "scripts" not in json.loads(responses.encode_slices([[first]], 0.5))
