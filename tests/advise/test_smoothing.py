"""What a search saw, smoothed: neighbours tell of each other, one lucky trial is no winner, idle lines are seen."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve  # type: ignore[import-untyped]
from scipy.optimize import approx_fprime  # type: ignore[import-untyped]

from benchmarks.advise import LIMITS, Server, space_with
from pgassay.advise import smoothing
from pgassay.advise.smoothing import Fit, Gains, by_configuration, expected, hopeful, promising, smoothed, trimmed
from pgassay.advise.space import Configuration, index_of
from pgassay.advise.task import Compared, Values
from pgassay.advise.walk import walk
from tests.advise.test_walk import task

SPACE = space_with(6).narrowed(["s0", "s1", "s5"])
NOISE = 0.1
LEVELS = ("1", "2", "4", "8", "16")


def at(one: str, two: str = "1", word: str = "a") -> Configuration:
    return SPACE.start.with_values({"s0": one, "s1": two, "s5": word})


def truth(each: Configuration) -> float:
    """Rises along s0, has its top inside s1, and does not ask s5."""
    one, two = (index_of(SPACE.dimension(name).levels, each.values[name]) / 4 for name in ("s0", "s1"))
    return 0.4 * one + 0.3 * (1 - ((two - 0.5) / 0.5) ** 2)


Batch = list[tuple[Configuration, Gains | None]]


def batches(count: int, seed: int = 1) -> list[Batch]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        start = chance.gauss(0, NOISE)
        batch: Batch = []
        for _ in range(6):
            one, two = (chance.choice(["1", "2", "4", "8", "16"]) for _ in range(2))
            each = at(one, two, chance.choice("ab"))
            if each != SPACE.start:
                batch.append((each, (truth(each) + chance.gauss(0, NOISE) - start,)))
        found.append(batch)
    return found


def test_it_knows_more_than_the_best_sample() -> None:
    better = 0
    for seed in range(12):
        seen = batches(8, seed)
        samples = {each: gain for batch in seen for each, gain in batch if gain is not None}
        luckiest = max(samples, key=lambda each: samples[each])
        known = promising(expected(SPACE, seen), seen)
        chosen = max(known, key=lambda each: known[each])
        better += truth(chosen) >= truth(luckiest)
        assert abs(known[chosen][0] - truth(chosen)) < 3 * NOISE
    assert better >= 10


def test_the_noise_of_a_trial_and_the_start_that_a_batch_shares_are_told_apart() -> None:
    whole = expected(SPACE, batches(20))
    assert whole is not None
    (process,) = whole.processes
    assert 0.6 * NOISE < process.noise < 1.5 * NOISE
    assert process.gain(SPACE.start) == 0.0


def test_too_little_is_not_smoothed_and_a_gain_seen_once_is_half_luck() -> None:
    luck, sound, poor = (at(each) for each in ("2", "4", "8"))
    first, second = [(SPACE.start, 0.0), (luck, 0.3), (sound, 0.26)], [(sound, 0.26), (sound, 0.26), (poor, -0.1)]
    seen = [[(each, (gain,)) for each, gain in batch] for batch in (first, second)]
    assert expected(SPACE, seen) is None
    known = promising(None, seen)
    assert sorted(known, key=lambda each: -known[each][0]) == [sound, luck, SPACE.start, poor]


def test_what_ever_failed_is_not_promising() -> None:
    failed: list[Batch] = [[(at("16", "4"), None)], [(at("16", "4"), (5.0,))]]
    seen = [*batches(8), *failed]
    assert at("16", "4") not in promising(expected(SPACE, seen), seen)


def test_a_line_of_which_nothing_is_expected_goes_before_the_proof() -> None:
    seen = batches(20)
    process, measured = expected(SPACE, seen), by_configuration(seen)
    whole = at("16", "4", "b")
    assert trimmed(process, whole, LIMITS, measured, 0.04, 6) == at("16", "4")
    assert trimmed(process, whole, LIMITS, measured, 9.0, 6) in (at("16"), at("1", "4")), "one line stays"
    assert trimmed(process, whole, LIMITS, measured, 0.0, 1) in (at("16"), at("1", "4")), "no more than asked for"
    assert trimmed(None, whole, LIMITS, measured, 0.04, 6) == whole
    assert trimmed(process, whole, LIMITS, {at("2"): [None]}, 0.04, 6) == whole, "what works is not guessed"


def test_what_may_be_hoped_for_is_found_and_never_what_is_taken() -> None:
    process = expected(SPACE, batches(20))
    assert process is not None
    best = max((at(one, two, word) for one in LEVELS for two in LEVELS for word in "ab"), key=process.gains)
    found = hopeful(process, SPACE.start, LIMITS, [], 0.0)
    assert found is not None
    assert process.gains(found)[0] >= process.gains(best)[0] - 0.02
    other = hopeful(process, SPACE.start, LIMITS, [found], 0.0)
    assert other is not None
    assert other != found
    assert truth(other) > 0.4


def test_what_is_little_known_is_hoped_more_of() -> None:
    near = [[(at("2"), 0.1), (at("4"), 0.1), (at("8"), 0.1), (at("16"), 0.1)] for _ in range(4)]
    process = smoothed(SPACE, near)
    assert process is not None
    far, known = at("8", "16", "b"), at("8")
    plain = process.upper_estimates([far, known], 0.0)
    more = process.upper_estimates([far, known], 1.0)
    assert plain.tolist() == pytest.approx([process.gain(far), process.gain(known)])
    assert more[0] - plain[0] > more[1] - plain[1] > 0
    assert process.upper_estimates([SPACE.start], 2.0).tolist() == pytest.approx([0.0], abs=1e-6)


def test_a_point_of_a_front_keeps_what_the_screening_has_shown() -> None:
    seen = [[(each, gain and (*gain, -gain[0])) for each, gain in batch] for batch in batches(20)]
    process = expected(SPACE, seen)
    assert process is not None
    assert len(process.gains(SPACE.start)) == 2
    whole = at("16", "4", "b")
    assert trimmed(process, whole, LIMITS, {}, 0.04, 6) == at("16", "4")
    assert trimmed(process, whole, LIMITS, {}, 0.04, 6, keep={"s5"}) == whole


def test_the_fit_goes_down_the_gradient_of_what_it_minimises() -> None:
    chance = np.random.default_rng(1)
    points, gains = chance.random((12, 3)), chance.normal(size=12)
    together = np.eye(12) + (np.arange(12)[:, None] // 6 == np.arange(12)[None, :] // 6)
    fit = Fit(points, gains, together, points[0])
    for parameters in (np.array([-1.0, -2.0, 0.5, 0.1, -0.4]), np.array([0.4, -0.5, 2.0, 1.0, 0.0])):
        found = fit.cost(parameters)[1]
        assert found == pytest.approx(approx_fprime(parameters, lambda at: fit.cost(at)[0], 1e-7), rel=1e-4, abs=1e-4)


class Followed(Server):
    """Keeps what is asked of it; `last_bits` is how many of the last bits of its values differ."""

    last_bits = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path: list[tuple[str, tuple[Configuration, ...]]] = []

    def measure(self, configuration: Configuration, common: float = 0.0) -> float | None:
        """One trial."""
        found = super().measure(configuration, common)
        return found and float(jittered(np.array(found), self.last_bits, self.trials))

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each."""
        self.path.append((name, (start, *configurations)))
        return super().batch(name, start, configurations, seed)

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """Blocks of all."""
        self.path.append((name, (baseline, *arms)))
        return super().study(name, baseline, arms, seed, budget_s)


def jittered(values: Any, last_bits: int, seed: int) -> Any:
    """The values, some of them so many units in the last place away."""
    steps = np.random.default_rng(seed).integers(-last_bits, last_bits + 1, np.shape(values))
    return values * (1 + steps * np.finfo(float).eps)


@pytest.mark.parametrize("seed", range(2))
def test_what_a_search_tries_does_not_hang_on_a_processors_last_bits(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    here, there = (Followed(space_with(10), 0.05, 60 + seed) for _ in range(2))
    walk(task(here), here)
    there.last_bits = 4
    monkeypatch.setattr(smoothing, "cho_factor", lambda a, **how: cho_factor(jittered(a, 4, 1), **how))
    monkeypatch.setattr(smoothing, "cho_solve", lambda factor, b: jittered(cho_solve(factor, b), 4, 2))
    walk(task(there), there)
    assert there.path == here.path
