"""Parsers of Linux's /proc and /sys files that the probes read; pure but for `read_text`. See proc(5).

Times are clock ticks there (CONFIG_HZ seen by user space, 100 a second) and microseconds here.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

US_PER_TICK = 1_000_000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessTimes:
    """CPU of one process in µs: its own and that of the children it has waited for."""

    parent: int
    user_us: float
    system_us: float
    reaped_user_us: float
    reaped_system_us: float


def read_text(path: Path) -> str | None:
    """A small file; None when it is gone or closed to us."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def children_of(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """Children of every thread of `pid`, by /proc/PID/task/TID/children, or by all stats where the kernel lacks it."""
    try:
        texts = [read_text(task / "children") for task in (proc / str(pid) / "task").iterdir()]
    except OSError:
        return []
    if any(text is not None for text in texts):
        return [int(word) for text in texts for word in (text or "").split()]
    found = []
    for entry in proc.iterdir():
        stat = read_text(entry / "stat") if entry.name.isdecimal() else None
        if stat and parse_times(stat).parent == pid:
            found.append(int(entry.name))
    return found


def parse_times(stat: str) -> ProcessTimes:
    """/proc/PID/stat; the name in brackets may hold anything. Raises ValueError on anything else."""
    _, bracket, tail = stat.rpartition(")")
    fields = tail.split()
    if not bracket or len(fields) < 15:
        raise ValueError("not a line of /proc/PID/stat")
    user, system, reaped_user, reaped_system = (int(field) * US_PER_TICK for field in fields[11:15])
    return ProcessTimes(int(fields[1]), user, system, reaped_user, reaped_system)


def parse_table(text: str, separator: str = ":") -> dict[str, int]:
    """`Name: 123 kB` lines (status, io) or `name 123` lines (vmstat): the whole number that each begins with."""
    found = {}
    for line in text.split("\n"):
        name, _, rest = line.partition(separator)
        number = re.match(r"\s*(\d+)", rest)
        if number:
            found[name] = int(number[1])
    return found


def parse_cpu(stat: str) -> dict[str, float]:
    """/proc/stat: CPU time of the machine by kind in µs, and context switches (`switches`)."""
    lines = {line.partition(" ")[0]: line.split()[1:] for line in stat.splitlines() if line}
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    found = {name: int(value) * US_PER_TICK for name, value in zip(names, lines["cpu"], strict=False)}
    if "ctxt" in lines:
        found["switches"] = float(lines["ctxt"][0])
    return found


def sum_counts(texts: Iterable[str | None]) -> float | None:
    """The sum of small files with one whole number each; None for no files, or where one cannot be read."""
    numbers = [text.strip() if text is not None else "" for text in texts]
    if not numbers or not all(number.isdecimal() for number in numbers):
        return None
    return float(sum(int(number) for number in numbers))


def parse_device_stat(text: str) -> dict[str, float | None]:
    """/sys/dev/block/MAJ:MIN/stat (kernel's Documentation/block/stat.rst): counts, bytes of 512-byte sectors, ms."""
    numbers: list[int | None] = [int(field) for field in text.split()]
    numbers += [None] * (17 - len(numbers))

    def sectors(place: int) -> float | None:
        count = numbers[place]
        return None if count is None else count * 512.0

    return {
        "reads": numbers[0],
        "read_bytes": sectors(2),
        "read_ms": numbers[3],
        "writes": numbers[4],
        "written_bytes": sectors(6),
        "write_ms": numbers[7],
        "busy_ms": numbers[9],
        "discards": numbers[11],
        "discarded_bytes": sectors(13),
        "flushes": numbers[15],
        "flush_ms": numbers[16],
    }
