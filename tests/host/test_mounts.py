"""Which mount holds a path, and what kind of place it is."""

from pathlib import Path

import pytest

from pgassay.bench.places import Mount
from pgassay.host.mounts import existing_ancestor, holding, mount_of, parse_mountinfo, unsuitable

MOUNTINFO = """\
28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 28 0:25 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=100k
31 28 8:1 /sub /srv/my\\040data rw,noatime master:3 - xfs /dev/sda1 rw,noatime,attr2
32 28 8:2 / /srv rw - btrfs /dev/sdb rw
33 28 8:3 / /srv rw - ext4 /dev/sdc rw
garbage
"""


def test_lines_become_mounts() -> None:
    mounts = parse_mountinfo(MOUNTINFO)
    assert [mount.filesystem for mount in mounts] == ["ext4", "tmpfs", "xfs", "btrfs", "ext4"]
    assert mounts[2].mount_point == Path("/srv/my data")
    assert mounts[2].options == "rw,noatime,attr2"


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("/", "/dev/vda"),
        ("/var/lib", "/dev/vda"),
        ("/dev/shm/x", "tmpfs"),
        ("/dev/shmx", "/dev/vda"),
        ("/srv/my data/pg", "/dev/sda1"),
        ("/srv/other", "/dev/sdc"),
    ],
)
def test_the_nearest_and_latest_mount_holds_a_path(path: str, device: str) -> None:
    found = holding(Path(path), parse_mountinfo(MOUNTINFO))
    assert found is not None
    assert found.device == device


def test_a_path_that_is_not_there_yet_is_judged_by_its_parent(tmp_path: Path) -> None:
    ahead = tmp_path / "not" / "yet"
    assert existing_ancestor(ahead) == tmp_path.resolve()
    mount = mount_of(ahead)
    assert mount.path == ahead
    assert 0 < mount.free_bytes <= mount.size_bytes
    assert mount.filesystem == mount_of(tmp_path).filesystem
    assert not ahead.parent.exists()


def _mount(filesystem: str) -> Mount:
    return Mount(Path("/x"), Path("/"), filesystem, "dev", "rw", 1, 1, False)


def test_only_real_file_systems_are_suitable() -> None:
    assert [unsuitable(_mount(each)) for each in ("ext4", "xfs", "btrfs", "zfs", "f2fs")] == [None] * 5
    for each in ("tmpfs", "overlay", "nfs4", "ramfs"):
        phrase = unsuitable(_mount(each))
        assert phrase is not None
        assert phrase.startswith(each)


def test_memory_is_recognised_on_this_machine() -> None:
    shm = Path("/dev/shm")
    if not shm.is_mount():
        pytest.skip("no /dev/shm here")
    assert unsuitable(mount_of(shm)) is not None
