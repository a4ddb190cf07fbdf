"""A run that goes on beyond its end: by its own journal, with the looks that were planned before the first of them."""

from pathlib import Path
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.lab.decisions import disagreements
from pgassay.lab.runner import Watcher
from pgassay.record.journal import Kind, decisions_in, extended_in, horizon_in
from pgassay.study.model import Study
from tests.fakes.disk import Crashed, Fault
from tests.lab.simulation import Ending, Simulation, ending, simulate, study_of

EQUAL = {"100": 1000.0, "90": 1000.0, "50": 1000.0}
"""Nobody can say which is better."""


def open_ended(place: Path, rule: int = 4, **design: Any) -> Simulation:
    """A study that settles nothing, in six blocks."""
    asked = {"resolution": "0.001%", "blocks": {"min": 5, "max": 6}, **design}
    return simulate(place, study=study_of(design=asked), speeds=EQUAL, events={}, rule=rule)


def blocks_of(simulation: Simulation) -> int:
    return max(trial.block for trial in simulation.run.trials)


def sound(simulation: Simulation) -> bool:
    """Is the record whole, and does it lead to its own decisions?"""
    ending(simulation)
    run = simulation.run
    return disagreements(simulation.study, run.header, run.trials, run.journal) == ()


def test_a_finished_run_goes_on_to_more_blocks_and_proves_its_schedule(tmp_path: Path) -> None:
    simulation = open_ended(tmp_path)
    simulation.carry_on()
    first = simulation.committed()
    assert (blocks_of(simulation), horizon_in(simulation.run.journal)) == (6, (6, 6))
    simulation.carry_on(blocks=(5, 9))
    assert blocks_of(simulation) == 9
    assert sound(simulation)
    assert first.items() <= simulation.committed().items()
    assert horizon_in(simulation.run.journal) == (6, 6), "the looks stay as they were planned"
    kinds = [entry.kind for entry in simulation.run.journal]
    at = kinds.index(Kind.EXTENDED)
    assert kinds[at - 2 : at + 2] == [Kind.FINISHED, Kind.RESUMED, Kind.EXTENDED, Kind.DECISION]


def test_who_watches_hears_how_many_blocks_there_may_be_when_it_is_fixed(tmp_path: Path) -> None:
    told = []

    class Listening(Watcher):
        def ruled(self, study: Study) -> None:
            told.append(study.design.blocks_max)

    study = study_of(design={"resolution": "0.001%", "blocks": {"min": 5, "max": 90}, "budget": "10min"})
    simulation = simulate(tmp_path, study=study, speeds=EQUAL, events={}, watcher=Listening())
    simulation.carry_on()
    fixed = horizon_in(simulation.run.journal)
    assert fixed is not None
    assert (told[0], told[-1]) == (90, fixed[1])
    assert told[-1] < 90


def test_it_goes_on_for_some_time_more_and_keeps_to_it(tmp_path: Path) -> None:
    simulation = open_ended(tmp_path, budget="1h")
    simulation.carry_on()
    used_s = decisions_in(simulation.run.journal)[-1].clock_s
    block_s = used_s / 6
    simulation.carry_on(more_s=3.2 * block_s)
    assert blocks_of(simulation) == 9
    assert sound(simulation)
    found = extended_in(simulation.run.journal)
    assert found is not None
    assert found.budget_s == pytest.approx(used_s + 3.2 * block_s, rel=0.01)
    assert "does not fit in the budget" in decisions_in(simulation.run.journal)[-1].reason, "time ended it"


@pytest.fixture(scope="module")
def whole(place: Path) -> Ending:
    """Of an extended run that was not cut short."""
    found = open_ended(place)
    found.carry_on()
    found.carry_on(blocks=(5, 8))
    return ending(found)


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 6, 20, 60])
def test_an_extended_run_that_is_cut_short_goes_on_as_if_it_had_not_been(
    tmp_path: Path, whole: Ending, after: int
) -> None:
    cut = open_ended(tmp_path)
    cut.carry_on()
    cut.machine.disk.faults[len(cut.machine.disk.steps) + after] = Fault.CRASH
    with pytest.raises(Crashed):
        cut.carry_on(blocks=(5, 8))
    cut.reboot()
    if not any(entry.kind == Kind.EXTENDED for entry in cut.run.journal):
        cut.carry_on(blocks=(5, 8))
    else:
        cut.carry_on()
    assert ending(cut) == whole
    assert sound(cut)


def test_it_is_extended_again_up_to_what_its_looks_are_planned_for(tmp_path: Path) -> None:
    simulation = open_ended(tmp_path)
    simulation.carry_on()
    simulation.carry_on(blocks=(5, 8))
    simulation.carry_on(blocks=(5, 12))
    assert blocks_of(simulation) == 12
    assert sound(simulation)
    with pytest.raises(UsageError, match="planned for at most 12 blocks, and 12 are done"):
        simulation.carry_on(more_s=1000.0)
    other = open_ended(tmp_path)
    other.carry_on()
    with pytest.raises(UsageError, match="planned for at most 12 blocks, and 6 are done"):
        other.carry_on(blocks=(5, 13))
    with pytest.raises(UsageError, match="6 blocks are begun or done already"):
        other.carry_on(blocks=(5, 6))


def test_what_is_settled_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    simulation = simulate(tmp_path)
    simulation.carry_on()
    with pytest.raises(UsageError, match="the run has nothing to go on with: every verdict is settled"):
        simulation.carry_on(blocks=(5, 8))


@pytest.mark.parametrize("rule", [1, 3])
def test_the_looks_of_an_older_rule_end_where_they_were_planned_to(tmp_path: Path, rule: int) -> None:
    simulation = open_ended(tmp_path, rule)
    simulation.carry_on()
    with pytest.raises(UsageError, match="planned for at most 6 blocks, and 6 are done") as refused:
        simulation.carry_on(more_s=1000.0)
    assert "make false verdicts more likely" in (refused.value.hint or "")
    early = open_ended(tmp_path, rule, blocks={"min": 5, "max": 20}, budget="3min")
    early.carry_on()
    done = blocks_of(early)
    if rule == 1:
        assert done < 20
        early.carry_on(blocks=(5, done + 1))
        assert blocks_of(early) == done + 1
        assert sound(early)
