"""After every trial of a study on drives: tables, indexes, file systems and drives are sound, by their own tools."""

import pytest

from pgassay.study.responses import Status
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.system.journeys import LONG_S, Place, finished, lost

pytestmark = [pytest.mark.system, pytest.mark.slow]

SMALL = ("--set", "drive.data.capacity=1GB", "--set", "drive.data.store_bytes=768MB", "--set", "drive.check=on")


@pytest.mark.timeout(700)
@pytest.mark.parametrize(
    ("kind", "filesystem", "more"),
    [
        ("csd", "ext4", ("drive.data.mount_options=noatime,discard", "drive.wal=image", "drive.wal.capacity=512MB")),
        ("ssd", "xfs", ("drive.timing=sata-ssd",)),
    ],
)
def test_every_trial_leaves_all_sound(journey: Place, kind: str, filesystem: str, more: tuple[str, ...]) -> None:
    real.require(kind, filesystem)
    levels = (f"drive.data={kind}", f"drive.data.filesystem={filesystem}", *more)
    words = (word for level in levels for word in ("--set", level))
    done = finished(journey.run("sound", *SMALL, *words), LONG_S)
    assert done.returncode == 0, done.stderr
    # a machine shared with others discards a trial now and then, which then runs again: that says nothing of the drives
    run = journey.record("sound")
    trials = run.trials
    assert len([trial for trial in trials if trial.status is Status.VALID]) == 10 - len(lost(run))
    assert [trial.reasons for trial in trials if trial.status is Status.OUTCOME] == []
    assert all(trial.timings_s["check"] > 0 for trial in trials)
    assert left_behind(journey.data) == []
