"""The user's file of drives: the latest disk study of each, and nothing that cannot be read."""

from dataclasses import replace
from pathlib import Path

from pgassay.record.calibrations import Setting
from pgassay.record.disk import RealDisk
from pgassay.record.formats import read_or
from pgassay.record.known import DiskCapacities, KnownDisks, remember_disk

HERE = Setting("h", "ext4", "/dev/a", "", {})
FOUND = DiskCapacities("2026-01-02T03:04:05Z", HERE, "/runs/disk", {"reads": 9000.0}, {"reads": "load.threads=4"})


def test_the_latest_of_a_drive_replaces_the_earlier(tmp_path: Path) -> None:
    path, disk = tmp_path / "state" / "disk.json", RealDisk()
    assert read_or(disk, path, KnownDisks()) == KnownDisks()
    other = replace(FOUND, place=replace(HERE, device="/dev/b"))
    newer = replace(FOUND, per_s={"reads": 10_000.0})
    for each in (FOUND, other, newer):
        remember_disk(disk, path, each)
    known = read_or(disk, path, KnownDisks())
    assert known.of(HERE) == newer
    assert known.of(other.place) == other
    assert known.of(replace(HERE, host="elsewhere")) is None


def test_a_file_that_cannot_be_read_or_is_newer_is_as_good_as_none(tmp_path: Path) -> None:
    path, disk = tmp_path / "disk.json", RealDisk()
    for text in ("no JSON", '{"format": 2, "disks": []}', '{"disks": 3}'):
        path.write_text(text)
        assert read_or(disk, path, KnownDisks()) == KnownDisks()
    remember_disk(disk, path, FOUND)
    assert read_or(disk, path, KnownDisks()).of(HERE) == FOUND
