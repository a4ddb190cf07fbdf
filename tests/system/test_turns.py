"""Servers that take turns, on a real PostgreSQL: the record of a small study, and what a killed one leaves."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from pgassay.record.slices import read_slices
from tests.system.journeys import ANYWHERE, TINY, Place, entries, finished, kill, wait_until

pytestmark = pytest.mark.system

TURNS = (*TINY, "--blocks", "2..2", "--pairing", "alternate", "--slice", "300ms", *ANYWHERE)


def state(pid: int) -> str:
    """As proc(5) has it; `T` for a process that is stopped."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def frozen(journey: Place) -> list[int]:
    return [pid for pid in journey.servers() if state(pid) == "T"]


def test_a_study_whose_servers_take_turns(journey: Place) -> None:
    done = finished(journey.start("run", "fillfactor", *TURNS, "--out", str(journey.runs / "turns"), "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ended"] == "all 2 blocks are done"
    run = journey.record("turns")
    assert len(run.trials) == 4
    assert {trial.status.value for trial in run.trials} == {"valid"}
    for first, second in zip(run.trials[::2], run.trials[1::2], strict=True):
        assert first.block == second.block
        slices = sorted((*read_slices(run, first.number), *read_slices(run, second.number)), key=lambda s: s.opened_ns)
        assert [each.round for each in slices] == [1, 1, 2, 2, 3, 3, 4, 4]
        assert all(sooner.drained_ns + sooner.flush_ns <= later.opened_ns for sooner, later in pairwise(slices))
        assert all(each.transactions > 0 and sum(each.parts) > 0 for each in slices)
        assert all(each.covariates["metronome_ns"] for each in slices)
    for trial in run.trials:
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
    """A frozen server does not hear that its lab died: the next lab that continues, or attaches the drive, ends it."""
    path = journey.runs / "killed"
    process = journey.start("run", "fillfactor", *TURNS, "--out", str(path), "--json")
    wait_until(lambda: bool(frozen(journey)) and len(entries(path)) > 8, process)
    kill(process)
    assert frozen(journey)
    done = finished(journey.resume("killed"))
    assert done.returncode == 0, done.stderr
    assert journey.left_behind() == []
    assert [trial.number for trial in journey.record("killed").trials] == [1, 2, 3, 4]
    assert journey.pgassay("check", str(path)).returncode == 0
