"""Ctrl-C at every moment of a run: it ends at once, everything is given back, and the run can go on as if nothing.

A signal that comes while something is put away or written to the record waits for that; a second one changes nothing.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgassay.lab.interruption import SIGNALS, Interruption
from tests.fakes.disk import Survival
from tests.lab.machine import Planned
from tests.lab.simulation import Simulation, ending, simulate, study_of

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def alone(place: Path) -> Simulation:
    """The run that was left alone."""
    simulation = simulate(place)
    simulation.carry_on()
    return simulation


def first_moment(alone: Simulation, name: str) -> int:
    return next(number for number, moment in enumerate(alone.machine.moments, 1) if moment.startswith(name))


def interrupt_at(place: Path, alone: Simulation, moments: range) -> None:
    undisturbed = ending(alone)
    for moment in moments:
        name = alone.machine.moments[moment - 1]
        simulation = simulate(place, study=alone.study)
        simulation.machine.planned = {moment: Planned.INTERRUPT, moment + 1: Planned.INTERRUPT}
        with pytest.raises(KeyboardInterrupt):
            simulation.carry_on()
        assert simulation.machine.left_behind() == [], f"moment {moment}: {name}"
        if simulation.machine.disk.exists(simulation.run.path) and not finished(simulation):
            assert simulation.run.journal[-1].kind == "interrupted", f"moment {moment}: {name}"
        simulation.reboot(Survival.LOST)
        before = simulation.committed()
        simulation.carry_on()
        after = simulation.committed()
        assert {path: after.get(path) for path in before} == before
        assert ending(simulation) == undisturbed, f"moment {moment}: {name}"


def finished(simulation: Simulation) -> bool:
    return any(entry.kind == "finished" for entry in simulation.run.journal)


def test_at_every_moment_of_the_first_preparation_and_trial(place: Path) -> None:
    """Of a study of few trials, since each moment has a run that goes on to its end."""
    factors, design = {"table.fillfactor": ["100", "90"]}, {"blocks": {"min": 2, "max": 2}}
    short = simulate(place, study=study_of(factors=factors, design=design))
    short.carry_on()
    committed = first_moment(short, "disk rename 000001")
    interrupt_at(place, short, range(first_moment(short, "drive workspace"), committed + 4))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_at_every_moment_of_the_run(place: Path, alone: Simulation) -> None:
    interrupt_at(place, alone, range(first_moment(alone, "drive workspace"), len(alone.machine.moments)))


def test_what_was_interrupted_is_kept_and_named(place: Path, alone: Simulation) -> None:
    simulation = simulate(place)
    simulation.machine.planned = {first_moment(alone, "load run"): Planned.INTERRUPT}
    with pytest.raises(KeyboardInterrupt):
        simulation.carry_on()
    names = simulation.machine.disk.list(simulation.run.path / "trials")
    assert names == (".abandoned-000001-1",)
    assert "server.log" in simulation.machine.disk.list(simulation.run.path / "trials" / names[0])


@contextmanager
def listening() -> Iterator[Interruption]:
    interruption = Interruption()
    with interruption.listening():
        yield interruption


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_becomes_a_keyboard_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with listening(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_a_signal_waits_while_it_is_held() -> None:
    steps = []

    def put_away(interruption: Interruption) -> None:
        with interruption.held():
            with interruption.held():
                os.kill(os.getpid(), signal.SIGTERM)
                steps.append("inner")
            steps.append("outer")
        steps.append("too late")

    with listening() as interruption, pytest.raises(KeyboardInterrupt):
        put_away(interruption)
    assert steps == ["inner", "outer"]


def test_a_second_signal_changes_nothing() -> None:
    with listening() as interruption:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        with interruption.held():
            os.kill(os.getpid(), signal.SIGTERM)


def test_an_error_in_a_clean_up_is_not_hidden_without_a_signal() -> None:
    with listening() as interruption, pytest.raises(ValueError, match="ours"), interruption.held():
        raise ValueError("ours")
