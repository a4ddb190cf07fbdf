"""Servers that take turns, on a real PostgreSQL: the record of a small study, and what a killed one leaves."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from pgassay.record.slices import read_slices
from pgassay.study.responses import Status
from tests.system.journeys import ANYWHERE, GONE_S, TINY, Place, entries, finished, kill, lost, standing_still

pytestmark = pytest.mark.system

TURNS = (
    *TINY, "--blocks", "2..2", "--pairing", "alternate", "--slice", "300ms", "--set", "server.synchronous_commit=off",
    *ANYWHERE,
)  # fmt: skip
"""Slices hold many transactions however long the machine's disk takes for a flush."""


def state(pid: int) -> str:
    """As proc(5) has it; `T` for a process that is stopped."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def frozen(journey: Place) -> list[int]:
    return [pid for pid in journey.servers() if state(pid) == "T"]


@pytest.mark.slow
def test_a_study_whose_servers_take_turns(journey: Place) -> None:
    done = finished(journey.start("run", "fillfactor", *TURNS, "--out", str(journey.runs / "turns"), "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ended"] == "all 2 blocks are done"
    run = journey.record("turns")
    valid = [trial for trial in run.trials if trial.status is Status.VALID]
    assert {trial.status for trial in run.trials} <= {Status.VALID, Status.INVALID}, "a busy machine makes some invalid"
    assert len(valid) == 4 - len(lost(run))
    for first, second in zip(run.trials[::2], run.trials[1::2], strict=True):
        assert first.block == second.block
        slices = sorted((*read_slices(run, first.number), *read_slices(run, second.number)), key=lambda s: s.opened_ns)
        assert [each.round for each in slices] == [1, 1, 2, 2, 3, 3, 4, 4]
        assert all(sooner.drained_ns + sooner.flush_ns <= later.opened_ns for sooner, later in pairwise(slices))
        assert all(each.transactions > 0 and sum(each.parts) > 0 for each in slices if not each.discarded)
        assert all(each.covariates["metronome_ns"] for each in slices)
    for trial in valid:
        wal_bytes, cpu_us = (trial.responses[f"{name}_per_transaction"] for name in ("wal_bytes", "server_cpu_us"))
        assert wal_bytes is not None
        assert 100 < wal_bytes < 50_000, "the transactions of the lead-ins are among those that it is divided by"
        assert cpu_us
        assert trial.responses["latency_p99_ms"]
    assert journey.left_behind() == []
    check = journey.pgassay("check", str(run.path))
    assert (check.returncode, check.stdout) == (0, "the record is whole and consistent\n")


@pytest.mark.slow
def test_servers_that_a_killed_run_left_frozen_are_ended(journey: Place) -> None:
    """A frozen server does not hear that its lab died: the keeper ends it, and the run can go on."""
    path = journey.runs / "killed"
    process = journey.start("run", "fillfactor", *TURNS, "--out", str(path), "--json")
    with standing_still(lambda: bool(frozen(journey)) and len(entries(path)) > 8, process):
        kill(process)
    deadline = time.monotonic() + GONE_S
    while journey.servers() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert journey.servers() == []
    done = finished(journey.resume("killed"))
    assert done.returncode == 0, done.stderr
    assert journey.left_behind() == []
    numbers = [trial.number for trial in journey.record("killed").trials]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 4, "what was discarded on a busy machine ran again"
    assert journey.pgassay("check", str(path)).returncode == 0


@pytest.mark.slow
def test_a_server_that_dies_in_its_block_is_an_outcome_and_the_other_goes_on(journey: Place) -> None:
    """Killed while it stands still: the round of its next turn ends, and the slices of the other stay."""
    path = journey.runs / "dead"
    process = journey.start(
        "run", "fillfactor", *TURNS, "--set", "load.duration=3s", "--out", str(path), "--json"
    )  # fmt: skip
    stopped: list[int] = []

    def both_live_and_one_stands_still() -> bool:
        stopped[:] = frozen(journey)
        return len({cluster(pid) for pid in journey.servers()} - {""}) == 2 and bool(stopped)

    with standing_still(both_live_and_one_stands_still, process):
        journey.kill_servers(cluster(stopped[0]))
    done = finished(process)
    assert done.returncode == 0, done.stderr
    run = journey.record("dead")
    (failed,) = [trial for trial in run.trials if trial.status is Status.OUTCOME]
    assert failed.block == 1
    assert failed.reasons
    assert any(trial.arm == failed.arm for trial in run.trials if trial.block == 2), "it is in play again"
    (other,) = [trial for trial in run.trials[:2] if trial is not failed]
    slices = read_slices(run, other.number)
    early = [each for each in slices if each.discarded == f"{failed.arm} failed in this round"]
    assert len(early) <= 1
    assert len(slices) - len(early) >= 8, "of ten rounds one ended early"
    assert journey.left_behind() == []


def cluster(pid: int) -> str:
    """The data directory of a process of PostgreSQL; empty where it has ended."""
    try:
        return str((Path("/proc") / str(pid) / "cwd").readlink())
    except OSError:
        return ""
