"""Judgements on the processor, by values on both sides of each limit."""

import pytest

from pgassay.host.doctor_checks import processor
from pgassay.host.doctor_checks.processor import CpuTimes
from pgassay.study.findings import Severity


def test_cpu_times_leave_the_guests_out() -> None:
    times = processor.parse_cpu_times("cpu  10 20 30 400 50 1 2 7 10 20\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    assert times == CpuTimes(busy=63, idle=450, steal=7)
    assert times.total == 520


@pytest.mark.parametrize(
    ("steal", "severity"), [(0, "ok"), (9, "ok"), (10, "warning"), (99, "warning"), (100, "error"), (900, "error")]
)
def test_steal(steal: int, severity: str) -> None:
    finding = processor.steal(CpuTimes(0, 0, 5), CpuTimes(0, 1000 - steal, 5 + steal))
    assert finding.severity == severity
    assert bool(finding.remedy) == (severity != "ok")


@pytest.mark.parametrize(("busy", "severity"), [(0, "ok"), (99, "ok"), (100, "warning"), (1000, "warning")])
def test_other_work(busy: int, severity: str) -> None:
    finding = processor.other_work(CpuTimes(0, 0, 0), CpuTimes(busy, 1000 - busy, 0), 0.5, 4)
    assert finding.severity == severity
    assert "load average 0.50" in finding.text


def test_no_time_passed_is_no_steal() -> None:
    assert processor.steal(CpuTimes(1, 1, 1), CpuTimes(1, 1, 1)).severity == Severity.OK


@pytest.mark.parametrize(
    ("governors", "severity"),
    [((), "ok"), (("performance",), "ok"), (("performance", "powersave"), "warning"), (("schedutil",), "warning")],
)
def test_governor(governors: tuple[str, ...], severity: str) -> None:
    assert processor.governor(governors).severity == severity


def test_turbo_is_told_with_its_own_switch() -> None:
    assert processor.turbo(None, None) is None
    for boost, no_turbo, switch in (("1", None, "cpufreq/boost"), (None, "0", "intel_pstate/no_turbo")):
        finding = processor.turbo(boost, no_turbo)
        assert finding is not None
        assert finding.severity == Severity.NOTE
        assert switch in finding.remedy
    for boost, no_turbo in (("0", None), (None, "1")):
        finding = processor.turbo(boost, no_turbo)
        assert finding is not None
        assert finding.severity == Severity.OK


@pytest.mark.parametrize(("name", "severity"), [("tsc", "ok"), ("kvm-clock", "ok"), ("hpet", "warning")])
def test_clock_source(name: str, severity: str) -> None:
    finding = processor.clock_source(name)
    assert finding is not None
    assert finding.severity == severity
    assert processor.clock_source(None) is None


@pytest.mark.parametrize(
    ("count", "quota", "severity"), [(2, None, "note"), (8, None, "ok"), (8, 2.0, "warning"), (8, 8.0, "ok")]
)
def test_processors(count: int, quota: float | None, severity: str) -> None:
    assert processor.processors(count, quota).severity == severity
