"""The server's own statistics: views of many probes read by one prepared statement a second, over one connection.

A probe that reads SQL derives from `ViewProbe` and says which expressions it wants from which version on; the registry
joins them, so that looking costs the server next to nothing. A dying or dead server gives None and is asked again at
the next reading. `settle` waits until the load's backends are gone, for a backend reports its counters when it ends
(15 on) or half a second later (13 and 14, by the collector); a session that stays idle, such as the lab's own after a
VACUUM, is made to report them, so that they are not counted in the window.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pgassay.interfaces import versions
from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.probe import Meter, Probe, Reading
from pgassay.interfaces.running import Clock

if TYPE_CHECKING:
    import psycopg

FIRST_USER_OID = 16384
"""FirstNormalObjectId in access/transam.h: objects below it are the system's own."""

COLLECTOR_DELAY_S = 0.6
"""PGSTAT_STAT_INTERVAL (500 ms), with some air."""
SETTLE_S = 5.0
_PAUSE_S = 0.02
_BUSY = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'pgassay'"


@dataclass(frozen=True)
class Column:
    """A meter and the SQL expression that gives it; None where this version has no such number."""

    meter: Meter
    expression: str | None

    @property
    def hidden(self) -> "Column":
        """The same meter, which this server does not let us read."""
        return replace(self, expression=None)


@dataclass(frozen=True)
class View:
    """A source: its columns and the FROM clause that they need (empty for none); gives exactly one row."""

    source: str
    columns: tuple[Column, ...]
    origin: str = ""

    @property
    def meters(self) -> tuple[Meter, ...]:
        """All meters, readable in this version or not."""
        return tuple(column.meter for column in self.columns)

    @property
    def selected(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.expression is not None)


class ViewProbe(Probe):
    """A probe that is one view of the statement; a subclass overrides `view` and says at which rhythm it is read."""

    per_second: bool = True
    """False for what is expensive to ask: it is read at the window's edges only."""

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """Every meter, whether a given version has it or not."""
        view = self.view(versions.NEWEST)
        return {view.source: view.meters}

    def view(self, version: int) -> View:
        """The view for a major version; columns that it lacks have no expression."""
        raise NotImplementedError


def counter(name: str, unit: str, expression: str | None) -> Column:
    """A cumulative counter: its meter, and the SQL expression of one number (None where this version has none)."""
    return Column(Meter(name, unit), expression)


def gauge(name: str, expression: str) -> Column:
    """A number of bytes as it stands, likewise."""
    return Column(Meter(name, "bytes", cumulative=False), expression)


def statement(views: Sequence[View]) -> str:
    """One SELECT that gives every selected column of every view in order, as float8, in one row."""
    parts = []
    for number, view in enumerate(views):
        if view.selected:
            columns = ", ".join(
                f"({column.expression})::float8 AS c{place}" for place, column in enumerate(view.selected)
            )
            parts.append(f"(SELECT {columns} {view.origin}) AS v{number}".replace(" )", ")"))
    return f"SELECT * FROM {' CROSS JOIN '.join(parts)}"


def values_by_source(views: Sequence[View], row: Sequence[float | None] | None) -> dict[str, dict[str, float | None]]:
    """The row of `statement` as values by source and meter name; all None without a row."""
    values = iter(row if row is not None else ())
    found: dict[str, dict[str, float | None]] = {}
    for view in views:
        found[view.source] = {
            column.meter.name: None if column.expression is None or row is None else next(values)
            for column in view.columns
        }
    return found


class Session:
    """One connection for all statistics; prepared statements; a lost one is replaced at the next question.

    psycopg is imported when the first connection is made.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def fetch(self, sql: bytes) -> tuple[Any, ...] | None:
        """The first row; None when the server refuses, is gone or cannot be reached."""
        import psycopg

        try:
            if self._connection is None or self._connection.closed:
                self._connection = self._endpoint.connect(autocommit=True)
            return self._connection.execute(sql, prepare=True).fetchone()
        except psycopg.Error:
            self.close()
            return None

    def close(self) -> None:
        import psycopg

        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


class Statistics:
    """The reader of several views; see `interfaces.probe.Reader`."""

    def __init__(
        self,
        session: Session,
        version: int,
        views: Sequence[View],
        clock: Clock,
        *,
        per_second: bool = True,
        other_session: Callable[[str], object] | None = None,
    ) -> None:
        self._session = session
        self._version = version
        self._views = tuple(views)
        self._clock = clock
        self.meters = {view.source: view.meters for view in self._views}
        self.per_second = per_second
        self._other_session = other_session
        self.sql = statement(self._views)
        """The one statement of all views."""

    def settle(self) -> None:
        """Wait until the load's backends have gone and all statistics are in; gives up after `SETTLE_S`."""
        deadline_ns = self._clock.monotonic_ns() + int(SETTLE_S * 1e9)
        while self._clock.monotonic_ns() < deadline_ns:
            row = self._session.fetch(_BUSY.encode())
            if row is None or row[0] == 0:
                break
            self._clock.sleep(_PAUSE_S)
        if self._other_session is not None:
            with contextlib.suppress(QueryError):  # The server is gone; what it counted is too.
                if self._version >= versions.FLUSH_ON_REQUEST:
                    self._other_session("SELECT pg_stat_force_next_flush()")
                else:  # A backend hands in at the end of a statement, but not twice in half a second.
                    self._clock.sleep(COLLECTOR_DELAY_S)
                    self._other_session("SELECT 1")
                    self._clock.sleep(COLLECTOR_DELAY_S)

    def read(self) -> tuple[Reading, ...]:
        """One reading a view; both times are those of the moment after the server answered."""
        values = values_by_source(self._views, self._session.fetch(self.sql.encode()))
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        return tuple(Reading(view.source, *now, values[view.source]) for view in self._views)

    def rest(self) -> None:
        """Nothing to do: it asks the server only when it is read."""

    def wake(self) -> None:
        """Nothing to do, since `rest` stopped nothing."""

    def close(self) -> None:
        self._session.close()
