"""Is the processor steady? Governor, turbo, stolen time, other work, the clock that programs read."""

from collections.abc import Sequence
from dataclasses import dataclass

from pgassay.study.findings import Finding, Severity

STEAL_WARNING = 0.01
STEAL_ERROR = 0.10
BUSY_WARNING = 0.10
"""Share of the machine that others may use before a trial before it is worth a warning."""
STEADY_GOVERNORS = ("performance",)
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase", "tod")


@dataclass(frozen=True)
class CpuTimes:
    """The first line of /proc/stat, in ticks since boot (proc(5))."""

    busy: int
    idle: int
    steal: int

    @property
    def total(self) -> int:
        """All ticks."""
        return self.busy + self.idle + self.steal


def parse_cpu_times(stat: str) -> CpuTimes:
    """`cpu  user nice system idle iowait irq softirq steal guest guest_nice` (the guests are within user and nice)."""
    user, nice, system, idle, iowait, irq, softirq, steal = (int(each) for each in stat.split()[1:9])
    return CpuTimes(busy=user + nice + system + irq + softirq, idle=idle + iowait, steal=steal)


def governor(governors: Sequence[str]) -> Finding:
    """All cores at a steady frequency?"""
    unsteady = sorted(set(governors) - set(STEADY_GOVERNORS))
    if not governors:
        return Finding("governor", Severity.OK, "the kernel does not scale the processor's frequency here")
    if not unsteady:
        return Finding("governor", Severity.OK, "the frequency governor is performance")
    return Finding(
        "governor",
        Severity.WARNING,
        f"the frequency governor is {', '.join(unsteady)}: short bursts run slower than long ones",
        "cpupower frequency-set --governor performance",
    )


def turbo(boost: str | None, no_turbo: str | None) -> Finding | None:
    """Turbo makes the first minutes faster than the rest; None where the machine does not tell."""
    if boost is None and no_turbo is None:
        return None
    if boost == "1" or no_turbo == "0":
        remedy = (
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
            if no_turbo is not None
            else "echo 0 > /sys/devices/system/cpu/cpufreq/boost"
        )
        return Finding("turbo", Severity.NOTE, "turbo is on: speed depends on how warm the processor is", remedy)
    return Finding("turbo", Severity.OK, "turbo is off")


def steal(before: CpuTimes, after: CpuTimes) -> Finding:
    """Did the hypervisor give our time to others between two readings?"""
    total = after.total - before.total
    share = (after.steal - before.steal) / total if total > 0 else 0.0
    text = f"the hypervisor took {share:.1%} of the CPU time while we looked"
    if share >= STEAL_ERROR:
        return Finding("steal", Severity.ERROR, text, "measure on another machine, or when its neighbours are quiet")
    if share >= STEAL_WARNING:
        return Finding("steal", Severity.WARNING, text, "expect wide intervals; costs per transaction stay usable")
    return Finding("steal", Severity.OK, text)


def other_work(before: CpuTimes, after: CpuTimes, load_average: float, processors: int) -> Finding:
    """How much of the machine is in use before anything of ours runs?"""
    total = after.total - before.total
    share = (after.busy - before.busy) / total if total > 0 else 0.0
    text = f"other programs use {share:.0%} of {processors} processors (load average {load_average:.2f})"
    if share >= BUSY_WARNING:
        return Finding("other_work", Severity.WARNING, text, "stop them, or expect wide intervals")
    return Finding("other_work", Severity.OK, text)


def clock_source(name: str | None) -> Finding | None:
    """A slow clock makes every timing (track_io_timing, EXPLAIN ANALYZE, pgbench's own) part of the cost."""
    if name is None:
        return None
    if name in FAST_CLOCKS:
        return Finding("clock_source", Severity.OK, f"the clock source is {name}")
    return Finding(
        "clock_source",
        Severity.WARNING,
        f"the clock source is {name}, which is slow to read",
        "see what pg_test_timing says; boot with tsc if the hardware has it",
    )


def processors(count: int, quota: float | None) -> Finding:
    """Server and load generator share the machine: with few processors they take them from each other."""
    usable = min(count, quota) if quota is not None else count
    if quota is not None and quota < count:
        text = f"a control group allows {quota:g} of {count} processors"
        return Finding("processors", Severity.WARNING, text, "raise cpu.max, or read the results as this share's")
    if usable < 4:
        text = f"{count} processors: the server and its load generator take them from each other"
        return Finding("processors", Severity.NOTE, text, "compare treatments, but do not read tps as the server's own")
    return Finding("processors", Severity.OK, f"{count} processors")
