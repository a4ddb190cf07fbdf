"""Real power cuts: the defaults lose nothing, a planted fault is found, and a lab that is killed leaves nothing."""

import os
import signal
from pathlib import Path

import pytest

from pgassay.record.power_cuts import power_cuts
from pgassay.record.reading import Run
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, wait_until
from tests.system.test_drive_kills import sessions

pytestmark = [pytest.mark.system, pytest.mark.slow]

STUDY = """
[study]
format = 1
title = "Power cuts"
question = "Are planted faults found?"
[factors]
"server.fsync" = ["on", "off"]
[fixed]
"drive.data" = "ssd"
"drive.cache" = "volatile"
"init.data_checksums" = "on"
[load]
driver = "pgbench"
script = "ledger"
clients = 2
duration = "30s"
cuts = 4
checkpoint = "wal"
[responses]
primary = "unsafe_cuts"
[design]
resolution = "50%"
baseline = { "server.fsync" = "on" }
blocks = { min = 1, max = 1 }
"""


@pytest.fixture
def study(journey: Place) -> Path:
    real.require("ssd")
    path = journey.path / "cuts.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def cuts_under(journey: Place) -> bool:
    """Is a crash state mounted?"""
    return f"{journey.data.resolve()}" in "".join(
        line for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines() if "/crash " in line
    )


@pytest.mark.timeout(700)
def test_the_defaults_lose_nothing_and_a_server_without_fsync_loses_commits(journey: Place, study: Path) -> None:
    done = finished(journey.start("run", str(study), "--out", str(journey.runs / "cuts"), *ANYWHERE), LONG_S)
    assert done.returncode == 0, done.stderr
    run = Run.open(journey.runs / "cuts")
    found = {trial.levels["server.fsync"].typed: power_cuts(run, trial.number) for trial in run.trials}
    assert [(cut.verdict, cut.detail) for cut in found["on"] if cut.verdict != "sound"] == []
    assert all(cut.ledger for cut in found["on"])
    assert found["on"]
    # What was never flushed lies in the page cache alone.
    assert found["off"]
    assert found["off"][-1].verdict != "sound"
    assert left_behind(journey.data) == []


@pytest.mark.timeout(300)
def test_a_lab_that_is_killed_in_a_cut_leaves_nothing_after_a_repair(journey: Place, study: Path) -> None:
    lab = journey.start("run", str(study), "--out", str(journey.runs / "cuts"), *ANYWHERE)
    wait_until(lambda: cuts_under(journey), lab)
    os.kill(lab.pid, signal.SIGKILL)
    finished(lab)
    repaired = journey.pgassay("drive", "list", "--repair", "--data-dir", str(journey.data))
    assert repaired.returncode == 0, repaired.stderr
    assert [*left_behind(journey.data), *sessions(journey.data)] == []
