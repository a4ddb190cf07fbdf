"""The machine's file of proofs: the latest of each drive, and nothing that cannot be read."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.lab.drives import known_in
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.record.disk import RealDisk
from pgassay.record.errors import RecordError
from pgassay.record.known import CounterProof, KnownProofs, read_proofs, remember_proof

FOUND = CounterProof("Some SSD 123", "/dev/nvme0n1", "2026-01-02T03:04:05Z", 16 << 30, "", "normal")


def test_the_latest_of_a_drive_replaces_the_earlier(tmp_path: Path) -> None:
    path, disk = tmp_path / "state" / "counters.json", RealDisk()
    assert read_proofs(disk, path) == KnownProofs()
    other = replace(FOUND, drive="Some SSD 124")
    newer = replace(FOUND, device="/dev/nvme1n1", problem="nand_bytes_written moved by 0B", role="")
    for each in (FOUND, other, newer):
        remember_proof(disk, path, each)
    known = read_proofs(disk, path)
    assert known.of(FOUND.drive) == newer
    assert known.of(other.drive) == other
    assert known.of("Some SSD 125") is None
    assert known.of("") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no JSON",
        b"\xff",
        b'{"format": 2, "proofs": []}',
        b'{"format": 2, "proofs": 3}',
        b'{"format": 1, "proofs": 3}',
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_stays_as_it_is(data: bytes, tmp_path: Path) -> None:
    """As missing, it would make believed again what a proof showed to be wrong."""
    path, disk = tmp_path / "counters.json", RealDisk()
    path.write_bytes(data)
    for use in (lambda: read_proofs(disk, path), lambda: remember_proof(disk, path, FOUND), lambda: known_in(path)):
        with pytest.raises(RecordError, match=r"counters\.json"):
            use()
    assert path.read_bytes() == data


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="Is a directory"):
        read_proofs(RealDisk(), tmp_path)


def test_proofs_that_are_kept_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    path, disk = tmp_path / "counters.json", RealDisk()
    proofs = [replace(FOUND, drive=f"Some SSD {number}") for number in range(16)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda each: remember_proof(disk, path, each), proofs))
    assert {each.drive for each in read_proofs(disk, path).proofs} == {each.drive for each in proofs}


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(RecordError, match="keep what a known write showed"):
        remember_proof(RealDisk(), tmp_path / "state" / "counters.json", FOUND)


def test_no_run_begins_with_a_file_that_cannot_be_read_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "counters.json").write_text("no JSON")
    before = signal.getsignal(signal.SIGTERM)
    environment = {**os.environ, "PGASSAY_STATE_DIR": str(tmp_path)}
    with pytest.raises(RecordError, match=r"counters\.json"), Workbench(BenchOptions(), environment):
        pytest.fail("it began")
    assert signal.getsignal(signal.SIGTERM) is before
