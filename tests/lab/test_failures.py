"""A row or a key that no page of this size can hold has a name of its own, whatever program says it."""

import errno
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.interfaces.errors import BenchError, ClusterError, HostError, QueryError, SpaceError
from pgassay.interfaces.server import Server
from pgassay.lab.checks import code_of, merged, of_drives, of_error, of_full_drive, of_log, of_window
from pgassay.postgres.complaints import KILLED
from pgassay.study.responses import Status
from tests.fakes.drive import FakeDrive
from tests.lab.machine import MachineLoad
from tests.lab.simulation import simulate, study_of


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("pgbench failed with status 1: ERROR:  row is too big: size 2424, maximum size 992", "row_too_large"),
        ('index row size 592 exceeds btree version 4 maximum 312 for index "i"', "key_too_large"),
        ("index row requires 9000 bytes, maximum size is 8191", "key_too_large"),
        ("pgbench failed with status 1: ERROR:  out of memory", "not_prepared"),
    ],
)
def test_codes(words: str, code: str) -> None:
    assert code_of(words, "not_prepared") == code


def _not_started(words: str) -> ClusterError:
    return ClusterError(f"server did not start: {words}")


def test_a_loads_problems_are_renamed_one_by_one() -> None:
    row = "client 0 aborted: row is too big: size 3000, maximum size 2016"
    assert of_window({"aborted": row, "failed_transactions": "3 of 9"}, "", {}) == {
        "row_too_large": row,
        "failed_transactions": "3 of 9",
    }


class Doubting(MachineLoad):
    """Its data are wrong after the second run."""

    def verify(self, server: Server) -> Mapping[str, str]:
        return {"inconsistent": "an order has no lines"} if self._runs == 2 else {}


def test_what_a_load_finds_wrong_with_its_data_is_the_trials_outcome(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.lab.simulation.MachineLoad", Doubting)
    simulation = simulate(place, events={})
    simulation.study = study_of(load={"warmup": "0s"})
    simulation.carry_on()
    first, second, *others = simulation.run.trials
    assert first.status is Status.VALID
    assert second.status is Status.OUTCOME
    assert [(reason.code, reason.detail) for reason in second.reasons] == [("inconsistent", "an order has no lines")]
    assert {trial.status for trial in others} == {Status.VALID}


def test_a_study_without_a_warm_up_runs(place: Path) -> None:
    simulation = simulate(place, events={})
    fixed = {name: level for name, level in simulation.study.fixed.items() if name != "load.warmup"}
    simulation.study = replace(simulation.study, fixed=fixed)
    simulation.carry_on()
    assert {trial.regime["warmup_s"] for trial in simulation.run.trials} == {0.0}


def test_a_full_drive_has_its_name_whoever_says_so() -> None:
    panic = '2026-11-21 10:00:00 UTC [7] PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device'
    log = f"2026-11-21 10:00:00 UTC [1] LOG:  ready\n{panic}\n2026-11-21 10:00:01 UTC [1] LOG:  terminating any other"
    assert of_log(log) == {"no_space": panic}
    assert of_log("LOG:  server process was terminated by signal 9: Killed") == {}
    killed = "2026-11-21 10:00:00 UTC [1] LOG:  server process (PID 4711) was terminated by signal 9: Killed"
    assert of_log(f"{killed}\n[1] LOG:  all server processes terminated; reinitializing\n") == {"server_killed": killed}
    said = {"aborted": 'ERROR:  could not extend file "base/5/16384": No space left on device'}
    assert list(of_window(said, "", {})) == ["no_space"]


def test_what_a_drive_without_physical_space_did_is_told_beside_what_the_server_said() -> None:
    counters = {"drive.rejected_writes": 3.0, "drive_wal.rejected_writes": 2.0, "drive.throttled_writes": 4096.0}
    told = of_drives(counters)
    assert told == {
        "no_space": "the drive had no physical space left and refused 5 blocks",
        "drive_throttled": "short of physical space, the drive slowed down 4096 blocks that were written",
    }
    both = merged({"aborted": "gone", "no_space": "PANIC"}, told)
    assert list(both) == ["no_space", "drive_throttled", "aborted"]
    assert both["no_space"] == "the drive had no physical space left and refused 5 blocks; PANIC"
    assert list(of_drives({"drive.store_full_writes": 1.0})) == ["drive_store_full"], "no property of the drive"
    assert of_drives({"drive.rejected_writes": 0.0, "drive.throttled_writes": None, "wal.wal_bytes": 7.0}) == {}


PLACE = Path("/drive/trial-1")
COUNTED = {"rejected_writes": 2.0, "host_bytes_written": 1e9}


def counting() -> tuple[FakeDrive, dict[str, float]]:
    """A drive, and what it has counted so far, to be changed."""
    drive, counted = FakeDrive(), dict(COUNTED)
    drive.counts = {"drive": lambda: dict(counted)}
    return drive, counted


@pytest.mark.parametrize(
    "failure",
    [OSError(errno.EROFS, "Read-only file system"), ClusterError("server did not start: read-only file system")],
)
def test_what_a_file_system_says_after_a_refused_write_is_no_space(failure: Exception) -> None:
    drive, counted = counting()

    def fails() -> None:
        counted["rejected_writes"] += 3
        raise failure

    with pytest.raises(SpaceError, match="refused 3 blocks") as caught, of_full_drive(drive, PLACE):
        fails()
    assert "read-only" in caught.value.message
    assert caught.value.__cause__ is failure


def test_a_failure_of_which_the_drive_knows_nothing_stays_what_it_is() -> None:
    drive, _ = counting()
    with pytest.raises(OSError, match="Read-only"), of_full_drive(drive, PLACE):
        raise OSError(errno.EROFS, "Read-only file system")
    with pytest.raises(ClusterError), of_full_drive(FakeDrive(), PLACE):
        raise ClusterError("server did not start")


def test_each_error_that_ends_a_trial_has_its_code() -> None:
    pages = {"huge_pages": "on"}
    no_pages = ClusterError("could not map anonymous shared memory: Cannot allocate memory")
    assert of_error(no_pages, pages) == {"hugepage_error": no_pages.message}
    assert list(of_error(no_pages, {})) == ["not_started"]
    assert list(of_error(_not_started(f"it {KILLED}; its last message: x"), pages)) == ["server_killed"]
    assert list(of_error(_not_started("could not write lock file: No space left on device"), {})) == ["no_space"]
    queue = "could not setup io_uring queue"
    assert list(of_error(_not_started(f"{queue}: Operation not permitted"), {})) == ["io_uring_refused"], (
        "sysctl, seccomp"
    )
    assert list(of_error(_not_started(f"{queue}: Function not implemented"), {})) == ["io_uring_refused"], "the kernel"
    assert list(of_error(_not_started(f"{queue}: Too many open files"), {})) == ["not_started"], "a limit of ours"
    assert of_error(QueryError("row is too big: size 9, maximum size 8"), {}) == {
        "row_too_large": "row is too big: size 9, maximum size 8"
    }
    assert list(of_error(QueryError("syntax error"), {})) == ["server"]
    assert list(of_error(HostError("wanted 80, got 3", code="memory_error"), {})) == ["memory_error"]
    for full in (SpaceError("no room"), OSError(errno.ENOSPC, "No space left on device")):
        assert list(of_error(full, {})) == ["no_space"]
    with pytest.raises(BenchError, match="permission denied"):
        of_error(OSError(errno.EACCES, "Permission denied"), {})


def test_a_windows_failures_are_those_of_load_log_and_drives_in_one() -> None:
    counters = {"drive.rejected_writes": 2.0}
    found = of_window({"aborted": "gone"}, "PANIC:  No space left on device\n", counters)
    assert found == {
        "no_space": "the drive had no physical space left and refused 2 blocks; PANIC:  No space left on device",
        "aborted": "gone",
    }
    assert of_window({}, "", {}) == {}


def test_a_full_dev_shm_is_no_full_drive() -> None:
    said = 'could not resize shared memory segment "/PostgreSQL.1234567" to 8388608 bytes: No space left on device'
    assert list(of_window({"aborted": f"ERROR:  {said}"}, "", {})) == ["shared_memory_full"]
    assert list(of_log(f"2026-11-21 10:00:00 UTC [7] FATAL:  {said}\n")) == ["shared_memory_full"]
