"""The lengths of a trial's steps are noted, however a step ends."""

import pytest

from pgassay.lab.trial_state import Laps
from pgassay.testing.fakes import FakeClock


def test_laps_add_up_whatever_happens_in_them() -> None:
    clock = FakeClock()
    laps = Laps(clock)

    def step(name: str, seconds: float, failure: OSError | None = None) -> None:
        with laps(name):
            clock.advance(seconds)
            if failure is not None:
                raise failure

    step("start", 2.0)
    with pytest.raises(OSError, match="gone"):
        step("measure", 3.0, OSError("gone"))
    step("start", 0.5)
    assert laps.timings_s == {"start": 2.5, "measure": 3.0}
