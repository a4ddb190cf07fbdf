"""Alternating blocks: what a block's slices come to, which rounds are lost, and where the noise is found."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.alternation import SliceRow, block_values, shares, washout

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


def test_a_block_is_all_transactions_over_all_seconds_and_flushes_are_charged() -> None:
    rows = abba([100.0, 90.0, 110.0, 120.0])
    rows[1] = replace(rows[1], flush_s=0.25)
    values = {value.arm: value for value in block_values(rows).values}
    assert values["a"].tps == pytest.approx((100 + 120) / 2)
    assert values["b"].tps == pytest.approx((90 + 110) / 2.25)
    assert values["a"].rounds == 2


def test_a_steady_drift_cancels_in_abba() -> None:
    found = block_values(abba([100.0, 101.0, 102.0, 103.0])).values
    assert found[0].tps == found[1].tps


def test_a_discarded_slice_takes_its_round_with_it_for_all_arms() -> None:
    rows = [
        *abba([100.0, 90.0, 110.0, 120.0]),
        SliceRow(1, 3, 1, "a", 500.0, 1.0),
        SliceRow(1, 3, 2, "b", 1.0, 1.0, discarded="steal 40 %"),
    ]
    found = block_values(rows)
    assert [(value.tps, value.rounds) for value in found.values] == [(110.0, 2), (100.0, 2)]
    assert [(lost.round, lost.reason) for lost in found.lost] == [(3, "b: steal 40 %")]


def test_a_round_without_an_arm_is_lost() -> None:
    rows = [*abba([100.0, 90.0, 110.0, 120.0]), SliceRow(1, 1, 3, "c", 50.0, 1.0)]
    assert block_values(rows).values == ()
    assert block_values(rows).lost[0].reason == "c has not exactly one slice"


def test_a_slice_that_did_nothing_is_named() -> None:
    rows = abba([100.0, 0.0, 110.0, 120.0])
    assert block_values(rows).lost[0].reason == "b: 0 transactions in 1 s"
    assert block_values(rows).values == ()  # one whole round is too few


def test_covariates_are_weighted_by_what_they_count() -> None:
    rows = [
        replace(row, active_s=seconds, covariates={"metronome_ns": clock, "client_cpu_us_per_transaction": cpu})
        for row, seconds, clock, cpu in zip(
            abba([100.0, 1.0, 1.0, 300.0]),
            (1.0, 1.0, 1.0, 3.0),
            (8.0, 1.0, 1.0, 12.0),
            (8.0, 1.0, 1.0, 12.0),
            strict=True,
        )
    ]
    (first, _) = block_values(rows).values
    assert first.covariates["metronome_ns"] == pytest.approx((8 * 1 + 12 * 3) / 4)
    assert first.covariates["client_cpu_us_per_transaction"] == pytest.approx((8 * 100 + 12 * 300) / 400)


@given(
    st.lists(st.floats(1.0, 1e6), min_size=8, max_size=8),
    st.floats(0.01, 100.0),
    st.permutations(range(8)),
)
def test_order_of_rows_does_not_matter_and_a_common_factor_cancels(
    rates: list[float], factor: float, order: list[int]
) -> None:
    rows = abba(rates[:4]) + abba(rates[4:], block=2)
    plain = block_values(rows).values
    assert block_values([rows[place] for place in order]).values == plain
    scaled = block_values([replace(row, transactions=row.transactions * factor) for row in rows]).values
    for (a, b), (c, d) in zip(
        zip(plain[::2], plain[1::2], strict=True), zip(scaled[::2], scaled[1::2], strict=True), strict=True
    ):
        assert log(b.tps / a.tps) == pytest.approx(log(d.tps / c.tps), abs=1e-9)


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
    assert found.contrast**2 == pytest.approx(0.045)
    assert found.instance == pytest.approx(0.0175)
    # Rounds' means 0.1, 0 and 0.15, 0.25: mean square 2 · 0.01 / 2 = 0.01, so nothing above the slices'.
    assert found.machine == pytest.approx(0.0)
    assert found.residual is None


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


def test_parts_tell_how_much_of_a_slice_is_its_own_scatter() -> None:
    rng = np.random.default_rng(6)
    rows = []
    for row in simulated(rng, 60, 4, ["a", "b"], machine=0.1, instance=0.0, own=0.0):
        parts = row.transactions / 10 * np.exp(rng.normal(0.0, 0.1, 10))
        rows.append(replace(row, transactions=float(parts.sum()), parts=tuple(parts.tolist())))
    found = shares(rows, "a")
    assert found is not None
    assert found.residual == pytest.approx(0.1**2 / 10, rel=0.2)
    assert found.slice == pytest.approx(found.residual, rel=0.3)


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
    alike = washout(carried(rng, {"a": 0.3, "b": 0.3}), "a")
    assert alike.complete
    assert alike.shifted == ()
    assert alike.carries[0].shift == pytest.approx(log(0.97), abs=0.003)  # nine tenths whole, one of 0.7
    apart = washout(carried(rng, {"a": 0.0, "b": 0.3}), "a")
    assert not apart.complete
    assert [each.arm for each in apart.shifted] == ["b"]
    assert apart.carries[1].shift == pytest.approx(log(0.97), abs=0.003)
    assert apart.carries[1].low < apart.carries[1].shift < apart.carries[1].high


def test_one_block_shows_nothing_about_washout() -> None:
    found = washout(carried(np.random.default_rng(8), {"a": 0.0, "b": 0.0}, blocks=1), "a")
    assert not found.complete
    assert found.shifted == ()
    assert not washout(abba([100.0, 90.0, 110.0, 120.0]), "a").complete
