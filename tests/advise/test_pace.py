"""An advice keeps its budget where trials take longer than their forecast, and changes nothing where they do not."""

from collections.abc import Mapping, Sequence

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server
from pgassay.advise import budget
from pgassay.advise.budget import Turns
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.space import Configuration, Machine, space_of
from pgassay.advise.task import Compared, Task, Values
from pgassay.advise.walk import PlannedBatch, over_s, paced, walk

TURNED_S = 1.6 * TRIAL_S
BUDGET_S = 400 * TRIAL_S
SETTINGS = [Setting(f"s{number}", "1", Scale.LOG, low="1", high="16") for number in range(6)]
SPACE = space_of(SETTINGS, Machine(64 << 30, 8), {})


class Slow(Server):
    """Each of its trials takes so many times its forecast."""

    times = 1.0
    took_s: Mapping[str, float] = {}

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each."""
        self.took_s = {**self.took_s, name: self.times * TRIAL_S * (1 + len(configurations))}
        return super().batch(name, start, configurations, seed)

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """Blocks within the budget."""
        self.trial_s = self.times * TRIAL_S
        found = super().study(name, baseline, arms, seed, budget_s)
        self.took_s = {**self.took_s, name: super().spent_s(name)}
        return found

    def spent_s(self, name: str) -> float:
        """Of a batch, too."""
        return self.took_s.get(name, 0.0)


def task(budget_s: float = BUDGET_S) -> Task:
    steps = budget.amounts(budget_s, TRIAL_S, len(SETTINGS), finalists=1)
    return Task(SPACE, LIMITS, steps, True, 0.05, 1)


def walked_s(times: float) -> float:
    server = Slow(SPACE, 0.1, 1)
    server.times = times
    walk(task(), server)
    return sum(server.took_s.values())


def test_an_advice_whose_trials_take_longer_keeps_its_budget() -> None:
    usual_s = walked_s(1.0)
    assert usual_s > 0.6 * BUDGET_S, "there is something to keep"
    assert walked_s(3.0) < 1.05 * BUDGET_S


def test_what_follows_shares_the_time_that_is_left() -> None:
    steps = task().amounts
    left = budget.at_pace(steps, 2 * steps.least.screening_s, 2.0, 2.0)
    assert left.needed_s + left.spare_s == pytest.approx(BUDGET_S)
    assert left.trial_s == 2 * TRIAL_S
    assert left.batches < steps.batches / 2 + budget._BATCHES_MIN
    assert left.confirmation_s >= left.least.confirmation_s == 2 * steps.least.confirmation_s
    none = budget.at_pace(steps, 10 * steps.least.screening_s, 10.0, 10.0)
    assert none.spare_s == 0.0
    assert none.needed_s > BUDGET_S, "every step keeps its least"
    assert none.batches == budget._BATCHES_MIN


def test_trials_in_turns_have_a_pace_of_their_own() -> None:
    steps = budget.amounts(BUDGET_S, TRIAL_S, 6, finalists=1, turns=Turns(4, TURNED_S))
    planned = Task(SPACE, LIMITS, steps, True, 0.05, 1, turned=("s0", "s1", "s2", "s3"))
    asked = [PlannedBatch("screening-01", 100.0, turned=True), PlannedBatch("screening-apart-01", 50.0, turned=False)]
    took_s = {"screening-01": 300.0, "screening-apart-01": 50.0}
    left = paced(planned, planned, asked, lambda name: took_s[name]).amounts
    assert left.least.turns is not None
    assert left.least.turns.trial_s == pytest.approx(3 * TURNED_S)
    assert left.trial_s == pytest.approx(TRIAL_S)


@pytest.mark.parametrize("took_s", [0.0, 100.0, 109.0])
def test_what_took_no_longer_than_planned_changes_nothing(took_s: float) -> None:
    planned = task()
    assert paced(planned, planned, [PlannedBatch("one", 100.0, turned=False)], lambda name: took_s) is planned


def test_batches_that_took_longer_are_counted_one_by_one() -> None:
    asked = [
        PlannedBatch("one", 100.0, turned=False),
        PlannedBatch("two", 100.0, turned=False),
        PlannedBatch("gone", 100.0, turned=False),
    ]
    assert over_s(asked, {"one": 150.0, "two": 120.0, "gone": 0.0}.__getitem__) == 70.0
    assert over_s(asked[1:], {"two": 90.0, "gone": 0.0}.__getitem__) == 0.0


def test_a_front_has_fewer_batches_and_blocks() -> None:
    steps = budget.amounts(BUDGET_S, TRIAL_S, 6, finalists=3, objectives=2)
    left = budget.at_pace(steps, steps.least.screening_s * 2, 2.0, 2.0)
    assert left.needed_s + left.spare_s == pytest.approx(BUDGET_S)
    assert 3 <= left.batches < steps.batches / 2 + 2
    assert budget.blocks_of(left, 6) < budget.blocks_of(steps, 6)
