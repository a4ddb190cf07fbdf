"""`pgassay doctor`: is this machine fit to measure on? It reads, judges, and changes nothing.

The readings take about two seconds: two looks at processes and CPU times, and a second of flushed writes. Each check is
a function without a clock or a file, and gives one finding. (A drive without a write cache, or with one that survives
power loss, may acknowledge a flush quickly and honestly, a volatile cache cannot. No program can distinguish them with
certainty, so the text says what was measured.)
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay.host.capacity import flush_median_us
from pgassay.host.changes import Ledger
from pgassay.host.facts import cpu, kernel, memory_of
from pgassay.host.facts import transparent_huge_pages as huge_page_facts
from pgassay.host.keeper import descendants, processes
from pgassay.host.storage import BlockDevice, device_of, existing_ancestor, mount_of, unsuitable
from pgassay.interfaces.places import Mount
from pgassay.interfaces.proc import Process
from pgassay.study.findings import Finding, Severity

OK, NOTE, WARNING, ERROR = Severity
STEAL_WARNING = 0.01
STEAL_ERROR = 0.10
BUSY_WARNING = 0.10
"""Share of the machine that others may use before a trial before it is worth a warning."""
STEADY_GOVERNORS = ("performance",)
FAST_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase", "tod")


@dataclass(frozen=True)
class CpuTimes:
    busy: int
    idle: int
    steal: int

    @property
    def total(self) -> int:
        return self.busy + self.idle + self.steal


def parse_cpu_times(stat: str) -> CpuTimes:
    """`cpu  user nice system idle iowait irq softirq steal guest guest_nice` (the guests are within user and nice)."""
    user, nice, system, idle, iowait, irq, softirq, steal = (int(each) for each in stat.split()[1:9])
    return CpuTimes(busy=user + nice + system + irq + softirq, idle=idle + iowait, steal=steal)


def governor(governors: Sequence[str]) -> Finding:
    """All cores at a steady frequency?"""
    unsteady = sorted(set(governors) - set(STEADY_GOVERNORS))
    if not governors:
        return Finding("governor", OK, "the kernel does not scale the processor's frequency here")
    if not unsteady:
        return Finding("governor", OK, "the frequency governor is performance")
    return Finding(
        "governor",
        WARNING,
        f"the frequency governor is {', '.join(unsteady)}: short bursts run slower than long ones",
        "cpupower frequency-set --governor performance",
    )


def turbo(boost: str | None, no_turbo: str | None) -> Finding | None:
    """Turbo makes the first minutes faster than the rest; None where the machine does not say."""
    if boost is None and no_turbo is None:
        return None
    if boost == "1" or no_turbo == "0":
        setting = "1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
        remedy = f"echo {setting if no_turbo is not None else '0 > /sys/devices/system/cpu/cpufreq/boost'}"
        return Finding("turbo", NOTE, "turbo is on: speed depends on how warm the processor is", remedy)
    return Finding("turbo", OK, "turbo is off")


def steal(before: CpuTimes, after: CpuTimes) -> Finding:
    """Did the hypervisor give our time to others between two readings?"""
    total = after.total - before.total
    share = (after.steal - before.steal) / total if total > 0 else 0.0
    text = f"the hypervisor took {share:.1%} of the CPU time during the check"
    if share >= STEAL_ERROR:
        return Finding("steal", ERROR, text, "measure on another machine, or when its neighbours are quiet")
    if share >= STEAL_WARNING:
        return Finding("steal", WARNING, text, "expect wide intervals; costs per transaction stay usable")
    return Finding("steal", OK, text)


def other_work(before: CpuTimes, after: CpuTimes, load_average: float, processors: int) -> Finding:
    """How much of the machine do other programs use, before anything of ours runs?"""
    total = after.total - before.total
    share = (after.busy - before.busy) / total if total > 0 else 0.0
    text = f"other programs use {share:.0%} of {processors} processors (load average {load_average:.2f})"
    if share >= BUSY_WARNING:
        return Finding("other_work", WARNING, text, "stop them, or expect wide intervals")
    return Finding("other_work", OK, text)


def clock_source(name: str | None) -> Finding | None:
    """A slow clock makes every timing (track_io_timing, EXPLAIN ANALYZE, pgbench's own) part of the cost."""
    if name is None:
        return None
    if name in FAST_CLOCKS:
        return Finding("clock_source", OK, f"the clock source is {name}")
    return Finding(
        "clock_source",
        WARNING,
        f"the clock source is {name}, which is slow to read",
        "see what pg_test_timing says; boot with tsc if the hardware has it",
    )


def processors(count: int, quota: float | None) -> Finding:
    """Server and load generator share the machine: with few processors they compete for them."""
    usable = min(count, quota) if quota is not None else count
    if quota is not None and quota < count:
        text = f"a control group allows {quota:g} of {count} processors"
        return Finding("processors", WARNING, text, "raise cpu.max, or take the results as those of this share")
    if usable < 4:
        text = f"{count} processors: the server and its load generator compete for them"
        return Finding("processors", NOTE, text, "compare treatments, but do not read tps as the server's own")
    return Finding("processors", OK, f"{count} processors")


_GB = 1024**3
DIRTY_WARNING_BYTES = 4 * _GB


def swap(total_bytes: int, free_bytes: int, swappiness: int | None) -> Finding:
    """Swap in use makes latencies of memory depend on the past."""
    used = total_bytes - free_bytes
    if total_bytes == 0:
        return Finding("swap", OK, "there is no swap")
    if used > 0.01 * total_bytes:
        return Finding(
            "swap", WARNING, f"{used / _GB:.1f} GB of swap are in use", "free memory, then: swapoff -a && swapon -a"
        )
    if swappiness is not None and swappiness > 10:
        return Finding(
            "swap",
            NOTE,
            f"swap is configured and unused; vm.swappiness is {swappiness}",
            "sysctl vm.swappiness=1 keeps the server's memory in place",
        )
    return Finding("swap", OK, "swap is configured and unused")


def transparent_huge_pages(enabled: str | None) -> Finding | None:
    """`always` lets the kernel rearrange memory in the background; None where the kernel has none."""
    if enabled is None:
        return None
    if enabled == "always":
        return Finding(
            "transparent_huge_pages",
            WARNING,
            "transparent huge pages are always on: the kernel moves memory while the server works",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return Finding("transparent_huge_pages", OK, f"transparent huge pages are set to {enabled}")


def overcommit(mode: int | None) -> Finding | None:
    """Mode 2 is what the manual advises for servers ("Linux Memory Overcommit"); 0 and 1 may end in the OOM killer."""
    if mode is None:
        return None
    if mode == 2:
        return Finding("overcommit", OK, "vm.overcommit_memory is 2: promised memory always exists")
    return Finding(
        "overcommit",
        NOTE,
        f"vm.overcommit_memory is {mode}: a server that asks for too much is killed, not refused",
        "leave memory free for more than shared_buffers and work_mem",
    )


def dirty(total_bytes: int, ratio: int, limit_bytes: int, background_ratio: int, background_bytes: int) -> Finding:
    """How much written data may wait in the page cache before the kernel stops the writers."""
    allowed = limit_bytes or total_bytes * ratio // 100
    background = background_bytes or total_bytes * background_ratio // 100
    text = f"up to {allowed / _GB:.1f} GB of writes may wait in the page cache (flushed from {background / _GB:.1f} GB)"
    if background > DIRTY_WARNING_BYTES:
        return Finding(
            "dirty",
            WARNING,
            f"{text}: short trials may end before their writes reach the drive",
            "sysctl vm.dirty_background_bytes=268435456 vm.dirty_bytes=1073741824, or measure longer",
        )
    return Finding("dirty", OK, text)


LOW_SPACE_SHARE = 0.05
LOW_SPACE_BYTES = 10 * 1024**3
FLUSH_SUSPICIOUS_US = 30.0
"""Less than a round trip to any drive of today but persistent memory."""
FLUSH_QUICK_US = 250.0
SHARED_MEMORY_BYTES = 1024**3


def shared_memory(size_bytes: int) -> Finding:
    """Is there room in /dev/shm for what parallel queries share?"""
    text = f"/dev/shm has {size_bytes / 1024**2:.0f} MB"
    if size_bytes < SHARED_MEMORY_BYTES:
        return Finding(
            "shared_memory",
            WARNING,
            f"{text}: parallel queries and index builds may fail for lack of shared memory",
            "give the container more: docker run --shm-size=1g; or mount -o remount,size=1g /dev/shm",
        )
    return Finding("shared_memory", OK, text)


def space(mount: Mount) -> Finding:
    text = (
        f'{mount.free_bytes / _GB:.1f} GB are free for clusters in "{mount.path}" ({mount.filesystem}, {mount.device})'
    )
    if mount.free_bytes < max(LOW_SPACE_BYTES, LOW_SPACE_SHARE * mount.size_bytes):
        return Finding("space", WARNING, text, "free some room, or choose another place with --data-dir")
    return Finding("space", OK, text)


def kind(mount: Mount) -> Finding:
    """Does a write here reach a drive of this machine?"""
    why = unsuitable(mount)
    if why is not None:
        return Finding("filesystem", ERROR, why, "choose a directory on a drive with --data-dir")
    copying = "clones share blocks" if mount.reflink else "clones are copies: xfs and btrfs would share blocks"
    return Finding("filesystem", OK, f"{mount.filesystem} on {mount.device}; {copying}")


def flush(median_us: float | None, mount: Mount, device: BlockDevice | None) -> Finding | None:
    """Does a flush take the time that reaching the medium takes? None where it could not be measured."""
    if median_us is None:
        return None
    cache = device.write_cache if device is not None else None
    text = (
        f"a flushed write of 8kB takes {median_us:.0f} µs (median); the kernel says its cache is {cache or 'unknown'}"
    )
    if unsuitable(mount) is not None:
        return Finding(
            "flush", ERROR, f"{text}: this is memory or a layered file system, not a drive", "use --data-dir"
        )
    if median_us < FLUSH_SUSPICIOUS_US:
        return Finding(
            "flush",
            WARNING,
            f"{text}: no drive is that quick, so something acknowledges flushes that it has not made",
            "look for barrier=0, nobarrier, a disk cache mode such as unsafe in the hypervisor, or eatmydata",
        )
    if median_us < FLUSH_QUICK_US and cache == "write back":
        return Finding(
            "flush",
            NOTE,
            f"{text}: honest only if that cache survives a loss of power",
            "look for power-loss protection in the drive's data sheet, or for durability in the cloud's documentation",
        )
    return Finding("flush", OK, text)


def write_cache(device: BlockDevice | None) -> Finding | None:
    """A kernel that believes the cache to be write through sends no flushes at all."""
    if device is None or device.write_cache is None:
        return None
    if device.write_cache == "write through":
        text = f"the kernel sends {device.disk} no flushes, because it says that it has no volatile cache"
        return Finding("write_cache", NOTE, text, "make sure that it is true: the setting can be forced")
    return Finding("write_cache", OK, f"{device.disk} has a cache that the kernel flushes")


def scheduler(device: BlockDevice | None) -> Finding | None:
    """bfq and cfq arrange requests by process, which is for desktops."""
    if device is None or device.scheduler is None:
        return None
    if device.scheduler in ("bfq", "cfq"):
        remedy = f"echo mq-deadline > /sys/block/{device.disk}/queue/scheduler"
        text = f"the I/O scheduler of {device.disk} is {device.scheduler}, which favours some processes over others"
        return Finding("scheduler", WARNING, text, remedy)
    return Finding("scheduler", OK, f"the I/O scheduler of {device.disk} is {device.scheduler}")


SERVER_NAMES = ("postgres", "postmaster")
BUSY_SHARE = 0.05
"""Of one processor."""


@dataclass(frozen=True)
class Neighbour:
    """Another server: its postmaster and the share of one processor that its whole family used."""

    pid: int
    share: float


def neighbours(
    before: Mapping[int, Process], after: Mapping[int, Process], elapsed_ticks: float, ours: int
) -> list[Neighbour]:
    """Every PostgreSQL server that does not descend from process `ours`, the busiest first."""
    own = {process.pid for process in descendants(ours, dict(after))} | {ours}
    servers = [
        process
        for process in after.values()
        if process.name in SERVER_NAMES
        and process.pid not in own
        and (process.parent not in after or after[process.parent].name not in SERVER_NAMES)
    ]
    found = []
    for server in servers:
        ticks = 0
        for process in (server, *descendants(server.pid, dict(after))):
            known = before.get(process.pid)
            same = known is not None and known.started_ticks == process.started_ticks
            ticks += process.cpu_ticks - (known.cpu_ticks if known is not None and same else 0)
        found.append(Neighbour(server.pid, ticks / elapsed_ticks))
    return sorted(found, key=lambda each: -each.share)


def judge_neighbours(found: list[Neighbour], places: Mapping[int, str]) -> Finding:
    """`busy_neighbour`; `places` are the servers' data directories by pid, where they may be read."""
    busy = [each for each in found if each.share >= BUSY_SHARE]
    if busy:
        said = []
        for each in busy:
            place = places.get(each.pid)
            there = f' in "{place}"' if place else ""
            said.append(f"process {each.pid}{there} uses {each.share:.0%} of a processor")
        return Finding(
            "busy_neighbour",
            ERROR,
            f"another PostgreSQL server is busy: {'; '.join(said)}",
            "wait until it is idle: a run would disturb it, and be disturbed",
        )
    if found:
        text = (
            f"{len(found)} other PostgreSQL server{'s run' if len(found) > 1 else ' runs'} here, idle during the check"
        )
        return Finding("busy_neighbour", NOTE, text, "it may become busy during a run")
    return Finding("busy_neighbour", OK, "no other PostgreSQL runs here")


IMPOSSIBLE_WARNING = 0.001
"""Share of latencies that no answer can have from which on low quantiles and means are doubted."""


def client_clock(share: float | None, limit_us: int, measured: str) -> Finding:
    """`client_clock`: does pgbench's clock give latencies that no answer can have? `share` of the worst trial so far.

    pgbench reads its clock only when it must, so an answer that is there at once seems to take no time.
    """
    if share is None:
        return Finding(
            "client_clock",
            NOTE,
            f"it is not known how many of pgbench's latencies here are at most {limit_us} µs, which no answer can have",
            "pgassay calibrate counts them",
        )
    text = (
        f"when this machine was calibrated ({measured}), up to {share:.2%} of pgbench's latencies in a trial were"
        f" at most {limit_us} µs, which no answer can have"
    )
    if share > IMPOSSIBLE_WARNING:
        return Finding(
            "client_clock",
            WARNING,
            f"{text}: low quantiles and means of latency are too low",
            "compare transactions per second, or let servers take turns: pgassay's own player times each statement",
        )
    return Finding("client_clock", OK, text)


def changes_owed(ledger: Ledger) -> Finding:
    owed = ledger.owed()
    if not owed:
        return Finding("host_changes", OK, "pgassay has left no changes to this machine")
    paths = ", ".join(dict.fromkeys(change.path for change in owed))
    if not ledger.lock.take():
        return Finding("host_changes", NOTE, f"a running pgassay has changed {paths}")
    ledger.lock.release()
    return Finding("host_changes", WARNING, f"a killed pgassay left these changed: {paths}", "pgassay doctor --repair")


PROC = Path("/proc")
LOOK_S = 1.0


def examine(places: Sequence[Path], look_s: float = LOOK_S) -> list[Finding]:
    facts = cpu(Path("/"))
    before = parse_cpu_times(_text("stat"))
    neighbour = busy_neighbour(look_s)
    after = parse_cpu_times(_text("stat"))
    count = len(os.sched_getaffinity(0))
    governors = facts["governor"]
    memory = memory_of(_text("meminfo"))
    found = [
        governor(governors if isinstance(governors, list) else []),
        turbo(_word(facts["boost"]), _word(facts["no_turbo"])),
        processors(count, quota(_word(facts["cgroup_limit"]))),
        clock_source(_word(kernel(Path("/"))["clock_source"])),
        steal(before, after),
        other_work(before, after, float(_text("loadavg").split()[0]), count),
        neighbour,
        swap(_size(memory["swap_bytes"]), _size(memory["swap_free_bytes"]), _vm("swappiness")),
        transparent_huge_pages(_word(huge_page_facts(Path("/"))["transparent_huge_pages"])),
        overcommit(_vm("overcommit_memory")),
        dirty(
            _size(memory["total_bytes"]),
            *(_vm(f"dirty_{name}") or 0 for name in ("ratio", "bytes", "background_ratio", "background_bytes")),
        ),
    ]
    with suppress(OSError):
        there = os.statvfs("/dev/shm")
        found.append(shared_memory(there.f_frsize * there.f_blocks))
    for place in places:
        mount = mount_of(place)
        device = device_of(mount)
        found += [
            space(mount),
            kind(mount),
            flush(flush_median_us(existing_ancestor(place)), mount, device),
            write_cache(device),
            scheduler(device),
        ]
    return [check for check in found if check is not None]


def busy_neighbour(look_s: float = LOOK_S) -> Finding:
    """The one check that `run` makes before every run."""
    before = processes()
    started_s = time.monotonic()
    time.sleep(look_s)
    elapsed_ticks = (time.monotonic() - started_s) * os.sysconf("SC_CLK_TCK")
    others = neighbours(before, processes(), elapsed_ticks, os.getpid())
    places = {}
    for each in others:
        with suppress(OSError):
            places[each.pid] = str((PROC / str(each.pid) / "cwd").readlink())
    return judge_neighbours(others, places)


def quota(cpu_max: str | None) -> float | None:
    """`200000 100000` of cgroup v2's cpu.max as 2.0 processors; None for `max` or nothing."""
    words = (cpu_max or "max").split()
    return None if words[0] == "max" or len(words) < 2 else int(words[0]) / int(words[1])


def _text(name: str) -> str:
    return (PROC / name).read_text(encoding="utf-8")


def _vm(name: str) -> int | None:
    try:
        return int((PROC / "sys/vm" / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _word(fact: object) -> str | None:
    return fact if isinstance(fact, str) else None


def _size(fact: object) -> int:
    return fact if isinstance(fact, int) else 0
