"""Real power cuts: the defaults lose nothing, a planted fault is found, and a lab that is killed leaves nothing."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from pgassay.lab.power_cuts import crash_request
from pgassay.record.power_cuts import power_cuts
from pgassay.record.reading import Run
from pgassay.study.responses import Status
from tests.drive.block import real
from tests.drive.block.killing import left_behind, processes
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, wait_until
from tests.system.test_drive_kills import what_stays

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
    place = str(journey.data.resolve())
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    return any(place in line and "/crash/" in line for line in lines)


SHORT = ("--set", "load.duration=8s", "--set", "load.cuts=6", "--set", "load.rate=100")


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


@pytest.mark.timeout(400)
@pytest.mark.parametrize("target", ["lab", "pgassay-drive", "postgres"])
def test_what_is_killed_in_a_cut_leaves_nothing_and_a_resumed_run_makes_the_same_cuts(
    journey: Place, study: Path, target: str
) -> None:
    lab = journey.start("run", str(study), "--out", str(journey.runs / "cuts"), *ANYWHERE, *SHORT)
    wait_until(lambda: cuts_under(journey), lab)
    if target == "lab":
        os.kill(lab.pid, signal.SIGKILL)
    else:
        for pid in processes(journey.data, target)[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        lab.send_signal(signal.SIGINT)
    finished(lab)
    journey.pgassay("doctor", "--repair", "--data-dir", str(journey.data))
    assert what_stays(journey.data) == []
    resumed = finished(journey.start("resume", str(journey.runs / "cuts"), *ANYWHERE), LONG_S)
    assert resumed.returncode == 0, resumed.stderr
    run = Run.open(journey.runs / "cuts")
    assert {trial.levels["server.fsync"].typed for trial in run.trials} == {"on", "off"}
    for trial in run.trials:
        made = [cut.seed for cut in power_cuts(run, trial.number)]
        assert set(made) <= {crash_request(trial.seed, position).seed for position in range(6)}
        assert made or trial.status is not Status.VALID
    assert left_behind(journey.data) == []


@pytest.mark.timeout(400)
def test_a_load_of_tpc_c_is_cut_and_keeps_its_rules(journey: Place, study: Path) -> None:
    text = STUDY.replace('driver = "pgbench"\nscript = "ledger"\n', 'driver = "tpcc"\n')
    study.write_text(text.replace("clients = 2", "clients = 2\nrate = 50"), encoding="utf-8")
    words = ("--set", "load.duration=10s", "--set", "load.cuts=3")
    done = finished(journey.start("run", str(study), "--out", str(journey.runs / "cuts"), *ANYWHERE, *words), LONG_S)
    assert done.returncode == 0, done.stderr
    run = Run.open(journey.runs / "cuts")
    found = {trial.levels["server.fsync"].typed: power_cuts(run, trial.number) for trial in run.trials}
    assert [(cut.verdict, cut.detail) for cut in found["on"] if cut.verdict != "sound"] == []
    assert any(cut.amcheck for cut in found["on"])
    assert not any(cut.ledger for cut in found["on"]), "nothing is said of commits that were lost"
