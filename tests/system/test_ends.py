"""Every way in which a run may end before its end, and going on afterwards: signals, kills, crashes, full disks."""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgassay.lab.catalogue import every_factor
from pgassay.lab.decisions import disagreements
from pgassay.record.reading import Run
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.drive.loop import missing, mounted_image
from tests.system.journeys import (
    ANYWHERE,
    Place,
    committed,
    entries,
    finished,
    hashes,
    kill,
    load_runs,
    lost,
    out_of_space,
    resumed,
    schedule,
    standing_still,
    stopped,
    wait_until,
)  # fmt: skip

pytestmark = pytest.mark.system


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_ends_a_run_cleanly_and_it_can_go_on(journey: Place, number: signal.Signals) -> None:
    process = journey.run("cut")
    path = journey.runs / "cut"
    wait_until(lambda: committed(path) >= 1 and load_runs(path), process)
    process.send_signal(number)
    time.sleep(0.05)
    with stopped(process):
        if entries(path)[-1]["kind"] != "interrupted":  # else the clean-up is over already, and it goes
            process.send_signal(number)  # impatience changes nothing
    done = finished(process)
    assert done.returncode == 130
    assert "pgassay resume runs/cut" in done.stderr, "from the working directory, to be pasted"
    assert "Traceback" not in done.stderr
    assert entries(path)[-1]["kind"] == "interrupted"
    assert journey.left_behind() == []
    before = hashes(path)
    assert journey.record("cut").trials[0].status in (Status.VALID, Status.INVALID), "a busy machine makes some invalid"
    process = journey.resume("cut")
    wait_until(lambda: committed(path) >= 2, process)
    process.send_signal(number)
    assert finished(process).returncode == 130
    after = hashes(path)
    assert {name: after.get(name) for name in before} == before
    assert [trial.number for trial in journey.record("cut").trials] == list(range(1, committed(path) + 1))
    assert journey.left_behind() == []


def test_a_signal_before_the_first_trial_leaves_nothing(journey: Place) -> None:
    process = journey.run("early")
    wait_until(lambda: bool(journey.servers()), process)
    process.send_signal(signal.SIGHUP)
    done = finished(process)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)
    assert journey.left_behind() == []


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_killed_three_times_at_random_moments_it_ends_as_if_nothing_had_happened(journey: Place) -> None:
    whole = finished(journey.run("whole"))
    assert whole.returncode == 0, whole.stderr
    path = journey.runs / "killed"
    chance = random.Random()
    process = journey.run("killed")
    for times, goal in enumerate((1, 4, 7), start=1):
        wait_until(lambda goal=goal: committed(path) >= goal, process)  # type: ignore[misc]
        until = time.monotonic() + chance.uniform(0.0, 3.0)
        while time.monotonic() < until and committed(path) < goal + 2:
            time.sleep(0.02)
        kill(process)
        before = hashes(path)
        process = journey.resume("killed")
        wait_until(lambda times=times: resumed(path) >= times, process)  # type: ignore[misc]
        after = hashes(path)
        assert {name: after.get(name) for name in before} == before
    done = finished(process)
    assert done.returncode == 0, done.stderr
    run, undisturbed = journey.record("killed"), journey.record("whole")
    if all(trial.status is Status.VALID for trial in (*run.trials, *undisturbed.trials)):  # else some ran again
        assert schedule(run) == schedule(undisturbed)
    valid, other = (
        {(trial.block, trial.arm) for trial in each.trials if trial.status is Status.VALID} | lost(each)
        for each in (run, undisturbed)
    )
    assert valid == other
    numbers = [entry["data"]["number"] for entry in entries(path) if entry["kind"] == "trial_committed"]
    assert numbers == list(range(1, len(run.trials) + 1))
    assert {name: hashes(path).get(name) for name in before} == before
    study = parse(run.header.study, run.study, every_factor())
    assert disagreements(study, run.header, run.trials, run.journal) == ()
    assert journey.pgassay("check", str(path)).returncode == 0
    assert journey.left_behind() == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_server_that_is_killed_in_a_trial_is_an_outcome_and_the_study_goes_on(journey: Place) -> None:
    process = journey.run("dead", "--set", "load.duration=3s")
    path = journey.runs / "dead"
    with standing_still(lambda: committed(path) >= 1 and load_runs(path), process):
        journey.kill_servers()
    done = finished(process)
    assert done.returncode == 0, done.stderr
    statuses = [trial.status for trial in journey.record("dead").trials]
    assert statuses.count(Status.OUTCOME) == 1, statuses
    failed = next(trial for trial in journey.record("dead").trials if trial.status is Status.OUTCOME)
    codes = {reason.code for reason in failed.reasons}
    assert "server_died" in codes
    assert codes & {"aborted", "no_summary"}, "pgbench's own word, if it still had one"
    assert len(statuses) - statuses.count(Status.INVALID) == 10 - len(lost(journey.record("dead")))
    assert journey.left_behind() == []


def fill_up(directory: Path) -> Path:
    """Fill the file system under `directory` to its last block, quickly; returns the file to remove."""
    filler = directory / "filler"
    with filler.open("wb") as file:
        size = 0
        for piece in (1 << 28, 1 << 24, 1 << 20, 1 << 16, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    os.posix_fallocate(file.fileno(), size, piece)
                    size += piece
    assert size > 0
    return filler


@contextmanager
def small_filesystem(journey: Place, size_bytes: int) -> Iterator[Path]:
    """An ext4 of this size, which the servers' account may enter; skips by name where it cannot be."""
    if reason := missing("ext4"):
        pytest.skip(reason)
    try:
        image = mounted_image("ext4", journey.path, size_bytes)
        point = image.__enter__()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop mount here: {error.stderr.decode(errors='replace').strip()}")
    try:
        point.chmod(0o755)
        yield point
    finally:
        journey.end()
        image.__exit__(None, None, None)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_drive_that_fills_up_in_a_trial_is_an_outcome_and_the_study_goes_on(journey: Place) -> None:
    with small_filesystem(journey, 1700 << 20) as point:
        process = journey.run("full", "--data-dir", str(point / "data"), "--set", "load.duration=3s")
        path = journey.runs / "full"
        wait_until(lambda: committed(path) >= 1 and load_runs(path), process)
        before = committed(path)
        filler = fill_up(point)
        wait_until(lambda: out_of_space(path), process)
        filler.unlink()  # before the next trial: a run whose baseline fails three times stops
        done = finished(process)
        assert done.returncode == 0, done.stderr
        trials = journey.record("full").trials
        failed = trials[before]
        assert failed.status is Status.OUTCOME
        assert "no_space" in [reason.code for reason in failed.reasons], failed.reasons
        assert trials[-1].status is not Status.OUTCOME
        assert len({trial.arm for trial in trials if trial.block == 5}) == 2, "the treatment stayed in play"
        assert journey.servers() == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_record_whose_disk_is_full_is_an_error_with_a_hint_and_can_go_on(journey: Place) -> None:
    with small_filesystem(journey, 32 << 20) as point:
        path = point / "run"
        process = journey.run("unused", "--out", str(path))
        wait_until(lambda: committed(path) >= 1 and load_runs(path), process)
        filler = fill_up(point)
        done = finished(process)
        assert done.returncode == 2
        assert "pgassay: error: could not" in done.stderr
        assert f"hint: the file system is full: remove the cause, then continue with: pgassay resume {path}" in (
            done.stderr
        )
        assert "Traceback" not in done.stderr
        assert journey.left_behind() == []
        before = hashes(path)
        filler.unlink()
        process = journey.start("resume", str(path), *ANYWHERE)
        wait_until(lambda: committed(path) >= 3, process)
        process.send_signal(signal.SIGINT)
        assert finished(process).returncode == 130
        assert {name: hashes(path).get(name) for name in before} == before
        assert {trial.status for trial in Run.open(path).trials} <= {Status.VALID, Status.INVALID}
