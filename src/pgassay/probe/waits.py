"""What the load's backends wait for: pg_stat_activity looked at five times a second, looks added up by kind of wait.

A backend seen *active* without a wait event has or wants a CPU. One that waits for its client between or within
transactions tells that the client is behind. See the PostgreSQL manual, "Wait Event Tables"; the WAL's events changed
their capitals in 17. A look costs the server about what one small query does.
"""

import threading
from collections.abc import Mapping

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.session import Session

SOURCE = "waits"
INTERVAL_S = 0.2
JOIN_S = 10.0

KINDS: Mapping[str, str] = {
    "on_cpu": "e IS NULL AND state = 'active'",
    "client": "t = 'Client'",
    "lock": "t = 'Lock' AND e <> 'extend'",
    "wal_flush": "t IN ('IO', 'LWLock') AND lower(e) IN ('walsync', 'walwrite', 'walinitsync', 'walinitwrite')",
    "data_read": "t = 'IO' AND e IN ('DataFileRead', 'DataFilePrefetch', 'AioIoCompletion')",
    "data_write": "t = 'IO' AND e LIKE 'DataFile%' AND e NOT IN ('DataFileRead', 'DataFilePrefetch')",
    "lwlock": "t = 'LWLock' AND lower(e) <> 'walwrite'",
}
"""Kind of wait to its condition on pg_stat_activity's `wait_event_type` (t), `wait_event` (e) and `state`.

What fits none is counted in `all` only: extension of files, buffer pins, sleeping, idle without an event.
"""

_QUERY = (
    f"SELECT {', '.join(f'count(*) FILTER (WHERE {condition})' for condition in KINDS.values())}, count(*) FROM"
    " (SELECT wait_event_type AS t, wait_event AS e, state FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND application_name <> 'pgassay' AND state IS NOT NULL) s"
).encode()
_METERS = tuple(Meter(name, "count") for name in ("looks", *KINDS, "all"))


class Waits:
    """See `bench.counters.Probe`; a thread looks between the readings."""

    def __init__(self, session: Session, clock: Clock, interval_s: float = INTERVAL_S) -> None:
        self._session = session
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts = dict.fromkeys((meter.name for meter in _METERS), 0.0)

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {SOURCE: _METERS}

    @property
    def per_second(self) -> bool:
        """Reading it is one look more."""
        return True

    def settle(self) -> None:
        """What was seen is counted at once."""

    def read(self) -> tuple[Reading, ...]:
        """The looks so far, and one now; all None while the server does not answer."""
        with self._lock:
            answered = self._look()
            values: dict[str, float | None] = dict(self._counts) if answered else dict.fromkeys(self._counts)
        if answered and self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(target=self._run, name="waits", daemon=True)
            self._thread.start()
        return (Reading(SOURCE, self._clock.monotonic_ns(), self._clock.wall_ns(), values),)

    def close(self) -> None:
        """End the looking and close the session; harmless when that is done."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        with self._lock:
            self._session.close()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            with self._lock:
                if not self._ended.is_set():
                    self._look()

    def _look(self) -> bool:
        row = self._session.fetch(_QUERY)
        if row is None:
            return False
        for name, value in zip(self._counts, (1, *row), strict=True):
            self._counts[name] += float(value)
        return True
