"""From a directory to its device: partitions know their disk, mounts are found innermost first, tmpfs has none."""

import os
from pathlib import Path

import pytest

from pgassay.probe.procfs import Device, Diskstats, device_under, mount_source
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
