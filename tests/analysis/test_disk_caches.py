"""Signs of a cache beneath the guest: planted ones are named with their numbers, a drive by itself shows none."""

import numpy as np
import pytest

from pgassay.analysis.disk_caches import reread, too_fast


def test_flash_answers_are_not_suspected() -> None:
    assert too_fast([0.085, 0.090, 0.082]) is None
    assert too_fast([]) is None
    assert too_fast([float("nan"), 0.0]) is None


def test_memory_answers_sooner_than_flash_can() -> None:
    sign = too_fast([0.012, 0.011, 0.200])
    assert sign is not None
    assert (sign.code, "12 µs" in sign.text) == ("too_fast", True)


def test_a_region_that_gets_faster_is_cached() -> None:
    sign = reread([4.0, 4.4, 3.8, 4.1])
    assert sign is not None
    assert sign.code == "reread"
    assert "4.1 times as fast" in sign.text


@pytest.mark.parametrize("speedups", [[1.02, 0.99, 1.0], [1.5], [], [1.1, 3.0], [float("nan"), 4.0]])
def test_noise_one_trial_and_a_wide_interval_are_no_sign(speedups: list[float]) -> None:
    assert reread(speedups) is None


def test_a_drive_without_a_cache_is_seldom_suspected() -> None:
    rng = np.random.default_rng(2)
    suspected = sum(reread(np.exp(rng.normal(0.0, 0.1, 5)).tolist()) is not None for _ in range(500))
    assert suspected == 0
