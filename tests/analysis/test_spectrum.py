"""A machine's wandering by length of time: what is planted is found, and slices are as long as that asks for."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, sqrt

import numpy as np
import pytest

from pgassay.analysis.alternation import (
    BLOCKS_MIN,
    REPEATED_MAX,
    SliceRow,
    blocks_as_narrow,
    one_after_the_other,
    spectrum,
    turns_of,
)
from pgassay.analysis.slice_length import SLICES_S, USUAL_SLICE_S, Deviation, deviation_at, slice_for

ARMS = ("a", "b")
PARTS = 10


def simulated(
    seed: int,
    *,
    blocks: int = 4,
    rounds: int = 20,
    white: float = 0.0,
    walk: float = 0.0,
    block: float = 0.0,
    instance: float = 0.0,
    effect: float = 0.0,
) -> list[SliceRow]:
    """Slices of a second in tenths, with these deviations of the logarithm: of each tenth by itself, of each step of a
    walk from tenth to tenth, of a block for all, of a server's start; `effect` is b's."""
    chance = np.random.default_rng(seed)
    rows = []
    for number in range(1, blocks + 1):
        level, common = 0.0, chance.normal(0.0, block)
        starts = dict(zip(ARMS, chance.normal(0.0, instance, 2), strict=True))
        for round_ in range(1, rounds + 1):
            for position, arm in enumerate(ARMS if round_ % 2 else reversed(ARMS), start=1):
                parts = []
                for _ in range(PARTS):
                    level += chance.normal(0.0, walk)
                    own = starts[arm] + (effect if arm == "b" else 0.0) + chance.normal(0.0, white)
                    parts.append(100.0 * exp(common + level + own))
                rows.append(SliceRow(number, round_, position, arm, sum(parts), 1.0, parts=tuple(parts)))
    return rows


def by_length(rows: Sequence[SliceRow]) -> dict[float, float]:
    return {round(each.length_s, 3): each.deviation for each in spectrum(rows)}


def test_white_noise_averages_out_with_length() -> None:
    found = by_length(simulated(1, white=0.05))
    assert found[0.1] == pytest.approx(0.05, rel=0.1)
    assert found[1.0] == pytest.approx(0.05 / sqrt(10), rel=0.25)
    assert found[5.0] < found[1.0] < found[0.5] < found[0.1]


def test_a_walk_grows_with_length() -> None:
    found = by_length(simulated(2, walk=0.01))
    assert found[0.1] < found[1.0] < found[5.0]


def test_what_arms_differ_in_is_no_noise() -> None:
    plain, changed = spectrum(simulated(3, white=0.02)), spectrum(simulated(3, white=0.02, effect=0.5))
    assert [each.deviation for each in changed] == pytest.approx([each.deviation for each in plain])
    assert [each.jumps for each in changed] == [each.jumps for each in plain]


def test_blocks_tell_what_lasts_longer() -> None:
    found = spectrum(simulated(4, blocks=60, rounds=2, white=0.01, block=0.1))
    assert found[-1].length_s == pytest.approx(4.0)
    assert found[-1].jumps == 59
    assert found[-1].deviation == pytest.approx(0.1, rel=0.25)
    few = spectrum(simulated(4, blocks=BLOCKS_MIN - 1, rounds=20, white=0.01, block=0.1))
    assert max(each.length_s for each in few) < 20.0, "two blocks are one difference"


def test_slices_without_parts_or_discarded_tell_nothing() -> None:
    rows = simulated(5, white=0.02)
    assert spectrum([]) == ()
    assert spectrum([replace(row, discarded="steal") for row in rows]) == ()
    assert [each.length_s for each in spectrum([replace(row, parts=()) for row in rows])] == [40.0]
    assert spectrum([replace(row, transactions=0.0) for row in rows]) == ()
    whole = by_length(rows)
    dead = by_length([row for row in rows if row.arm == "a" or row.block > 1 or row.round < 3])
    assert dead.keys() == whole.keys(), "one arm died in a block: the other one's slices still tell"


def test_a_length_between_two_is_interpolated_and_none_is_made_up_beyond() -> None:
    found = (Deviation(0.1, 0.4, 9), Deviation(10.0, 0.04, 9), Deviation(1.0, 0.2, 9))
    assert deviation_at(found, 1.0) == pytest.approx(0.2)
    assert deviation_at(found, sqrt(0.1)) == pytest.approx(sqrt(0.4 * 0.2))
    assert deviation_at(found, 0.05) is None
    assert deviation_at(found, 11.0) is None
    assert deviation_at((), 1.0) is None
    assert deviation_at((Deviation(1.0, 0.2, 9),), 1.0) is None, "one length is no line"


def test_slices_are_short_where_speed_wanders_and_long_where_much_passes_between() -> None:
    lengths = (0.1, 0.5, 1.0, 2.0, 5.0)
    wandering = [Deviation(length, 0.02 * sqrt(length), 99) for length in lengths]
    assert slice_for(wandering, 0.1) == SLICES_S[0]
    white = [Deviation(length, 0.02 / sqrt(length), 99) for length in lengths]
    assert slice_for(white, 1.0) == 5.0
    assert slice_for(white, 0.02) == USUAL_SLICE_S, "another length gains less than a tenth"
    assert slice_for(white[:1], 1.0) == USUAL_SLICE_S, "what was not measured is not chosen"
    assert slice_for((), 0.1) == USUAL_SLICE_S


def test_turns_take_out_what_blocks_share() -> None:
    rows = simulated(9, blocks=40, rounds=4, white=0.02, block=0.1, instance=0.01)
    found = turns_of(rows, "a")
    assert found is not None
    assert found.sequential is not None
    truth = sqrt(0.01**2 + 0.02**2 / (4 * PARTS))
    assert found.noise_low < truth < found.noise_high
    assert found.sequential == pytest.approx(sqrt(truth**2 + 0.1**2), rel=0.3)
    assert turns_of(rows[:4], "a") is None
    assert turns_of(rows, "nobody") is None


def test_one_after_the_other_takes_neighbouring_blocks_only() -> None:
    rows = simulated(7, blocks=12, rounds=2, white=0.02, block=0.1)
    assert one_after_the_other([row for row in rows if row.block % 2]) is None
    assert one_after_the_other([row for row in rows if row.block < BLOCKS_MIN]) is None
    assert one_after_the_other([]) is None


def test_blocks_for_an_interval_as_narrow() -> None:
    assert blocks_as_narrow(0.02, 10, 0.02) == 10
    twice = blocks_as_narrow(0.02, 10, 0.04)
    assert twice is not None
    assert 30 < twice < 40, "four times as many, a little less since Student's value falls"
    fewer = blocks_as_narrow(0.02, 10, 0.01)
    assert fewer is not None
    assert 2 <= fewer < 10
    assert blocks_as_narrow(0.02, 1, 0.02) is None
    assert blocks_as_narrow(0.0, 10, 0.02) is None
    assert blocks_as_narrow(0.001, 10, 0.001 * sqrt(REPEATED_MAX)) is None


def contrast_spread(level: np.ndarray, slice_s: float, between_s: float) -> float:
    """The standard deviation of ABBA contrasts in slices of this length, on a machine whose log-speed is `level` (a
    value for each 0.05 s; a row for each block)."""
    step = round((slice_s + between_s) / 0.05)
    length = round(slice_s / 0.05)
    count = level.shape[1] // step // 4 * 4
    speeds = np.stack([level[:, at * step : at * step + length].mean(axis=1) for at in range(count)], axis=1)
    signs = np.tile([1.0, -1.0, -1.0, 1.0], count // 4)
    return float((speeds @ signs / (count / 2)).std())


@pytest.mark.parametrize(("walk", "white", "between_s"), [(0.02, 0.0, 0.1), (0.0, 0.1, 1.0), (0.005, 0.1, 0.5)])
def test_the_chosen_slice_narrows_a_simulated_contrast_nearly_as_much_as_the_best(
    walk: float, white: float, between_s: float
) -> None:
    chance = np.random.default_rng(11)
    level = chance.normal(0.0, walk, (400, 1600)).cumsum(axis=1) + chance.normal(0.0, white, (400, 1600))
    found = []
    for length_s in (0.1, 0.5, 1.0, 2.0, 5.0):
        width = round(length_s / 0.05)
        means = level[:, : 1600 // width * width].reshape(400, -1, width).mean(axis=2)
        jumps = np.diff(means, axis=1)
        found.append(Deviation(length_s, float(np.sqrt((jumps**2).mean() / 2.0)), jumps.size))
    spreads = {length_s: contrast_spread(level, length_s, between_s) for length_s in SLICES_S}
    assert spreads[slice_for(found, between_s)] < 1.25 * min(spreads.values())
    assert max(spreads.values()) > 1.4 * min(spreads.values()), "the lengths differ, so choosing matters"
