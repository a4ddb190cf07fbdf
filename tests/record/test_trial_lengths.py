"""What past runs took: the latest that are alike say what a plan multiplies its forecast by."""

from pathlib import Path

from pgassay.record import known
from pgassay.record.calibrations import Setting
from pgassay.record.disk import replace_file
from pgassay.record.formats import read_or
from pgassay.record.known import ALIKE, LATEST, Kind, KnownLengths, Lengths, Pace
from tests.fakes.disk import FakeDisk

PLACE = Setting("h", "ext4", "/dev/sda1", "", {})
TURNS = Kind(PLACE, "directory", "alternate", "pgbench")
ALONE = Kind(PLACE, "directory", "sequential", "pgbench")
GB = 10**9
FILE = Path("/state/pgassay") / known.LENGTHS_FILE


def took(trial: float, preparation: float | None = None, kind: Kind = TURNS, data_bytes: int = GB) -> Lengths:
    return Lengths("2026-01-02T03:04:05Z", kind, data_bytes, trial, preparation)


def test_of_many_runs_the_median_of_the_latest_counts() -> None:
    known = KnownLengths()
    for trial in (9.0, 9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 50.0):
        known = known.with_one(took(trial))
    assert [each.trial for each in known.runs] == [1.0, 2.0, 3.0, 4.0, 50.0]
    assert known.pace(TURNS, GB) == Pace(3.0, 1.0, LATEST)
    assert known.pace(TURNS, GB, latest=1) == Pace(50.0, 1.0, 1)
    assert known.pace(TURNS, GB, latest=0) == Pace()


def test_runs_of_this_size_come_before_others_and_this_pairing_before_the_other() -> None:
    large = int(GB * ALIKE * 1.5)
    known = KnownLengths().with_one(took(2.0)).with_one(took(7.0, data_bytes=large)).with_one(took(5.0, kind=ALONE))
    assert known.pace(TURNS, GB // 2).trial == 2.0
    assert known.pace(TURNS, 2 * large).trial == 7.0
    assert known.pace(TURNS, 10**15).trial == 4.5, "of no run alike: by all of the kind"
    assert known.pace(ALONE, GB).trial == 5.0
    assert KnownLengths((took(5.0, kind=ALONE),)).pace(TURNS, GB).trial == 5.0
    elsewhere = Kind(Setting("h", "ext4", "/dev/sdb1", "", {}), "directory", "alternate", "pgbench")
    assert known.pace(elsewhere, GB) == Pace()
    assert known.pace(Kind(PLACE, "directory", "alternate", "pgbench+maintenance"), GB) == Pace()


def test_a_run_that_made_no_snapshot_says_nothing_of_making_them() -> None:
    known = KnownLengths((took(2.0, 3.0), took(2.0), took(2.0, 5.0)))
    assert known.pace(TURNS, GB).preparation == 4.0
    assert KnownLengths((took(2.0),)).pace(TURNS, GB).preparation == 1.0


def test_what_is_remembered_is_read_again_and_what_cannot_be_read_counts_as_missing() -> None:
    disk = FakeDisk()
    assert read_or(disk, FILE, KnownLengths()) == KnownLengths()
    known.remember_lengths(disk, FILE, took(2.0, 3.0))
    known.remember_lengths(disk, FILE, took(4.0, kind=ALONE))
    assert read_or(disk, FILE, KnownLengths()).runs == (took(2.0, 3.0), took(4.0, kind=ALONE))
    replace_file(disk, FILE, b'{"format": 99, "runs": []}')
    assert read_or(disk, FILE, KnownLengths()) == KnownLengths()
    replace_file(disk, FILE, b"\xff{")
    assert read_or(disk, FILE, KnownLengths()) == KnownLengths()
