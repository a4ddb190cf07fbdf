"""Host factors that a machine cannot have are named with the reason, before anything runs."""

import os
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.host.factors import (
    NO_MEMORY_GROUP,
    NO_ROOT,
    NO_TRANSPARENT,
    Cores,
    HugePages,
    Memory,
    TransparentHugePages,
)
from pgassay.interfaces.factor import Factor
from pgassay.study.levels import Level
from pgassay.testing.fakes import FakeInstallation


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_without_root_only_the_cores_are_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for factor in (HugePages(tmp_path), TransparentHugePages(tmp_path), Memory(tmp_path)):
        assert factor.unavailable(factor.pattern) == NO_ROOT
    assert Cores(tmp_path).unavailable("host.cores") is None


@pytest.mark.usefixtures("root")
def test_a_kernel_that_lacks_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    mounts = tmp_path / "proc/mounts"
    mounts.write_text("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("cpu io\n")
    assert Memory(tmp_path).unavailable("host.memory") == NO_MEMORY_GROUP
    assert TransparentHugePages(tmp_path).unavailable("host.transparent_huge_pages") == NO_TRANSPARENT
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("cpu io memory\n")
    assert Memory(tmp_path).unavailable("host.memory") is None


def test_levels_that_this_machine_cannot_give_say_what_it_can(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel/mm/hugepages/hugepages-2048kB").mkdir(parents=True)
    pages = HugePages(tmp_path)
    pages.require_here("host.huge_pages", pages.parse("host.huge_pages", "2MB"))
    with pytest.raises(UsageError, match="no huge pages of that size") as caught:
        pages.require_here("host.huge_pages", pages.parse("host.huge_pages", "1GB"))
    assert caught.value.hint == "it has: 2MB"
    memory, cores = Memory(tmp_path), Cores(tmp_path)
    with pytest.raises(UsageError, match="more than this machine has") as caught:
        memory.require_here("host.memory", memory.parse("host.memory", "100TB"))
    assert caught.value.hint == "give less, or all"
    there = len(os.sched_getaffinity(0))
    with pytest.raises(UsageError, match=f"needs more than the {there} CPUs") as caught:
        cores.require_here("host.cores", cores.parse("host.cores", str(there + 1)))
    assert caught.value.hint is not None
    with pytest.raises(UsageError, match="no CPU 4095"):
        cores.require_here("host.cores", cores.parse("host.cores", "cpu:4095"))


@pytest.mark.parametrize("typed", ["", "2", "0MB", "-1MB", "1 GB of it"])
def test_nonsense_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        Memory().parse("host.memory", typed)


@pytest.mark.parametrize(
    ("factor", "typed", "steps"),
    [
        (HugePages(), "none", ["ALTER SYSTEM SET huge_pages = 'off'; restart the server"]),
        (HugePages(), "2MB", ["reserve the huge pages", "ALTER SYSTEM SET huge_pages = 'on'"]),
        (TransparentHugePages(), "never", ["host.transparent_huge_pages = never: echo never > /sys/kernel/mm"]),
        (Memory(), "512MB", ["host.memory = 512MB: a limit for the server"]),
        (Memory(), "all", ["host.memory = all: nothing to set"]),
        (Cores(), "4", ["host.cores = 4: CPUAffinity="]),
        (Cores(), "all", ["host.cores = all: nothing to set"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Factor) else None,
)
def test_a_factor_says_how_it_is_adopted(factor: Factor, typed: str, steps: list[str], tmp_path: Path) -> None:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path / "socket")
    found = (factor.adopt_by(factor.pattern, Level(typed, typed), server) or "").splitlines()
    assert [each.startswith(step) for each, step in zip(found, steps, strict=True)] == [True] * len(steps)


def test_the_advice_has_systemd_s_units() -> None:
    (memory,) = Memory().steps("512MB")
    assert "MemoryMax=512M in the systemd unit" in memory
