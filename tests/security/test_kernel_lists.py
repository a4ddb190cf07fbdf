"""Names of places that another account has mounted, in any bytes, are read as names: they add and hide no mount."""

import os
from pathlib import Path

import pytest

from pgassay.host.groups import Hierarchy, limit_of, memory_hierarchy
from pgassay.interfaces import places

FORGED = "/tmp/m\x0cx\u00a0/tmp/evil\u00a0cgroup\u00a0memory,cpuset,blkio\u00a00\u00a00".encode()
"""Read by what Unicode calls blanks and ends of lines, a line of its own that has root make groups in /tmp/evil."""
NAMES = [FORGED, b"/tmp/m\xff", b"/tmp/m\x85 ", b"/tmp/m\xe2\x80\xa8v", b"/tmp/m\x1cv"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_forges_no_group_and_ends_nothing(tmp_path: Path, name: bytes) -> None:
    top = tmp_path / "sys/fs/cgroup"
    for place in (top / "memory", tmp_path / "proc/7", tmp_path / "tmp/evil/inner"):
        place.mkdir(parents=True)
    (top / "cgroup.controllers").write_text("memory io\n")
    mounted = name.replace(b" ", rb"\040")
    (tmp_path / "proc/mounts").write_bytes(b"none " + mounted + b" fuse rw 0 0\ncg /sys/fs/cgroup cgroup2 rw 0 0\n")
    (tmp_path / "proc/7/cgroup").write_bytes(b"0::/user/" + name.rpartition(b"/")[2] + b"/pgassay-1-ab\n")
    assert memory_hierarchy(tmp_path) == Hierarchy(2, top)
    group = top / "user" / os.fsdecode(name.rpartition(b"/")[2]) / "pgassay-1-ab"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("4096\n")
    assert limit_of(7, tmp_path) == 4096


@pytest.mark.parametrize("name", NAMES)
def test_a_name_hides_no_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    listed, mounted = tmp_path / "mountinfo", name.replace(b" ", rb"\040")
    listed.write_bytes(b"36 35 0:45 / " + mounted + b" rw - fuse none rw\n37 35 98:0 / /mnt rw - ext4 /dev/root rw\n")
    monkeypatch.setattr(places, "MOUNTINFO", listed)
    found = places.mounts()
    assert [bytes(each.point) for each in found] == [name, b"/mnt"]
    assert [each.source for each in found] == ["none", "/dev/root"]
