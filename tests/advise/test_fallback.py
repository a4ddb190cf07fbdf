"""What did better than the advice is taken as a whole, and that is said."""

from dataclasses import dataclass

import pytest

from benchmarks.advise import LIMITS, TRIAL_S
from pgassay.advise import budget
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.proof import TAKEN
from pgassay.advise.report import gain, headline, render
from pgassay.advise.space import Configuration, Machine, space_of
from pgassay.advise.task import Task
from pgassay.advise.walk import walk
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
    """Everybody sees what `s0` does; what `s1` and `s2` do only studies see."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""
        good = {name for name, value in configuration.values.items() if value == "1"}
        hidden = 0.0 if self.step else 0.2 * len(good & {"s1", "s2"})
        return 0.3 * ("s0" in good) + hidden


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_default_that_does_better_is_taken_with_all_of_its_lines_and_that_is_said(seed: int) -> None:
    server = Hidden(SPACE, 0.02, seed)
    asked = Task(SPACE, LIMITS, budget.amounts(BUDGET_S, TRIAL_S, COUNT, finalists=1), True, 0.10, seed)
    found = walk(asked, server)
    assert found.confirmed
    assert found.outdone is not None
    assert found.outdone.by == "default"
    assert found.study == TAKEN
    kept = {each.name: each for each in found.lines if each.kept}
    assert kept.keys() == {each.name for each in SPACE.dimensions}
    assert "not tried by itself" in gain(kept["s1"], "tps")
    assert "and was taken as a whole: " in render(asked, found, ["tps"], "x")
    assert "better still" not in headline(found, ["tps"])
    assert server.trials * TRIAL_S <= BUDGET_S, "its time is in the budget"
    assert walk(asked, Hidden(SPACE, 0.02, seed)) == found
