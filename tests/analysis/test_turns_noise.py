"""The noise that turns leave: what is planted is found."""

from math import exp, sqrt

import numpy as np

from pgassay.analysis.alternation import (
    SliceRow,
    shares,
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
    found = shares(rows, "a")
    assert found is not None
    truth = sqrt(0.01**2 + 0.02**2 / (4 * PARTS))
    assert found.noise_low < truth < found.noise_high
    assert shares(rows[:4], "a") is None
    assert shares(rows, "nobody") is None
