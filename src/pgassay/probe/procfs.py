"""Linux's /proc and /sys: processes, the whole machine (proc(5)), and the block devices under data and WAL.

Times are clock ticks there (CONFIG_HZ seen by user space, 100 a second) and microseconds here. What other programs took
of the machine is what neither the server nor the lab nor the emulation of a drive used.

The device that is counted is the one the file system sits on: a partition, btrfs' anonymous device, loop and
device-mapper are found by /proc/self/mountinfo and /sys/dev/block. Flushes are counted by whole disks only, so a
partition names its disk too.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pgassay.interfaces.places import parse_mountinfo
from pgassay.interfaces.probe import (
    Cost,
    Differences,
    FileReader,
    Meter,
    Probe,
    Reader,
    Reading,
    Target,
    per_transaction,
    quotient,
    share,
    total,
)
from pgassay.interfaces.proc import Process, process_of
from pgassay.interfaces.running import Clock
from pgassay.probe.drives import drive_cpu_us
from pgassay.study.responses import Better, Response, Scale

US_PER_TICK = 1_000_000 / os.sysconf("SC_CLK_TCK")


def read_text(path: Path) -> str | None:
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
    everyone = (process_of(entry.name, proc) for entry in proc.iterdir() if entry.name.isdecimal())
    return [process.pid for process in everyone if process is not None and process.parent == pid]


def parse_table(text: str, separator: str = ":") -> dict[str, int]:
    """`Name: 123 kB` lines (status, io) or `name 123` lines (vmstat): the whole number that each begins with."""
    found = {}
    for line in text.split("\n"):
        name, _, rest = line.partition(separator)
        number = re.match(r"\s*(\d+)", rest)
        if number:
            found[name] = int(number[1])
    return found


_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Kinds of CPU time, in the order of /proc/stat."""


def parse_cpu(stat: str) -> dict[str, float]:
    """/proc/stat: CPU time of the machine by kind in µs, and context switches (`switches`)."""
    lines = {line.partition(" ")[0]: line.split()[1:] for line in stat.splitlines() if line}
    found = {name: int(value) * US_PER_TICK for name, value in zip(_CPU, lines["cpu"], strict=False)}
    if "ctxt" in lines:
        found["switches"] = float(lines["ctxt"][0])
    return found


def sum_counts(texts: Iterable[str | None]) -> float | None:
    """The sum of small files with one whole number each; None for no files, or where one cannot be read."""
    numbers = [text.strip() if text is not None else "" for text in texts]
    if not numbers or not all(number.isdecimal() for number in numbers):
        return None
    return float(sum(int(number) for number in numbers))


_DISK_FIELDS = {
    "reads": ("count", 0),
    "read_bytes": ("bytes", 2),
    "read_ms": ("ms", 3),
    "writes": ("count", 4),
    "written_bytes": ("bytes", 6),
    "write_ms": ("ms", 7),
    "busy_ms": ("ms", 9),
    "discards": ("count", 11),
    "discarded_bytes": ("bytes", 13),
    "flushes": ("count", 15),
    "flush_ms": ("ms", 16),
}
"""Unit and column of what a device counts (kernel's Documentation/block/stat.rst)."""
_SECTOR_BYTES = 512.0


def parse_device_stat(text: str) -> dict[str, float | None]:
    """/sys/dev/block/MAJ:MIN/stat: counts, bytes and ms; None for columns that this kernel does not have."""
    numbers = [int(field) for field in text.split()]
    return {
        name: numbers[column] * (_SECTOR_BYTES if unit == "bytes" else 1) if column < len(numbers) else None
        for name, (unit, column) in _DISK_FIELDS.items()
    }


_TREE_METERS = (
    Meter("user_us", "us"),
    Meter("system_us", "us"),
    Meter("context_switches", "count"),
    Meter("processes", "count", cumulative=False),
    Meter("private_bytes", "bytes", cumulative=False),
)
_ATTEMPTS = 3


@dataclass
class _Living:
    cpu_us: float
    switches: int


@dataclass
class _Snapshot:
    root: Process
    user_us: float = 0.0
    system_us: float = 0.0
    private_bytes: int = 0
    living: dict[int, _Living] = field(default_factory=dict)


@dataclass(eq=False)
class _TreeReader(FileReader):
    """Reads the process `pid` and its descendants as the source `source`, without the trees under `excluded`."""

    source: str
    pid: int
    clock: Clock
    excluded: frozenset[int] = field(default=frozenset(), kw_only=True)
    proc: Path = field(default=Path("/proc"), kw_only=True)
    meters: Mapping[str, tuple[Meter, ...]] = field(init=False)

    _meters: ClassVar[tuple[Meter, ...]]

    def __post_init__(self) -> None:
        self.meters = {self.source: self._meters}

    def read(self) -> tuple[Reading, ...]:
        now = self.clock.monotonic_ns(), self.clock.wall_ns()
        return (Reading(self.source, *now, self._values()),)

    def _values(self) -> Mapping[str, float | None]:
        raise NotImplementedError

    def _pids(self, pid: int | None = None) -> Iterator[int]:
        """`pid` (the root, unless given) and its living descendants, without the excluded trees."""
        pid = self.pid if pid is None else pid
        if pid in self.excluded:
            return
        yield pid
        for child in children_of(pid, self.proc):
            yield from self._pids(child)


@dataclass(eq=False)
class ProcessTree(_TreeReader):
    """CPU, context switches and memory of a process and its descendants; None throughout when the process is gone.

    CPU of children that have ended is exact, for the kernel hands it to the parent that waits for them. Their context
    switches are not handed on: those after the last look are estimated from the CPU time that they still used.
    """

    per_second = True
    """Two small files a process."""
    _meters = _TREE_METERS

    _living: dict[int, _Living] = field(init=False, default_factory=dict)
    _reaped_us: float = field(init=False, default=0.0)
    _switches_of_dead: float = field(init=False, default=0.0)

    def _values(self) -> Mapping[str, float | None]:
        look = self._snapshot()
        if look is None:
            return {meter.name: None for meter in _TREE_METERS}
        dead = [seen for pid, seen in self._living.items() if pid not in look.living]
        reaped_us = _reaped_us(look.root)
        seen_us, switches = sum(each.cpu_us for each in dead), sum(each.switches for each in dead)
        if dead:
            grown = (reaped_us - self._reaped_us) / seen_us if seen_us > 0 else 1.0
            self._switches_of_dead += switches * max(grown, 1.0)
        self._living, self._reaped_us = look.living, reaped_us
        return {
            "user_us": look.user_us,
            "system_us": look.system_us,
            "context_switches": self._switches_of_dead + sum(seen.switches for seen in look.living.values()),
            "processes": float(len(look.living)),
            "private_bytes": float(look.private_bytes),
        }

    def _snapshot(self) -> _Snapshot | None:
        """All processes at one moment: looked at again when a child was reaped meanwhile, so that none counts twice."""
        look = None
        for _ in range(_ATTEMPTS):
            root = process_of(self.pid, self.proc)
            if root is None:
                return None
            look = self._sum(root)
            after = process_of(self.pid, self.proc)
            if after is not None and _reaped_us(after) == _reaped_us(root):
                return look
        return look

    def _sum(self, root: Process) -> _Snapshot:
        look = _Snapshot(root)
        for pid in self._pids():
            process = root if pid == self.pid else process_of(pid, self.proc)
            status = read_text(self.proc / str(pid) / "status")
            if process is None or status is None:
                continue
            table = parse_table(status)
            look.user_us += (process.user_ticks + process.reaped_user_ticks) * US_PER_TICK
            look.system_us += (process.system_ticks + process.reaped_system_ticks) * US_PER_TICK
            look.private_bytes += table.get("RssAnon", 0) * 1024
            switches = table.get("voluntary_ctxt_switches", 0) + table.get("nonvoluntary_ctxt_switches", 0)
            look.living[pid] = _Living(process.cpu_ticks * US_PER_TICK, switches)
        return look


def _reaped_us(process: Process) -> float:
    return (process.reaped_user_ticks + process.reaped_system_ticks) * US_PER_TICK


_IO_FIELDS = {
    "read_calls": ("syscr", "count"),
    "write_calls": ("syscw", "count"),
    "passed_read_bytes": ("rchar", "bytes"),
    "passed_written_bytes": ("wchar", "bytes"),
    "storage_read_bytes": ("read_bytes", "bytes"),
}
_IO_METERS = tuple(Meter(name, unit) for name, (_, unit) in _IO_FIELDS.items())


class ProcessIo(_TreeReader):
    """Bytes that a process and its descendants passed to the file system, from /proc/PID/io.

    None throughout where we may not read that file. Read at the window's edges. The kernel adds the counters of
    children that have been waited for to their parent's, so nothing is lost when backends or a load's program end; the
    tree is looked at again when one ended meanwhile, for neither it nor its parent may have had its bytes when they
    were read. The file's `write_bytes` is left out: it counts a whole large folio for every page dirtied in it, for
    WAL on a current ext4 twenty times too much. Asynchronous I/O (libaio, io_uring) is in none of its counters.
    """

    per_second = False
    """Another file a process: not worth it."""
    _meters = _IO_METERS

    def _values(self) -> Mapping[str, float | None]:
        tables: list[dict[str, int]] = []
        for _ in range(_ATTEMPTS):
            if not read_text(self.proc / str(self.pid) / "io"):
                return dict.fromkeys(_IO_FIELDS)
            pids = [*self._pids()]
            texts = [read_text(self.proc / str(pid) / "io") for pid in pids]
            tables = [parse_table(text) for text in texts if text]
            if set(pids) <= set(self._pids()):
                break
        return {name: float(sum(table.get(field, 0) for table in tables)) for name, (field, _) in _IO_FIELDS.items()}


SERVER_CPU = ("process_tree.user_us", "process_tree.system_us")
LAB_CPU = ("lab_tree.user_us", "lab_tree.system_us")


class ServerProcesses(Probe):
    """CPU, switches and memory of the postmaster and all that it started."""

    name = "process_tree"
    summary = "CPU, context switches and private memory of the server's processes"
    costs = (
        per_transaction("server_cpu_us", "server CPU", "us", SERVER_CPU, Scale.RATIO),
        per_transaction(
            "context_switches", "context switches of the server", "count", "process_tree.context_switches", Scale.RATIO
        ),
    )

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"process_tree": _TREE_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        return (ProcessTree(self.name, target.server.postmaster_pid, target.clock),)


class LabProcesses(Probe):
    """Our own process tree: the lab, the load's program, and programs that emulate drives."""

    name = "lab_tree"
    summary = "CPU, context switches and private memory of the load program and the lab"
    costs = (per_transaction("client_cpu_us", "CPU of the load program and the lab", "us", LAB_CPU, Scale.RATIO),)

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"lab_tree": _TREE_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """From ourselves down, without the server."""
        excluded = frozenset({target.server.postmaster_pid})
        return (ProcessTree(self.name, os.getpid(), target.clock, excluded=excluded),)


class ServerFiles(Probe):
    """What the server's processes handed to the file system."""

    name = "process_io"
    summary = "bytes that the server's processes passed to files"
    costs = (
        per_transaction(
            "file_written_bytes", "written to files by the server", "bytes", "process_io.passed_written_bytes"
        ),
    )

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"process_io": _IO_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        return (ProcessIo(self.name, target.server.postmaster_pid, target.clock),)


class LabFiles(Probe):
    """What the lab and the load's program handed to the file system: their own work, not that of other programs.

    `load.written_bytes` comes from the load itself (`LoadResult.written_bytes`): the kernel's counters leave
    asynchronous I/O out.
    """

    name = "lab_io"
    summary = "bytes that the load program and the lab passed to files"

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {
        "lab_io": _IO_METERS,
        "load": (Meter("written_bytes", "bytes"),),
    }

    def readers(self, target: Target) -> Sequence[Reader]:
        """From ourselves down, without the server."""
        excluded = frozenset({target.server.postmaster_pid})
        return (ProcessIo(self.name, os.getpid(), target.clock, excluded=excluded),)


_MACHINE_METERS = (
    *(Meter(f"{name}_us", "us") for name in _CPU),
    Meter("context_switches", "count"),
    Meter("pages_swapped_in", "count"),
    Meter("pages_swapped_out", "count"),
    Meter("dirty_pages", "count", cumulative=False),
    Meter("writeback_pages", "count", cumulative=False),
    Meter("thermal_throttles", "count"),
)


class MachineReader(FileReader):
    """CPU time by kind from /proc/stat, swapping and dirty memory from /proc/vmstat, cores that ran hot.

    Steal is time that a hypervisor gave to others while this machine had work; a throttled core slowed down to cool
    (Linux's Documentation/arch/x86/x86_64/machinecheck.rst). Either may invalidate a trial.

    The kernel's idle and iowait may go back (proc_stat(5)): what a sleeping CPU waits for may end on another one, and
    then its sleep was no waiting. Here a time stays as it is until the kernel's is greater again.
    """

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"machine": _MACHINE_METERS}
    per_second = True
    """Two files, and a small one for each core that counts its throttling."""

    def __init__(
        self, clock: Clock, *, proc: Path = Path("/proc"), cpus: Path = Path("/sys/devices/system/cpu")
    ) -> None:
        self._clock = clock
        self._proc = proc
        self._greatest: dict[str, float] = {}
        self._throttles = sorted(cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))

    def read(self) -> tuple[Reading, ...]:
        """Read them all; None for what this kernel does not count."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        stat, vmstat = read_text(self._proc / "stat"), read_text(self._proc / "vmstat")
        cpu = parse_cpu(stat) if stat else {}
        memory = parse_table(vmstat, " ") if vmstat else {}
        self._greatest |= {name: max(cpu[name], self._greatest.get(name, 0.0)) for name in _CPU if name in cpu}
        values: dict[str, float | None] = {f"{name}_us": self._greatest[name] if name in cpu else None for name in _CPU}
        values |= {
            "context_switches": cpu.get("switches"),
            "pages_swapped_in": memory.get("pswpin"),
            "pages_swapped_out": memory.get("pswpout"),
            "dirty_pages": memory.get("nr_dirty"),
            "writeback_pages": memory.get("nr_writeback"),
            "thermal_throttles": sum_counts(read_text(path) for path in self._throttles),
        }
        return (Reading("machine", *now, values),)


_ALL_CPU = tuple(f"machine.{kind}_us" for kind in _CPU)
_BUSY_CPU = tuple(f"machine.{kind}_us" for kind in _CPU if kind not in ("idle", "iowait", "steal"))


def _foreign_cpu(counters: Differences, _: int) -> float | None:
    """What neither the server, nor the lab, nor the emulation of a drive used; never below 0, for clocks differ."""
    busy, ours = total(counters, _BUSY_CPU), total(counters, (*SERVER_CPU, *LAB_CPU))
    if busy is None or ours is None:
        return None
    return quotient(max(0.0, busy - ours - (drive_cpu_us(counters) or 0.0)), total(counters, _ALL_CPU))


class Machine(Probe):
    """The whole machine: what other programs took of it is the difference."""

    name = "machine"
    summary = "CPU time of the machine by kind, swapping, dirty memory, throttled cores"
    costs = (
        share("cpu_busy_share", "share of the machine's CPU time that was used", _BUSY_CPU, _ALL_CPU, Better.NEITHER),
        share(
            "iowait_share", "share of CPU time that waited for storage", ["machine.iowait_us"], _ALL_CPU, Better.LOWER
        ),
        share(
            "steal_share", "share of CPU time that the hypervisor took", ["machine.steal_us"], _ALL_CPU, Better.LOWER
        ),
        Cost(
            Response(
                "foreign_cpu_share",
                "share of CPU time that other programs used",
                "share",
                Better.LOWER,
                Scale.DIFFERENCE,
            ),
            _foreign_cpu,
        ),
    )

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"machine": _MACHINE_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        return (MachineReader(target.clock),)


@dataclass(frozen=True)
class Device:
    """A block device: `number` as `MAJ:MIN`, its name, and the whole disk's number when it is a partition."""

    number: str
    name: str
    disk: str


def device_under(
    path: Path, *, sys: Path = Path("/sys"), mountinfo: Path = Path("/proc/self/mountinfo")
) -> Device | None:
    """The device under `path`; None where there is none to count (tmpfs, overlay, network)."""
    number = path.stat().st_dev
    found = _device(f"{os.major(number)}:{os.minor(number)}", sys)
    if found is not None:
        return found
    source = mount_source(read_text(mountinfo) or "", f"{os.major(number)}:{os.minor(number)}", path.resolve())
    if source is None or not Path(source).is_block_device():
        return None
    number = Path(source).stat().st_rdev
    return _device(f"{os.major(number)}:{os.minor(number)}", sys)


def mount_source(mountinfo: str, number: str, path: Path) -> str | None:
    """The source (`/dev/sda2`) of the innermost mount that holds `path`; `number` decides where it is listed."""
    above = [each for each in parse_mountinfo(mountinfo) if path.is_relative_to(each.point)]
    return max(((each.number == number, len(each.point.parts), each.source) for each in above), default=(0, 0, None))[2]


def _device(number: str, sys: Path) -> Device | None:
    folder = sys / "dev" / "block" / number
    try:
        folder.stat()
    except OSError:  # gone, or closed to us: a container may hide /sys
        return None
    resolved = folder.resolve()
    disk = number
    if (resolved / "partition").exists():
        disk = (read_text(resolved.parent / "dev") or number).strip()
    return Device(number, resolved.name, disk)


_OF_DISK = ("flushes", "flush_ms")
_ELAPSED = "elapsed_s"
"""In addition to what the device counts: the moment of the reading, so that differences are rates."""
_DISK_METERS = (*(Meter(name, unit) for name, (unit, _) in _DISK_FIELDS.items()), Meter(_ELAPSED, "s"))


class Diskstats(FileReader):
    """One device as the source `source` (`diskstats`, `diskstats_wal`), from /sys/dev/block/MAJ:MIN/stat.

    Bytes that PostgreSQL wrote but the page cache still holds are not there yet; flushes are counted from kernel 5.5 on
    and only by whole disks.
    """

    per_second = True
    """It is one small file."""

    def __init__(self, source: str, device: Device, clock: Clock, *, sys: Path = Path("/sys")) -> None:
        self.meters = {source: _DISK_METERS}
        self._source = source
        self._device = device
        self._clock = clock
        self._sys = sys

    def read(self) -> tuple[Reading, ...]:
        """Read the device (and its disk, for flushes); None throughout when it is gone."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        values = self._stat(self._device.number)
        gone = all(value is None for value in values.values())
        values[_ELAPSED] = None if gone else now[0] / 1e9
        if self._device.disk != self._device.number:
            values |= {name: value for name, value in self._stat(self._device.disk).items() if name in _OF_DISK}
        return (Reading(self._source, *now, values),)

    def _stat(self, number: str) -> dict[str, float | None]:
        text = read_text(self._sys / "dev" / "block" / number / "stat")
        return parse_device_stat(text) if text else dict.fromkeys(_DISK_FIELDS)


OWN_WRITES_MAX = 2.0
"""Our own writes may at most double on their way to the device before they are attributed to another program."""


def _foreign_writes(counters: Differences, _: int) -> float | None:
    """What the device wrote beyond `OWN_WRITES_MAX` times what the server, the load and the lab wrote, as a share.

    A file system writes its journal and metadata along, and pages that were dirtied before; so only a gross excess
    points to another program. Of the load, the kernel's count or its own, whichever is more: the kernel leaves
    asynchronous I/O out, and few loads say what they wrote.
    """
    device, server = counters.get("diskstats.written_bytes"), counters.get("process_io.passed_written_bytes")
    lab, load = counters.get("lab_io.passed_written_bytes"), counters.get("load.written_bytes")
    if device is None or server is None or lab is None:
        return None
    ours = server + max(lab, load or 0.0)
    return max(0.0, 1.0 - OWN_WRITES_MAX * ours / device) if device > 0 else 0.0


def _latency(kind: str, operations: str, words: str) -> Cost:
    response = Response(
        f"disk_{kind}_latency_ms", f"mean time of a {words} the device", "ms", Better.LOWER, Scale.DIFFERENCE
    )
    return Cost(
        response,
        lambda counters, _: quotient(counters.get(f"diskstats.{kind}_ms"), counters.get(f"diskstats.{operations}")),
    )


def _rate(name: str, title: str, unit: str, *counted: str) -> Cost:
    """Counters of the data's device over the seconds between the readings."""
    names = [f"diskstats.{each}" for each in counted]
    response = Response(name, title, unit, Better.NEITHER, Scale.DIFFERENCE)
    return Cost(response, lambda counters, _: quotient(total(counters, names), counters.get(f"diskstats.{_ELAPSED}")))


class Disks(Probe):
    """The device under the data directory, and the WAL's own where it has one."""

    name = "diskstats"
    summary = "reads, writes, flushes and their times at the block devices of the data and the WAL"
    costs = (
        per_transaction("disk_written_bytes", "written to the device", "bytes", "diskstats.written_bytes", Scale.RATIO),
        per_transaction(
            "wal_disk_written_bytes", "written to the WAL's own device", "bytes", "diskstats_wal.written_bytes"
        ),
        per_transaction("disk_read_bytes", "read from the device", "bytes", "diskstats.read_bytes", Scale.RATIO),
        per_transaction("disk_writes", "writes to the device", "count", "diskstats.writes", Scale.RATIO),
        per_transaction("disk_reads", "reads from the device", "count", "diskstats.reads"),
        per_transaction("disk_flushes", "flushes of the device", "count", "diskstats.flushes"),
        _latency("read", "reads", "read of"),
        _latency("write", "writes", "write to"),
        _rate("disk_iops", "reads and writes of the device per second", "1/s", "reads", "writes"),
        _rate("disk_read_bytes_per_s", "read from the device per second", "bytes", "read_bytes"),
        Cost(
            Response(
                "foreign_write_share",
                "share of the bytes written to the device that neither the server nor the load accounts for",
                "share",
                Better.LOWER,
                Scale.DIFFERENCE,
            ),
            _foreign_writes,
        ),
    )

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"diskstats": _DISK_METERS, "diskstats_wal": _DISK_METERS}

    def unavailable(self, target: Target) -> str | None:
        """Memory, layered and network file systems have no device of this machine."""
        return None if self.readers(target) else "no block device lies under the data directory or the WAL"

    def readers(self, target: Target) -> Sequence[Reader]:
        data, inside = device_under(target.directory), target.directory / "pg_wal"
        wal = device_under(inside) if inside.exists() else None
        found: list[Reader] = [Diskstats(self.name, data, target.clock)] if data is not None else []
        if wal is not None and wal != data:
            found.append(Diskstats(f"{self.name}_wal", wal, target.clock))
        return found
