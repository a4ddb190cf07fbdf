"""The machine's file of proofs: the latest of each drive, and nothing that cannot be read."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.record.counter_proofs import CounterProof, KnownProofs, read, remember
from pgassay.record.disk import RealDisk
from pgassay.record.errors import RecordError

FOUND = CounterProof("Some SSD 123", "/dev/nvme0n1", "2026-01-02T03:04:05Z", 16 << 30, "", "normal")


def test_the_latest_of_a_drive_replaces_the_earlier(tmp_path: Path) -> None:
    path, disk = tmp_path / "state" / "counters.json", RealDisk()
    assert read(disk, path) == KnownProofs()
    other = replace(FOUND, drive="Some SSD 124")
    newer = replace(FOUND, device="/dev/nvme1n1", problem="nand_bytes_written moved by 0B", role="")
    for each in (FOUND, other, newer):
        remember(disk, path, each)
    known = read(disk, path)
    assert known.of(FOUND.drive) == newer
    assert known.of(other.drive) == other
    assert known.of("Some SSD 125") is None
    assert known.of("") is None


def test_a_file_that_cannot_be_read_or_is_newer_is_as_good_as_none(tmp_path: Path) -> None:
    path, disk = tmp_path / "counters.json", RealDisk()
    for text in ("no JSON", '{"format": 2, "proofs": []}', '{"proofs": 3}'):
        path.write_text(text)
        assert read(disk, path) == KnownProofs()
    remember(disk, path, FOUND)
    assert read(disk, path).of(FOUND.drive) == FOUND


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(RecordError, match="keep what a known write showed"):
        remember(RealDisk(), tmp_path / "state" / "counters.json", FOUND)
