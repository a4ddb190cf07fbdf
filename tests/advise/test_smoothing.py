"""What a search saw, smoothed: neighbours tell of each other, one lucky trial is no winner, idle lines are seen."""

import random

import pytest

from benchmarks.advise import LIMITS, space_with
from pgassay.advise import front
from pgassay.advise.smoothing import by_configuration, hopeful, promising, smoothed, trimmed
from pgassay.advise.space import Configuration, index_of

SPACE = space_with(6).narrowed(["s0", "s1", "s5"])
NOISE = 0.1
LEVELS = ("1", "2", "4", "8", "16")


def at(one: str, two: str = "1", word: str = "a") -> Configuration:
    return SPACE.start.with_values({"s0": one, "s1": two, "s5": word})


def truth(each: Configuration) -> float:
    """Rises along s0, has its top inside s1, and does not ask s5."""
    one, two = (index_of(SPACE.dimension(name).levels, each.values[name]) / 4 for name in ("s0", "s1"))
    return 0.4 * one + 0.3 * (1 - ((two - 0.5) / 0.5) ** 2)


def batches(count: int, seed: int = 1) -> list[list[tuple[Configuration, float | None]]]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        start = chance.gauss(0, NOISE)
        batch: list[tuple[Configuration, float | None]] = []
        for _ in range(6):
            one, two = (chance.choice(["1", "2", "4", "8", "16"]) for _ in range(2))
            each = at(one, two, chance.choice("ab"))
            if each != SPACE.start:
                batch.append((each, truth(each) + chance.gauss(0, NOISE) - start))
        found.append(batch)
    return found


def test_it_knows_more_than_the_best_sample() -> None:
    better = 0
    for seed in range(12):
        seen = batches(8, seed)
        samples = {each: gain for batch in seen for each, gain in batch if gain is not None}
        luckiest = max(samples, key=lambda each: samples[each])
        chosen, expected = promising(smoothed(SPACE, seen), seen)[0]
        better += truth(chosen) >= truth(luckiest)
        assert abs(expected - truth(chosen)) < 3 * NOISE
    assert better >= 10


def test_the_noise_of_a_trial_and_the_start_that_a_batch_shares_are_told_apart() -> None:
    process = smoothed(SPACE, batches(20))
    assert process is not None
    assert 0.6 * NOISE < process.noise < 1.5 * NOISE
    assert process.gain(SPACE.start) == 0.0


def test_too_little_is_not_smoothed_and_a_gain_seen_once_is_half_luck() -> None:
    luck, sound, poor = (at(each) for each in ("2", "4", "8"))
    seen = [[(SPACE.start, 0.0), (luck, 0.3), (sound, 0.26)], [(sound, 0.26), (sound, 0.26), (poor, -0.1)]]
    assert smoothed(SPACE, seen) is None
    assert [each for each, _ in promising(smoothed(SPACE, seen), seen)] == [sound, luck, SPACE.start, poor]


def test_what_ever_failed_is_not_promising() -> None:
    failed: list[list[tuple[Configuration, float | None]]] = [[(at("16", "4"), None)], [(at("16", "4"), 5.0)]]
    seen = [*batches(8), *failed]
    assert at("16", "4") not in [each for each, _ in promising(smoothed(SPACE, seen), seen)]


def test_a_line_of_which_nothing_is_expected_goes_before_the_proof() -> None:
    seen = batches(20)
    process, measured = smoothed(SPACE, seen), by_configuration(seen)
    whole = at("16", "4", "b")
    assert trimmed(process, whole, LIMITS, measured, 0.04, 6) == at("16", "4")
    assert trimmed(process, whole, LIMITS, measured, 9.0, 6) in (at("16"), at("1", "4")), "one line stays"
    assert trimmed(process, whole, LIMITS, measured, 0.0, 1) in (at("16"), at("1", "4")), "no more than asked for"
    assert trimmed(None, whole, LIMITS, measured, 0.04, 6) == whole
    assert trimmed(process, whole, LIMITS, {at("2"): [None]}, 0.04, 6) == whole, "what works is not guessed"


def test_what_may_be_hoped_for_is_found_and_never_what_is_taken() -> None:
    process = smoothed(SPACE, batches(20))
    assert process is not None
    best = max((at(one, two, word) for one in LEVELS for two in LEVELS for word in "ab"), key=process.gain)
    found = hopeful(process, SPACE.start, LIMITS, [], 0.0)
    assert found is not None
    assert process.gain(found) >= process.gain(best) - 0.02
    other = hopeful(process, SPACE.start, LIMITS, [found], 0.0)
    assert other is not None
    assert other != found
    assert truth(other) > 0.4


def test_what_is_little_known_is_hoped_more_of() -> None:
    near = [[(at("2"), 0.1), (at("4"), 0.1), (at("8"), 0.1), (at("16"), 0.1)] for _ in range(4)]
    process = smoothed(SPACE, near)
    assert process is not None
    far, known = at("8", "16", "b"), at("8")
    plain = process.hopes([far, known], 0.0)
    more = process.hopes([far, known], 1.0)
    assert plain.tolist() == pytest.approx([process.gain(far), process.gain(known)])
    assert more[0] - plain[0] > more[1] - plain[1] > 0
    assert process.hopes([SPACE.start], 2.0).tolist() == pytest.approx([0.0], abs=1e-6)


def test_a_point_of_a_front_keeps_what_the_screening_has_shown() -> None:
    seen = [[(each, None if gain is None else (gain, -gain)) for each, gain in batch] for batch in batches(20)]
    process = front.expected(SPACE, [], seen, 2)
    assert process is not None
    whole = at("16", "4", "b")
    assert process.trimmed(whole, LIMITS, [], 0.04, False) == at("16", "4")
    assert process.trimmed(whole, LIMITS, [], 0.04, False, keep={"s5"}) == whole
