"""Curves with their band."""

from math import exp, inf, isnan

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import critical
from pgassay.analysis.curves import curves
from pgassay.analysis.observations import Observation

from ._make import TPS, columns


def test_points_are_geometric_means_with_a_band_over_all_points() -> None:
    one, two = [100.0, 104.0, 98.0, 101.0, 99.0], [180.0, 188.0, 176.0, 182.0, 184.0]
    seen = columns({"a": one}, "", "load.clients=1") + columns({"a": two}, "", "load.clients=2")
    (curve,) = curves(seen, TPS, blocks_max=10)
    assert [point.covariate for point in curve.points] == ["load.clients=1", "load.clients=2"]
    assert curve.points[0].value == pytest.approx(stats.gmean(one))
    error = np.log(one).std(ddof=1) / 5**0.5
    assert curve.points[0].high == pytest.approx(exp(np.log(one).mean() + critical(5, 10, 0.025) * error))


def test_few_or_no_blocks_have_no_band() -> None:
    seen = columns({"a": [100.0, 101.0]}, "", "x=1") + columns({"a": [None]}, "", "x=2")
    first, second = curves(seen, TPS, blocks_max=10)[0].points
    assert (first.low, first.high) == (0.0, inf)
    assert isnan(second.value)
    assert second.left_out == ("block 1: a has no value",)


def test_a_band_beyond_all_numbers_is_unbounded() -> None:
    """Blocks so far apart that the end's logarithm is no number's any more: it was given as the response itself."""
    seen = [Observation(block, "a", "", "1", value) for block, value in enumerate((1e-300, 1e300) * 3, 1)]
    (curve,) = curves(seen, TPS, blocks_max=6, looks="once")
    assert (curve.points[0].low, curve.points[0].high) == (0.0, inf)
    assert not curve.points[0].bounded
