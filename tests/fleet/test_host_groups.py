"""The control groups of emulated hosts: which files are written, by planted trees, and that a real one holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import host_groups, namespaces
from tests.fleet.namespaces import Lab, awaited


def planted(root: Path, *mounts: str) -> None:
    (root / "proc").mkdir()
    (root / "proc/mounts").write_text("".join(f"none /{each} rw 0 0\n" for each in mounts), encoding="ascii")
    for each in mounts:
        (root / each.split()[0]).mkdir(parents=True)


def written(root: Path) -> dict[str, list[str]]:
    return {str(each.top.relative_to(root)): [name for name, _ in each.settings] for each in host_groups.places(root)}


def test_version_1_has_a_group_in_each_hierarchy(tmp_path: Path) -> None:
    planted(tmp_path, "cg/memory cgroup")
    lines = "none /cg/memory cgroup rw,memory 0 0\nnone /cg/both cgroup rw,cpu,cpuacct 0 0\n"
    (tmp_path / "proc/mounts").write_text(lines + "none /cg/unified cgroup2 rw 0 0\n", encoding="ascii")
    for each in ("both", "unified"):
        (tmp_path / "cg" / each).mkdir()
    (tmp_path / "cg/unified/cgroup.subtree_control").write_text("")
    assert written(tmp_path) == {
        "cg/memory": ["memory.limit_in_bytes", "memory.swappiness"],
        "cg/both": ["cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us"],
    }


@pytest.mark.parametrize(
    ("handed_down", "files"),
    [
        ("cpuset cpu io memory pids", ["memory.max", "memory.swap.max", "cpu.weight", "cpu.max"]),
        ("memory", ["memory.max", "memory.swap.max"]),
        ("", []),
    ],
)
def test_version_2_has_one_group_and_what_its_top_hands_down(
    tmp_path: Path, handed_down: str, files: list[str]
) -> None:
    planted(tmp_path, "cg cgroup2")
    (tmp_path / "cg/cgroup.subtree_control").write_text(handed_down)
    assert written(tmp_path) == {"cg": files}, "a group without limits finds a host's processes all the same"


def test_a_machine_without_groups_has_none(tmp_path: Path) -> None:
    planted(tmp_path, "proc/x proc")
    assert host_groups.places(tmp_path) == ()
    with host_groups.made("h1", tmp_path) as groups:
        assert groups == ()
        assert host_groups.processes(groups) == set()


@pytest.fixture
def lab(place: Path) -> Iterator[Lab]:
    with namespaces.lab(place, 1) as made:
        yield made


def limits(lab: Lab, *names: str) -> list[Path]:
    """The first host's files of these names that there are."""
    (host,) = lab.hosts
    return [group / name for group in host.groups for name in names if (group / name).exists()]


@pytest.mark.system
def test_a_host_has_no_more_memory_than_its_group(lab: Lab) -> None:
    (host,) = lab.hosts
    found = limits(lab, "memory.limit_in_bytes", "memory.max")
    if not found:
        pytest.skip("this machine hands no memory controller down")
    assert [each.read_text(encoding="ascii").strip() for each in found] == [str(host_groups.MEMORY_BYTES)]
    fits, too_large = (f"bytearray(b'x') * ({size} << 20)" for size in (16, 512))
    found[0].write_text(str(128 << 20), encoding="ascii")
    assert host.enter("python3", "-c", fits).wait(300) == 0
    assert host.enter("python3", "-c", too_large).wait(300) == -9, "the kernel ends what takes more"


@pytest.mark.system
def test_a_host_has_no_more_of_the_processors_than_its_group(lab: Lab) -> None:
    (host,) = lab.hosts
    found = limits(lab, "cpu.cfs_quota_us", "cpu.max")
    if not found:
        pytest.skip("this machine hands no quota of processors down")
    quota = found[0].read_text(encoding="ascii").split()[0]
    assert quota == "150000"
    found[0].write_text("10000", encoding="ascii")  # a tenth of a processor; cpu.max keeps its period
    statistics = found[0].with_name("cpu.stat")
    busy = host.enter("python3", "-c", "while True: pass")
    try:
        awaited("it is held back", lambda: int(throttled(statistics)) > 0)
    finally:
        busy.kill()
        busy.wait()


def throttled(statistics: Path) -> str:
    """How often a group had used what it may have in a period."""
    lines = dict(line.split() for line in statistics.read_text(encoding="ascii").splitlines())
    return lines["nr_throttled"]


@pytest.mark.system
def test_groups_go_with_their_host_and_what_runs_in_them(place: Path) -> None:
    with namespaces.lab(place, 1) as lab:
        (host,) = lab.hosts
        if not host.groups:
            pytest.skip("this machine has no control groups")
        sleeper = host.enter("unshare", "--net", "sleep", "3600")
        awaited("it is in the groups", lambda: sleeper.pid in host_groups.processes(host.groups))
        awaited("it has left the network", lambda: sleeper.pid not in host.processes())
    assert sleeper.wait(300) == -9
    assert not any(group.exists() for group in host.groups)
