"""Siblings, wake-up limits and NUMA nodes on machines whose files are in a temporary directory; all is given back."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.host import factors
from pgassay.host.changes import LocalHost
from pgassay.host.factors import (
    NO_IDLE_STATES,
    NO_NODES,
    NO_SIBLINGS,
    SIBLINGS_WOULD_STAY_AWAY,
    Cores,
    CpuLatency,
    HostFactor,
    MemoryNodes,
    Siblings,
)
from pgassay.interfaces.errors import HostError
from pgassay.interfaces.factor import Readable
from pgassay.interfaces.hosting import Hosting, Placement
from pgassay.interfaces.server import Server
from pgassay.testing.fakes import FakeInstallation
from tests.host.made import host, put

CONTROL = "sys/devices/system/cpu/smt/control"
LATENCY = "dev/cpu_dma_latency"
NOBODY_US = 2_000_000_000


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LocalHost]:
    made = host(tmp_path)
    yield made
    made.close()


@pytest.fixture
def server(tmp_path: Path) -> Server:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    return installation.start(tmp_path / "data", {}, tmp_path)


def machine(root: Path, limit_us: int = NOBODY_US) -> Path:
    """Four CPUs on two nodes, siblings on, idle states that nobody limits."""
    put(root, CONTROL, "on\n")
    put(root, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    put(root, LATENCY, "").write_bytes(struct.pack("=i", limit_us))
    put(root, "sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "1\n")
    put(root, "sys/devices/system/node/online", "0-1\n")
    put(root, "sys/devices/system/node/has_memory", "0-1\n")
    put(root, "sys/devices/system/node/node0/cpulist", "0-1\n")
    put(root, "sys/devices/system/node/node1/cpulist", "2-3\n")
    return root


def hosted(lab: LocalHost, *asked: tuple[HostFactor, str]) -> Hosting:
    hosting = Hosting(changes=lab, ask=lambda name: "", peak_bytes=lambda: 0, settings={}, major=17)
    for factor, typed in sorted(asked, key=lambda each: each[0].rank):
        factor.apply(factor.pattern, factor.parse(factor.pattern, typed), hosting)
    return hosting


def test_siblings_are_switched_read_back_and_given_back(tmp_path: Path, lab: LocalHost, server: Server) -> None:
    factor, control = Siblings(machine(tmp_path)), tmp_path / CONTROL
    assert factor.unavailable("host.smt") is None
    hosted(lab, (factor, "on"))
    assert not (tmp_path / "state").exists(), "so already: nothing is owed"
    hosted(lab, (factor, "off"))
    assert control.read_text() == "off"
    assert factor.read_back("host.smt", factor.parse("host.smt", "on"), Readable(server)) == "off"
    lab.give_back()
    assert control.read_text() == "on"


def test_siblings_of_a_killed_lab_come_back(tmp_path: Path) -> None:
    factor, killed = Siblings(machine(tmp_path)), host(tmp_path)
    hosted(killed, (factor, "off"))
    killed._ledger.release()  # as the kernel does when a process ends
    assert host(tmp_path).repair() == (str(tmp_path / CONTROL),)
    assert (tmp_path / CONTROL).read_text() == "on"


def test_siblings_that_cannot_be_switched_or_would_not_come_back_are_named(tmp_path: Path) -> None:
    factor = Siblings(tmp_path)
    assert factor.unavailable("host.smt") == NO_SIBLINGS
    for word in ("notsupported", "forceoff", "notimplemented"):
        put(tmp_path, CONTROL, word)
        assert factor.unavailable("host.smt") == NO_SIBLINGS
    machine(tmp_path)
    put(tmp_path, "proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n")
    put(tmp_path, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n")
    assert factor.unavailable("host.smt") is None, "no group but the root's"
    put(tmp_path, "sys/fs/cgroup/cpuset/docker/cpuset.cpus", "0-3\n")
    assert factor.unavailable("host.smt") == SIBLINGS_WOULD_STAY_AWAY


def test_cpus_are_chosen_once_the_siblings_are_gone(
    tmp_path: Path, lab: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(tmp_path)
    for cpu, siblings in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)

    def usable(pid: int) -> set[int]:
        return {0, 2} if (tmp_path / CONTROL).read_text() == "off" else {0, 1, 2, 3}

    monkeypatch.setattr(os, "sched_getaffinity", usable)
    cores, smt = Cores(tmp_path), Siblings(tmp_path)
    assert hosted(lab, (cores, "2:together")).cpus == (0, 1)
    assert hosted(lab, (cores, "2:together"), (smt, "off")).cpus == (0, 2)
    for typed in ("3", "0-1"):
        cores.require_here("host.cores", cores.parse("host.cores", "2"))
        with pytest.raises(HostError, match="of these CPUs are online") as caught:
            hosted(lab, (cores, typed))
        assert caught.value.code == "no_cores"


def test_a_limit_of_wake_ups_is_held_while_it_is_asked_for(tmp_path: Path, lab: LocalHost, server: Server) -> None:
    factor = CpuLatency(machine(tmp_path))
    path = tmp_path / LATENCY
    level = factor.parse("host.cpu_latency", "20us")
    assert factor.unavailable("host.cpu_latency") is None
    assert factor.read_back("host.cpu_latency", level, Readable(server)) == "usual"
    hosted(lab, (factor, "20us"))
    assert factor.read_back("host.cpu_latency", level, Readable(server)) == "20us"
    assert opened(path) == 1
    lab.give_back()
    assert opened(path) == 0, "the kernel takes the limit back when nobody has its file open"


def opened(path: Path) -> int:
    return sum(os.path.realpath(each) == str(path) for each in Path("/proc/self/fd").iterdir())


def test_a_limit_that_another_program_holds_lower_is_refused_before_a_run(tmp_path: Path) -> None:
    factor = CpuLatency(machine(tmp_path, limit_us=10))
    factor.require_here("host.cpu_latency", factor.parse("host.cpu_latency", "0us"))
    for typed in ("usual", "20us"):
        with pytest.raises(UsageError, match="another program holds it at 10us"):
            factor.require_here("host.cpu_latency", factor.parse("host.cpu_latency", typed))
    with pytest.raises(UsageError):
        factor.parse("host.cpu_latency", "3000s")


def test_a_machine_without_idle_states_is_named(tmp_path: Path) -> None:
    factor = CpuLatency(tmp_path)
    assert factor.unavailable("host.cpu_latency") == NO_IDLE_STATES
    put(tmp_path, LATENCY, "")
    assert factor.unavailable("host.cpu_latency") == NO_IDLE_STATES


def test_a_node_gives_its_cpus_and_its_memory(tmp_path: Path, lab: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 2, 3})
    cores, memory = Cores(machine(tmp_path)), MemoryNodes(tmp_path)
    assert hosted(lab, (cores, "node:1"), (memory, "0")).placement == Placement(cpus=(2, 3), nodes=(0,))
    assert hosted(lab, (memory, "all")).placement == Placement()
    cores.require_here("host.cores", cores.parse("host.cores", "node:0"))
    with pytest.raises(UsageError, match="no such NUMA node") as caught:
        cores.require_here("host.cores", cores.parse("host.cores", "node:0,2"))
    assert caught.value.hint == "it has: 0-1"


def test_memory_of_nodes_that_are_not_there_or_not_allowed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = MemoryNodes(tmp_path)
    assert memory.unavailable("host.memory_nodes") == NO_NODES
    machine(tmp_path)
    assert memory.unavailable("host.memory_nodes") is None
    with pytest.raises(UsageError, match="no such NUMA node"):
        memory.require_here("host.memory_nodes", memory.parse("host.memory_nodes", "1-2"))

    def refused(nodes: tuple[int, ...]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(factors, "try_binding", refused)
    memory.require_here("host.memory_nodes", memory.parse("host.memory_nodes", "all"))
    with pytest.raises(UsageError, match="must be all here: operation not permitted"):
        memory.require_here("host.memory_nodes", memory.parse("host.memory_nodes", "0"))


@pytest.mark.parametrize(
    ("policies", "found"),
    [
        (["bind:0", "bind:0"], "0"),
        (["default"], "all"),
        (["bind:0-1"], "0-1"),
        (["bind:0", "default"], "bind:0 and default"),
    ],
)
def test_the_policy_of_the_servers_memory_is_read_back(
    policies: list[str], found: str, tmp_path: Path, server: Server
) -> None:
    memory = MemoryNodes(machine(tmp_path))
    level = memory.parse("host.memory_nodes", "1")
    assert memory.read_back("host.memory_nodes", level, Readable(server)) is None, "nothing shows it"
    lines = [f"7f00{number:04d} {policy} anon=1 N0=1 kernelpagesize_kB=4\n" for number, policy in enumerate(policies)]
    put(tmp_path, f"proc/{server.postmaster_pid}/numa_maps", "".join(lines))
    assert memory.read_back("host.memory_nodes", level, Readable(server)) == found
