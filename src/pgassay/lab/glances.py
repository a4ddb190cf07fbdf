"""Readers that also tell those who watch what they read: WAL, waits and the device of the trial that runs."""

from collections.abc import Callable, Mapping

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.probe import Reader
from pgassay.record.glance import Glance

SOURCES = frozenset({"wal", "waits", "diskstats"})
"""What is told, of all that is read."""


class Told:
    """A `Reader` that passes on what another one reads, and tells of it."""

    def __init__(self, reader: Reader, tell: Callable[[Glance], None]) -> None:
        self._reader = reader
        self._tell = tell

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """The other's."""
        return self._reader.meters

    @property
    def per_second(self) -> bool:
        """The other's."""
        return self._reader.per_second

    def settle(self) -> None:
        """As the other does."""
        self._reader.settle()

    def read(self) -> tuple[Reading, ...]:
        """What the other reads."""
        found = self._reader.read()
        for each in found:
            if each.source in SOURCES:
                self._tell(Glance(each.monotonic_ns, each.wall_ns, each.source, each.values))
        return found

    def rest(self) -> None:
        """As the other does."""
        self._reader.rest()

    def wake(self) -> None:
        """As the other does."""
        self._reader.wake()

    def close(self) -> None:
        """As the other does."""
        self._reader.close()
