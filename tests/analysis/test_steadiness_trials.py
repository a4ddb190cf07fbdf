"""One trial at a time and all at once give the same; gaps are missing seconds, not shorter trials."""

import numpy as np
import pytest

from pgassay.analysis.seconds import NS, UNKNOWN, Steadiness, courses_of_samples, trial_course

CHANCE = np.random.default_rng(8)
FLAT = 1000.0 + CHANCE.normal(0.0, 5.0, 60)
WARMING = FLAT * np.where(np.arange(60) < 15, 0.7, 1.0)
SHORT = FLAT[:12]


def _moments(seconds: int) -> list[int]:
    return [5 * NS + second * NS + (second % 3) * 10**6 for second in range(seconds)]


def test_a_flat_and_a_warming_trial() -> None:
    flat = trial_course(_moments(60), FLAT.tolist())
    assert flat.kind is Steadiness.FLAT
    assert flat.truncation_s is not None
    assert flat.error == pytest.approx(5.0 / 60**0.5, rel=0.6)
    warming = trial_course(_moments(60), WARMING.tolist())
    assert (warming.kind, warming.truncation_s) == (Steadiness.WARMING, 15.0)
    assert trial_course(_moments(12), SHORT.tolist()).kind is Steadiness.UNKNOWN
    assert trial_course([], []) == UNKNOWN


def test_many_at_once_are_as_one_by_one() -> None:
    trials = {3: FLAT, 7: SHORT, 9: WARMING, 12: FLAT[::-1]}
    numbers = np.concatenate([np.full(len(each), number) for number, each in trials.items()])
    moments = np.concatenate([_moments(len(each)) for each in trials.values()])
    found = courses_of_samples(numbers, moments, np.concatenate(list(trials.values())))
    assert found == {number: trial_course(_moments(len(each)), each.tolist()) for number, each in trials.items()}
    assert courses_of_samples([], np.zeros(0), np.zeros(0)) == {}


def test_seconds_without_a_sample_are_missing() -> None:
    kept = [second for second in range(60) if second % 3]
    moments, values = [_moments(60)[second] for second in kept], [float(FLAT[second]) for second in kept]
    assert trial_course(moments, values).kind is Steadiness.UNKNOWN, "a third is missing"
    assert (
        trial_course(_moments(60), [None if second == 30 else 1000.0 for second in range(60)]).kind is Steadiness.FLAT
    )
