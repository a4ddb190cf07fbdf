"""The server's own statistics, many views by one prepared statement.

A dying or dead server gives None and is tried again at the next reading. `settle` waits until the load's backends are
gone, for a backend hands in what it counted at its end (15 on) or half a second later (13 and 14, by the collector).
"""

from collections.abc import Mapping, Sequence

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.session import Session
from pgassay.probe.views import View, share_out, statement

COLLECTOR_UNTIL = 14
COLLECTOR_DELAY_S = 0.6
"""PGSTAT_STAT_INTERVAL (500 ms), with some air."""
SETTLE_S = 5.0
_PAUSE_S = 0.02
_BUSY = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'pgassay'"


class Statistics:
    """A probe of several views; see `bench.counters.Probe`."""

    def __init__(
        self, session: Session, version: int, views: Sequence[View], clock: Clock, *, per_second: bool = True
    ) -> None:
        self._session = session
        self._version = version
        self._views = tuple(views)
        self._clock = clock
        self._per_second = per_second
        self._statement = statement(self._views).encode()

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """By source."""
        return {view.source: view.meters for view in self._views}

    @property
    def per_second(self) -> bool:
        """As asked for."""
        return self._per_second

    def settle(self) -> None:
        """Wait until the load's backends have gone and their statistics are in; gives up after `SETTLE_S`."""
        deadline_ns = self._clock.monotonic_ns() + int(SETTLE_S * 1e9)
        while self._clock.monotonic_ns() < deadline_ns:
            row = self._session.fetch(_BUSY.encode())
            if row is None:
                return
            if row[0] == 0:
                if self._version <= COLLECTOR_UNTIL:
                    self._clock.sleep(COLLECTOR_DELAY_S)
                return
            self._clock.sleep(_PAUSE_S)

    def read(self) -> tuple[Reading, ...]:
        """One reading a view; both times are those of the moment after the server answered."""
        values = share_out(self._views, self._session.fetch(self._statement))
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        return tuple(Reading(view.source, *now, values[view.source]) for view in self._views)

    def close(self) -> None:
        """Close the session; harmless when it is closed."""
        self._session.close()
