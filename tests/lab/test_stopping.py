"""A run that is asked to stop ends with the block in hand, and goes on as if it had never been stopped."""

from pathlib import Path

import pytest

from pgassay.lab.interruption import StopAsked
from pgassay.lab.runner import Watcher
from pgassay.record import directory
from pgassay.record.values import TrialRecord
from tests.lab.simulation import RUN, Simulation, ending, simulate


class Asking(Watcher):
    """Asks for a stop when the first trial of a block is committed."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.simulation: Simulation | None = None

    def trial_finished(self, record: TrialRecord) -> None:
        if record.block == self.block and self.simulation is not None:
            self.simulation.machine.disk.write_file(RUN / directory.STOP_FILE, b"")
            self.simulation = None


def test_the_block_is_whole_and_the_rest_is_what_it_would_have_been(place: Path) -> None:
    whole, stopped = simulate(place), simulate(place)
    whole.carry_on()
    asking = Asking(2)
    asking.simulation = stopped
    stopped.watcher = asking
    with pytest.raises(StopAsked):
        stopped.carry_on()
    blocks = {trial.block for trial in stopped.run.trials}
    assert blocks == {1, 2}
    assert not stopped.machine.disk.exists(RUN / directory.STOP_FILE)
    stopped.machine.restart()
    stopped.carry_on()
    assert ending(stopped) == ending(whole)


def test_what_was_asked_before_a_kill_does_not_stop_the_next_one(place: Path) -> None:
    stopped = simulate(place)
    asking = Asking(1)
    asking.simulation = stopped
    stopped.watcher = asking
    with pytest.raises(StopAsked):
        stopped.carry_on()
    stopped.machine.disk.write_file(RUN / directory.STOP_FILE, b"")
    stopped.machine.restart()
    stopped.carry_on()
    assert stopped.run.journal[-1].kind == "finished"
