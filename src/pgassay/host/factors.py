"""The factors of the machine that are about memory: huge pages, and how much the server may have; and the list of all.

Set before the server starts, given back after its end. They change only what the server gets: the lab, the load's
program and drives stay where they are. What needs root says so before a run; docs/studies.md describes each. Those
of the processors are in `processors`.
"""

import os
from pathlib import Path

from pgassay.bench import versions
from pgassay.bench.errors import HostError, QueryError
from pgassay.bench.factor import Factor, Readable, SetupDraft
from pgassay.bench.hosting import Hosting
from pgassay.errors import UsageError
from pgassay.host import cpus, groups, huge_pages
from pgassay.host.changes import current
from pgassay.host.host_factor import HostFactor, not_a_host_level
from pgassay.host.processors import Cores, CpuLatency, MemoryNodes, Scheduling, Siblings
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_bytes, format_size, parse_memory

NO_MEMORY_GROUP = "this machine has no control group controller for memory, of version 1 or 2"
NO_TRANSPARENT = "this kernel has no transparent huge pages"

NONE = "none"
_LEAST_MEMORY_BYTES = 32 << 20
_WORDS = ("always", "madvise", "never")


class HugePages(HostFactor):
    """`host.huge_pages`: the server's shared memory in huge pages of the kernel's pool, obtained for each trial."""

    pattern = "host.huge_pages"
    summary = "huge pages for shared memory, as many as the server asks for"
    accepts = "none, or a size: 2MB, 1GB"

    def parse(self, name: str, typed: str) -> Level:
        """`none`, or a page size in bytes; raises `UsageError`."""
        if typed.strip() in (NONE, "off"):
            return Level(typed, NONE)
        if typed.strip()[:1].isdecimal():
            return Level(typed, format_bytes(parse_memory(typed)))
        raise not_a_host_level(name, typed, self.accepts)

    def require_here(self, name: str, level: Level) -> None:
        """The kernel must have that size."""
        found = huge_pages.sizes(self.root)
        if level.canonical != NONE and parse_memory(level.canonical) not in found:
            raise _no_such_huge_page(name, level.typed, ", ".join(map(format_bytes, found)))

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """`huge_pages = on`, so that a server that does not get them fails; the size where it is not the default."""
        setup.settings["huge_pages"] = "off" if level.canonical == NONE else "on"
        if level.canonical != NONE and parse_memory(level.canonical) != huge_pages.default_size(self.root):
            setup.settings["huge_page_size"] = level.canonical

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """Ask the server for the number; they are obtained right before the start.

        Either may raise `HostError` with code `hugepage_error`.
        """
        if level.canonical == NONE:
            return
        page = parse_memory(level.canonical)
        if hosting.major >= versions.HUGE_PAGES_NEEDED:
            answer = hosting.ask(huge_pages.NEEDED)
            if not answer.isdecimal():
                raise HostError(
                    f'the server did not say how many huge pages it needs: "{answer}"', code="hugepage_error"
                )
            needed = int(answer)
        else:
            needed = hosting.peak_bytes() // page + 1
        hosting.huge_page_bytes = needed * page
        hosting.obtain = lambda: huge_pages.obtain(hosting.changes, page, needed, self.root)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The page size of the postmaster's shared memory (/proc/pid/smaps), and from 17 `huge_pages_status`."""
        status = _huge_pages_status(readable)
        try:
            text = (self.root / f"proc/{readable.server.postmaster_pid}/smaps").read_text(
                encoding="utf-8", errors="replace"
            )
        except OSError:
            return level.canonical if status == ("off" if level.canonical == NONE else "on") else status
        found = huge_pages.shared_memory(text)
        size = format_bytes(found.page_bytes) if found.huge_bytes else NONE
        if status is not None and (status == "on") != (size != NONE):
            return f"{size}, but huge_pages_status is {status}"
        return size

    def steps(self, typed: str) -> tuple[str, ...]:
        """Reserve the pages, then ask PostgreSQL for them."""
        if typed in (NONE, "off"):
            return ("ALTER SYSTEM SET huge_pages = 'off'; restart the server",)
        return (
            "reserve the huge pages that the server needs (stopped, from PostgreSQL 15: postgres -D DIRECTORY -C"
            f" {huge_pages.NEEDED} says how many): vm.nr_hugepages, or hugepagesz={_systemd_size(typed)} hugepages=N"
            " on the kernel's command line, early, while free memory is contiguous",
            f"ALTER SYSTEM SET huge_pages = 'on'; where {typed} is not the kernel's default size also huge_page_size ="
            f" '{typed}'; restart the server, which refuses to start if it does not get them",
        )


def _systemd_size(typed: str) -> str:
    """systemd and the kernel know K, M, G and T, of 1024."""
    return typed.upper().removesuffix("B") if typed[-1:] in "Bb" else typed


def _huge_pages_status(readable: Readable) -> str | None:
    if readable.server.version.major < versions.HUGE_PAGES_STATUS:
        return None
    try:
        return str(readable.server.query("SHOW huge_pages_status")[0][0])
    except QueryError:
        return None


class TransparentHugePages(HostFactor):
    """`host.transparent_huge_pages`: the kernel's own, for private memory; shared memory has a switch of its own."""

    pattern = "host.transparent_huge_pages"
    summary = "the kernel's transparent huge pages, for private memory"
    accepts = ", ".join(_WORDS)

    @property
    def _path(self) -> Path:
        return self.root / "sys/kernel/mm/transparent_hugepage/enabled"

    def unavailable(self, name: str) -> str | None:
        """Needs root, and a kernel that has them."""
        return super().unavailable(name) or (None if self._path.exists() else NO_TRANSPARENT)

    def parse(self, name: str, typed: str) -> Level:
        """One of the kernel's words."""
        if typed.strip() not in _WORDS:
            raise not_a_host_level(name, typed, self.accepts)
        return Level(typed, typed.strip())

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """Choose the word, unless it is chosen already; raises `HostError`."""
        if current(self._path) != level.canonical:
            hosting.changes.write(self._path, level.canonical)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The word that is chosen."""
        try:
            return current(self._path)
        except OSError:
            return None

    def steps(self, typed: str) -> tuple[str, ...]:
        """Now and after a reboot."""
        return (
            f"{self.pattern} = {typed}: echo {typed} > /sys/kernel/mm/transparent_hugepage/enabled, and"
            f" transparent_hugepage={typed} on the kernel's command line, so that it holds after a reboot",
        )


class Memory(HostFactor):
    """`host.memory`: all that the server may have, its page cache included, by a control group of the server alone."""

    pattern = "host.memory"
    rank = 1
    summary = "memory of the server, page cache and huge pages included, by a control group"
    accepts = f"all, or a size from {format_bytes(_LEAST_MEMORY_BYTES)}"

    def unavailable(self, name: str) -> str | None:
        """Needs root and the memory controller."""
        return super().unavailable(name) or (None if groups.memory_hierarchy(self.root) else NO_MEMORY_GROUP)

    def parse(self, name: str, typed: str) -> Level:
        """`all`, or a size of 32 MB at least, in bytes; raises `UsageError`."""
        if typed.strip() == cpus.ALL:
            return Level(typed, cpus.ALL)
        if typed.strip()[:1].isdecimal() and parse_memory(typed) >= _LEAST_MEMORY_BYTES:
            return Level(typed, format_bytes(parse_memory(typed)))
        raise not_a_host_level(name, typed, self.accepts)

    def size(self, name: str) -> ModelSize:
        """It holds a part of the data."""
        return ModelSize(least_bytes=_LEAST_MEMORY_BYTES, step_bytes=1 << 20)

    def require_here(self, name: str, level: Level) -> None:
        """Not more than the machine has."""
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if level.canonical != cpus.ALL and parse_memory(level.canonical) > total:
            raise UsageError(
                f'"{name}" = {level.canonical} is more than this machine has ({format_size(total)})',
                "give less, or all",
            )

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """A load may size its data by it."""
        if level.canonical != cpus.ALL:
            setup.memory_bytes = parse_memory(level.canonical)

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """A group for the server. Huge pages, which such a limit does not count, are taken off the limit."""
        hierarchy = groups.memory_hierarchy(self.root)
        if level.canonical == cpus.ALL or hierarchy is None:
            return
        limit = parse_memory(level.canonical)
        huge = 0 if groups.counts_huge_pages(self.root) else hosting.huge_page_bytes
        if limit - huge < _LEAST_MEMORY_BYTES:
            raise HostError(
                f"huge pages take {format_size(huge)} of the {format_size(limit)} that the server may have",
                code="memory_error",
            )
        hosting.groups.append(groups.limit_memory(hosting.changes, hierarchy, limit - huge))
        hosting.cold = True

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The limit of the postmaster's group and its huge pages."""
        pid = readable.server.postmaster_pid
        limit = groups.limit_of(pid, self.root)
        if limit is None:
            return cpus.ALL
        try:
            smaps = (self.root / f"proc/{pid}/smaps").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        huge = 0 if groups.counts_huge_pages(self.root) else huge_pages.shared_memory(smaps).huge_bytes
        return format_bytes(limit + huge)

    def steps(self, typed: str) -> tuple[str, ...]:
        """A limit of the service, or less memory."""
        if typed == cpus.ALL:
            return ()
        return (
            f"{self.pattern} = {typed}: a limit for the server and the page cache of what it reads:"
            f" MemoryMax={_systemd_size(typed)} in the systemd unit (or a machine of that size)",
        )


FACTORS: tuple[Factor, ...] = (
    HugePages(), TransparentHugePages(), Memory(), MemoryNodes(), Cores(), Siblings(), CpuLatency(), Scheduling(),
)  # fmt: skip
"""What the lab's catalogue takes."""


def _no_such_huge_page(name: str, typed: str, sizes: str) -> UsageError:
    """A size that this kernel does not have."""
    return UsageError(f'"{name}" = {typed}: this kernel has no huge pages of that size', f"it has: {sizes or 'none'}")
