"""The time of an advice: trials whose servers take turns are longer than usual ones, and no step has less than none."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server
from pgassay.advise import budget, proof
from pgassay.advise.budget import Turns
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.laboratory import usual_s
from pgassay.advise.space import Configuration, Machine, Space, space_of
from pgassay.advise.task import Task, Values
from pgassay.advise.walk import walk
from pgassay.errors import UsageError
from pgassay.record.values import TrialRecord
from pgassay.study.model import ALTERNATE
from pgassay.study.responses import Status

TURNED_S = 1.6 * TRIAL_S
SLOW = ("shared_buffers", "bgwriter_delay")
QUICK = tuple(f"s{number}" for number in range(4))
SETTINGS = [Setting(name, "1", Scale.LOG, low="1", high="16") for name in (*QUICK, *SLOW)]
SPACE = space_of(SETTINGS, Machine(64 << 30, 8), {})


class Timed(Server):
    """Its trials take as long as they would: those that differ only in settings that show in slices take turns."""

    took_s: Mapping[str, float] = {}

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each."""
        everything = (start, *configurations)
        differing = {setting for each in everything for setting in each.changes_from(start)}
        trial_s = TRIAL_S if differing & {*SLOW} else TURNED_S
        step = name.rpartition("-")[0]
        self.took_s = {**self.took_s, step: self.took_s.get(step, 0.0) + trial_s * len(everything)}
        return super().batch(name, start, configurations, seed)


def task(budget_s: float, space: Space = SPACE) -> Task:
    names = [each.name for each in space.dimensions]
    turned = tuple(each for each in names if each not in SLOW)
    steps = budget.amounts(budget_s, TRIAL_S, len(names), finalists=1, turns=Turns(len(turned), TURNED_S))
    return Task(space, LIMITS, steps, True, 0.05, 1, turned=turned)


def test_a_search_of_servers_in_turns_takes_its_share_and_no_more() -> None:
    server = Timed(SPACE, 0.01, 1)
    asked = task(1800.0)
    found = walk(asked, server)
    assert found.trials
    share_s = asked.amounts.batches * (budget.BATCH + 1) * TRIAL_S
    assert 0.7 * share_s < server.took_s["search"] <= share_s


def test_a_search_has_as_many_batches_as_its_trials_leave_time_for() -> None:
    steps = task(3600.0).amounts
    assert budget.batches_of(steps, 10**6) == steps.batches
    assert budget.batches_of(steps, 10**6, TURNED_S) == int(steps.batches / 1.6)
    assert budget.batches_of(replace(steps, batches=3), 10**6, TURNED_S) == 3, "the least stays"
    assert budget.unsearched_s(replace(steps, batches=3), 10**6, TURNED_S) == 0.0
    left_s = budget.unsearched_s(steps, 4, TURNED_S)
    assert left_s == pytest.approx((budget.BATCH + 1) * (steps.batches * TRIAL_S - 2 * TURNED_S))


def test_lines_in_turns_are_as_many_trials_as_there_is_time_for() -> None:
    asked = task(3600.0)
    asked = replace(asked, amounts=replace(asked.amounts, lines_s=48 * TRIAL_S))
    for names, trial_s in ((("s0", "s1"), TURNED_S), (("s0", "shared_buffers"), TRIAL_S)):
        server = Timed(SPACE, 0.01, 1)
        best = SPACE.start.with_values(dict.fromkeys(names, "16"))

        _, spent_s = proof.in_and_out(asked, best, (), server, lambda text: None)
        assert spent_s == pytest.approx(server.took_s["lines"]) == pytest.approx(server.trials * trial_s)
        assert spent_s <= asked.amounts.lines_s


def test_what_was_spent_before_is_gone_of_the_budget() -> None:
    whole, rest = (
        budget.amounts(3600.0, TRIAL_S, 6, finalists=1),
        budget.amounts(3700.0, TRIAL_S, 6, finalists=1, spent_s=100.0),
    )
    assert rest == whole
    least_s = whole.needed_s
    with pytest.raises(UsageError, match="6 settings need at least"):
        budget.amounts(least_s + 99.0, TRIAL_S, 6, finalists=1, spent_s=100.0)
    front = budget.amounts(3600.0, TRIAL_S, 6, finalists=3, objectives=2)
    assert budget.amounts(3700.0, TRIAL_S, 6, finalists=3, objectives=2, spent_s=100.0) == front
    with pytest.raises(UsageError):
        budget.amounts(front.needed_s + 99.0, TRIAL_S, 6, finalists=3, objectives=2, spent_s=100.0)


def test_where_all_settings_take_turns_all_that_follows_is_counted_so() -> None:
    steps = budget.amounts(3600.0, TRIAL_S, 4, finalists=1, turns=Turns(4, TURNED_S))
    same = budget.amounts(3600.0, TURNED_S, 4, finalists=1, turns=Turns(4, TURNED_S))
    assert steps == same
    assert steps.trial_s == TURNED_S


@pytest.mark.parametrize("in_vain_s", [10.0, 1e3, 1e6])
def test_no_step_is_left_less_than_none_of_its_time(in_vain_s: float) -> None:
    steps = task(1200.0).amounts
    left = budget.spent(steps, in_vain_s)
    assert left.lines_s == max(0.0, steps.lines_s - in_vain_s)
    assert left.confirmation_s >= steps.least.confirmation_s
    gone_s = steps.lines_s + steps.confirmation_s - left.lines_s - left.confirmation_s
    assert gone_s <= in_vain_s
    assert gone_s == pytest.approx(in_vain_s) or left.confirmation_s == steps.least.confirmation_s


def record(length_s: float, *, turned: bool) -> TrialRecord:
    regime = {"pairing": ALTERNATE} if turned else {}
    return TrialRecord(
        1, 1, 1, "t", "", "", {}, Status.VALID, 0, 1, {}, regime=regime, timings_s={"window": length_s}
    )  # fmt: skip


def test_a_study_goes_by_the_trials_that_were_played_as_it_will_be() -> None:
    trials = [*(record(10.0, turned=False) for _ in range(5)), *(record(16.0, turned=True) for _ in range(20))]
    assert usual_s(trials, turned=False) == 10.0
    assert usual_s(trials, turned=True) == 16.0
    assert usual_s(trials[:5], turned=True) == 10.0, "by what there is"
    assert usual_s([], turned=False) == 0.0
