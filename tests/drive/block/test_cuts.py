"""Crash states of a block drive: asked for in the daemon's words, mounted beside the drive, and given back."""

from pathlib import Path

import msgspec
import pytest

from pgassay.drive.block.description import PRESETS
from pgassay.drive.block.drive import BlockDrive
from pgassay.drive.block.emulated import EmulatedVolume
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.image import ImageVolume
from pgassay.drive.options import DriveOptions
from pgassay.drive.root import open_root
from pgassay.errors import UsageError
from pgassay.interfaces.errors import DamagedError, DriveError
from pgassay.interfaces.places import Account, Mount
from pgassay.interfaces.store import CrashingDrive, CrashReport, CrashRequest, CrashState, PageInFlight
from tests.fakes.block import FakeDaemon, FakeKernel

REQUEST = CrashRequest("prefix", 7)
ANSWER = {
    "number": 3, "wall_ns": 10, "took_ms": 1.5, "flushes": 4, "requests": 5, "pieces": 6, "lost_pieces": 2,
    "torn_requests": 1, "page": None, "strip": [[8, 2, 1]],
}  # fmt: skip


def here(place: Path) -> Mount:
    return Mount(place, place, "ext4", "/dev/fake", "rw", 1 << 40, 1 << 40, False)


def drive(home: Path, kernel: FakeKernel, **options: str) -> BlockDrive:
    home.mkdir()
    described = PRESETS["ssd"].with_capacity(1 << 20)
    asked = DriveOptions.from_levels({"data": "ssd", **options}).persistence
    volume = EmulatedVolume(home, described, kernel, FakeDaemon(), asked)
    return BlockDrive(volume, Filesystem(), kernel, home, Account(None, 0, 0), here, lambda: None)


def prepared(home: Path, kernel: FakeKernel, **options: str) -> tuple[BlockDrive, Path]:
    made = drive(home, kernel, **options)
    made.take_snapshot("k", made.workspace("w"))
    return made, made.clone("k", "trial")


def test_crash_states_are_mounted_beside_the_drive_and_go_again(tmp_path: Path) -> None:
    kernel = FakeKernel()
    made, clone = prepared(tmp_path / "home", kernel, cache="volatile")
    assert isinstance(made, CrashingDrive)
    before = dict(kernel.mounted)
    first, second = made.cut(clone, REQUEST), made.cut(clone, REQUEST)
    # The name of the clone was given once it was mounted; this kernel keeps what it had by then.
    assert first.directory == tmp_path / "home" / "crash" / "1" / "data", "our own renaming may be lost"
    assert (second.report.number, second.report.strip) == (2, ((3, 2, 1),))
    assert set(first.steps_ms) == {"clone", "attach", "mount", "check", "remount"}
    assert len(kernel.mounted) == len(before) + 2
    made.discard_cut(first)
    made.discard_cut(first)
    assert (len(kernel.mounted), len(kernel.devices)) == (len(before) + 1, 2)
    assert made.cut(clone, REQUEST).report.number == 3, "and another one can be made"
    made.release()
    assert (kernel.mounted, kernel.devices) == ({}, {}), "crash states that are still there go with the drive"
    assert not (tmp_path / "home" / "crash").exists()


def test_a_damaged_file_system_is_found_once_all_is_given_back(tmp_path: Path) -> None:
    kernel = FakeKernel()
    made, clone = prepared(tmp_path / "home", kernel, cache="volatile")
    kernel.damaged = True
    with pytest.raises(DamagedError):
        made.cut(clone, REQUEST)
    assert len(kernel.mounted) == len(kernel.devices) == 1


@pytest.mark.parametrize("step", ["attach", "mount", "unmount"])
def test_whatever_step_fails_nothing_of_a_crash_state_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    kernel = FakeKernel()
    made, clone = prepared(tmp_path / "home", kernel, cache="volatile")
    before = dict(kernel.mounted)

    def failing(*given: object) -> None:
        raise DriveError("no")

    with monkeypatch.context() as patch:
        patch.setattr(kernel, step, failing)
        with pytest.raises(DriveError):
            made.cut(clone, REQUEST)
    assert (kernel.mounted, len(kernel.devices)) == (before, 1)
    made.discard_cut(made.cut(clone, REQUEST))
    made.release()
    assert (kernel.mounted, kernel.devices) == ({}, {})


def test_only_the_clone_that_is_there_is_cut(tmp_path: Path) -> None:
    made, clone = prepared(tmp_path / "home", FakeKernel())
    with pytest.raises(DriveError):
        made.cut(clone.with_name("other"), REQUEST)
    made.release()


def test_an_image_cannot_be_cut(tmp_path: Path) -> None:
    root = open_root(tmp_path, Account(None, 0, 0), here, True)
    volume = ImageVolume(root, tmp_path, 1 << 20, FakeKernel(), here)
    made = BlockDrive(volume, Filesystem(), FakeKernel(), tmp_path, Account(None, 0, 0), here, lambda: None)
    with pytest.raises(DriveError, match="image"):
        made.cut(tmp_path / "mnt" / "x", REQUEST)
    made.discard_cut(CrashState(tmp_path, msgspec.convert(ANSWER, CrashReport)))


def test_the_drives_answer_is_read() -> None:
    page = {"block": 8, "bytes": 8192, "old_lsn": 1, "new_lsn": 2, "sectors": [255, 0], "changed": [1, 128]}
    report = msgspec.convert({**ANSWER, "page": page}, CrashReport)
    assert (report.flushes, report.lost_pieces, report.strip) == (4, 2, ((8, 2, 1),))
    assert report.page == PageInFlight(8, 8192, 1, 2, (255, 0), (1, 128))
    assert msgspec.convert(ANSWER, CrashReport).page is None


@pytest.mark.parametrize(
    ("sectors", "changed", "torn"),
    [((255, 0), (1, 128), True), ((255, 0), (1, 0), False), ((0, 0), (1, 1), False), ((3,), (7,), True)],
)
def test_a_page_is_torn_only_where_old_and_new_differ_on_both_sides(
    sectors: tuple[int, ...], changed: tuple[int, ...], torn: bool
) -> None:
    assert PageInFlight(0, 4096 * len(sectors), 1, 2, sectors, changed).torn is torn


def test_what_the_cache_does_is_asked_of_emulated_drives_only() -> None:
    asked = DriveOptions.from_levels({"data": "ssd", "flush": "lies", "atomic_write_bytes": "16384"})
    assert asked.persistence == {"flush": "lies", "atomic_write_bytes": 16384}
    assert DriveOptions.from_levels({"data": "ssd"}).persistence == {}
    for levels in ({"cache": "volatile"}, {"data": "image", "flush": "lies"}, {"atomic_write_bytes": "8192"}):
        with pytest.raises(UsageError, match=next(name for name in levels if name != "data")):
            DriveOptions.from_levels(levels)
    with pytest.raises(UsageError):
        DriveOptions.from_levels({"data": "ssd", "atomic_write_bytes": "1000"})
