"""Block drives with real loop devices and mounts: every kind and file system, discards, checks, and giving back."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from pgassay.copying import sync_filesystem
from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.daemon import RealDaemon
from pgassay.drive.block.drive import BlockDrive
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.options import FACTORS, DriveOptions
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.drive_counters import DATA
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.factor import Readable
from pgassay.study.drives import STATE_BEFORE
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.drive.test_daemon import until
from tests.noise import noise

pytestmark = pytest.mark.system

RANDOM = noise(1 << 20)


@pytest.fixture
def place() -> Iterator[Path]:
    with real.place() as path:
        yield path


class Server:
    """A server that only says where its data are."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        return [(str(self.directory),)]


def read_back(directory: Path, name: str, typed: str) -> tuple[str | None, str]:
    """What holds, and what was asked, in canonical form."""
    server: Any = Server(directory)
    level = FACTORS[name].parse(name, typed)
    return FACTORS[name].read_back(name, level, Readable(server)), level.canonical


@pytest.mark.parametrize("kind", ["image", "csd", "ssd"])
@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_every_trial_starts_from_the_same_bytes(place: Path, kind: str, filesystem: str) -> None:
    real.require(kind, filesystem)
    drive = real.attach(place, kind, data_filesystem=filesystem)
    assert isinstance(drive, BlockDrive)
    directory = drive.workspace("prepare")
    (directory / "file").write_bytes(RANDOM)
    drive.take_snapshot("k", directory)
    for number in (1, 2):
        clone = drive.clone("k", f"trial-{number}")
        assert (clone / "file").read_bytes() == RANDOM
        (clone / "file").write_bytes(b"worn")
        assert read_back(clone, "drive.data", kind) == (kind, kind)
        assert read_back(clone, "drive.data.filesystem", filesystem) == (filesystem, filesystem)
        drive.discard(clone, check=True)
    drive.release()
    assert left_behind(place) == []


@pytest.mark.parametrize("kind", ["csd", "ssd"])
def test_every_trial_starts_from_the_same_flash(place: Path, kind: str) -> None:
    """Counters, and how full it is, come back; what a trial writes in between moves them."""
    real.require(kind)
    drive = real.attach(place, kind)
    directory = drive.workspace("prepare")
    (directory / "file").write_bytes(RANDOM)
    drive.take_snapshot("k", directory)
    states = []
    for number in (1, 2, 3):
        clone = drive.clone("k", f"trial-{number}")
        told = drive.traits(clone)[f"{DATA}.{STATE_BEFORE}"]
        assert told.holds
        states.append(told.found)
        before = drive.counters(clone)[DATA]()["host_bytes_written"]
        (clone / "file").write_bytes(RANDOM * number)
        sync_filesystem(clone)
        assert drive.counters(clone)[DATA]()["host_bytes_written"] > before
        drive.discard(clone)
    assert len(set(states)) == 1
    drive.release()


@pytest.mark.parametrize(
    ("filesystem", "mkfs", "options"),
    [
        ("ext4", "-b 4096 -J size=8", "noatime,discard"),
        ("ext4", "-O ^has_journal", "nodiscard"),
        ("xfs", "-i size=1024", "relatime"),
        ("btrfs", "-n 32768", "noatime,nodatacow"),
    ],
)
def test_mkfs_and_mount_options_are_read_back(place: Path, filesystem: str, mkfs: str, options: str) -> None:
    real.require("image", filesystem)
    drive = real.attach(place, "image", data_filesystem=filesystem, data_mkfs=mkfs, data_mount_options=options)
    directory = drive.workspace("prepare")
    for name, typed in (("mkfs", mkfs), ("mount_options", options), ("capacity", "512MB")):
        found, asked = read_back(directory, f"drive.data.{name}", typed)
        assert found == asked, name
    assert read_back(directory, "drive.data.mount_options", "nodev")[0] not in (None, "nodev")
    drive.discard(directory)
    drive.release()
    assert left_behind(place) == []


def test_an_emulated_drive_hears_of_discards_and_counts(place: Path) -> None:
    real.require("csd")
    drive = real.attach(place, "csd", data_mount_options="discard")
    directory = drive.workspace("prepare")
    (directory / "file").write_bytes(RANDOM * 32)
    sync_filesystem(directory)
    point = next(entry.point for entry in kernel.mounts_below(place) if entry.filesystem == "ext4")
    before = drive.counters(directory)[DATA]()
    assert before["host_bytes_written"] >= 32 << 20
    assert before["physical_bytes"] >= 32 << 20, "random bytes do not shrink"
    (directory / "file").unlink()

    def taken() -> float:
        sync_filesystem(directory)  # blocks are free when the journal says so, or a moment later
        real.succeeded("fstrim", str(point))
        return drive.counters(directory)[DATA]()["physical_bytes"]

    until(lambda: taken() < before["physical_bytes"] / 2, "what was deleted is stored still")
    drive.discard(directory)
    assert drive.counters(directory) == {}
    drive.release()


def test_a_busy_drive_is_named_and_given_back_later(place: Path) -> None:
    real.require("image")
    drive = real.attach(place, "image")
    directory = drive.workspace("prepare")
    defaults = {"patience_s": 0.1, "lazily": False}
    with (
        (directory / "held").open("w"),
        patch.dict(kernel.unmount.__kwdefaults__, defaults),
        pytest.raises(DriveError, match=f"process {os.getpid()}"),
    ):
        drive.discard(directory)
    drive.discard(directory)
    drive.release()
    assert left_behind(place) == []


@pytest.mark.parametrize("levels", [("image", "image"), ("directory", "csd"), ("csd", "directory")])
def test_data_and_wal_apart_are_kept_together(place: Path, levels: tuple[str, str]) -> None:
    data, wal = levels
    for kind in levels:
        real.require(kind)
    drive = real.attach(place, data, wal=wal, **({} if wal == "directory" else {"wal_capacity": "512MB"}))
    directory = drive.workspace("prepare")
    (directory / "pg_wal").mkdir()
    (directory / "pg_wal" / "000000010000000000000001").write_bytes(RANDOM)
    drive.lay_out(directory)
    assert (directory / "pg_wal").is_symlink()
    drive.take_snapshot("k", directory)
    clone = drive.clone("k", "trial-1")
    assert (clone / "pg_wal" / "000000010000000000000001").read_bytes() == RANDOM
    assert clone.stat().st_dev != (clone / "pg_wal").stat().st_dev
    assert read_back(clone, "drive.wal", wal) == (wal, wal)
    assert read_back(clone, "drive.data", data) == (data, data)
    drive.discard(clone)
    drive.release()
    assert left_behind(place) == []


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_what_is_dropped_is_not_written_back(place: Path, filesystem: str) -> None:
    real.require("image", filesystem)
    asked = Filesystem(filesystem)
    image, point = place / "image", place / "mnt"
    point.mkdir()
    image.touch()
    os.truncate(image, asked.kind.capacity_min_bytes)
    ours = kernel.LinuxKernel(LocalRunner(choose()))
    device = ours.attach(image)
    try:
        ours.make(device, asked, "pgassay-test")
        ours.mount(device, point, asked)
        (point / "kept").write_bytes(RANDOM)
        sync_filesystem(point)
        for turn in range(20):
            lost = point / f"lost-{turn}"
            lost.write_bytes(RANDOM)
            ours.drop(point)
            ours.drop(point)
            ours.mount(device, point, asked)
            assert (point / "kept").read_bytes() == RANDOM
            if not lost.exists() or lost.read_bytes() != RANDOM:
                break
        else:
            pytest.fail("it was written back each time, and not only at the kernel's own moment or by another's sync")
    finally:
        ours.unmount(point)
        ours.detach(device)
    assert left_behind(place) == []


def test_only_what_is_mounted_there_is_shut_down(place: Path) -> None:
    kernel.shut_down(place)
    kernel.LinuxKernel(LocalRunner(choose())).drop(place)
    (place / "file").write_bytes(RANDOM)
    sync_filesystem(place)
    assert (place / "file").read_bytes() == RANDOM


def test_a_mount_option_that_the_kernel_does_not_know_is_refused_in_the_words_of_mount(place: Path) -> None:
    real.require("image")
    with pytest.raises(DriveError, match="mount"):
        real.attach(place, "image", data_mount_options="nonsense=1").workspace("prepare")
    assert left_behind(place) == []


def test_without_a_loop_control_the_program_is_asked(place: Path) -> None:
    file = place / "file"
    file.write_bytes(b"")
    assert kernel.looped(file, place / "none") is None


@pytest.mark.slow
def test_a_killed_drive_is_given_back_while_its_disk_is_still_held(place: Path) -> None:
    real.require("csd")
    home, program = place / "home", RealDaemon()
    home.mkdir()
    described = DriveOptions.from_levels({"data": "csd", "data.capacity": "64MB"}).data.described
    assert described is not None
    program.start(home, described.core.configuration("held", home))
    held = os.open(program.disk(home), os.O_RDONLY)
    try:
        daemon.kill(home)
        assert kernel.mounts_below(home)
        program.end(home)
        assert not kernel.mounts_below(home)
    finally:
        with suppress(OSError):  # whoever served it is gone
            os.close(held)
    (home / daemon.FUSE).rmdir()
