"""`pgassay doctor`: is this machine fit to measure on? It reads, judges by the checks, and changes nothing.

The readings take about two seconds: two looks at processes and CPU times, and a second of flushed writes.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from pgassay.host import doctor_checks as checks
from pgassay.host.capacity import flush_median_us
from pgassay.host.facts import cpu, kernel, memory_of, transparent_huge_pages
from pgassay.host.processes import processes
from pgassay.host.storage import device_of, existing_ancestor, mount_of
from pgassay.study.findings import Finding

PROC = Path("/proc")
LOOK_S = 1.0


def examine(places: Sequence[Path], look_s: float = LOOK_S) -> list[Finding]:
    """All findings; `places` are the directories that clusters would live in."""
    facts = cpu(Path("/"))
    before = checks.parse_cpu_times(_text("stat"))
    neighbour = busy_neighbour(look_s)
    after = checks.parse_cpu_times(_text("stat"))
    count = len(os.sched_getaffinity(0))
    governors = facts["governor"]
    memory = memory_of(_text("meminfo"))
    found = [
        checks.governor(governors if isinstance(governors, list) else []),
        checks.turbo(_word(facts["boost"]), _word(facts["no_turbo"])),
        checks.processors(count, quota(_word(facts["cgroup_limit"]))),
        checks.clock_source(_word(kernel(Path("/"))["clock_source"])),
        checks.steal(before, after),
        checks.other_work(before, after, float(_text("loadavg").split()[0]), count),
        neighbour,
        checks.swap(_size(memory["swap_bytes"]), _size(memory["swap_free_bytes"]), _vm("swappiness")),
        checks.transparent_huge_pages(_word(transparent_huge_pages(Path("/"))["transparent_huge_pages"])),
        checks.overcommit(_vm("overcommit_memory")),
        checks.dirty(
            _size(memory["total_bytes"]),
            _vm("dirty_ratio") or 0,
            _vm("dirty_bytes") or 0,
            _vm("dirty_background_ratio") or 0,
            _vm("dirty_background_bytes") or 0,
        ),
        checks.shared_memory(_filesystem_bytes(Path("/dev/shm"))),
    ]
    for place in places:
        mount = mount_of(place)
        device = device_of(mount)
        found += [
            checks.space(mount),
            checks.kind(mount),
            checks.flush(flush_median_us(existing_ancestor(place)), mount, device),
            checks.write_cache(device),
            checks.scheduler(device),
        ]
    return [check for check in found if check is not None]


def busy_neighbour(look_s: float = LOOK_S) -> Finding:
    """The one check that `run` makes before every run."""
    before = processes()
    started_s = time.monotonic()
    time.sleep(look_s)
    elapsed_ticks = (time.monotonic() - started_s) * os.sysconf("SC_CLK_TCK")
    others = checks.neighbours(before, processes(), elapsed_ticks, os.getpid())
    return checks.busy_neighbour(others, {each.pid: _working_directory(each.pid) for each in others})


def _filesystem_bytes(path: Path) -> int | None:
    try:
        return os.statvfs(path).f_frsize * os.statvfs(path).f_blocks
    except OSError:
        return None


def quota(cpu_max: str | None) -> float | None:
    """`200000 100000` of cgroup v2's cpu.max as 2.0 processors; None for `max` or nothing."""
    words = (cpu_max or "max").split()
    return None if words[0] == "max" or len(words) < 2 else int(words[0]) / int(words[1])


def _working_directory(pid: int) -> str:
    try:
        return str((PROC / str(pid) / "cwd").readlink())
    except OSError:
        return ""


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
