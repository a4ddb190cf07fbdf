"""The ratio of spreads, against Pitman's test and by simulation."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.robust import Instability, instabilities

from ._make import HOT_SHARE, columns


def of(x: np.ndarray, y: np.ndarray) -> Instability:
    return instabilities(columns({"base": y.tolist(), "a": x.tolist()}), HOT_SHARE, "base")[0]


@given(st.integers(5, 25), st.integers(0, 10_000), st.floats(0.2, 5.0))
@settings(max_examples=60, deadline=None)
def test_one_is_inside_exactly_when_pitmans_test_accepts(blocks: int, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    block = rng.normal(0.0, 0.5, blocks)
    x, y = block + rng.normal(0.0, spread, blocks), block + rng.normal(0.0, 1.0, blocks)
    found = of(x, y)
    p = stats.pearsonr(x + y, x - y).pvalue
    assert (found.low <= 1.0 <= found.high) == (p >= 0.05)
    assert found.ratio == pytest.approx(x.std(ddof=1) / y.std(ddof=1))


def test_it_covers_three_times_the_spread() -> None:
    rng = np.random.default_rng(4)
    inside = [f.low <= 3.0 <= f.high for f in (of(rng.normal(0, 3, 12), rng.normal(0, 1, 12)) for _ in range(600))]
    assert 0.92 < np.mean(inside) < 0.98


def test_no_interval_from_few_blocks_or_no_spread() -> None:
    few = of(np.arange(4.0), np.arange(4.0))
    assert (few.low, few.high) == (0.0, inf)
    assert "needs 5" in few.left_out[0]
    steady = of(np.ones(6), np.arange(6.0))
    assert steady.ratio == 0.0
    assert "no spread" in steady.left_out[0]
