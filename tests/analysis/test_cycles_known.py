"""Cycles whose beginnings are known: two of them are enough, and noise that knows nothing of them is left alone."""

from typing import Any

import numpy as np
import pytest

from benchmarks.validity.steadiness import (
    broken_alarm,
    broken_known_power,
    dips_and_starts,
    known_alarms,
    known_power,
    regular,
    repeats,
    steady,
)
from pgassay.analysis.seconds import NS, Steadiness, classify, repetition, trial_course
from pgassay.interfaces.probe import Sample
from pgassay.lab.regime import course_of

S = np.arange(66)
STARTS = (26.6, 58.6)


def sawtooth(noise: float = 0.0, starts: tuple[float, ...] = STARTS, seed: int = 1) -> np.ndarray:
    """A third less right after each beginning, recovering within ten seconds; the first one lies before the window."""
    dips = sum(
        np.where(start <= S, 300.0 * np.exp(-np.maximum(S - start, 0.0) / 10.0), 0.0)
        for start in (starts[0] - 32.0, *starts)
    )
    return np.asarray(1000.0 - dips + np.random.default_rng(seed).normal(0.0, noise, len(S)))


def test_two_cycles_are_enough_where_it_is_known_when_they_began() -> None:
    series = sawtooth(30.0)
    assert classify(series).kind is not Steadiness.CYCLIC, "the seconds alone cannot tell two cycles from a drift"
    found = classify(series, STARTS)
    assert (found.kind, found.period_s) == (Steadiness.CYCLIC, 32.0)
    known = repetition(series, STARTS)
    assert known is not None
    assert known.chance < 0.005
    assert known.swing == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize(
    "series",
    [
        np.full(66, 1000.0),
        np.zeros(66),
        1000.0 + 5.0 * S,
        np.where(S < 30, 1000.0, 700.0),
        1000.0 - 500.0 * np.exp(-S / 10.0),
        np.where(S == 40, 0.0, 1000.0),
    ],
    ids=["constant", "nothing", "drift", "step", "warm-up", "stall"],
)
def test_what_does_not_repeat_itself_is_not_cyclic_for_all_its_checkpoints(series: np.ndarray) -> None:
    assert classify(series, STARTS).kind is classify(series).kind


def test_unequal_cycles_are_stretched() -> None:
    rng = np.random.default_rng(4)
    series, starts = dips_and_starts(rng, 20, 240, 17.0, 0.3, 0.5, 0.05)
    assert repeats(series, starts).mean() > 0.9
    found = repetition(series[0], starts[0])
    assert found is not None
    assert found.period_s == pytest.approx(17.0, rel=0.05)


@pytest.mark.parametrize("starts", [(), (10.0,), (10.0, 12.0), (5.0, 60.0), (-3.0, 70.0), (10.0, 10.0)])
def test_less_than_two_whole_cycles_and_cycles_without_a_shape_tell_nothing(starts: tuple[float, ...]) -> None:
    assert repetition(sawtooth(), starts) is None
    assert classify(sawtooth(), starts) == classify(sawtooth())


def test_a_cycle_that_moves_next_to_nothing_leaves_a_trial_flat() -> None:
    assert classify(1000.0 + 0.02 * (sawtooth() - 1000.0), STARTS).kind is Steadiness.FLAT


def test_the_lab_takes_the_moments_from_the_counters() -> None:
    def sample(second: float, source: str, name: str, value: float) -> Sample:
        moment = round((100.0 + second) * NS)
        return Sample(moment, moment, source, name, "1/s", value)

    tps = [sample(second + 1.0, "pgbench", "tps", value) for second, value in enumerate(sawtooth(30.0).tolist())]
    asked = [sample(second, "checkpoints", "checkpoints_requested", 1.0) for second in range(-5, 67)]
    timed = [
        sample(second, "checkpoints", "checkpoints_timed", 1.0 + sum(start <= second for start in STARTS))
        for second in range(-5, 67)
    ]
    counted = [*asked, *timed]
    warm_up: list[Any] = [sample(second, "pgbench_warmup", "tps", 10.0) for second in range(-5, 1)]
    found = course_of([*warm_up, *tps, *counted])
    assert (found["steadiness"], found["cycle_s"]) == ("cyclic", 32.0)
    assert course_of([*warm_up, *tps])["steadiness"] != "cyclic"
    assert course_of(counted) == {}


def test_a_trial_is_judged_by_the_clock_of_its_samples() -> None:
    ends = [(7 + second) * NS for second in range(66)]
    starts = [6 * NS + round(start * NS) for start in STARTS]
    assert trial_course(ends, sawtooth(30.0).tolist(), starts).kind is Steadiness.CYCLIC


def test_false_alarms_are_few() -> None:
    rng = np.random.default_rng(7)
    shares = {kind: repeats(series, regular(rng, 300, 66, 2)).mean() for kind, series in steady(rng, 300, 66)}
    assert max(shares.values()) <= 0.045, shares
    assert np.mean(list(shares.values())) <= 0.02


# 200 real seconds of simple-update (1/s): checkpoints by WAL every 26 to 40 s (counted at the moments below), and
# others who kept 20 processes runnable on two processors. Its levels came back after 80 s, as chance will have it.
BESIDE_NEIGHBOURS = [
    365, 926, 708, 673, 679, 857, 846, 846, 785, 733, 947, 995, 1280, 869, 846, 830, 928, 779, 694, 567, 681, 775,
    646, 642, 644, 637, 717, 653, 650, 698, 612, 585, 601, 1025, 594, 558, 728, 727, 708, 883, 884, 702, 849, 847,
    783, 874, 666, 741, 601, 699, 732, 766, 1071, 985, 612, 656, 978, 889, 931, 554, 647, 914, 787, 563, 882, 591,
    767, 989, 715, 1265, 909, 1093, 661, 939, 1422, 1368, 1280, 733, 589, 848, 1152, 489, 504, 764, 829, 796, 959,
    817, 829, 647, 2168, 968, 1034, 589, 612, 619, 484, 637, 707, 760, 709, 677, 566, 563, 458, 374, 494, 594, 553,
    552, 474, 534, 801, 612, 587, 598, 682, 587, 581, 572, 638, 429, 495, 531, 507, 756, 568, 626, 525, 475, 626,
    521, 466, 511, 461, 445, 520, 480, 516, 437, 445, 486, 532, 485, 419, 467, 617, 498, 430, 1361, 2227, 845, 725,
    632, 619, 617, 508, 591, 762, 710, 620, 468, 702, 939, 498, 556, 939, 758, 491, 527, 850, 515, 437, 505, 764,
    529, 773, 533, 555, 786, 304, 764, 779, 526, 608, 672, 568, 438, 424, 585, 640, 564, 525, 484, 380, 584, 549,
    470, 426, 412,
]  # fmt: skip
COUNTED_S = (16.8, 51.8, 77.7, 111.7, 151.7, 190.7)


def test_real_levels_that_come_back_are_no_cycles() -> None:
    series = np.asarray(BESIDE_NEIGHBOURS, dtype=np.float64)
    assert classify(series).kind is Steadiness.SLOWING, "from 760 and 910 to 600 from second 95 on"
    assert classify(series, COUNTED_S).kind is Steadiness.SLOWING
    known = repetition(series, COUNTED_S)
    assert known is not None
    assert known.period_s == pytest.approx(34.8, abs=0.1), "five whole cycles, none of which stands out of that noise"
    assert known.chance > 0.1


# Full-page images of 100 transactions in 200 other real seconds of the same study: each checkpoint begins them anew.
IMAGES = [
    22, 64, 46, 40, 12, 16, 10, 8, 3, 6, 2, 2, 1, 1, 0, 1, 0, 10, 56, 34, 61, 29, 17, 13, 10, 5, 5, 3, 3, 2, 1, 1, 1,
    0, 20, 73, 59, 25, 25, 20, 11, 5, 8, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0, 1, 44, 52, 103, 35, 47, 27, 13, 12, 11, 4, 7,
    2, 3, 2, 2, 1, 1, 0, 0, 0, 1, 8, 40, 68, 63, 33, 37, 15, 14, 7, 6, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 16, 51, 66,
    52, 40, 37, 21, 15, 16, 6, 6, 5, 3, 3, 2, 1, 1, 1, 1, 1, 0, 0, 0, 21, 76, 54, 47, 42, 30, 24, 17, 17, 14, 10, 6,
    5, 6, 5, 6, 3, 4, 2, 2, 2, 2, 2, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 4, 37, 76, 73, 59, 45, 38, 38, 42, 20, 18,
    17, 11, 13, 7, 6, 6, 6, 5, 3, 4, 4, 3, 2, 2, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 20, 59, 70, 50, 82, 29, 42, 32,
    25,
]  # fmt: skip
BEGUN_S = (18.7, 34.7, 54.7, 76.7, 97.7, 120.7, 155.7, 191.7)


def test_real_cycles_of_unequal_length_are_found_by_their_beginnings_only() -> None:
    """Cycles by WAL of 16 to 36 s: no single period, for which a search among periods could look."""
    series = np.asarray(IMAGES, dtype=np.float64)
    assert classify(series).kind is not Steadiness.CYCLIC
    found = classify(series, BEGUN_S)
    assert found.kind is Steadiness.CYCLIC
    assert found.period_s == pytest.approx(24.7, abs=0.1)
    two = classify(series[:77], BEGUN_S[:3])
    assert two.kind is Steadiness.CYCLIC, "three of them are enough"
    late = [start + 1.5 for start in BEGUN_S]
    assert classify(series, late).kind is Steadiness.CYCLIC, "counted up to two seconds late"


@pytest.mark.parametrize("kind", ["two memories", "walk"])
def test_slow_noise_beside_white_noise_is_not_called_cyclic(kind: str) -> None:
    """Of a walk 4.3 % were, and of two memories 2.7 %: what lies below the first harmonic is higher, above it lower."""
    rng, trials = np.random.default_rng(7), 2000
    series = dict(steady(rng, trials, 900))[kind]
    share = float(repeats(series, regular(rng, trials, 900, 3)).mean())
    assert share <= 0.02 + 2 * 0.003, "at most 2 %, and two standard errors"


@pytest.mark.thorough
def test_false_alarms_and_power_are_as_is_said() -> None:
    assert [alarm for alarm in known_alarms(400, 11) if broken_alarm(alarm, 400)] == []
    assert [found for found in known_power(50, 11) if broken_known_power(found)] == []
