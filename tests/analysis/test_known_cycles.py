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
from pgassay.analysis.known_cycles import repetition
from pgassay.analysis.steadiness import Steadiness, course
from pgassay.analysis.trial_course import NS, trial_course
from pgassay.bench.counters import Sample
from pgassay.lab.course import course_of

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
    assert course(series).kind is not Steadiness.CYCLIC, "the seconds alone cannot tell two cycles from a drift"
    found = course(series, STARTS)
    assert (found.kind, found.period_s, found.steady_from_s) == (Steadiness.CYCLIC, 32.0, None)
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
    assert course(series, STARTS).kind is course(series).kind


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
    assert course(sawtooth(), starts) == course(sawtooth())


def test_a_cycle_that_moves_next_to_nothing_leaves_a_trial_flat() -> None:
    assert course(1000.0 + 0.02 * (sawtooth() - 1000.0), STARTS).kind is Steadiness.FLAT


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


@pytest.mark.thorough
def test_false_alarms_and_power_are_as_is_said() -> None:
    assert [alarm for alarm in known_alarms(400, 11) if broken_alarm(alarm, 400)] == []
    assert [found for found in known_power(50, 11) if broken_known_power(found)] == []
