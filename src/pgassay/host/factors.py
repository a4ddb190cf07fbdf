"""The factors of the machine: huge pages, memory, and which CPUs a server has.

Set before the server starts, given back after its end. They change only what the server gets: the lab, the load's
program and drives stay where they are. The CPUs it inherits, so that nothing has to be given back. What needs root says
so before a run; docs/studies.md describes each.
"""

import os
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.host import cpus, groups, huge_pages
from pgassay.host.changes import current, host_refused
from pgassay.interfaces import versions
from pgassay.interfaces.errors import HostError, QueryError
from pgassay.interfaces.factor import Factor, Readable, SetupDraft, Stage, Turns
from pgassay.interfaces.hosting import Hosting, show_list
from pgassay.interfaces.server import Server
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_bytes, format_size, parse_memory

NO_ROOT = "needs root"


class HostFactor(Factor):
    """What all of them share: the machine's root directory, which tests put elsewhere."""

    stage = Stage.HOST
    usual: str = ""
    """The level that a server has anyway: there is nothing to set for it."""
    in_turns = Turns("the machine has one value at a time, and the servers of a block live at once", one_value=True)

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def unavailable(self, name: str) -> str | None:
        return None if os.geteuid() == 0 else NO_ROOT

    def wrong(self, name: str, typed: str) -> UsageError:
        return UsageError(f'"{name}" cannot be "{typed}"', f"it takes {self.accepts}")

    def adopt_by(self, name: str, level: Level, server: Server) -> str:
        """The steps on a server of one's own, the kernel's side and PostgreSQL's.

        From PostgreSQL's manual ("Managing Kernel Resources", "Linux Huge Pages"), the kernel's (hugetlbpage,
        transhuge) and systemd.resource-control(5). They hold for the settings that the level was measured with.
        """
        steps = () if level.typed == self.usual else self.steps(level.typed)
        return "\n".join(steps) or f"{name} = {level.typed}: nothing to set"

    def steps(self, typed: str) -> tuple[str, ...]:
        """One sentence a step, for a level that is not the usual one."""
        return ()


NO_MEMORY_GROUP = "this machine has no control group controller for memory, of version 1 or 2"
NO_TRANSPARENT = "this kernel has no transparent huge pages"

NONE = "none"
_LEAST_MEMORY_BYTES = 32 << 20


class HugePages(HostFactor):
    """`host.huge_pages`: the server's shared memory in huge pages of the kernel's pool, obtained for each trial."""

    pattern = "host.huge_pages"
    summary = "huge pages for shared memory, as many as the server asks for"
    accepts = "none, or a size: 2MB, 1GB"

    def parse(self, name: str, typed: str) -> Level:
        if typed.strip() in (NONE, "off"):
            return Level(typed, NONE)
        if typed.strip()[:1].isdecimal():
            return Level(typed, format_bytes(parse_memory(typed)))
        raise self.wrong(name, typed)

    def require_here(self, name: str, level: Level) -> None:
        found = huge_pages.sizes(self.root)
        if level.canonical != NONE and parse_memory(level.canonical) not in found:
            raise UsageError(
                f'"{name}" = {level.typed}: this kernel has no huge pages of that size',
                f"it has: {', '.join(map(format_bytes, found)) or 'none'}",
            )

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
    accepts = "always, madvise, never"

    @property
    def _path(self) -> Path:
        return self.root / "sys/kernel/mm/transparent_hugepage/enabled"

    def unavailable(self, name: str) -> str | None:
        return super().unavailable(name) or (None if self._path.exists() else NO_TRANSPARENT)

    def parse(self, name: str, typed: str) -> Level:
        if typed.strip() not in self.accepts.split(", "):
            raise self.wrong(name, typed)
        return Level(typed, typed.strip())

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        try:
            found = current(self._path)
        except OSError as error:
            raise host_refused(self._path, level.canonical, error) from error
        if found != level.canonical:
            hosting.changes.write(self._path, level.canonical)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The kernel's word; None where it has another."""
        try:
            found = current(self._path)
        except OSError:
            return None
        return found if found in self.accepts.split(", ") else None

    def steps(self, typed: str) -> tuple[str, ...]:
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
    usual = cpus.ALL

    def unavailable(self, name: str) -> str | None:
        return super().unavailable(name) or (None if groups.memory_hierarchy(self.root) else NO_MEMORY_GROUP)

    def parse(self, name: str, typed: str) -> Level:
        if typed.strip() == cpus.ALL:
            return Level(typed, cpus.ALL)
        if typed.strip()[:1].isdecimal() and parse_memory(typed) >= _LEAST_MEMORY_BYTES:
            return Level(typed, format_bytes(parse_memory(typed)))
        raise self.wrong(name, typed)

    def size(self, name: str) -> ModelSize:
        return ModelSize(least_bytes=_LEAST_MEMORY_BYTES, step_bytes=1 << 20)

    def require_here(self, name: str, level: Level) -> None:
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
        return (
            f"{self.pattern} = {typed}: a limit for the server and the page cache of what it reads:"
            f" MemoryMax={_systemd_size(typed)} in the systemd unit (or a machine of that size)",
        )


class Cores(HostFactor):
    """`host.cores`: the CPUs that the server may use; clients may use all."""

    pattern = "host.cores"
    places_only = True
    summary = "CPUs of the server; of a number, siblings are used last, or first with :together"
    accepts = "all, 4, 4:together, 4:apart, 0-3, 0,2, cpu:1"
    usual = cpus.ALL

    def unavailable(self, name: str) -> str | None:
        """Anyone may keep to fewer CPUs."""
        return None

    def parse(self, name: str, typed: str) -> Level:
        selection = cpus.parse_selection(typed)
        if selection is None:
            raise self.wrong(name, typed)
        return Level(typed, str(selection))

    def require_here(self, name: str, level: Level) -> None:
        """The machine must have them, and let us use them."""
        selection, there = _selection(level), cpus.usable()
        if selection.count > len(there):
            raise UsageError(
                f'"{name}" = {level.typed} needs more than the {len(there)} CPUs that pgassay may use here',
                f"give {len(there)} at most, or all; lscpu --extended lists them",
            )
        if missing := set(selection.cpus) - there:
            raise UsageError(
                f'"{name}" = {level.typed}: this machine has no CPU {show_list(missing)}, or pgassay may not use it',
                "taskset --cpu-list --pid $$ lists those that may be used",
            )

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """The server starts on them; all of its processes inherit that (sched_setaffinity(2)).

        Raises `HostError` where too few are left: some may have gone offline since the run began.
        """
        if level.canonical == cpus.ALL:
            return
        selection, chosen = _selection(level), self.chosen(level)
        absent = set(selection.cpus) - cpus.usable()
        if absent or len(chosen) < max(selection.count, 1):
            raise HostError(
                f'"{self.pattern}" = {level.typed}: only {len(chosen) - len(absent)} of these CPUs are online',
                code="no_cores",
            )
        hosting.cpus = chosen

    def chosen(self, level: Level) -> tuple[int, ...]:
        return cpus.choose(_selection(level), cpus.cores(cpus.usable(), self.root))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The level if the postmaster has the CPUs that it means here, else its own as `cpu:LIST`; None if gone."""
        try:
            found = tuple(sorted(os.sched_getaffinity(readable.server.postmaster_pid)))
        except OSError:
            return None
        return level.canonical if found == self.chosen(level) else f"cpu:{show_list(found)}"

    def steps(self, typed: str) -> tuple[str, ...]:
        return (f"{self.pattern} = {typed}: CPUAffinity= in the systemd unit, or taskset (or a machine with as many)",)


def _selection(level: Level) -> cpus.Selection:
    return cpus.parse_selection(level.canonical) or cpus.Selection()


FACTORS: tuple[Factor, ...] = (HugePages(), TransparentHugePages(), Memory(), Cores())
"""What the lab's catalogue takes."""
