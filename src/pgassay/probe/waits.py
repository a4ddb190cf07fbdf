"""What the load's backends wait for: pg_stat_activity looked at five times a second, looks added up by kind of wait.

A backend seen *active* without a wait event has or wants a CPU. One that waits for its client between or within
transactions means that the client is behind. See the PostgreSQL manual, "Wait Event Tables"; the WAL's events changed
their capitals in 17. A look costs the server about as much as one small query.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.probe import Cost, Probe, Reader, Target, quotient
from pgassay.bench.running import Clock
from pgassay.probe.statistics import Session
from pgassay.study.responses import Better, Response, Scale

INTERVAL_S = 0.2
JOIN_S = 10.0


@dataclass(frozen=True)
class Kind:
    """A kind of wait: its condition on pg_stat_activity, and what a backend does that it holds for.

    `wait_event_type` is t, `wait_event` e. What fits no kind is counted in `all` only: extension of files, buffer pins,
    sleeping, idle without an event.
    """

    name: str
    condition: str
    words: str


_WAL = "('walsync', 'walwrite', 'walinitsync', 'walinitwrite')"
KINDS = (
    Kind("on_cpu", "e IS NULL AND state = 'active'", "had or wanted a CPU"),
    Kind("client", "t = 'Client'", "waited for the client"),
    Kind("lock", "t = 'Lock' AND e <> 'extend'", "waited for a lock of another transaction"),
    Kind("wal_flush", f"t IN ('IO', 'LWLock') AND lower(e) IN {_WAL}", "waited for WAL to be written or flushed"),
    Kind(
        "data_read",
        "t = 'IO' AND e IN ('DataFileRead', 'DataFilePrefetch', 'AioIoCompletion')",
        "waited for data to be read",
    ),
    Kind(
        "data_write",
        "t = 'IO' AND e LIKE 'DataFile%' AND e NOT IN ('DataFileRead', 'DataFilePrefetch')",
        "waited for data to be written",
    ),
    Kind("lwlock", "t = 'LWLock' AND lower(e) <> 'walwrite'", "waited for an internal lock"),
)

_QUERY = (
    f"SELECT {', '.join(f'count(*) FILTER (WHERE {kind.condition})' for kind in KINDS)}, count(*) FROM"
    " (SELECT wait_event_type AS t, wait_event AS e, state FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND application_name <> 'pgassay' AND state IS NOT NULL) s"
).encode()
_METERS = tuple(Meter(name, "count") for name in ("looks", *(kind.name for kind in KINDS), "all"))


class WaitsReader:
    """See `bench.probe.Reader`; a thread looks between the readings."""

    def __init__(self, session: Session, clock: Clock, interval_s: float = INTERVAL_S) -> None:
        self._session = session
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._resting = False
        self._counts = dict.fromkeys((meter.name for meter in _METERS), 0.0)

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Looks, and backends seen by kind of wait, as source `waits`."""
        return {"waits": _METERS}

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
        return (Reading("waits", self._clock.monotonic_ns(), self._clock.wall_ns(), values),)

    def rest(self) -> None:
        """A look that is under way is ended first; one that a frozen server answers later would see nobody at work."""
        self._resting = True
        with self._lock:
            pass

    def wake(self) -> None:
        """Begin to look at the server's waits again."""
        self._resting = False

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
                if not self._ended.is_set() and not self._resting:
                    self._look()

    def _look(self) -> bool:
        row = self._session.fetch(_QUERY)
        if row is None:
            return False
        for name, value in zip(self._counts, (1, *row), strict=True):
            self._counts[name] += float(value)
        return True


def _share(kind: Kind) -> Cost:
    response = Response(
        f"waits_{kind.name}_share",
        f"share of looks in which backends {kind.words}",
        "share",
        Better.NEITHER,
        Scale.DIFFERENCE,
    )
    return Cost(response, lambda counters, _: quotient(counters.get(f"waits.{kind.name}"), counters.get("waits.all")))


class Waits(Probe):
    """What the load's backends wait for."""

    name = "waits"
    summary = "what backends wait for, by kind, from looks at pg_stat_activity"
    costs = tuple(map(_share, KINDS))
    asks_server = True

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Looks, and backends seen by kind of wait, as source `waits`."""
        return {self.name: _METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """With a session of its own: it looks between the questions of others."""
        return (WaitsReader(Session(target.server.endpoint), target.clock),)
