"""Linux's /proc/PID/stat, which anybody may read of any process; see proc(5)."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One process at one moment. CPU in clock ticks: its own, and `reaped` that of children that it has waited for."""

    pid: int
    parent: int
    name: str
    state: str
    """`Z` of a zombie, `T` of one that is stopped."""
    started_ticks: int
    """Since boot: a later process with the same number differs in that."""
    user_ticks: int
    system_ticks: int = 0
    reaped_user_ticks: int = 0
    reaped_system_ticks: int = 0

    @property
    def cpu_ticks(self) -> int:
        return self.user_ticks + self.system_ticks


def parse_stat(text: str) -> Process:
    """The name in brackets may hold anything. Raises `ValueError` for what is no /proc/PID/stat."""
    head, bracket, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = tail.split()
    if not bracket or len(fields) < 20:
        raise ValueError("not a line of /proc/PID/stat")
    return Process(int(pid), int(fields[1]), name, fields[0], int(fields[19]), *map(int, fields[11:15]))


def process_of(pid: int | str, proc: Path = Path("/proc")) -> Process | None:
    """The process of a number, or of `self`; None where there is none any more."""
    try:
        return parse_stat((proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return None


def boot_id() -> str:
    """What distinguishes this boot of the machine from others; empty where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
