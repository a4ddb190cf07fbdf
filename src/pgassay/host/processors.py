"""The factors of the machine's processors: which CPUs a server has, their siblings, how they wake up, NUMA memory.

What changes the whole machine (`host.smt`, `host.cpu_latency`) does so for a trial only, and needs root; where a server
runs and from where its memory comes it inherits, so that nothing has to be given back. docs/studies.md describes
each.
"""

import os
import struct
from pathlib import Path

from pgassay.bench.cpu_lists import memory_nodes, node_cpus, nodes, parse_list, show_list
from pgassay.bench.errors import HostError
from pgassay.bench.factor import Readable
from pgassay.bench.hosting import Hosting
from pgassay.bench.memory_policy import try_binding
from pgassay.errors import UsageError
from pgassay.host import cpus, groups
from pgassay.host.changes import current, host_refused
from pgassay.host.host_factor import HostFactor, not_a_host_level
from pgassay.study.levels import Level
from pgassay.study.units import parse_time_ms

NO_SIBLINGS = "this machine has no siblings of simultaneous multithreading that may be switched"
SIBLINGS_WOULD_STAY_AWAY = "control groups of cpuset, version 1, would not get the siblings back"
NO_IDLE_STATES = "this kernel leaves out no idle states: no /dev/cpu_dma_latency, or no cpuidle"
NO_NODES = "this kernel knows no NUMA nodes"

USUAL = "usual"
SMT_WORDS = ("on", "off")
_NO_LIMIT_US = 2_000_000_000
"""What the kernel's file says where nobody asks for less (PM_QOS_CPU_LATENCY_DEFAULT_VALUE)."""
_LIMIT_BYTES = 4


class Cores(HostFactor):
    """`host.cores`: the CPUs that the server may use; clients may use all."""

    pattern = "host.cores"
    summary = "CPUs of the server; of a number, siblings are used last, or first with :together; or of NUMA nodes"
    accepts = "all, 4, 4:together, 4:apart, 0-3, 0,2, cpu:1, node:0"

    def unavailable(self, name: str) -> str | None:
        """Anyone may keep to fewer CPUs."""
        return None

    def parse(self, name: str, typed: str) -> Level:
        """A number with how siblings are used, or a list."""
        selection = cpus.parse_selection(typed)
        if selection is None:
            raise not_a_host_level(name, typed, self.accepts)
        return Level(typed, str(selection))

    def require_here(self, name: str, level: Level) -> None:
        """The machine must have them, and let us use them."""
        selection, there = _selection(level), cpus.usable()
        if selection.count > len(there):
            raise _too_many_cpus(name, level.typed, len(there))
        if missing := set(selection.cpus) - there:
            raise UsageError(
                f'"{name}" = {level.typed}: this machine has no CPU {show_list(missing)}, or pgassay may not use it',
                "taskset --cpu-list --pid $$ lists those that may be used",
            )
        if any(not there & node_cpus(node, self.root) for node in selection.nodes):
            raise _no_such_nodes(name, level.typed, show_list(nodes(self.root)))

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """The server starts on them; all of its processes inherit that (sched_setaffinity(2)).

        Raises `HostError` where too few are left: `host.smt` may have taken some away since the run began.
        """
        if level.canonical == cpus.ALL:
            return
        selection, chosen = _selection(level), self.chosen(level)
        absent = set(selection.cpus) - cpus.usable()
        if absent or len(chosen) < max(selection.count, 1):
            raise HostError(
                f'"{self.pattern}" = {level.typed}: only {len(chosen) - len(absent)} of these '
                "CPUs are online, see host.smt",
                code="no_cores",
            )
        hosting.cpus = chosen

    def chosen(self, level: Level) -> tuple[int, ...]:
        """The CPUs that a level means here."""
        return cpus.meant(_selection(level), self.root)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The level if the postmaster has the CPUs that it means here, else its own as `cpu:LIST`; None if gone."""
        try:
            found = tuple(sorted(os.sched_getaffinity(readable.server.postmaster_pid)))
        except OSError:
            return None
        return level.canonical if found == self.chosen(level) else f"cpu:{show_list(found)}"

    def steps(self, typed: str) -> tuple[str, ...]:
        """An affinity of the service, or fewer processors."""
        if typed == cpus.ALL:
            return ()
        return (f"{self.pattern} = {typed}: CPUAffinity= in the systemd unit, or taskset (or a machine with as many)",)


class Siblings(HostFactor):
    """`host.smt`: whether each core runs several hardware threads (the kernel's "CPU hotplug", `smt/control`).

    The whole machine loses its siblings while a trial runs, and gets them back at its end.
    """

    pattern = "host.smt"
    rank = -2
    summary = "hardware threads of a core: off takes all siblings but the first from the whole machine"
    accepts = "on, off"

    @property
    def _path(self) -> Path:
        return self.root / "sys/devices/system/cpu/smt/control"

    def unavailable(self, name: str) -> str | None:
        """Needs root, siblings that the kernel may switch, and control groups that get them back."""
        if (reason := super().unavailable(name)) is not None:
            return reason
        try:
            there = current(self._path) in SMT_WORDS
        except OSError:
            there = False
        if not there:
            return NO_SIBLINGS
        return SIBLINGS_WOULD_STAY_AWAY if groups.forgets_cpus(self.root) else None

    def parse(self, name: str, typed: str) -> Level:
        """One of the two words; raises `UsageError`."""
        if typed.strip() not in SMT_WORDS:
            raise not_a_host_level(name, typed, self.accepts)
        return Level(typed, typed.strip())

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """Switch them, unless they are so already; raises `HostError`."""
        try:
            found = current(self._path)
        except OSError as error:
            raise host_refused(self._path, level.canonical, error) from error
        if found != level.canonical:
            hosting.changes.write(self._path, level.canonical)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The kernel's word; None where it has another (`notsupported`)."""
        try:
            found = current(self._path)
        except OSError:
            return None
        return found if found in SMT_WORDS else None

    def steps(self, typed: str) -> tuple[str, ...]:
        """Now and after a reboot."""
        kept = " and nosmt on the kernel's command line, so that it holds after a reboot" if typed == "off" else ""
        return (f"{self.pattern} = {typed}: echo {typed} > /sys/devices/system/cpu/smt/control{kept}",)


class CpuLatency(HostFactor):
    """`host.cpu_latency`: how long an idle processor may take to wake up (the kernel's "PM Quality Of Service").

    Deeper idle states are left out while a file is held open, so that the kernel itself gives them back however we end.
    """

    pattern = "host.cpu_latency"
    summary = "the longest that an idle CPU may take to wake up: leaves out deeper idle states (C-states)"
    accepts = "usual, or a time: 0us, 20us"

    @property
    def _path(self) -> Path:
        return self.root / "dev/cpu_dma_latency"

    def unavailable(self, name: str) -> str | None:
        """Needs root, the kernel's file and idle states that it could leave out."""
        if (reason := super().unavailable(name)) is not None:
            return reason
        states = self.root.glob("sys/devices/system/cpu/cpu0/cpuidle/state*")
        return None if self._path.exists() and any(states) else NO_IDLE_STATES

    def parse(self, name: str, typed: str) -> Level:
        """`usual`, or microseconds; raises `UsageError`."""
        if typed.strip() == USUAL:
            return Level(typed, USUAL)
        if not typed.strip()[:1].isdecimal():
            raise not_a_host_level(name, typed, self.accepts)
        limit_us = round(parse_time_ms(typed) * 1000)
        if limit_us >= _NO_LIMIT_US:
            raise not_a_host_level(name, typed, self.accepts)
        return Level(typed, f"{limit_us}us")

    def require_here(self, name: str, level: Level) -> None:
        """The lowest limit of all programs holds, so another's may leave no choice."""
        found = self._held()
        if found is not None and found != USUAL and (level.canonical == USUAL or _us(found) < _us(level.canonical)):
            raise UsageError(
                f'"{name}" cannot be {level.typed}: another program holds it at {found}',
                f"give {found} or less, or end what holds /dev/cpu_dma_latency open (tuned, for one)",
            )

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """Hold it until the trial ends; raises `HostError`."""
        if level.canonical != USUAL:
            hosting.changes.hold(self._path, struct.pack("=i", _us(level.canonical)))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The limit that holds, whoever asked for it."""
        return self._held()

    def _held(self) -> str | None:
        try:
            with self._path.open("rb", buffering=0) as file:
                data = file.read(4)
        except OSError:
            return None
        if data is None or len(data) != _LIMIT_BYTES:
            return None
        (limit_us,) = struct.unpack("=i", data)
        return USUAL if limit_us >= _NO_LIMIT_US else f"{limit_us}us"

    def steps(self, typed: str) -> tuple[str, ...]:
        """What holds the file open, or the command line."""
        if typed == USUAL:
            return ()
        limit_us = _us(self.parse(self.pattern, typed).canonical)
        return (
            f"{self.pattern} = {typed}: a tuned profile with force_latency={limit_us}"
            " (or a program that holds /dev/cpu_dma_latency open); takes power while the machine is idle",
        )


class MemoryNodes(HostFactor):
    """`host.memory_nodes`: the NUMA nodes from which all of the server's memory comes (set_mempolicy(2), MPOL_BIND)."""

    pattern = "host.memory_nodes"
    summary = "NUMA nodes from which the server's memory comes, as numactl --membind has it"
    accepts = "all, 0, 0-1, 0,2"

    def unavailable(self, name: str) -> str | None:
        """A kernel that knows nodes; no right is needed but in containers, which `require_here` finds out."""
        return None if memory_nodes(self.root) else NO_NODES

    def parse(self, name: str, typed: str) -> Level:
        """`all`, or a list of nodes; raises `UsageError`."""
        if typed.strip() == cpus.ALL:
            return Level(typed, cpus.ALL)
        if not (found := parse_list(typed)):
            raise not_a_host_level(name, typed, self.accepts)
        return Level(typed, show_list(found))

    def require_here(self, name: str, level: Level) -> None:
        """The nodes must have memory, and the kernel must let us bind to them."""
        if level.canonical == cpus.ALL:
            return
        found = parse_list(level.canonical)
        if set(found) - memory_nodes(self.root):
            raise _no_such_nodes(name, level.typed, show_list(memory_nodes(self.root)))
        try:
            try_binding(found)
        except OSError as error:
            raise UsageError(
                f'"{name}" must be all here: {(error.strerror or "not permitted").lower()}', "containers need SYS_NICE"
            ) from None

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """The server starts so; all of its processes inherit it."""
        hosting.nodes = () if level.canonical == cpus.ALL else parse_list(level.canonical)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The policy of the postmaster's memory (numa(7), /proc/PID/numa_maps); None where the kernel does not say."""
        pid = readable.server.postmaster_pid
        try:
            text = (self.root / f"proc/{pid}/numa_maps").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        policies = {words[1] for line in text.split("\n") if len(words := line.split()) > 1}
        if policies == {"default"}:
            return cpus.ALL
        bound = {policy.removeprefix("bind:") for policy in policies if policy.startswith("bind:")}
        return (
            show_list(parse_list(bound.pop())) if len(policies) == len(bound) == 1 else " and ".join(sorted(policies))
        )

    def steps(self, typed: str) -> tuple[str, ...]:
        """A policy of the service."""
        if typed == cpus.ALL:
            return ()
        return (f"{self.pattern} = {typed}: NUMAPolicy=bind and NUMAMask={typed} in the systemd unit, or numactl",)


class Scheduling(HostFactor):
    """`host.scheduling`: whether other programs of this machine may take the CPU from the server and its load.

    Real-time round-robin at its lowest priority (sched(7), SCHED_RR): no program of the usual kind runs on a CPU while
    the server or the load wants it, but for the twentieth that the kernel keeps for them. What the machine itself takes
    away (its host, its clock) stays.
    """

    pattern = "host.scheduling"
    summary = "usual, or realtime: the server and its load go before other programs"
    accepts = "usual, realtime"
    default = "usual"

    def parse(self, name: str, typed: str) -> Level:
        """One of the two words; raises `UsageError`."""
        if typed.strip() not in ("usual", "realtime"):
            raise not_a_host_level(name, typed, self.accepts)
        return Level(typed, typed.strip())

    def require_here(self, name: str, level: Level) -> None:
        """Try it for a moment: containers and kernels may refuse even root."""
        if level.canonical == "usual":
            return
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
            os.sched_setscheduler(0, *before)
        except OSError as error:
            raise UsageError(
                f'"{name}" cannot be realtime here: {error.strerror or "not permitted"}',
                f'use "{name}" = usual; containers need SYS_NICE',
            ) from None

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """The server starts so; all of its processes inherit it, and the load's program follows its server."""
        hosting.realtime = level.canonical == "realtime"

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The postmaster's policy; None if it is gone."""
        try:
            policy = os.sched_getscheduler(readable.server.postmaster_pid)
        except OSError:
            return None
        return "realtime" if policy == os.SCHED_RR else "usual"

    def steps(self, typed: str) -> tuple[str, ...]:
        """For measuring, not for serving."""
        if typed == "usual":
            return ()
        return (f"{self.pattern} = {typed}: CPUSchedulingPolicy=rr in the systemd unit; starves what runs beside it",)


def _selection(level: Level) -> cpus.Selection:
    return cpus.parse_selection(level.canonical) or cpus.Selection()


def _us(canonical: str) -> int:
    return int(canonical.removesuffix("us"))


def _too_many_cpus(name: str, typed: str, there: int) -> UsageError:
    """More CPUs than this machine has, or than we may use."""
    return UsageError(
        f'"{name}" = {typed} needs more than the {there} CPUs that pgassay may use here',
        f"give {there} at most, or all; lscpu --extended lists them",
    )


def _no_such_nodes(name: str, typed: str, there: str) -> UsageError:
    """A NUMA node that is absent, or has nothing of what is asked."""
    return UsageError(f'"{name}" = {typed}: this machine has no such NUMA node', f"it has: {there or 'none'}")
