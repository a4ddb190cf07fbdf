"""A study on an aged drive of automatic capacity: the replay happens, and the report tells how steady it was."""

import pytest

from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.system.journeys import LONG_S, Place, finished

pytestmark = [pytest.mark.system, pytest.mark.slow]

LEVELS = ("--set", "drive.data=csd", "--set", "drive.data.capacity=auto", "--set", "drive.state=aged")


@pytest.mark.timeout(700)
def test_an_aged_drive_says_what_it_is_and_whether_it_was_steady(journey: Place) -> None:
    real.require("csd")
    done = finished(journey.run("aged", *LEVELS), LONG_S)
    assert done.returncode == 0, done.stderr
    trials = [trial for trial in journey.record("aged").trials if trial.status.value == "valid"]
    assert len({trial.treatment for trial in trials}) == 2
    for trial in trials:
        regime = trial.regime
        assert regime["drive.start"] in ("aged", "aged, not settled")
        assert regime["drive.model"] == "compressing"
        assert regime["drive.policy"] == "greedy"
        assert abs(float(regime["drive.over_provisioning"] or 0) - 0.07) < 0.001
        assert 256 << 20 <= float(regime["drive.capacity_bytes"] or 0) <= 768 << 20
        assert trial.levels["drive.data.capacity"].read_back == "auto"
        assert (regime["drive.settled_write_amplification"] is None) == (regime["drive.start"] != "aged")
    shown = journey.pgassay("show", str(journey.runs / "aged"), "--verbose").stdout
    written = [value for trial in trials if (value := trial.responses["drive_writes"]) is not None]
    assert ("transient: " in shown) == (max(written) < 1)
    assert "emulated" in shown
    assert left_behind(journey.data) == []
