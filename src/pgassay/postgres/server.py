"""A running private server: its session, its log, and its end: fast, then immediate, then by force.

Signals are those of the manual, "Shutting Down the Server": SIGINT fast, SIGQUIT immediate.
"""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pgassay.bench.errors import QueryError
from pgassay.bench.places import Endpoint, Version
from pgassay.bench.running import Running
from pgassay.postgres.session import Session

FAST_S = 120.0
"""A fast shutdown writes a checkpoint, which takes its time on a slow drive."""
IMMEDIATE_S = 10.0
LOG_BYTES = 65536


class LocalServer:
    """See `bench.server.Server`."""

    def __init__(self, running: Running, endpoint: Endpoint, version: Version, log: Path) -> None:
        self._running = running
        self._endpoint = endpoint
        self._version = version
        self._log = log
        self._session = Session(endpoint)
        self._stopped = False

    @property
    def endpoint(self) -> Endpoint:
        """Where clients reach it."""
        return self._endpoint

    @property
    def postmaster_pid(self) -> int:
        """The root of its process tree."""
        return self._running.pid

    @property
    def version(self) -> Version:
        """Of the programs that run it."""
        return self._version

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of one statement; raises `QueryError`."""
        return self._session.query(sql, parameters)

    def execute(self, sql: str) -> None:
        """One statement without a result; raises `QueryError`."""
        self._session.query(sql)

    def alive(self) -> bool:
        """Does the postmaster still run and accept us?"""
        if self._stopped or self._ended(0.0):
            return False
        try:
            return self.query("SELECT 1") == [(1,)]
        except QueryError:
            return False

    def stop(self) -> None:
        """Stop; no process remains. Calling it twice is harmless."""
        if self._stopped:
            return
        self._session.close()
        for number, patience_s in ((signal.SIGINT, FAST_S), (signal.SIGQUIT, IMMEDIATE_S)):
            self._running.send(number)
            if self._ended(patience_s):
                break
        self._running.terminate()
        self._stopped = True

    def log_text(self) -> str:
        """The server log so far (last 64 kB)."""
        return tail(self._log)

    def _ended(self, patience_s: float) -> bool:
        try:
            self._running.wait(patience_s)
        except TimeoutError:
            return False
        return True


def tail(path: Path) -> str:
    """The last 64 kB of a log; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
