"""A drive's own counters as a probe: emulated drives and SMART logs by one interface (`bench.drive_counters`).

What a drive does not tell is None, not 0.
"""

from collections.abc import Mapping

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.drive_counters import GAUGES, SMART, SMART_WAL, UNITS, DriveCounters
from pgassay.bench.running import Clock
from pgassay.probe.at_once import AtOnce


class DriveProbe(AtOnce):
    """One drive as the source `source` (`drive`, `drive_wal`, `smart` …)."""

    def __init__(self, source: str, read: DriveCounters, clock: Clock) -> None:
        self._source = source
        self._read = read
        self._clock = clock

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {self._source: tuple(Meter(name, unit, name not in GAUGES) for name, unit in UNITS.items())}

    @property
    def per_second(self) -> bool:
        """One question to a program of ours; a SMART log costs a process, and moves slowly anyway."""
        return self._source not in (SMART, SMART_WAL)

    def read(self) -> tuple[Reading, ...]:
        """Ask the drive; None throughout when it does not answer."""
        counted = self._read()
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        return (Reading(self._source, *now, {name: counted.get(name) for name in UNITS}),)
