"""One connection to a private server, kept open: statements in autocommit, rows as tuples.

psycopg is imported when the first connection is made. `options` is given empty so that a PGOPTIONS of the user's shell
does not leak in.
"""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pgassay.bench.places import Endpoint
from pgassay.postgres import messages
from pgassay.postgres.words import complaint

if TYPE_CHECKING:
    import psycopg


class Session:
    """Connects at the first statement, and once more when the connection was lost between two statements."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of one statement; `%s` stands for a parameter when there are any; raises `QueryError`."""
        import psycopg

        try:
            cursor = self._open().execute(sql.encode(), tuple(parameters) or None)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            words = error.diag.message_primary or complaint(str(error))[0]
            raise messages.query_failed(sql, words, error.diag.message_hint) from None

    def close(self) -> None:
        """Close the connection if there is one."""
        import psycopg

        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _open(self) -> "psycopg.Connection[tuple[Any, ...]]":
        import psycopg

        if self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(
                    self._endpoint.conninfo(), autocommit=True, prepare_threshold=None, options="", sslmode="disable"
                )
            except psycopg.Error as error:
                raise messages.no_connection(complaint(str(error))[0]) from None
        return self._connection
