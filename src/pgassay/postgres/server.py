"""A running private server: its one connection, its log, and its end: fast, then immediate, then by force.

Signals are those of the manual, "Shutting Down the Server": SIGINT fast, SIGQUIT immediate. psycopg is imported when
the first connection is made.
"""

import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.interfaces.errors import QueryError, WrittenWronglyError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Endpoint, Version
from pgassay.interfaces.running import Running
from pgassay.postgres import ownership, processes
from pgassay.postgres.complaints import complaint
from pgassay.postgres.network import Opening

if TYPE_CHECKING:
    import psycopg


FAST_S = 120.0
"""A fast shutdown writes a checkpoint, which takes its time on a slow drive."""
IMMEDIATE_S = 10.0
_SHUTDOWNS = ((signal.SIGINT, FAST_S), (signal.SIGQUIT, IMMEDIATE_S))
LOG_BYTES = 65536
_TURN_S = 10.0
"""Until a process has done its turn's work; on a busy machine it waits for a processor first."""
_OF_KINDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = ANY (%s)"
_WRITTEN_WRONGLY = ("42", "3F")
"""Classes of SQLSTATE: syntax and names (manual, "PostgreSQL Error Codes")."""


class LocalServer:
    """A server that we started; implements `interfaces.server.Server`."""

    def __init__(
        self,
        running: Running,
        directory: Path,
        endpoint: Endpoint,
        version: Version,
        log: Path,
        placement: Placement = ANYWHERE,
        opened: Opening | None = None,
    ) -> None:
        self.endpoint = endpoint
        """The private socket by which we reach it."""
        self.client_endpoint = endpoint if opened is None else opened.endpoint(endpoint)
        """Over TCP where it was opened to it."""
        self.version = version
        self.placement = placement
        self.postmaster_pid = running.pid
        self._running = running
        self._directory = directory
        self._log = log
        self._opened = opened
        self._session = Session(endpoint)
        self._stopped = False
        self._frozen = False

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._session.query(sql, parameters)

    def execute(self, sql: str) -> None:
        self._session.query(sql)

    def alive(self) -> bool:
        """Does the postmaster still run and accept us?"""
        if self._stopped or self._ended(0.0):
            return False
        try:
            return self.query("SELECT 1") == [(1,)]
        except QueryError:
            return False

    def freeze(self, *kinds: str) -> None:
        """Every process of it stands still until `thaw`, or only those of these kinds."""
        only = [pid for (pid,) in self.query(_OF_KINDS, (list(kinds),))] if kinds else None
        self._frozen = True
        processes.freeze(self.postmaster_pid, only, _TURN_S if kinds else processes.FREEZE_S)

    def thaw(self) -> None:
        if self._frozen:
            processes.thaw(self.postmaster_pid)
            self._frozen = False

    def processes(self) -> frozenset[int]:
        return frozenset(processes.children(self.postmaster_pid))

    def stop(self, *, immediately: bool = False) -> None:
        """Stop; no process remains. Calling it twice is harmless."""
        if self._stopped:
            return
        self.thaw()
        self._session.close()
        for number, patience_s in _SHUTDOWNS[1:] if immediately else _SHUTDOWNS:
            self._running.send(number)
            if self._ended(patience_s):
                break
        self._running.terminate()
        processes.end(self._directory, IMMEDIATE_S)  # Backends outlive a postmaster that was killed.
        ownership.release(self._directory)
        if self._opened is not None:
            self._opened.close()
        self._stopped = True

    def log_text(self) -> str:
        return tail(self._log)

    def _ended(self, patience_s: float) -> bool:
        try:
            self._running.wait(patience_s)
        except TimeoutError:
            return False
        return True


def tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


@dataclass(eq=False)
class Session:
    """Connects at the first statement, and once more when the connection was lost between two statements."""

    endpoint: Endpoint
    first: str = ""
    """A statement that each connection begins with."""
    _connection: "psycopg.Connection[tuple[Any, ...]] | None" = field(default=None, init=False)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of one statement; `%s` stands for a parameter when there are any; raises `QueryError`."""
        import psycopg

        try:
            cursor = self._open().execute(sql.encode(), tuple(parameters) or None)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            words = error.diag.message_primary or complaint(str(error))[0]
            line = " ".join(sql.split())
            shown = line if len(line) <= 80 else f"{line[:77]}..."
            failed = QueryError(f'"{shown}" failed: {words}', error.diag.message_hint)
            if error.sqlstate and error.sqlstate.startswith(_WRITTEN_WRONGLY):
                raise WrittenWronglyError(failed.message, failed.hint, words, error.sqlstate) from None
            raise failed from None

    def close(self) -> None:
        import psycopg

        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _open(self) -> "psycopg.Connection[tuple[Any, ...]]":
        import psycopg

        if self._connection is None or self._connection.closed:
            try:
                self._connection = self.endpoint.connect(autocommit=True, prepare_threshold=None)
            except psycopg.Error as error:
                raise QueryError(f"could not connect to the server: {complaint(str(error))[0]}") from None
            if self.first:
                self._connection.execute(self.first.encode())
        return self._connection
