"""Before each trial an emulated drive has counted what it had when its snapshot was taken, or the trial is invalid."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pgassay.drive.block.description import PRESETS
from pgassay.drive.block.emulated import EmulatedVolume, state_of
from pgassay.interfaces.store import Trait
from pgassay.study.drives import STATE_BEFORE
from tests.fakes.block import FakeControl, FakeDaemon, FakeKernel

COUNTED = {"host_bytes_written": 40, "nand_bytes_written": 60, "gc_bytes": 20, "live_blocks": 7}


class Control(FakeControl):
    """Forgets to bring its counters back if it is told to."""

    forgetful = False

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """As the fake, with counters of flash."""
        found = super().answer(request)
        if request["do"] == "stats":
            found["ok"] |= COUNTED | ({"gc_bytes": 24} if self.forgetful else {})
        return found


class Daemon(FakeDaemon):
    """Starts such controls."""

    def start(self, directory: Path, configuration: Mapping[str, Any]) -> FakeControl:
        """See `FakeDaemon`."""
        self.running[directory] = Control(directory, configuration)
        return self.running[directory]


def volume(home: Path) -> tuple[EmulatedVolume, Control]:
    """One with a snapshot `k`."""
    program = Daemon()
    made = EmulatedVolume(home, PRESETS["ssd"].with_capacity(1 << 20), FakeKernel(), program)
    made.attach()
    made.keep("k")
    (control,) = program.running.values()
    assert isinstance(control, Control)
    return made, control


def test_a_drive_that_is_put_back_says_so(tmp_path: Path) -> None:
    made, _ = volume(tmp_path)
    for _ in range(2):
        made.restore("k")
        state = made.traits()[STATE_BEFORE]
        assert (state.holds, state.of_state) == (True, True)
        assert state.found == state.asked == state_of(COUNTED)
    made.close()


def test_a_drive_that_was_not_put_back_is_found(tmp_path: Path) -> None:
    made, control = volume(tmp_path)
    control.forgetful = True
    made.restore("k")
    assert made.traits()[STATE_BEFORE] == Trait(
        state_of(COUNTED | {"gc_bytes": 24}), state_of(COUNTED), holds=False, of_state=True
    )
    control.forgetful = False
    made.restore("k")
    assert made.traits()[STATE_BEFORE].holds
    made.close()


def test_an_aged_drive_is_held_against_what_ageing_left(tmp_path: Path) -> None:
    made, control = volume(tmp_path)
    control.forgetful = True
    made.age_kept("k", "")
    made.restore("k")
    assert made.traits()[STATE_BEFORE].holds
    made.close()
