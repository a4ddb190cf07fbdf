"""The block device under a directory: reads, writes, bytes, flushes, and the time that they took.

From /sys/dev/block/MAJ:MIN/stat, the same numbers as /proc/diskstats. Bytes that PostgreSQL wrote but the page cache
still holds are not there yet; flushes are counted from kernel 5.5 on and only by whole disks.
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.at_once import AtOnce
from pgassay.probe.devices import Device
from pgassay.probe.procfs import parse_device_stat, read_text

_UNITS = {
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


class Diskstats(AtOnce):
    """One device as the source `source` (`diskstats`, `diskstats_wal`)."""

    def __init__(self, source: str, device: Device, clock: Clock, *, sys: Path = Path("/sys")) -> None:
        self._source = source
        self._device = device
        self._clock = clock
        self._sys = sys

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {self._source: tuple(Meter(name, unit) for name, unit in _UNITS.items())}

    @property
    def per_second(self) -> bool:
        """One file."""
        return True

    def read(self) -> tuple[Reading, ...]:
        """Read the device (and its disk, for flushes); None throughout when it is gone."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        values = self._stat(self._device.number)
        if self._device.disk != self._device.number:
            values |= {name: value for name, value in self._stat(self._device.disk).items() if name in _OF_DISK}
        return (Reading(self._source, *now, values),)

    def _stat(self, number: str) -> dict[str, float | None]:
        text = read_text(self._sys / "dev" / "block" / number / "stat")
        return parse_device_stat(text) if text else dict.fromkeys(_UNITS)
