"""The block devices under the data and the WAL: reads, writes, bytes, flushes, times.

The device that is counted is the one the file system sits on: a partition, btrfs' anonymous device, loop and
device-mapper are found by /proc/self/mountinfo and /sys/dev/block. Flushes are counted by whole disks only, so a
partition names its disk too.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pgassay.interfaces.counters import Meter, Reading
from pgassay.interfaces.places import parse_mountinfo
from pgassay.interfaces.probe import (
    Cost,
    Differences,
    FileReader,
    Probe,
    Reader,
    Target,
    per_transaction,
    quotient,
    total,
)
from pgassay.interfaces.running import Clock
from pgassay.probe.procfs import parse_device_stat, read_text
from pgassay.study.responses import Better, Response, Scale


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


_DISK_UNITS = {
    "reads": "count",
    "read_bytes": "bytes",
    "read_ms": "ms",
    "writes": "count",
    "written_bytes": "bytes",
    "write_ms": "ms",
    "busy_ms": "ms",
    "discards": "count",
    "discarded_bytes": "bytes",
    "flushes": "count",
    "flush_ms": "ms",
}
_OF_DISK = ("flushes", "flush_ms")
_ELAPSED = "elapsed_s"
"""In addition to what the device counts: the moment of the reading, so that differences are rates."""


_METERS = (*(Meter(name, unit) for name, unit in _DISK_UNITS.items()), Meter(_ELAPSED, "s"))


class Diskstats(FileReader):
    """One device as the source `source` (`diskstats`, `diskstats_wal`), from /sys/dev/block/MAJ:MIN/stat.

    Bytes that PostgreSQL wrote but the page cache still holds are not there yet; flushes are counted from kernel 5.5 on
    and only by whole disks.
    """

    per_second = True
    """It is one small file."""

    def __init__(self, source: str, device: Device, clock: Clock, *, sys: Path = Path("/sys")) -> None:
        self.meters = {source: _METERS}
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
        return parse_device_stat(text) if text else dict.fromkeys(_DISK_UNITS)


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

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = {"diskstats": _METERS, "diskstats_wal": _METERS}

    def unavailable(self, target: Target) -> str | None:
        """Memory, layered and network file systems have no device of this machine."""
        found = device_under(target.directory) or _wal_device(target.directory)
        return None if found else "no block device lies under the data directory or the WAL"

    def readers(self, target: Target) -> Sequence[Reader]:
        data, wal = device_under(target.directory), _wal_device(target.directory)
        found: list[Reader] = [Diskstats(self.name, data, target.clock)] if data is not None else []
        if wal is not None and wal != data:
            found.append(Diskstats(f"{self.name}_wal", wal, target.clock))
        return found


def _wal_device(directory: Path) -> Device | None:
    return device_under(directory / "pg_wal") if (directory / "pg_wal").exists() else None
