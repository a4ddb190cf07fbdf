"""The Universal Scalability Law: exact on exact data, a peak by hand, intervals that hold, honest without a peak."""

from math import exp, inf, sqrt

import numpy as np
import pytest

from pgassay.analysis.curves import Scalability, points_of, scalability

PLACES = (1, 2, 4, 6, 8, 12, 16)


def law(places: tuple[int, ...], sigma: float, kappa: float) -> dict[float, float]:
    return {float(n): 1000.0 * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) for n in places}


def found(curve: dict[float, float], blocks: int = 1, cv: float = 0.0, seed: int = 1) -> Scalability:
    rng = np.random.default_rng(seed)
    effect = rng.normal(0.0, 0.2, blocks) if blocks > 1 else [0.0]
    seen = scalability(
        points_of(
            {
                place: {block: value * exp(effect[block] + rng.normal(0.0, cv)) for block in range(blocks)}
                for place, value in curve.items()
            }
        )
    )
    assert seen is not None
    return seen


def test_by_hand() -> None:
    """sigma 0.04, kappa 0.006: the peak lies at sqrt(0.96 / 0.006) = 12.65 clients, 12 650 / 2.35 = 5383 there."""
    fitted = found(law(PLACES, 0.04, 0.006))
    assert fitted.contention.value == pytest.approx(0.04, abs=0.001)
    assert fitted.coherency.value == pytest.approx(0.006, rel=0.01)
    assert fitted.peak_clients.value == pytest.approx(12.65, abs=0.05)
    assert fitted.peak.value == pytest.approx(5383.0, rel=0.005)
    assert fitted.peak_seen
    assert fitted.value(np.asarray([1.0])) == pytest.approx([1000.0], rel=0.005)


def test_without_coherency_there_is_no_peak_but_a_ceiling() -> None:
    fitted = found(law(PLACES, 0.1, 0.0))
    assert fitted.coherency.low == 0.0
    assert fitted.peak_clients.high == inf
    assert not fitted.peak_seen
    assert fitted.peak.value == pytest.approx(1000.0 / 0.1, rel=0.05)


def test_a_straight_line_has_no_limit() -> None:
    fitted = found({place: 1000.0 * place for place in (1.0, 2.0, 4.0, 8.0, 16.0)})
    assert fitted.contention.value == pytest.approx(0.0, abs=1e-6)
    assert fitted.peak.high == inf


def test_the_band_holds_the_curve_and_widens_beyond_what_was_measured() -> None:
    fitted = found(law(PLACES, 0.04, 0.006), blocks=5, cv=0.03)
    places = np.asarray([4.0, 16.0, 64.0])
    low, high = fitted.band(places)
    assert np.all(low <= fitted.value(places))
    assert np.all(fitted.value(places) <= high)
    assert high[2] / low[2] > high[0] / low[0]


def test_too_few_points_give_nothing() -> None:
    assert scalability(points_of({1.0: {1: 1.0}, 2.0: {1: 2.0}})) is None


@pytest.mark.thorough
@pytest.mark.parametrize(("sigma", "kappa", "blocks"), [(0.1, 0.02, 5), (0.03, 0.001, 5), (0.05, 0.005, 1)])
def test_intervals_hold(sigma: float, kappa: float, blocks: int) -> None:
    """95 % of 120 studies: fewer than 107 by chance alone would happen in one of three hundred."""
    inside = np.zeros(4)
    truth = law((5,), sigma, kappa)[5.0]
    peak = sqrt((1 - sigma) / kappa)
    for seed in range(120):
        fitted = found(law(PLACES, sigma, kappa), blocks, 0.03, seed)
        low, high = fitted.band(np.asarray([5.0]))
        inside += [
            fitted.contention.low <= sigma <= fitted.contention.high,
            fitted.coherency.low <= kappa <= fitted.coherency.high,
            fitted.peak_clients.low <= peak <= fitted.peak_clients.high,
            blocks > 1 or low[0] <= truth <= high[0],  # with blocks the level is that of these blocks
        ]
    assert inside.min() >= 107, inside
