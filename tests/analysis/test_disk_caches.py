"""Signs of a cache: planted ones are found with their numbers, a drive by itself, stalls and recoveries show none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.disk_caches import cliff, reread, too_fast


def test_flash_answers_are_not_suspected() -> None:
    assert not too_fast([0.085, 0.090, 0.082])
    assert not too_fast([])
    assert not too_fast([float("nan"), 0.0])


def test_memory_answers_sooner_than_flash_can() -> None:
    assert "12 µs" in too_fast([0.012, 0.011, 0.200])


def test_a_region_that_gets_faster_is_cached() -> None:
    assert "4.1 times as fast" in reread([4.0, 4.4, 3.8, 4.1])


@pytest.mark.parametrize("speedups", [[1.02, 0.99, 1.0], [1.5], [], [1.1, 3.0], [float("nan"), 4.0]])
def test_noise_one_trial_and_a_wide_interval_are_no_sign(speedups: list[float]) -> None:
    assert not reread(speedups)


def test_a_drive_without_a_cache_is_seldom_suspected() -> None:
    rng = np.random.default_rng(2)
    suspected = sum(reread(np.exp(rng.normal(0.0, 0.1, 5)).tolist()) != "" for _ in range(500))
    assert suspected == 0


FAST, SLOW = 2.0e9, 0.4e9


def series(*levels: tuple[float, int], cv: float = 0.03, seed: int = 1) -> list[float]:
    rng = np.random.default_rng(seed)
    return [level * float(np.exp(rng.normal(0.0, cv))) for level, seconds in levels for _ in range(seconds)]


@settings(max_examples=25)
@given(st.integers(3, 60), st.integers(4, 60), st.integers(0, 1000))
def test_a_planted_cliff_is_found_within_a_second(before: int, after: int, seed: int) -> None:
    found = cliff(series((FAST, before), (SLOW, after), seed=seed) if before + after >= 8 else series((FAST, 8)))
    if before + after < 8:
        assert found is None
        return
    assert found is not None
    assert found.after_bytes == pytest.approx(FAST * before, rel=0.1)
    assert found.after == pytest.approx(SLOW, rel=0.1)
    assert "SLC cache" in found.text


def test_steady_writing_has_none() -> None:
    assert sum(cliff(series((FAST, 60), cv=0.1, seed=seed)) is not None for seed in range(100)) == 0


def test_a_stall_that_passes_is_none() -> None:
    assert cliff(series((FAST, 20), (SLOW, 5), (FAST, 20))) is None


def test_a_small_fall_is_none() -> None:
    assert cliff(series((FAST, 20), (FAST * 0.85, 20))) is None


def test_too_short_or_missing_seconds_tell_nothing() -> None:
    assert cliff(series((FAST, 3), (SLOW, 4))) is None
    assert cliff([*series((FAST, 20), (SLOW, 20)), float("nan")]) is None
    assert cliff([0.0] * 20) is None


def test_two_steps_name_the_deeper() -> None:
    found = cliff(series((FAST, 20), (FAST * 0.6, 20), (FAST * 0.1, 20)))
    assert found is not None
    assert found.after == pytest.approx(FAST * 0.1, rel=0.1)
