"""Memory limits by control groups of version 1 and 2, on made hierarchies."""

import os
from pathlib import Path

import pytest

from pgassay.host import groups
from tests.host.made import host, put

V1 = "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup /cg/memory cgroup rw,relatime,memory 0 0\n"
V2 = "cgroup2 /cg cgroup2 rw,nsdelegate 0 0\n"


def test_version_one_is_found_by_its_controller(tmp_path: Path) -> None:
    put(tmp_path, "proc/mounts", V1)
    assert groups.memory_hierarchy(tmp_path) == groups.Hierarchy(1, tmp_path / "cg/memory")


@pytest.mark.parametrize(("controllers", "there"), [("cpu memory pids", True), ("cpu pids", False)])
def test_version_two_counts_only_with_the_controller(tmp_path: Path, controllers: str, there: bool) -> None:
    put(tmp_path, "proc/mounts", V2)
    put(tmp_path, "cg/cgroup.controllers", controllers)
    assert groups.memory_hierarchy(tmp_path) == (groups.Hierarchy(2, tmp_path / "cg") if there else None)


def test_no_hierarchy_at_all(tmp_path: Path) -> None:
    assert groups.memory_hierarchy(tmp_path) is None
    put(tmp_path, "proc/mounts", "proc /proc proc rw 0 0\n")
    assert groups.memory_hierarchy(tmp_path) is None


def test_version_two_gets_the_controller_enabled_and_disabled_again(tmp_path: Path) -> None:
    (tmp_path / "cg").mkdir()
    control = put(tmp_path, "cg/cgroup.subtree_control", "cpu\n")
    lab = host(tmp_path)
    group = groups.limit_memory(lab, groups.Hierarchy(2, tmp_path / "cg"), 1 << 29)
    assert group.name.startswith(f"pgassay-{os.getpid()}-")
    assert control.read_text() == "+memory"
    lab.give_back()
    assert control.read_text() == "-memory"
    assert not group.exists()


@pytest.mark.parametrize(("version", "line"), [(1, "4:memory:/pgassay-1-ab\n3:cpu:/\n"), (2, "0::/pgassay-1-ab\n")])
def test_a_processes_group_and_limit_are_found(tmp_path: Path, version: int, line: str) -> None:
    put(tmp_path, "proc/mounts", V1 if version == 1 else V2)
    top = "cg/memory" if version == 1 else "cg"
    put(tmp_path, "cg/cgroup.controllers", "memory")
    put(tmp_path, "proc/42/cgroup", line)
    put(tmp_path, f"{top}/pgassay-1-ab/{'memory.limit_in_bytes' if version == 1 else 'memory.max'}", "536870912\n")
    assert groups.limit_of(42, tmp_path) == 1 << 29
    put(tmp_path, "proc/43/cgroup", line.replace("pgassay-1-ab", "system.slice"))
    assert groups.limit_of(43, tmp_path) is None, "somebody else's group"
    assert groups.limit_of(44, tmp_path) is None, "no such process"
