"""Two lines through the origin: exact on exact data, intervals that hold, no kink where there is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.curves import Kink, kink, points_of

PLACES = (1, 2, 3, 4, 6, 8)


def lines(places: tuple[int, ...], at: float, gain: float, slope: float = 1000.0) -> dict[float, float]:
    return {float(n): slope * (min(n, at) + gain * max(0.0, n - at)) for n in places}


def found(curve: dict[float, float], blocks: int = 1, cv: float = 0.0, seed: int = 1) -> Kink:
    rng = np.random.default_rng(seed)
    effect = rng.normal(0.0, 0.2, blocks) if blocks > 1 else [0.0]
    seen = kink(
        points_of(
            {
                place: {block: value * float(np.exp(effect[block] + rng.normal(0.0, cv))) for block in range(blocks)}
                for place, value in curve.items()
            }
        )
    )
    assert seen is not None
    return seen


def test_by_hand() -> None:
    """1000 per client up to 4 cores, a hyper-thread adds 600: 8 clients do 4000 + 4 * 600 = 6400."""
    curve = lines(tuple(range(1, 9)), 4.0, 0.6)
    assert curve[8.0] == 6400.0
    fitted = found(curve)
    assert fitted.at.value == pytest.approx(4.0, abs=0.01)
    assert fitted.gain.value == pytest.approx(0.6, abs=0.005)
    assert fitted.slope == pytest.approx(1000.0, rel=1e-3)
    assert fitted.value(np.asarray([2.0, 8.0])) == pytest.approx([2000.0, 6400.0], rel=1e-3)
    assert fitted.located


@settings(max_examples=20)
@given(st.floats(2.0, 5.5), st.floats(-0.1, 0.8))
def test_exact_data_give_the_lines_back(at: float, gain: float) -> None:
    fitted = found(lines(PLACES, at, gain))
    assert fitted.at.low <= at + 0.01
    assert fitted.at.high >= at - 0.01
    assert fitted.gain.value == pytest.approx(gain, abs=0.01)


def test_a_straight_line_has_no_kink() -> None:
    fitted = found(lines(PLACES, 100.0, 0.5), blocks=5, cv=0.03)
    assert not fitted.seen
    assert fitted.gain.low < 1.0 < fitted.gain.high


def test_a_curve_that_falls_has_a_negative_gain() -> None:
    assert found(lines(PLACES, 3.0, -0.2), blocks=5, cv=0.01).gain.high < 0.0


def test_a_bend_at_the_very_end_is_not_located() -> None:
    fitted = found(lines((1, 2, 3, 4, 5, 6), 5.2, 0.3), blocks=5, cv=0.02)
    assert not fitted.located


def test_too_few_points_give_nothing() -> None:
    assert kink(points_of({1.0: {1: 1.0}, 2.0: {1: 2.0}, 3.0: {1: 3.0}, 4.0: {1: 3.5}})) is None
    assert kink(points_of({})) is None


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("places", "at", "gain", "blocks", "cv"),
    [
        (PLACES, 2.0, 0.2, 5, 0.03),
        (PLACES, 2.5, 0.6, 5, 0.03),
        (tuple(range(1, 17)), 8.0, 0.6, 1, 0.03),
        ((1, 2, 4, 6, 8, 10, 12, 16), 8.0, 0.6, 6, 0.10),
    ],
)
def test_intervals_hold(places: tuple[int, ...], at: float, gain: float, blocks: int, cv: float) -> None:
    """95 % of 120 studies: fewer than 107 by chance alone would happen in one of three hundred."""
    inside_at = inside_gain = 0
    for seed in range(120):
        fitted = found(lines(places, at, gain), blocks, cv, seed)
        inside_at += fitted.at.low <= at <= fitted.at.high
        inside_gain += fitted.gain.low <= gain <= fitted.gain.high
    assert inside_at >= 107
    assert inside_gain >= 107
