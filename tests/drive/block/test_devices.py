"""Real devices: only named, free ones that carry nothing of others; a loop device stands for one."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive import options
from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.drive.options import DriveLevel, DriveOptions, OneDrive
from pgassay.errors import UsageError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.store import Drive, Needs
from pgassay.lab.drives import local_attacher, owned
from pgassay.study.drives import DriveKind
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.drive.test_daemon import until
from tests.noise import noise

pytestmark = pytest.mark.system

SIZE_BYTES = 128 << 20
KERNEL = LinuxKernel(LocalRunner(choose()))


@pytest.fixture
def place() -> Iterator[Path]:
    real.require("device")
    with real.place() as path:
        (path / "data").mkdir()
        yield path


@pytest.fixture
def device(place: Path) -> Iterator[Path]:
    """A block device of 128 MB that belongs to somebody else."""
    file = place / "somebody"
    with file.open("wb") as image:
        image.truncate(SIZE_BYTES)
    found = KERNEL.attach(file)
    yield found
    kernel.detach_loop(found)


def test_who_keeps_a_device_mounted_in_a_namespace_of_its_own_is_named(place: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    file, point = place / "kept", place / "point"
    with file.open("wb") as image:
        image.truncate(SIZE_BYTES)
    point.mkdir()
    device = KERNEL.attach(file)
    subprocess.run(["mkfs.ext4", "-q", str(device)], check=True)
    subprocess.run(["mount", str(device), str(point)], check=True)
    words = ["unshare", "--mount", "--propagation", "private", "sleep", "600"]
    with subprocess.Popen(words) as other:
        until(lambda: Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n", "the namespace does not begin")
        subprocess.run(["umount", str(point)], check=True)
        try:
            with pytest.raises(DriveError, match="device busy") as raised:
                kernel.detach_loop(device, patience_s=0.1)
        finally:
            other.kill()
    assert f"process {other.pid} (sleep)" in (raised.value.hint or "")
    kernel.detach_loop(device)


def attach(place: Path, device: Path, *names: Path, **levels: str) -> Drive:
    account = choose()
    attacher = replace(
        local_attacher(LocalRunner(account), account), allow_volatile=True, owned=owned([str(name) for name in names])
    )
    asked = {f"data.{name}": value for name, value in levels.items()}
    return attacher.attach(DriveOptions.from_levels({"data": f"device:{device}", **asked}), place / "data", Needs())


def test_an_owned_blank_device_serves_twice_and_is_unmounted(place: Path, device: Path) -> None:
    for _ in range(2):  # the second time it carries our label
        drive = attach(place, device, device)
        directory = drive.workspace("prepare")
        (directory / "file").write_text("golden")
        drive.take_snapshot("k", directory)
        clone = drive.clone("k", "trial-1")
        assert (clone / "file").read_text() == "golden"
        assert drive.mount().device == str(device)
        assert drive.traits(clone)["drive.start"].found == "as it was found"
        drive.release()
        assert left_behind(place / "data") == []


def test_a_device_by_a_stable_name_is_read_back_by_it(place: Path, device: Path) -> None:
    stable = place / "by-id"
    stable.symlink_to(device)
    account = choose()
    asked = DriveOptions(data=OneDrive(place=DriveLevel(DriveKind.DEVICE, stable)))
    drive = replace(
        local_attacher(LocalRunner(account), account), allow_volatile=True, owned=owned([str(stable)])
    ).attach(asked, place / "data", Needs())
    directory = drive.workspace("prepare")
    assert drive.mount().device == str(stable), "the kernel keeps the name that it is given"
    for name in (stable, device):
        assert options.drive_at(directory, f"device:{name}") == f"device:{name}"
    entry = kernel.mount_over(directory)
    assert entry is not None
    assert options.capacity_of(entry, "auto") == "auto"
    drive.release()


def test_a_device_that_its_owner_preconditioned_is_taken_once_it_is_marked_and_keeps_its_contents(
    place: Path, device: Path
) -> None:
    data = noise(SIZE_BYTES)
    (place / "somebody").write_bytes(data)
    with pytest.raises(DriveError, match=r"byte .* is not zero") as refused:
        attach(place, device, device)
    assert (place / "somebody").read_bytes() == data, "what has no signature may be somebody's"
    command, _, _ = (refused.value.hint or "").partition("do not need them: ")[2].partition(" marks it")
    real.succeeded(*command.split())
    attach(place, device, device).release()
    left = (place / "somebody").read_bytes()
    kept = sum(left[at : at + 4096] == data[at : at + 4096] for at in range(0, SIZE_BYTES, 4096))
    assert kept > 0.8 * SIZE_BYTES / 4096, "neither file system discards what was written"


def test_a_device_that_nobody_named_is_not_looked_at(place: Path, device: Path) -> None:
    with pytest.raises(UsageError, match="--i-own does not name it"):
        attach(place, device)


def test_somebody_elses_file_system_is_left_alone(place: Path, device: Path) -> None:
    KERNEL.make(device, Filesystem(), "precious")
    before = (place / "somebody").read_bytes()
    with pytest.raises(DriveError, match="labelled precious") as caught:
        attach(place, device, device)
    assert (place / "somebody").read_bytes() == before
    assert caught.value.hint is not None
    assert "wipefs" in caught.value.hint
    assert left_behind(place / "data") == []


def test_a_mounted_device_is_left_alone(place: Path, device: Path) -> None:
    KERNEL.make(device, Filesystem(), "pgassay-test")
    point = place / "elsewhere"
    point.mkdir()
    KERNEL.mount(device, point, Filesystem())
    try:
        with pytest.raises(DriveError, match="in use"):
            attach(place, device, device)
    finally:
        KERNEL.unmount(point)


def test_a_device_that_another_program_holds_is_left_alone(place: Path, device: Path) -> None:
    """As a volume group, a running mkfs or another lab would: no mount shows it."""
    before = (place / "somebody").read_bytes()
    held = os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    try:
        with pytest.raises(DriveError, match="in use"):
            attach(place, device, device)
    finally:
        os.close(held)
    assert (place / "somebody").read_bytes() == before
    assert left_behind(place / "data") == []


def test_a_device_that_may_not_be_opened_is_named(place: Path, device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.open

    def refusing(name: Any, *arguments: Any, **more: Any) -> int:
        if str(name) == str(device):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return really(name, *arguments, **more)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(DriveError, match=f'could not open "{device}": permission denied'):
        attach(place, device, device)
    monkeypatch.undo()
    assert left_behind(place / "data") == []


@pytest.mark.slow
def test_data_and_wal_and_several_treatments_share_a_device(place: Path, device: Path) -> None:
    account = choose()
    attacher = replace(local_attacher(LocalRunner(account), account), allow_volatile=True, owned=owned([str(device)]))
    named = f"device:{device}"

    def drive(**levels: str) -> Drive:
        return attacher.attach(DriveOptions.from_levels({"data": named, **levels}), place / "data", Needs())

    beside, apart = drive(), drive(wal=named)
    with pytest.raises(UsageError, match="two file systems"):
        attacher.attach(DriveOptions.from_levels({"data": named, "data.filesystem": "xfs"}), place / "data", Needs())
    directory = apart.workspace("prepare")
    (directory / "pg_wal").mkdir()
    (directory / "pg_wal" / "segment").write_text("wal")
    apart.lay_out(directory)
    apart.take_snapshot("k", directory)
    beside.release()
    clone = apart.clone("k", "trial-1")
    assert (clone / "pg_wal" / "segment").read_text() == "wal"
    apart.release()
    assert left_behind(place / "data") == []
    drive().release()  # mounted anew
    assert left_behind(place / "data") == []


@pytest.fixture
def partitions(place: Path) -> Iterator[tuple[Path, Path]]:
    """Two partitions of one device: 96 MB, and 288 MB, which are enough for btrfs."""
    if shutil.which("addpart") is None:
        pytest.skip("addpart is not installed")
    file = place / "disk"
    with file.open("wb") as image:
        image.truncate(400 << 20)
    disk = KERNEL.attach(file)
    for number, (start, length) in {1: (1, 96), 2: (97, 288)}.items():
        sectors = [str((megabytes << 20) // 512) for megabytes in (start, length)]
        subprocess.run(["addpart", str(disk), str(number), *sectors], check=True)
    yield Path(f"{disk}p1"), Path(f"{disk}p2")
    for number in (1, 2):
        until(lambda number=number: without(disk, number), f"{disk} keeps partition {number}")
    kernel.detach_loop(disk)


def without(disk: Path, number: int) -> bool:
    """Is the partition gone now? Not while another program has it open, as blkid(8), which looks at every device."""
    return subprocess.run(["delpart", str(disk), str(number)], capture_output=True, check=False).returncode == 0


def test_two_file_systems_of_one_drive_lie_on_its_partitions(place: Path, partitions: tuple[Path, Path]) -> None:
    account = choose()
    attacher = replace(
        local_attacher(LocalRunner(account), account),
        allow_volatile=True,
        owned=owned([str(each) for each in partitions]),
    )
    drives = []
    try:
        for device, filesystem in zip(partitions, ("ext4", "btrfs"), strict=True):
            asked = DriveOptions.from_levels({"data": f"device:{device}", "data.filesystem": filesystem})
            drives.append(attacher.attach(asked, place / "data", Needs()))
        assert [drive.mount().filesystem for drive in drives] == ["ext4", "btrfs"]
        assert [drive.mount().reflink for drive in drives] == [False, True]
        for drive in drives:
            directory = drive.workspace("prepare")
            (directory / "file").write_text(drive.mount().filesystem)
            drive.take_snapshot("k", directory)
        found = [(drive.clone("k", "trial") / "file").read_text() for drive in drives]
        assert found == ["ext4", "btrfs"]
    finally:
        for drive in drives:
            drive.release()
    assert left_behind(place / "data") == []


@pytest.mark.parametrize(
    ("filesystem", "mkfs", "shares"),
    [("ext4", "", False), ("btrfs", "", True), ("xfs", "", True), ("xfs", "-m reflink=0", False)],
)
def test_a_plan_knows_whether_clones_on_a_device_will_share_their_blocks(
    place: Path, filesystem: str, mkfs: str, shares: bool
) -> None:
    """A dry run once asked for room for a whole clone, where the run needed none."""
    if shutil.which(f"mkfs.{filesystem}") is None:
        pytest.skip(f"mkfs.{filesystem} is not installed")
    file = place / "disk"
    with file.open("wb") as image:
        image.truncate(320 << 20)
    device = KERNEL.attach(file)
    account = choose()
    levels = {"data": f"device:{device}", "data.filesystem": filesystem}
    asked = DriveOptions.from_levels({**levels, "data.mkfs": mkfs} if mkfs else levels)
    try:
        found = []
        for planned in (True, False):
            attacher = replace(
                local_attacher(LocalRunner(account), account),
                allow_volatile=True,
                owned=owned([str(device)]),
                planned=planned,
            )
            drive = attacher.attach(asked, place / "data", Needs())
            found.append((drive.mount().filesystem, drive.mount().reflink))
            drive.release()
    finally:
        kernel.detach_loop(device)
    assert found == [(filesystem, shares)] * 2


def test_what_is_kept_elsewhere_outlives_the_file_system_of_a_device(place: Path, device: Path) -> None:
    account = choose()
    kept = place / "kept"
    kept.mkdir()
    for turn in ("first", "second"):  # each makes the file system anew
        attacher = replace(
            local_attacher(LocalRunner(account), account),
            allow_volatile=True,
            owned=owned([str(device)]),
            snapshots_in=kept,
        )
        drive = attacher.attach(DriveOptions.from_levels({"data": f"device:{device}"}), place / "data", Needs())
        try:
            assert drive.has_snapshot("k") == (turn == "second")
            if turn == "first":
                directory = drive.workspace("prepare")
                (directory / "file").write_text("golden")
                drive.take_snapshot("k", directory)
            clone = drive.clone("k", turn)
            assert (clone / "file").read_text() == "golden"
            assert clone.stat().st_dev != kept.stat().st_dev
        finally:
            drive.release()


@pytest.mark.slow
def test_a_device_that_is_too_small_is_named_and_given_back(place: Path) -> None:
    file = place / "small"
    file.write_bytes(b"\0" * (64 << 10))
    small = KERNEL.attach(file)
    try:
        with pytest.raises(UsageError, match="a drive of 64kB is too small"):
            attach(place, small, small)
    finally:
        kernel.detach_loop(small)
    assert file.read_bytes() == b"\0" * (64 << 10)
    assert left_behind(place / "data") == []


@pytest.mark.slow
def test_a_device_that_disappears_in_a_run_is_named_and_given_back(place: Path) -> None:
    with real.emulated_devices(place) as made:
        device = made("ssd", 256)
        drive = attach(place, device, device)
        try:
            directory = drive.workspace("prepare")
            (directory / "rows").write_bytes(bytes(1 << 20))
            drive.take_snapshot("k", directory)
            daemon.kill(place / "home")
            with pytest.raises(
                DriveError, match=f'"{device}" does not answer any more: Input/output error \\(could not'
            ):
                drive.write_back(drive.clone("k", "trial-1"))
        finally:
            drive.release()
        assert left_behind(place / "data") == []
