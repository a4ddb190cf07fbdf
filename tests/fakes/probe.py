"""A reader without a server: counters that grow at given rates of the clock, gauges that stay; nothing is read.

`dies_at_ns` lets it give None from a moment on, as the statistics of a server do that has crashed.
"""

from collections.abc import Mapping

from pgassay.interfaces.probe import Meter, Reading
from pgassay.interfaces.running import Clock


class FakeReader:
    """See `interfaces.probe.Reader`: a source with `rates` (counter to units a second) and `gauges` (name to value)."""

    def __init__(
        self,
        clock: Clock,
        source: str = "fake",
        rates: Mapping[str, float] | None = None,
        gauges: Mapping[str, float] | None = None,
        *,
        per_second: bool = True,
        dies_at_ns: int | None = None,
    ) -> None:
        self.closed = False
        self.settled = 0
        """How often `settle` was called."""
        self._clock = clock
        self._source = source
        self._rates = dict(rates or {})
        self._gauges = dict(gauges or {})
        self._per_second = per_second
        self._dies_at_ns = dies_at_ns

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source, its counters before its gauges."""
        counters = (Meter(name, "count") for name in self._rates)
        gauges = (Meter(name, "count", cumulative=False) for name in self._gauges)
        return {self._source: (*counters, *gauges)}

    @property
    def per_second(self) -> bool:
        """Whether a series reads it, as constructed."""
        return self._per_second

    def settle(self) -> None:
        """Only counts its calls, in `settled`."""
        self.settled += 1

    def read(self) -> tuple[Reading, ...]:
        """What the rates make of the monotonic clock."""
        now_ns = self._clock.monotonic_ns()
        values: dict[str, float | None] = {name: rate * now_ns / 1e9 for name, rate in self._rates.items()}
        values |= self._gauges
        if self.closed or (self._dies_at_ns is not None and now_ns >= self._dies_at_ns):
            values = dict.fromkeys(values)
        return (Reading(self._source, now_ns, self._clock.wall_ns(), values),)

    def rest(self) -> None:
        """It has no server to leave alone."""

    def wake(self) -> None:
        """Nothing to do, since `rest` stopped nothing."""

    def close(self) -> None:
        """Gives None from now on."""
        self.closed = True
