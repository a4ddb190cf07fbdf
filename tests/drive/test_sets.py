"""Data and WAL on drives in one place: neither half of a snapshot is taken for the other."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from pgassay.drive.attacher import Attacher
from pgassay.drive.options import DriveOptions
from pgassay.interfaces.drive_counters import Counted, DriveCounters
from pgassay.interfaces.places import Mount
from pgassay.interfaces.store import Drive, Needs
from tests.drive.places import OURSELVES, on_fakes
from tests.fakes.block import FakeDaemon, FakeKernel
from tests.fakes.runner import FakeRunner


def kept(drive: Drive) -> None:
    """A snapshot of a cluster with one file of data and one of WAL."""
    directory = drive.workspace("prepare")
    (directory / "pg_wal").mkdir()
    (directory / "pg_wal" / "segment").write_text("wal")
    (directory / "file").write_text("data")
    drive.lay_out(directory)
    drive.take_snapshot("k", directory)


@pytest.mark.parametrize("places", [("directory", "directory"), ("directory:{}", "directory"), ("image", "image")])
def test_both_halves_may_be_kept_in_one_place(tmp_path: Path, places: tuple[str, str]) -> None:
    data, wal = (each.format(tmp_path / "data") for each in places)
    drive = on_fakes(tmp_path / "data", data, wal)
    assert not drive.has_snapshot("k")
    kept(drive)
    assert drive.has_snapshot("k")
    clone = drive.clone("k", "trial-1")
    assert (clone / "file").read_text() == "data"
    assert [path.name for path in clone.iterdir() if path.name == "segment"] == []
    assert (clone / "pg_wal").is_symlink()
    assert (clone / "pg_wal" / "segment").read_text() == "wal"
    drive.discard(clone)
    drive.forget_snapshot("k")
    assert not drive.has_snapshot("k")
    drive.release()


def counted_of(drive: Drive) -> Mapping[str, Counted]:
    """By source, what the drives under a clone tell now."""
    kept(drive)
    clone = drive.clone("k", "trial-1")
    try:
        return {source: read() for source, read in drive.counters(clone).items()}
    finally:
        drive.discard(clone)
        drive.release()


@pytest.mark.parametrize(
    ("data", "wal", "telling", "silent"),
    [
        ("csd", "image", {"drive"}, {"smart_wal"}),
        ("csd", "directory", {"drive"}, {"smart_wal"}),
        ("image", "csd", {"drive_wal"}, {"smart"}),
        ("directory", "csd", {"drive_wal"}, {"smart"}),
        ("csd", "ssd", {"drive", "drive_wal"}, set()),
        ("image", "directory", set(), set()),
    ],
)
def test_a_half_that_counts_nothing_is_there_beside_one_that_counts(
    tmp_path: Path, data: str, wal: str, telling: set[str], silent: set[str]
) -> None:
    found = counted_of(on_fakes(tmp_path, data, wal, store_bytes=1 << 30))
    assert {source for source, counted in found.items() if counted} == telling
    assert {source for source, counted in found.items() if not counted} == silent


def only_one(device: str) -> DriveCounters | None:
    """One real drive that counts, and no other."""
    return one_drive if device == "/dev/one" else None


def one_drive() -> Counted:
    return {"host_bytes_written": 1.0}


@pytest.mark.parametrize(
    ("data", "wal", "telling", "silent"),
    [
        ("one", "one", {"smart"}, set()),
        ("one", "other", {"smart"}, {"smart_wal"}),
        ("other", "one", {"smart_wal"}, {"smart"}),
        ("other", "other", set(), set()),
    ],
)
def test_a_real_drive_that_counts_does_not_stand_for_both(
    tmp_path: Path, data: str, wal: str, telling: set[str], silent: set[str]
) -> None:
    def mount_of(path: Path) -> Mount:
        device = next((each for each in ("one", "other") if each in path.parts), "")
        return Mount(path, Path("/"), "ext4", f"/dev/{device}", "rw", 1 << 41, 1 << 40, reflink=False)

    machine = (FakeRunner(), FakeKernel(), FakeDaemon(), OURSELVES, mount_of)
    levels = {"data": f"directory:{tmp_path / data / 'data'}", "wal": f"directory:{tmp_path / wal / 'wal'}"}
    for each in (data, wal):
        (tmp_path / each).mkdir(exist_ok=True)
    drives = Attacher(*machine, counting=only_one).attach(DriveOptions.from_levels(levels), tmp_path, Needs(64 << 20))
    found = counted_of(drives)
    assert {source for source, counted in found.items() if counted} == telling
    assert {source for source, counted in found.items() if not counted} == silent
