"""The schedule as a machine: played forward, interrupted, and with things going wrong."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.verdicts import SETTLED, Verdict
from pgassay.design.schedule import FinishedTrial, History, RunTrial, Stop, between_blocks, next_decision, order
from pgassay.study.responses import Status

from ._make import play, settled, study


def test_every_block_holds_every_arm_once_in_its_order() -> None:
    asked = study(3, blocks_max=8)
    _, trials, drops, stop = play(asked)
    assert [(trial.block, trial.arm) for trial in trials] == [
        (block, arm) for block in range(1, 9) for arm in order(asked, 1, block, asked.arms)
    ]
    assert not drops
    assert stop is not None
    assert "all 8 blocks" in stop.reason


def test_an_invalid_trial_is_repeated_at_the_end_of_its_block_at_most_twice() -> None:
    def outcome(trial: RunTrial) -> Status:
        invalid = (trial.arm.name == "f=1" and trial.block == 2) or (trial.arm.name == "f=2" and trial.attempt == 1)
        return Status.INVALID if invalid else Status.VALID

    _, trials, _, _ = play(study(3), outcome)
    second = [trial for trial in trials if trial.block == 2]
    assert {trial.attempt for trial in second[:3]} == {1}
    assert [(trial.arm.name, trial.attempt) for trial in second[3:]] in (
        [("f=1", 2), ("f=2", 2), ("f=1", 3)],
        [("f=2", 2), ("f=1", 2), ("f=1", 3)],
    )


def test_an_arm_that_keeps_failing_is_dropped_and_the_study_goes_on() -> None:
    _, trials, drops, stop = play(study(3), lambda trial: Status.OUTCOME if trial.arm.name == "f=1" else Status.VALID)
    (drop,) = drops
    assert drop.failed
    assert drop.arm.name == "f=1"
    assert Counter(trial.arm.name for trial in trials) == {"f=0": 8, "f=1": 3, "f=2": 8}
    assert stop is not None


def test_a_success_in_between_forgives() -> None:
    outcome = {
        1: Status.OUTCOME,
        2: Status.OUTCOME,
        3: Status.VALID,
        4: Status.OUTCOME,
        5: Status.OUTCOME,
        6: Status.VALID,
        7: Status.OUTCOME,
        8: Status.OUTCOME,
    }
    _, _, drops, _ = play(study(2), lambda trial: outcome[trial.block] if trial.arm.name == "f=1" else Status.VALID)
    assert drops == []


def test_a_failing_baseline_ends_the_run() -> None:
    _, trials, drops, stop = play(study(3), lambda trial: Status.OUTCOME if trial.arm.name == "f=0" else Status.VALID)
    assert not drops
    assert stop is not None
    assert "baseline" in stop.reason
    assert max(trial.block for trial in trials) == 3


def test_a_baseline_that_fails_in_one_condition_takes_only_that_condition_along() -> None:
    _, trials, drops, stop = play(
        study(2, conditions=2), lambda trial: Status.OUTCOME if trial.arm.name == "f=0, c=1" else Status.VALID
    )
    assert [drop.arm.name for drop in drops] == ["f=1, c=1", "f=0, c=1"]
    assert stop is not None
    assert "all 8 blocks" in stop.reason
    assert max(trial.block for trial in trials) == 8


def test_settled_arms_leave_after_five_blocks_and_the_run_ends_with_the_last() -> None:
    def verdicts(history: History) -> Mapping[str, Verdict]:
        return settled("f=1") if history.block < 7 else settled("f=1", "f=2")

    history, trials, drops, stop = play(study(3), verdicts=verdicts)
    assert [(drop.arm.name, drop.failed) for drop in drops] == [("f=1", False)]
    assert drops[0].reason.startswith(SETTLED)
    assert Counter(trial.arm.name for trial in trials) == {"f=0": 7, "f=1": 5, "f=2": 7}
    assert stop == Stop("every verdict is settled")
    assert history.block == 7


def test_a_baseline_with_nothing_left_to_compare_leaves_too() -> None:
    _, trials, drops, _ = play(study(2, conditions=2), verdicts=lambda _: settled("f=1, c=0"))
    assert [drop.arm.name for drop in drops] == ["f=1, c=0", "f=0, c=0"]
    assert Counter(trial.arm.name for trial in trials)["f=0, c=0"] == 5


def test_a_curve_without_comparisons_stops_when_every_point_is_known() -> None:
    _, trials, _, stop = play(study(1, covariates=2), verdicts=lambda _: settled("f=0, x=0", "f=0, x=1"))
    assert len(trials) == 10
    assert stop == Stop("every verdict is settled")


def test_a_curve_with_open_points_goes_on() -> None:
    _, trials, _, stop = play(study(1, covariates=2), verdicts=lambda _: settled("f=0, x=0"))
    assert Counter(trial.arm.name for trial in trials) == {"f=0, x=0": 5, "f=0, x=1": 8}
    assert stop is not None
    assert "all 8 blocks" in stop.reason


@pytest.mark.parametrize(("budget", "blocks"), [(15.0, 5), (17.9, 5), (18.0, 6), (14.0, 5), (13.0, 4), (1.0, 1)])
def test_no_block_is_started_that_does_not_fit(budget: float, blocks: int) -> None:
    history, _, _, stop = play(study(3, budget_s=budget))
    assert history.block == blocks
    assert stop is not None
    assert "does not fit" in stop.reason
    assert ("too few for a verdict" in stop.reason) == (blocks < 5)


def test_a_machine_that_spoils_everything_ends_the_run() -> None:
    history, trials, _, stop = play(study(2, blocks_max=30), lambda _: Status.INVALID)
    assert history.block == 3
    assert len(trials) == 3 * 2 * 3
    assert stop == Stop("every trial of the last 3 blocks was invalid: this machine is too busy")


@given(st.integers(0, 10_000), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_a_resumed_run_decides_as_an_unbroken_one(seed: int, cut: int) -> None:
    asked = study(3, conditions=2, blocks_max=6)

    def outcome(trial: RunTrial) -> Status:
        chance = Random(f"{seed}/{trial.block}/{trial.arm.name}/{trial.attempt}").random()
        return Status.INVALID if chance < 0.15 else Status.OUTCOME if chance < 0.4 else Status.VALID

    whole = play(asked, outcome, seed=seed)
    half, first, early, stop = play(asked, outcome, seed=seed, steps=cut)
    if stop is None:
        _, second, late, stop = play(asked, outcome, seed=seed, start=half)
        first, early = first + second, early + late
    assert (first, early, stop) == whole[1:]


def test_verdicts_are_looked_at_only_between_blocks() -> None:
    asked = study(2)
    history = History((FinishedTrial(1, order(asked, 1, 1, asked.arms)[0].name, 1, Status.VALID),))
    assert not between_blocks(asked, 1, history)
    assert isinstance(next_decision(asked, 1, history), RunTrial)
