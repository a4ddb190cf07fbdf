"""The noise that turns leave, and that of the same servers one after the other: what is planted is found."""

from math import exp, sqrt

import numpy as np
import pytest

from pgassay.analysis.alternation import (
    BLOCKS_MIN,
    REPEATED_MAX,
    SliceRow,
    blocks_as_narrow,
    one_after_the_other,
    turns_of,
)

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
