"""Alternating blocks: which rounds count, where the noise is found, and what a turn leaves to the next."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from pgassay.analysis.alternation import SliceRow, carried_over, shares

ABBA = [(1, 1, "a"), (1, 2, "b"), (2, 1, "b"), (2, 2, "a")]


def abba(rates: Sequence[float], block: int = 1, seconds: float = 1.0) -> list[SliceRow]:
    """Two rounds, in the order A B B A, with these transactions per second."""
    return [
        SliceRow(block, number, place, arm, rate * seconds, seconds)
        for (number, place, arm), rate in zip(ABBA, rates, strict=True)
    ]


def simulated(
    rng: np.random.Generator, blocks: int, rounds: int, arms: Sequence[str], machine: float, instance: float, own: float
) -> list[SliceRow]:
    """Slices of one second with these standard deviations of the logarithm, and twenty parts of equal speed."""
    found = []
    for block in range(1, blocks + 1):
        starts = rng.normal(0.0, instance, len(arms))
        for number in range(1, rounds + 1):
            common = rng.normal(0.0, machine)
            for place, arm in enumerate(arms):
                rate = 1000.0 * exp(common + starts[place] + rng.normal(0.0, own))
                found.append(SliceRow(block, number, place + 1, arm, rate, 1.0))
    return found


def test_shares_by_hand() -> None:
    # Logarithms: block 1 has a 0, 0 and b 0.2, 0; block 2 has a 0, 0 and b 0.3, 0.5.
    rows = [
        SliceRow(block, number, place, arm, exp(value), 1.0)
        for block, lines in ((1, ((0.0, 0.2), (0.0, 0.0))), (2, ((0.0, 0.3), (0.0, 0.5))))
        for number, line in enumerate(lines, 1)
        for place, (arm, value) in enumerate(zip("ab", line, strict=True), 1)
    ]
    found = shares(rows, "a")
    assert found is not None
    # Each block's interaction: four rests of ±0.05, so 0.01 a block over one degree each: 0.01.
    assert found.slice == pytest.approx(0.01)
    # Contrasts 0.1 and 0.4: variance 0.045 = 2 (instance + 0.01 / 2).
    assert 2.0 * found.noise**2 == pytest.approx(0.045)
    assert found.instance == pytest.approx(0.0175)
    # Rounds' means 0.1, 0 and 0.15, 0.25: mean square 2 · 0.01 / 2 = 0.01, so nothing above the slices'.
    assert found.machine == pytest.approx(0.0)


@pytest.mark.parametrize("arms", ["ab", "abcd"])
def test_planted_variances_are_found(arms: str) -> None:
    rng = np.random.default_rng(4)
    found = shares(simulated(rng, 400, 6, list(arms), machine=0.2, instance=0.03, own=0.05), "a")
    assert found is not None
    assert found.machine == pytest.approx(0.04, rel=0.1)
    assert found.instance == pytest.approx(0.0009, rel=0.2)
    assert found.slice == pytest.approx(0.0025, rel=0.1)


def test_variances_are_found_where_blocks_lost_rounds() -> None:
    rng = np.random.default_rng(5)
    rows = [
        replace(row, discarded="steal") if rng.random() < 0.1 else row
        for row in simulated(rng, 500, 8, ["a", "b"], machine=0.1, instance=0.03, own=0.06)
    ]
    found = shares(rows, "a")
    assert found is not None
    assert 2.0 < found.rounds < 8.0
    assert found.instance == pytest.approx(0.0009, rel=0.25)


def test_no_shares_without_two_blocks_of_two_rounds() -> None:
    assert shares(abba([100.0, 90.0, 110.0, 120.0]), "a") is None
    assert shares([], "a") is None


def carried(rng: np.random.Generator, first: dict[str, float], blocks: int = 6) -> list[SliceRow]:
    """Slices of ten parts whose first is lower by the arm's share."""
    rows = []
    for row in simulated(rng, blocks, 4, list(first), machine=0.1, instance=0.02, own=0.02):
        parts = row.transactions / 10 * np.exp(rng.normal(0.0, 0.01, 10))
        parts[0] *= 1.0 - first[row.arm]
        rows.append(replace(row, parts=tuple(parts.tolist())))
    return rows


def test_what_both_share_is_no_bias_and_what_one_arm_carries_over_is() -> None:
    rng = np.random.default_rng(7)
    assert carried_over(carried(rng, {"a": 0.3, "b": 0.3}), "a") == ()
    (found,) = carried_over(carried(rng, {"a": 0.0, "b": 0.3, "c": 0.0}), "a")
    assert found.arm == "b"
    assert found.shift == pytest.approx(log(0.97), abs=0.003)  # nine tenths whole, one of 0.7
    assert found.low < found.shift < found.high


def test_one_block_shows_nothing_about_what_is_carried_over() -> None:
    assert carried_over(carried(np.random.default_rng(8), {"a": 0.0, "b": 0.3}, blocks=1), "a") == ()
    assert carried_over(carried(np.random.default_rng(8), {"a": 0.0, "b": 0.3}), "nobody") == ()
    assert carried_over(abba([100.0, 90.0, 110.0, 120.0]), "a") == ()


def test_only_rounds_with_one_usable_slice_of_each_arm_count() -> None:
    whole = [*abba([100.0, 90.0, 110.0, 120.0]), *abba([100.0, 95.0, 105.0, 120.0], block=2)]
    found = shares(whole, "a")
    assert found is not None
    lame = [
        SliceRow(1, 3, 1, "a", 500.0, 1.0),
        SliceRow(1, 3, 2, "b", 1.0, 1.0, discarded="steal 40 %"),
        SliceRow(1, 4, 1, "a", 500.0, 1.0),
        SliceRow(2, 3, 1, "a", 500.0, 1.0),
        SliceRow(2, 3, 2, "b", 0.0, 1.0),
    ]
    assert shares([*whole, *lame], "a") == found
    assert shares([*lame, *reversed(whole)], "a") == found
    assert shares([*whole, SliceRow(1, 1, 3, "c", 50.0, 1.0)], "a") is None, "a block of one whole round or none"
