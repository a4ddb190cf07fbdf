"""Bounds on how often a cut does damage: against known values, and how often they are wrong in simulations."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.power_cuts import epochs_below, fixed_upper, risk_of, sequence_upper


def test_the_fixed_bound_is_that_of_clopper_and_pearson() -> None:
    # 1 - 0.05^(1/n), and a published table (Blyth 1986: 1 of 10 at one-sided 95 %).
    assert fixed_upper(0, 10) == pytest.approx(1 - 0.05**0.1)
    assert fixed_upper(0, 10_000) == pytest.approx(2.995e-4, rel=1e-3)
    assert fixed_upper(1, 10) == pytest.approx(0.3942, abs=1e-4)
    assert fixed_upper(3, 3) == fixed_upper(0, 0) == 1.0


@given(st.integers(1, 2000), st.data())
def test_looking_at_any_time_costs_something_and_stays_above_what_was_seen(epochs: int, data: st.DataObject) -> None:
    damaged = data.draw(st.integers(0, epochs))
    upper = sequence_upper(damaged, epochs)
    assert damaged / epochs <= fixed_upper(damaged, epochs) <= upper + 1e-9 <= 1.0 + 1e-9


def test_the_bound_falls_as_sound_cuts_come() -> None:
    bounds = [sequence_upper(0, epochs) for epochs in (1, 10, 100, 1000, 10_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.001


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_over_all_looks_together_it_is_wrong_no_more_often_than_it_says(share: float) -> None:
    chance = random.Random(5)
    wrong = 0
    for _ in range(100):
        damaged = 0
        for epochs in range(1, 41):
            damaged += chance.random() < share
            if sequence_upper(damaged, epochs) < share:
                wrong += 1
                break
    assert wrong <= 100 * 0.05


def test_the_bounds_that_the_documentation_names() -> None:
    found = [round(100 * sequence_upper(0, epochs), 3) for epochs in (200, 1000, 10_000)]
    assert found == [1.836, 0.376, 0.038]
    assert [epochs_below(share) for share in (0.001, 0.0003)] == [3782, 12_622]


@given(st.integers(1, 3000), st.data())
def test_one_more_damaged_epoch_raises_the_bound(epochs: int, data: st.DataObject) -> None:
    damaged = data.draw(st.integers(0, epochs - 1))
    assert sequence_upper(damaged, epochs) <= sequence_upper(damaged + 1, epochs)


def test_an_epoch_counts_once() -> None:
    risk = risk_of([((1, 7), False), ((1, 7), True), ((1, 8), False), ((2, 7), False), ((2, 7), False)])
    assert (risk.cuts, risk.damaged_cuts, risk.epochs, risk.damaged) == (5, 1, 3, 1)
    assert risk_of([]).upper == 1.0
