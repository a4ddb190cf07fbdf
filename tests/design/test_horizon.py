"""The horizon is what the budget holds, fixed before the first look, and old rules know nothing of it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.boundaries import FIRST_LOOK, criticals
from pgassay.design.horizon import FIXED_AFTER, Extension, Horizon, horizon_of, reach, ruled
from pgassay.design.schedule import RULE, FinishedTrial, History
from pgassay.study.model import Study
from pgassay.study.responses import Status

from ._make import Ruled, play, study


def after(asked: Study, blocks: int, trial_s: float = 1.0) -> History:
    """So many whole blocks of trials of this length."""
    trials = tuple(
        FinishedTrial(block, arm.name, 1, Status.VALID) for block in range(1, blocks + 1) for arm in asked.arms
    )
    return History(trials, {}, trial_s * len(trials), trial_s)


def test_two_arms_have_one_stage_as_long_as_the_budget() -> None:
    asked = study(2, blocks_max=30, budget_s=20.0)
    # 8 s are used after four blocks; the 12 s that are left hold six blocks of two.
    assert horizon_of(asked, after(asked, FIXED_AFTER)) == Horizon(10, 10)


def test_the_second_stage_is_for_the_last_treatment_that_is_left() -> None:
    asked = study(4, blocks_max=30, budget_s=40.0)
    # 16 s are used; 24 s hold six blocks of four, or one of four and then ten of two.
    assert horizon_of(asked, after(asked, FIXED_AFTER)) == Horizon(10, 15)


def test_without_a_budget_and_beyond_it_the_study_says_it() -> None:
    assert horizon_of(study(3, blocks_max=30), after(study(3), FIXED_AFTER)) == Horizon(30, 30)
    wide = study(3, blocks_max=12, budget_s=1e6)
    assert horizon_of(wide, after(wide, FIXED_AFTER)) == Horizon(12, 12)
    few = study(3, blocks_min=2, blocks_max=3, budget_s=10.0)
    assert horizon_of(few, after(few, 2)) == Horizon(3, 3)


@given(st.integers(2, 6), st.integers(5, 60), st.floats(1.0, 500.0), st.floats(0.1, 10.0))
def test_it_never_lies_below_the_first_look_nor_beyond_the_study(
    treatments: int, most: int, budget_s: float, trial_s: float
) -> None:
    asked = study(treatments, blocks_max=most, budget_s=budget_s)
    found = horizon_of(asked, after(asked, FIXED_AFTER, trial_s))
    assert FIRST_LOOK <= found.first <= found.last <= most


def test_old_rules_judge_as_they_did() -> None:
    asked = study(3, blocks_max=30, budget_s=20.0)
    assert not asked.design.inner
    first = replace(asked, design=replace(asked.design, inner=True))
    assert ruled(asked, 0, None) == first
    assert ruled(asked, 1, Horizon(6, 8)) == first
    assert [ruled(asked, rule, None).design.inner for rule in (2, 3, 4)] == [True, True, False]
    new = ruled(asked, 2, Horizon(6, 8)).design
    assert (new.blocks_max, new.stage, new.moderated) == (8, 6, True)
    assert ruled(asked, 2, Horizon(6, 6)).design.stage is None
    assert ruled(asked, 2, None).design.blocks_max == 30


def test_a_short_horizon_makes_the_first_look_sharper() -> None:
    assert criticals(6, 0.05)[0] < 0.6 * criticals(30, 0.05)[0]
    # A second stage costs the first little.
    assert criticals(12, 0.05, stage=6)[1] == pytest.approx(criticals(6, 0.05)[1], rel=0.05)


def test_a_run_that_is_extended_for_whatever_reason_errs_as_often_as_one_that_is_not() -> None:
    """Of 40 000 studies without effect each goes on to twice its blocks unless a look has found one; and what would be
    if looks were planned anew for the new end."""
    blocks, end, alpha, chance = 6, 12, 0.05, np.random.default_rng(1)
    values = chance.normal(size=(40_000, end))
    counts = np.arange(1, end + 1)
    means = values.cumsum(axis=1) / counts
    squares = (values**2).cumsum(axis=1) - counts * means**2
    with np.errstate(all="ignore"):
        t = np.abs(means) / np.sqrt(squares / (counts - 1) / counts)
    first = slice(FIRST_LOOK - 1, blocks)

    def share(early: Sequence[float], late: Sequence[float]) -> float:
        found = (t[:, first] > early).any(axis=1) | (t[:, blocks:] > late).any(axis=1)
        return float(found.mean())

    planned = critical_values(study(3, blocks_max=blocks), Horizon(blocks, blocks))
    assert share(planned[: blocks - FIRST_LOOK + 1], planned[blocks - FIRST_LOOK + 1 :]) < alpha + 0.0033
    before, anew = criticals(blocks, alpha), criticals(end, alpha)
    assert share(before, anew[blocks - FIRST_LOOK + 1 :]) > alpha + 0.01


def critical_values(asked: Study, horizon: Horizon) -> tuple[float, ...]:
    """Those of every look that a run under today's rule may come to, however far it is extended."""
    plain = replace(asked, treatments=asked.treatments[:2])
    most = reach(RULE, horizon)
    extended = ruled(plain, RULE, horizon, Extension(5, most, None))
    again = ruled(plain, RULE, horizon, Extension(5, most - 1, None))
    assert (extended.design.horizon, extended.design.stage) == (again.design.horizon, again.design.stage)
    assert extended.design.horizon == ruled(plain, RULE, horizon).design.horizon
    return criticals(extended.design.horizon or 0, 0.05, extended.design.stage)


def test_the_reason_to_end_names_the_limit_that_ended_the_run() -> None:
    """A run of 5 to 12 blocks that its budget ended after 6 was said to have done all of its blocks."""
    asked = study(2, blocks_min=5, blocks_max=12, budget_s=12.5)
    budget = play(Ruled(asked, RULE))[3]
    assert budget is not None
    assert budget.reason == "the budget of 12 s ended the run: it holds 6 blocks of at most 12"
    whole = play(Ruled(replace(asked, design=replace(asked.design, budget_s=1000.0)), RULE))[3]
    assert whole is not None
    assert whole.reason == "all 12 blocks are done"
