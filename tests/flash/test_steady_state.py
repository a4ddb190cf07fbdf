"""When write amplification is steady and how well its mean is known: planted waves, drift, noise, and a drive."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay import flash
from pgassay._core import flash_is_steady as is_steady
from pgassay.flash.simulation import Windows, estimate

STRETCH = 10.0
"""Windows of a drive write."""
TOLERANCE = 0.01
COLD_IN_WAVES = {
    "drive": {"user_bytes": "64MB", "over_provisioning": "28%", "pages_per_block": 32, "policy": "fifo"},
    "input": {"pattern": "hot-cold", "hot_blocks": "5%", "hot_writes": "95%"},
}
TRUE = 3.784
"""Write amplification of that drive, from 600 drive writes."""


def waves(count: int, wave: float, height: float) -> Windows:
    """A mean of 4 with waves of a height."""
    windows: Windows = 4 + height * np.sin(2 * math.pi * np.arange(count) / wave)
    return windows


def noise(count: int, spread: float, seed: int) -> Windows:
    return 4 + spread * np.random.default_rng(seed).standard_normal(count)


def test_waves_of_cold_data_are_waited_for() -> None:
    found = flash.simulate(COLD_IN_WAVES)
    last = [one.write_amplification for one in found.windows if one.phase == "ageing"][-20:]
    assert found.settled
    assert max(last) - min(last) < 0.25 * TRUE, "at two drive writes it swings between 1.3 and 8.5"
    assert found.write_amplification == pytest.approx(TRUE, rel=0.005)
    assert found.accuracy_reached
    assert found.write_amplification_interval is not None
    low, high = found.write_amplification_interval
    assert low < TRUE < high
    assert (low + high) / 2 == pytest.approx(found.write_amplification), "one estimate"
    assert (high - low) / 2 <= 0.005 * TRUE


def test_the_limit_of_writes_is_no_steady_state() -> None:
    found = flash.simulate({**COLD_IN_WAVES, "run": {"limit": 5}})
    assert found.settled is False
    assert found.accuracy_reached is False
    assert found.windows[-1].drive_writes == pytest.approx(10, abs=0.2)


def test_a_better_accuracy_takes_more_writes() -> None:
    rough = flash.simulate({**COLD_IN_WAVES, "run": {"accuracy": "2%"}})
    fine = flash.simulate({**COLD_IN_WAVES, "run": {"accuracy": "0.1%"}})
    assert fine.measured["host_bytes_written"] > 2 * rough.measured["host_bytes_written"]
    assert fine.write_amplification == pytest.approx(TRUE, rel=0.002)


def test_a_fresh_drive_has_no_interval() -> None:
    found = flash.simulate({**COLD_IN_WAVES, "run": {"ageing": "none", "drive_writes": 3}})
    assert (found.settled, found.write_amplification_interval, found.accuracy_reached) == (None, None, None)
    assert found.windows[-1].drive_writes == pytest.approx(3, abs=0.01)


@pytest.mark.parametrize("wave", [2.7, 3.4, 5.0, 9.3])
def test_even_waves_are_steady_on_the_whole(wave: float) -> None:
    assert is_steady(waves(600, wave, height=0.5), wave, STRETCH, TOLERANCE)
    found = estimate(waves(600, wave, height=0.5), wave)
    assert found is not None
    assert found.low <= 4 <= found.high
    assert found.reaches(0.005)


def test_waves_longer_than_the_span_are_not() -> None:
    assert not is_steady(waves(60, wave=60, height=2), 3, STRETCH, TOLERANCE)
    found = estimate(waves(400, wave=400, height=2), 3)
    assert found is not None
    assert not found.independent
    assert not found.reaches(0.9)


@pytest.mark.parametrize("change", [0.05, -0.05])
def test_drift_is_not_steady(change: float) -> None:
    drift = 4 * np.linspace(1, 1 + change, 300)
    assert not is_steady(drift, 3, STRETCH, TOLERANCE)
    assert not is_steady(drift + noise(300, 0.02, seed=1) - 4, 3, STRETCH, TOLERANCE)
    found = estimate(drift, 3)
    assert found is not None
    assert not found.reaches(0.005)


def test_what_fades_away_is_steady_in_the_end() -> None:
    fading = 4 - 2 * np.exp(-np.arange(400) / 20)
    assert not is_steady(fading[:60], 3, STRETCH, TOLERANCE)
    assert is_steady(fading, 3, STRETCH, TOLERANCE)
    assert not is_steady(fading, 3, 200, TOLERANCE), "the cold data have not come round"


def test_noise_that_would_hide_a_drift_is_no_proof() -> None:
    assert is_steady(noise(300, 0.02, seed=2), 1, STRETCH, TOLERANCE)
    assert not is_steady(noise(300, 2.0, seed=2), 1, STRETCH, TOLERANCE)


def test_too_few_waves_are_unknown() -> None:
    assert estimate(waves(39, 4, height=1), 4) is None
    assert estimate(waves(40, 4, height=1), 4) is not None
    assert not is_steady(np.full(35, 4.0), 4, STRETCH, TOLERANCE)
    assert is_steady(np.full(36, 4.0), 4, STRETCH, TOLERANCE)
    assert estimate(np.full(100, 4.0), math.inf) is None, "nothing is programmed"
    assert not is_steady(np.full(100, 4.0), math.inf, STRETCH, TOLERANCE)


def test_by_hand() -> None:
    """Ten batches of 1 and 3 in turn: the mean is 2, the standard error √(10/9/10) = 1/3, t(9) = 2.2622."""
    found = estimate(np.tile([1.0, 3.0], 5), 1)
    assert found is not None
    assert (found.mean, found.independent) == (2, True)
    assert (found.low, found.high) == pytest.approx((2 - 2.2622 / 3, 2 + 2.2622 / 3), abs=1e-4)


def test_intervals_hold_as_often_as_they_say() -> None:
    held = [
        found.low <= 4 <= found.high
        for seed in range(1000)
        if (found := estimate(noise(200, 0.4, seed), 3)) is not None
    ]
    assert 0.93 <= sum(held) / 1000 <= 0.97


@given(st.integers(36, 400), st.floats(0.01, 10), st.floats(0.01, 100), st.integers(0, 99))
def test_neither_depends_on_the_unit(count: int, wave: float, factor: float, seed: int) -> None:
    windows = noise(count, 0.1, seed)
    one, other = estimate(windows, wave), estimate(factor * windows, wave)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert (other.low, other.high) == pytest.approx((factor * one.low, factor * one.high))
        assert one.low <= one.mean <= one.high
        assert one.mean == pytest.approx(windows.mean()), "no window is left out of the mean"
    steady = is_steady(windows, wave, STRETCH, TOLERANCE)
    assert is_steady(factor * windows, wave, STRETCH, 0.9999 * TOLERANCE) <= steady
