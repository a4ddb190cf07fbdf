"""What a control group has read and written, in both versions; silent where nobody counts."""

from pathlib import Path

from pgassay.probe.devices import Device
from pgassay.probe.group_io import GroupIo
from pgassay.testing.fakes.clock import FakeClock

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
