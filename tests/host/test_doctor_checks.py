"""The doctor's checks of processor, memory and storage, by values on both sides of each limit; other PostgreSQLs."""

from pathlib import Path

import pytest

from pgassay.host import doctor as checks
from pgassay.host.doctor import CpuTimes, Neighbour, client_clock, judge_neighbours, neighbours
from pgassay.host.storage import BlockDevice
from pgassay.interfaces.places import Mount
from pgassay.interfaces.proc import Process
from pgassay.study.findings import Severity


def test_cpu_times_leave_the_guests_out() -> None:
    times = checks.parse_cpu_times("cpu  10 20 30 400 50 1 2 7 10 20\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    assert times == CpuTimes(busy=63, idle=450, steal=7)
    assert times.total == 520


@pytest.mark.parametrize(
    ("steal", "severity"), [(0, "ok"), (9, "ok"), (10, "warning"), (99, "warning"), (100, "error"), (900, "error")]
)
def test_steal(steal: int, severity: str) -> None:
    finding = checks.steal(CpuTimes(0, 0, 5), CpuTimes(0, 1000 - steal, 5 + steal))
    assert finding.severity == severity
    assert bool(finding.remedy) == (severity != "ok")


@pytest.mark.parametrize(("busy", "severity"), [(0, "ok"), (99, "ok"), (100, "warning"), (1000, "warning")])
def test_other_work(busy: int, severity: str) -> None:
    finding = checks.other_work(CpuTimes(0, 0, 0), CpuTimes(busy, 1000 - busy, 0), 0.5, 4)
    assert finding.severity == severity
    assert "load average 0.50" in finding.text


def test_no_time_passed_is_no_steal() -> None:
    assert checks.steal(CpuTimes(1, 1, 1), CpuTimes(1, 1, 1)).severity == Severity.OK


@pytest.mark.parametrize(
    ("governors", "severity"),
    [((), "ok"), (("performance",), "ok"), (("performance", "powersave"), "warning"), (("schedutil",), "warning")],
)
def test_governor(governors: tuple[str, ...], severity: str) -> None:
    assert checks.governor(governors).severity == severity


def test_turbo_is_told_with_its_own_switch() -> None:
    assert checks.turbo(None, None) is None
    for boost, no_turbo, switch in (("1", None, "cpufreq/boost"), (None, "0", "intel_pstate/no_turbo")):
        finding = checks.turbo(boost, no_turbo)
        assert finding is not None
        assert finding.severity == Severity.NOTE
        assert switch in finding.remedy
    for boost, no_turbo in (("0", None), (None, "1")):
        finding = checks.turbo(boost, no_turbo)
        assert finding is not None
        assert finding.severity == Severity.OK


@pytest.mark.parametrize(("name", "severity"), [("tsc", "ok"), ("kvm-clock", "ok"), ("hpet", "warning")])
def test_clock_source(name: str, severity: str) -> None:
    finding = checks.clock_source(name)
    assert finding is not None
    assert finding.severity == severity
    assert checks.clock_source(None) is None


@pytest.mark.parametrize(
    ("count", "quota", "severity"), [(2, None, "note"), (8, None, "ok"), (8, 2.0, "warning"), (8, 8.0, "ok")]
)
def test_processors(count: int, quota: float | None, severity: str) -> None:
    assert checks.processors(count, quota).severity == severity


GB = 1024**3


@pytest.mark.parametrize(
    ("total", "free", "swappiness", "severity"),
    [
        (0, 0, 60, "ok"),
        (GB, GB, 1, "ok"),
        (GB, GB, None, "ok"),
        (GB, GB, 60, "note"),
        (GB, GB // 2, 1, "warning"),
        (100 * GB, 100 * GB - 1, 1, "ok"),
    ],
)
def test_swap(total: int, free: int, swappiness: int | None, severity: str) -> None:
    assert checks.swap(total, free, swappiness).severity == severity


@pytest.mark.parametrize(("enabled", "severity"), [("always", "warning"), ("madvise", "ok"), ("never", "ok")])
def test_transparent_huge_pages(enabled: str, severity: str) -> None:
    finding = checks.transparent_huge_pages(enabled)
    assert finding is not None
    assert finding.severity == severity
    assert checks.transparent_huge_pages(None) is None


@pytest.mark.parametrize(("mode", "severity"), [(0, "note"), (1, "note"), (2, "ok")])
def test_overcommit(mode: int, severity: str) -> None:
    finding = checks.overcommit(mode)
    assert finding is not None
    assert finding.severity == severity
    assert checks.overcommit(None) is None


def test_bytes_outweigh_ratios_in_what_may_be_dirty() -> None:
    assert checks.dirty(16 * GB, 20, 0, 10, 0).severity == "ok"
    assert checks.dirty(256 * GB, 20, 0, 10, 0).severity == "warning"
    limited = checks.dirty(256 * GB, 20, GB, 10, GB // 4)
    assert limited.severity == "ok"
    assert "up to 1.0 GB" in limited.text


GB = 1024**3


def _mount(filesystem: str = "ext4", free_gb: float = 50, size_gb: float = 100, reflink: bool = False) -> Mount:
    return Mount(
        Path("/data"), Path("/"), filesystem, "/dev/sda1", "rw", round(size_gb * GB), round(free_gb * GB), reflink
    )


def _device(scheduler: str | None = "none", write_cache: str | None = "write back") -> BlockDevice:
    return BlockDevice("sda1", "sda", None, False, scheduler, write_cache, 512, 4096)


@pytest.mark.parametrize(("free", "size", "severity"), [(50, 100, "ok"), (9, 100, "warning"), (40, 1000, "warning")])
def test_space(free: float, size: float, severity: str) -> None:
    assert checks.space(_mount(free_gb=free, size_gb=size)).severity == severity


def test_kind() -> None:
    assert checks.kind(_mount("tmpfs")).severity == "error"
    assert "copies" in checks.kind(_mount("ext4")).text
    assert "share blocks" in checks.kind(_mount("xfs", reflink=True)).text


@pytest.mark.parametrize(
    ("median_us", "cache", "severity"),
    [
        (5.0, "write back", "warning"),
        (29.9, "write through", "warning"),
        (106.0, "write back", "note"),
        (106.0, "write through", "ok"),
        (4000.0, "write back", "ok"),
    ],
)
def test_flush(median_us: float, cache: str, severity: str) -> None:
    finding = checks.flush(median_us, _mount(), _device(write_cache=cache))
    assert finding is not None
    assert finding.severity == severity
    assert f"{median_us:.0f} µs" in finding.text


def test_a_flush_to_memory_is_none_and_one_not_measured_is_not_judged() -> None:
    finding = checks.flush(1.0, _mount("tmpfs"), None)
    assert finding is not None
    assert finding.severity == "error"
    assert checks.flush(None, _mount(), _device()) is None


def test_write_cache_and_scheduler() -> None:
    assert checks.write_cache(None) is None
    assert checks.write_cache(_device(write_cache=None)) is None
    assert checks.scheduler(_device(scheduler=None)) is None
    found = [checks.write_cache(_device(write_cache=each)) for each in ("write back", "write through")]
    assert [each.severity for each in found if each] == ["ok", "note"]
    found = [checks.scheduler(_device(scheduler=each)) for each in ("none", "mq-deadline", "bfq")]
    assert [each.severity for each in found if each] == ["ok", "ok", "warning"]


US = 100


def _process(pid: int, parent: int, name: str, ticks: int, started: int = 0) -> Process:
    return Process(pid, parent, name, "S", started or pid, ticks)


def _world(*processes: Process) -> dict[int, Process]:
    return {process.pid: process for process in processes}


def test_a_family_is_measured_as_a_whole_and_ours_is_left_out() -> None:
    before = _world(
        _process(US, 1, "pgassay", 0),
        _process(101, US, "postgres", 0),
        _process(200, 1, "postgres", 1000),
        _process(201, 200, "postgres", 500),
    )
    after = _world(
        _process(US, 1, "pgassay", 0),
        _process(101, US, "postgres", 90),
        _process(200, 1, "postgres", 1001),
        _process(201, 200, "postgres", 530),
        _process(202, 200, "postgres", 9),
    )
    assert neighbours(before, after, 100.0, US) == [Neighbour(200, 0.4)]


def test_a_number_used_again_does_not_count_what_its_forerunner_used() -> None:
    before = _world(_process(200, 1, "postgres", 1000, started=1))
    after = _world(_process(200, 1, "postgres", 3, started=2))
    assert neighbours(before, after, 100.0, US) == [Neighbour(200, 0.03)]


def test_only_busy_ones_stop_a_run() -> None:
    assert judge_neighbours([], {}).severity == "ok"
    assert judge_neighbours([Neighbour(200, 0.0499)], {}).severity == "note"
    busy = judge_neighbours([Neighbour(200, 0.5), Neighbour(300, 0.0)], {200: "/srv/pg"})
    assert (busy.code, busy.severity) == ("busy_neighbour", "error")
    assert '200 in "/srv/pg" uses 50%' in busy.text
    assert "300" not in busy.text


def test_a_clock_that_gives_impossible_latencies_is_named() -> None:
    unknown = client_clock(None, 5, "")
    assert (unknown.severity, unknown.remedy) == ("note", "pgassay calibrate counts them")
    fine = client_clock(0.0004, 5, "2026-01-02")
    assert (fine.code, fine.severity) == ("client_clock", "ok")
    late = client_clock(0.014, 5, "2026-01-02")
    assert late.severity == "warning"
    assert "(2026-01-02), up to 1.40% of pgbench's latencies in a trial were at most 5 µs" in late.text
    assert "low quantiles and means" in late.text


def test_a_container_s_small_shared_memory_is_named() -> None:
    small = checks.shared_memory(64 * 1024**2)
    assert small.severity == "warning"
    assert small.text.startswith("/dev/shm has 64 MB")
    assert checks.shared_memory(2 * 1024**3).severity == "ok"
