"""What did better than the advice is taken line by line: those that do nothing go, and all stay where that is worse."""

from dataclasses import dataclass, replace

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server
from pgassay.advise import budget
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.proof import ITS_LINES, TAKEN, Apart
from pgassay.advise.screening import FIRST_LEVEL, LINES, SECOND_LEVEL
from pgassay.advise.space import Configuration, Machine, space_of
from pgassay.advise.task import Task
from pgassay.advise.text import gain, headline, render, values
from pgassay.advise.walk import Advice, walk
from tests.advise.stepped import Stepped

COUNT, BUDGET_S = 12, 2400.0
SPACE = space_of(
    [Setting(f"s{number}", "1", Scale.LOG, low="1", high="16") for number in range(COUNT)],
    Machine(64 << 30, 8),
    {f"s{number}": "16" for number in range(COUNT)},
)
"""Twelve settings that were made bad."""


@dataclass
class Hidden(Stepped):
    """Everybody sees what `s0` does; what `s1` and `s2` do only studies see, and batches that begin with `seen_in`."""

    seen_in: str = "taken-"

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""
        good = {name for name, value in configuration.values.items() if value == "1"}
        hidden = 0.2 * len(good & {"s1", "s2"}) if not self.step or self.step.startswith(self.seen_in) else 0.0
        return 0.3 * ("s0" in good) + hidden


class Together(Server):
    """Three settings are worth something only where all three are good: alone, among all others, none matters."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""
        good = {name for name, value in configuration.values.items() if value == "1"}
        return 0.3 * ("s0" in good) + 0.36 * (good >= {"s1", "s2", "s3"})


def task(server: Server, budget_s: float = BUDGET_S) -> Task:
    steps = budget.amounts(budget_s, TRIAL_S, COUNT, finalists=1)
    return Task(server.space, LIMITS, steps, True, 0.10, server.seed)


def advised(server: Server, budget_s: float = BUDGET_S) -> Advice:
    found = walk(task(server, budget_s), server)
    assert found.confirmed
    assert found.outdone is not None
    assert found.outdone.by == "default"
    return found


def kept(found: Advice) -> set[str]:
    return {each.name for each in found.lines if each.kept}


@pytest.mark.parametrize("seed", range(1, 7))
def test_of_a_default_that_does_better_only_the_lines_stay_that_do_it(seed: int) -> None:
    server = Hidden(SPACE, 0.02, seed)
    found = advised(server)
    assert kept(found) == {"s0", "s1", "s2"}
    assert found.recommended == SPACE.start.with_values(dict.fromkeys(kept(found), "1"))
    assert found.outdone is not None
    assert found.outdone.apart is Apart.DONE
    assert found.study == ITS_LINES
    assert all(each.without is not None for each in found.lines if each.kept), "each was left out in the confirmation"
    assert len({each.name for each in found.lines}) == len(found.lines) == COUNT
    assert {each.along_with for each in found.taken_in_and_out} == {LINES}
    asked = task(server)
    told = render(asked, found, ["tps"], "x")
    assert "of its 12 lines 3 are left, the others were not shown to help" in told
    assert "not tried by itself" not in told
    assert "better still" not in headline(found, ["tps"])
    assert values(asked, found, ["tps"], "x")["outdone_lines"] == "DONE"
    assert server.trials * TRIAL_S <= BUDGET_S, "its time is in the budget"
    assert walk(asked, Hidden(SPACE, 0.02, seed)) == found


@pytest.mark.parametrize("seed", range(1, 4))
def test_settings_that_help_only_together_are_told_from_those_that_do_nothing(seed: int) -> None:
    server = Together(SPACE, 0.01, seed)
    found = walk(task(server), server)
    assert found.confirmed
    assert kept(found) == {"s0", "s1", "s2", "s3"}


def test_what_does_worse_without_its_other_lines_stays_whole() -> None:
    server = Hidden(SPACE, 0.02, 1, seen_in="never")
    found = advised(server)
    assert kept(found) == {each.name for each in SPACE.dimensions}
    assert found.outdone is not None
    assert found.outdone.apart in (Apart.MISSED, Apart.NONE)
    assert found.study == TAKEN
    told = {each.name: each for each in found.lines}
    assert "in and out along with its other lines " in gain(told["s1"], "tps")
    assert "all of them stay" in render(task(server), found, ["tps"], "x")


def test_without_time_for_its_lines_it_is_taken_as_a_whole_and_that_is_said() -> None:
    server = Hidden(SPACE, 0.02, 1)
    asked = task(server)
    least = replace(asked.amounts, batches=2, lines_s=0.0, confirmation_s=0.0, restoration_s=0.0, taken_lines_s=0.0)
    found = walk(replace(asked, amounts=least), server)
    assert found.confirmed
    assert found.outdone is not None
    assert found.outdone.apart is Apart.NO_TIME
    assert len(kept(found)) == COUNT
    told = {each.name: each for each in found.lines}
    assert "not tried by itself" in gain(told["s1"], "tps")
    assert "which of its lines do it was not tried: there was no time for that" in render(asked, found, ["tps"], "x")


def test_a_long_budget_sets_time_aside_for_the_lines_of_what_does_better() -> None:
    short, long = (budget.amounts(each, TRIAL_S, COUNT, finalists=1) for each in (1200.0, 7200.0))
    assert short.taken_lines_s == 0.0
    assert long.least is not None
    assert long.taken_lines_s == long.least.taken_lines_s > long.takeover_s > 0
    assert budget.amounts(7200.0, TRIAL_S, COUNT, finalists=1, references=1).taken_lines_s == 0.0
    few = budget.amounts(7200.0, TRIAL_S, COUNT, finalists=1, taken=2)
    assert few.taken_lines_s < long.taken_lines_s


def test_both_families_of_lines_share_the_error_rate() -> None:
    assert pytest.approx(1.95) == FIRST_LEVEL + SECOND_LEVEL
