"""A whole study, killed at every step of its record's disk and at every call of its bench, resumed, and compared.

Also with a disk that fills up or fails at every step. What must hold each time: the schedule and every trial are those
of the run that was left alone; no committed trial changes by a byte, none is lost, none is doubled.
"""

from pathlib import Path

import pytest

from pgassay.record.errors import RecordError
from tests.fakes.disk import Crashed, Fault, Survival
from tests.lab.machine import Event, Planned
from tests.lab.simulation import EVENTS, Ending, Simulation, ending, simulate, study_of

pytestmark = pytest.mark.thorough

SOME = 31
"""Which share of the steps a quick test takes: every thirty-first, at offsets that differ between tests."""
FEWER = 3
"""Servers that take turns make so many more steps: as much larger is their stride."""


@pytest.fixture(scope="module", params=["sequential", pytest.param("alternate", marks=pytest.mark.slow)])
def alone(place: Path, request: pytest.FixtureRequest) -> Simulation:
    """The run that was left alone, with one server after the other, and with servers that take turns."""
    mishaps = {**EVENTS, ("50", 2, 2): Event.ABORT} if request.param == "alternate" else EVENTS
    simulation = simulate(place, study=study_of(design={"pairing": request.param, "slice": "1s"}), events=mishaps)
    simulation.carry_on()
    return simulation


def again(alone: Simulation, place: Path) -> Simulation:
    """The same on a fresh machine."""
    return simulate(place, study=alone.study, events=alone.events)


@pytest.fixture(scope="module")
def undisturbed(alone: Simulation) -> Ending:
    return ending(alone)


def resumed(simulation: Simulation, survival: Survival, seed: int) -> Ending:
    """Reboot, go on, and compare what was committed before with what is there after."""
    simulation.reboot(survival, seed)
    before = simulation.committed()
    simulation.carry_on()
    after = simulation.committed()
    assert {path: after.get(path) for path in before} == before
    assert simulation.machine.left_behind() == []
    return ending(simulation)


def test_the_run_is_worth_crashing(alone: Simulation, undisturbed: Ending) -> None:
    """It holds every kind of decision and of trial, two snapshots made in its course, and every kind of step."""
    runs = "block" if alone.study.design.pairing == "alternate" else "next"
    assert {decision.step for decision in undisturbed.decisions} == {runs, "drop", "stop"}
    assert {trial.status for trial in undisturbed.trials} == {"valid", "invalid", "outcome"}
    assert any(decision.attempt == 2 for decision in undisturbed.decisions)
    assert sum(entry.kind == "prepared" for entry in alone.run.journal) == 3
    assert {step.split()[0] for step in alone.machine.disk.steps} == {"mkdir", "create", "write", "fsync", "rename"}
    assert alone.machine.left_behind() == []


def test_the_same_seed_gives_the_same_run(place: Path, alone: Simulation, undisturbed: Ending) -> None:
    twin = again(alone, place)
    twin.carry_on()
    assert ending(twin) == undisturbed


def takes_turns(alone: Simulation) -> bool:
    return alone.study.design.pairing == "alternate"


def some(alone: Simulation) -> int:
    """The stride of a quick test."""
    return SOME * FEWER if takes_turns(alone) else SOME


def every(alone: Simulation, way: int) -> tuple[int, int]:
    """The first step and the stride of a test that takes every step.

    Of servers that take turns each way to fail takes a third, from another step on, so that three ways miss none.
    """
    return (1 + way % FEWER, FEWER) if takes_turns(alone) else (1, 1)


def crash_at_steps(place: Path, alone: Simulation, survival: Survival, first: int, stride: int) -> None:
    undisturbed = ending(alone)
    for step in range(first, len(alone.machine.disk.steps) + 1, stride):
        simulation = again(alone, place)
        simulation.machine.disk.faults = {step: Fault.CRASH}
        with pytest.raises(Crashed):
            simulation.carry_on()
        assert resumed(simulation, survival, step) == undisturbed, f"step {step}: {alone.machine.disk.steps[step - 1]}"


@pytest.mark.parametrize(("survival", "first"), [(Survival.KILLED, 1), (Survival.LOST, 2), (Survival.TORN, 4)])
def test_a_crash_at_many_steps_of_the_disk(place: Path, alone: Simulation, survival: Survival, first: int) -> None:
    crash_at_steps(place, alone, survival, first, some(alone))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("survival", list(Survival))
def test_a_crash_at_every_step_of_the_disk(place: Path, alone: Simulation, survival: Survival) -> None:
    crash_at_steps(place, alone, survival, *every(alone, list(Survival).index(survival)))


def kill_at_moments(place: Path, alone: Simulation, first: int, stride: int) -> None:
    undisturbed = ending(alone)
    for moment in range(first, len(alone.machine.moments) + 1, stride):
        name = alone.machine.moments[moment - 1]
        if name.startswith("disk "):
            continue  # these are the steps above
        simulation = again(alone, place)
        simulation.machine.planned = {moment: Planned.KILL}
        with pytest.raises(Crashed):
            simulation.carry_on()
        assert resumed(simulation, Survival.KILLED, 0) == undisturbed, f"moment {moment}: {name}"


def test_a_kill_at_many_calls_of_the_bench(place: Path, alone: Simulation) -> None:
    kill_at_moments(place, alone, 3, some(alone))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_kill_at_every_call_of_the_bench(place: Path, alone: Simulation) -> None:
    kill_at_moments(place, alone, *every(alone, 0))


@pytest.mark.parametrize(
    "survival",
    [Survival.LOST, *(pytest.param(each, marks=pytest.mark.slow) for each in Survival if each != Survival.LOST)],
)
def test_a_crash_while_a_crash_is_put_right(
    place: Path, alone: Simulation, undisturbed: Ending, survival: Survival
) -> None:
    """Pairs, the second at a small or a large distance from the first: in the recovery, or trials later."""
    steps = len(alone.machine.disk.steps)
    pairs = 0
    for first in range(2, steps, steps // 11):
        for distance in (1, 2, 4, 40):
            simulation = again(alone, place)
            simulation.machine.disk.faults = {first: Fault.CRASH}
            with pytest.raises(Crashed):
                simulation.carry_on()
            simulation.reboot(survival, first)
            simulation.machine.disk.faults = {len(simulation.machine.disk.steps) + distance: Fault.CRASH}
            try:
                simulation.carry_on()
            except Crashed:
                pairs += 1
            assert resumed(simulation, survival, first + distance) == undisturbed
    assert pairs > 40


def failure_of(simulation: Simulation) -> RecordError | None:
    try:
        simulation.carry_on()
    except RecordError as failure:
        return failure
    return None


def fault_at_steps(place: Path, alone: Simulation, fault: Fault, first: int, stride: int) -> None:
    undisturbed = ending(alone)
    told = 0
    for step in range(first, len(alone.machine.disk.steps) + 1, stride):
        simulation = again(alone, place)
        simulation.machine.disk.faults = {step: fault}
        failure = failure_of(simulation)
        if failure is not None:
            told += 1
            assert failure.hint is not None
            assert "/runs/simulated" in failure.message
        assert simulation.machine.left_behind() == [], f"step {step}: {alone.machine.disk.steps[step - 1]}"
        assert resumed(simulation, Survival.KILLED, 0) == undisturbed, f"step {step}"
    assert told > 0


@pytest.mark.parametrize(("fault", "first"), [(Fault.FULL, 1), (Fault.BROKEN, 3)])
def test_a_full_or_failing_disk_at_many_steps(place: Path, alone: Simulation, fault: Fault, first: int) -> None:
    """A clear error of ours each time, everything given back; once the cause is gone the run goes on as if nothing."""
    fault_at_steps(place, alone, fault, first, some(alone))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("fault", [Fault.FULL, Fault.BROKEN])
def test_a_full_or_failing_disk_at_every_step(place: Path, alone: Simulation, fault: Fault) -> None:
    fault_at_steps(place, alone, fault, *every(alone, [Fault.FULL, Fault.BROKEN].index(fault)))


def test_a_crash_does_not_change_what_a_budget_pays_for(place: Path) -> None:
    """A run that ends by its budget ends after the same trial, however often it was killed: pauses cost nothing."""
    changes = {"design": {"budget": "75s", "blocks": {"min": 5, "max": 20}, "resolution": "0.1%"}}
    events = {("90", 1, 1): Event.CLOCK_JUMP, ("50", 2, 1): Event.CLOCK_JUMP}
    whole = simulate(place, study=study_of(**changes), events=events)
    whole.carry_on()
    undisturbed = ending(whole)
    assert "budget" in undisturbed.reason
    steps = len(whole.machine.disk.steps)
    for start in range(20, steps, steps // 12):
        simulation = simulate(place, study=study_of(**changes), events=events)
        for distance in (start, 37, 90):
            simulation.machine.disk.faults = {len(simulation.machine.disk.steps) + distance: Fault.CRASH}
            try:
                simulation.carry_on()
            except Crashed:
                simulation.reboot()
                simulation.machine.clock.advance(86_400)  # a day's pause
        simulation.machine.disk.faults = {}
        simulation.carry_on()
        assert ending(simulation) == undisturbed
