"""Which mount holds a path, and what block device lies beneath: disks, partitions, device-mapper."""

from pathlib import Path

import pytest

from pgassay.host.storage import (
    chosen,
    device_of,
    existing_ancestor,
    mount_of,
    read_device,
    unsuitable,
)
from pgassay.interfaces.places import Mount, holding, parse_mountinfo

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
    assert mounts[2].point == Path("/srv/my data")
    assert ",".join(mounts[2].options) == "rw,noatime,attr2"


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
    assert found.source == device


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


def _sys(tmp_path: Path) -> Path:
    """A /sys with a disk sda (8:0), its partition sda1 (8:1), and dm-0 (253:0) on top of it."""
    disk = tmp_path / "devices" / "sda"
    for folder, texts in {
        disk / "queue": {
            "rotational": "0", "scheduler": "none [mq-deadline] bfq", "write_cache": "write back",
            "logical_block_size": "512", "physical_block_size": "4096",
        },
        disk / "device": {"model": "FAST SSD  "},
        disk / "sda1": {"partition": "1"},
        tmp_path / "devices" / "dm-0" / "queue": {"scheduler": "none"},
        tmp_path / "devices" / "dm-0" / "slaves" / "sda1": {},
    }.items():  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text + "\n")
    links = tmp_path / "dev" / "block"
    links.mkdir(parents=True)
    for number, target in {"8:0": disk, "8:1": disk / "sda1", "253:0": tmp_path / "devices" / "dm-0"}.items():
        (links / number).symlink_to(target)
    return tmp_path


def test_a_partition_has_its_disks_queue(tmp_path: Path) -> None:
    device = read_device("8:1", _sys(tmp_path))
    assert device is not None
    assert (device.name, device.disk, device.model) == ("sda1", "sda", "FAST SSD")
    assert (device.rotational, device.scheduler, device.write_cache) == (False, "mq-deadline", "write back")
    assert (device.logical_block_bytes, device.physical_block_bytes) == (512, 4096)


def test_what_lies_beneath_and_what_is_not_told(tmp_path: Path) -> None:
    device = read_device("253:0", _sys(tmp_path))
    assert device is not None
    assert device.beneath == ("sda1",)
    assert (device.model, device.rotational, device.write_cache, device.logical_block_bytes) == (None, None, None, None)


def test_no_device(tmp_path: Path) -> None:
    assert read_device("9:9", _sys(tmp_path)) is None
    assert read_device("8:1", Path("/" + "x" * 300)) is None, "any error, as in a container that may not look there"
    memory = Mount(tmp_path, tmp_path, "tmpfs", "tmpfs", "rw", 1, 1, False)
    assert device_of(memory, tmp_path / "empty") is None


def test_the_word_in_brackets() -> None:
    assert [chosen(each) for each in ("always [madvise] never", "none", None)] == ["madvise", "none", None]
