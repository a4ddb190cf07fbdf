"""The directory drive on real file systems: by reference on XFS and btrfs, by copy on ext4, full disks included."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pgassay import copying
from pgassay.drive.directory import DirectoryDrive
from pgassay.interfaces.errors import SpaceError
from pgassay.interfaces.places import Mount
from tests.drive.loop import missing, mounted_image
from tests.drive.places import OURSELVES, fill
from tests.test_copying import shape

pytestmark = pytest.mark.system

SIZE_BYTES = 512 << 20


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A file system's type and where it is mounted."""
    why = missing(request.param)
    if why:
        pytest.skip(f"{request.param}: {why}")
    with mounted_image(request.param, tmp_path, SIZE_BYTES) as point:
        yield request.param, point


def facts_of(filesystem: str) -> Callable[[Path], Mount]:
    """Mount facts with the free space as it really is."""

    def mount_of(path: Path) -> Mount:
        usage = shutil.disk_usage(path)
        return Mount(path, path, filesystem, "/dev/loop", "rw", usage.total, usage.free, False)

    return mount_of


def test_reflink_is_found_where_it_is(place: tuple[str, Path]) -> None:
    filesystem, point = place
    assert copying.supported(point) is (filesystem != "ext4")


def test_clones_are_whole_and_apart(place: tuple[str, Path]) -> None:
    filesystem, point = place
    drive = DirectoryDrive(point, OURSELVES, facts_of(filesystem))
    directory = drive.workspace("prepare")
    fill(directory)
    golden = shape(directory)
    drive.take_snapshot("k", directory)
    first, second = drive.clone("k", "trial-1"), drive.clone("k", "trial-2")
    assert drive.how_cloned() == ("copy" if filesystem == "ext4" else "reflink")
    with (first / "base" / "5" / "1259").open("r+b") as file:
        file.write(b"worn")
    assert shape(second) == golden
    assert shape(drive.clone("k", "trial-3")) == golden
    drive.release()


def test_a_reflink_takes_no_room_and_a_copy_is_refused_when_there_is_none(place: tuple[str, Path]) -> None:
    """A snapshot of more than half the drive: a copy cannot fit, clones by reference can."""
    filesystem, point = place
    drive = DirectoryDrive(point, OURSELVES, facts_of(filesystem))
    directory = drive.workspace("prepare")
    (directory / "big").write_bytes(bytes(range(256)) * (1 << 20))
    drive.take_snapshot("k", directory)
    if filesystem == "ext4":
        with pytest.raises(SpaceError, match="MB are needed"):
            drive.clone("k", "trial-1")
    else:
        clones = [drive.clone("k", f"trial-{count}") for count in range(4)]
        assert all((clone / "big").stat().st_size == 256 << 20 for clone in clones)
        assert drive.how_cloned() == "reflink"
    drive.release()
