"""From a directory to its device: partitions know their disk, mounts are found innermost first, tmpfs has none.

What a control group has read and written, in both versions; silent where nobody counts.
"""

import os
from pathlib import Path

import pytest

from pgassay.probe.disks import Device, Diskstats, GroupIo, device_under, mount_source
from pgassay.probe.registry import Probes
from pgassay.testing.fakes import FakeClock

MOUNTINFO = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:25 / /mnt/data rw shared:5 - btrfs /dev/vdb1 rw,space_cache
31 30 0:25 /sub /mnt/data/inner rw - btrfs /dev/vdb1 rw
32 27 0:40 / /mnt/with\\040blank rw - tmpfs none rw
"""


@pytest.mark.parametrize(
    ("number", "path", "source"),
    [
        ("254:0", "/etc", "/dev/vda"),
        ("0:25", "/mnt/data/x", "/dev/vdb1"),
        ("0:25", "/mnt/data", "/dev/vdb1"),
        ("0:25", "/mnt/data/inner/y", "/dev/vdb1"),
        ("0:40", "/mnt/with blank/z", "none"),
        ("0:99", "/mnt/data/x", "/dev/vdb1"),
        ("254:0", "/mnt/database", "/dev/vda"),
    ],
)
def test_the_innermost_mount(number: str, path: str, source: str) -> None:
    assert mount_source(MOUNTINFO, number, Path(path)) == source


def test_garbage_names_no_source() -> None:
    assert mount_source("what\n - is\n", "1:1", Path("/")) is None


def fake_sys(folder: Path, number: str, partition: bool) -> Path:
    """A /sys with a disk `vdx` (7:1), and its partition `vdx1` if asked."""
    disk = folder / "devices" / "vdx"
    disk.mkdir(parents=True)
    (disk / "dev").write_text("7:1\n")
    (disk / "stat").write_text("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 12 34\n")
    target = disk
    if partition:
        target = disk / "vdx1"
        target.mkdir()
        (target / "partition").write_text("1\n")
        (target / "stat").write_text("1 0 2 3 4 0 5 6 0 7 8 0 0 0 0 0 0\n")
    (folder / "dev" / "block").mkdir(parents=True)
    (folder / "dev" / "block" / number).symlink_to(target)
    if number != "7:1":
        (folder / "dev" / "block" / "7:1").symlink_to(disk)
    return folder


def number_of(path: Path) -> str:
    return f"{os.major(path.stat().st_dev)}:{os.minor(path.stat().st_dev)}"


def test_a_partition_names_its_disk_and_takes_its_flushes(tmp_path: Path) -> None:
    number = number_of(tmp_path)
    sys = fake_sys(tmp_path / "sys", number, partition=True)
    device = device_under(tmp_path, sys=sys)
    assert device == Device(number, "vdx1", "7:1")
    assert device is not None
    (reading,) = Diskstats("diskstats", device, FakeClock(), sys=sys).read()
    assert (reading.values["written_bytes"], reading.values["flushes"]) == (5 * 512, 12)


def test_a_whole_disk_is_its_own(tmp_path: Path) -> None:
    number = number_of(tmp_path)
    device = device_under(tmp_path, sys=fake_sys(tmp_path / "sys", number, partition=False))
    assert device == Device(number, "vdx", number)


def test_what_is_closed_to_us_is_no_device(tmp_path: Path) -> None:
    assert device_under(tmp_path, sys=Path("/" + "x" * 300), mountinfo=tmp_path / "none") is None


def test_what_lies_on_no_device_has_none(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    mounts = tmp_path / "mountinfo"
    mounts.write_text("1 1 0:1 / / rw - tmpfs none rw\n")
    assert device_under(tmp_path, sys=tmp_path / "sys", mountinfo=mounts) is None


PARTITION = Device("254:1", "vda1", "254:0")
V1_MOUNT = "cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n"
V2_MOUNT = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"


def read(root: Path, mounts: str, groups: str) -> dict[str, float | None]:
    """What the group of process 7 has done to `PARTITION`'s disk."""
    (root / "proc" / "7").mkdir(parents=True)
    (root / "proc" / "mounts").write_text(f"/dev/vda1 / ext4 rw 0 0\n{mounts}")
    (root / "proc" / "7" / "cgroup").write_text(groups)
    (reading,) = GroupIo(7, PARTITION, FakeClock(), root=root).read()
    return dict(reading.values)


def folder(root: Path, path: str) -> Path:
    made = root / "sys/fs/cgroup" / path
    made.mkdir(parents=True)
    return made


def test_version_2_tells_by_disk(tmp_path: Path) -> None:
    lines = "7:0 rbytes=1 wbytes=1 rios=1 wios=1\n254:0 rbytes=8192 wbytes=4096 rios=2 wios=1 dbytes=0 dios=0\n"
    (folder(tmp_path, "pgassay-1") / "io.stat").write_text(lines)
    found = read(tmp_path, V2_MOUNT, "0::/pgassay-1\n")
    assert found == {"reads": 2.0, "read_bytes": 8192.0, "writes": 1.0, "written_bytes": 4096.0}


def test_version_1_tells_by_operation(tmp_path: Path) -> None:
    group = folder(tmp_path, "blkio/lab")
    (group / "blkio.throttle.io_service_bytes_recursive").write_text("254:0 Read 8192\n254:0 Write 4096\nTotal 12288\n")
    (group / "blkio.throttle.io_serviced_recursive").write_text("254:0 Read 2\n254:0 Write 1\nTotal 3\n")
    found = read(tmp_path, V1_MOUNT, "7:blkio:/lab\n4:memory:/other\n0::/\n")
    assert found == {"reads": 2.0, "read_bytes": 8192.0, "writes": 1.0, "written_bytes": 4096.0}


def test_who_counts_nothing_says_nothing(tmp_path: Path) -> None:
    group = folder(tmp_path, "blkio")
    (group / "blkio.throttle.io_service_bytes_recursive").write_text("Total 0\n")
    assert set(read(tmp_path, V1_MOUNT, "7:blkio:/\n").values()) == {None}
    assert set(read(tmp_path / "elsewhere", "", "").values()) == {None}


def test_rates_are_over_the_time_between_the_readings() -> None:
    counters = {
        "diskstats.reads": 300.0,
        "diskstats.writes": 700.0,
        "diskstats.read_bytes": 4e6,
        "diskstats.elapsed_s": 5.0,
    }
    found = Probes().costs(counters, 0)
    assert (found["disk_iops"], found["disk_read_bytes_per_s"]) == (200.0, 800_000.0)
    assert Probes().costs({"diskstats.reads": 300.0}, 0)["disk_iops"] is None
