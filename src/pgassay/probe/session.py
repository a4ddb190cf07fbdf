"""One connection to the server for all statistics; prepared statements; a lost one is made anew at the next question.

psycopg is imported when the first connection is made. `options` is given empty so that a PGOPTIONS of the user's shell
does not leak in.
"""

import contextlib
from typing import TYPE_CHECKING, Any

from pgassay.bench.places import Endpoint

if TYPE_CHECKING:
    import psycopg


class Session:
    """Asks for single rows; None when the server does not answer."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def fetch(self, sql: bytes) -> tuple[Any, ...] | None:
        """The first row; None when the server refuses, is gone or cannot be reached."""
        import psycopg

        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._endpoint.conninfo(), autocommit=True, options="")
            return self._connection.execute(sql, prepare=True).fetchone()
        except psycopg.Error:
            self.close()
            return None

    def close(self) -> None:
        """Close the connection; harmless when there is none."""
        import psycopg

        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
