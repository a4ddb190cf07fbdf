"""Filling tables quickly: indexes off, COPY in binary over several connections at once, indexes on again.

Rows arrive in tables that are truncated in the same transaction, so that with wal_level = minimal no WAL is written and
FREEZE leaves nothing for VACUUM (manual, "Populating a Database"). An index that is built afterwards is sorted first,
and keeps its storage parameters. psycopg and numpy are imported when something is loaded.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pgassay.bench.errors import LoadError
from pgassay.bench.places import Endpoint
from pgassay.bench.server import Server

if TYPE_CHECKING:
    import psycopg

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
"""How a binary COPY begins and ends (manual, "COPY, Binary Format")."""

_INDEXES = (
    "SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, pg_get_indexdef(i.indexrelid), c.conname::text"
    " FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype = 'p'"
    " WHERE i.indrelid = %s::regclass ORDER BY 1"
)


@dataclass(frozen=True)
class Table:
    """A table to fill: its columns in order (all of them if none is named), and its rows in binary, in chunks."""

    name: str
    columns: tuple[str, ...]
    chunks: Callable[[], Iterable[bytes]]
    truncated: bool = True
    """False where several loads fill one table: it is then neither truncated nor frozen."""


@dataclass(frozen=True)
class DroppedIndexes:
    """The statements that give one table its indexes back, in order."""

    table: str
    statements: tuple[str, ...]


def drop_indexes(server: Server, tables: Iterable[str]) -> tuple[DroppedIndexes, ...]:
    """Drop the tables' indexes and primary keys; returns what brings them back."""
    found = []
    for table in tables:
        statements = []
        for index, relation, definition, constraint in server.query(_INDEXES, (table,)):
            statements.append(definition)
            if constraint is None:
                server.execute(f"DROP INDEX {index}")
            else:
                server.execute(f"ALTER TABLE {relation} DROP CONSTRAINT {constraint}")
                statements.append(f"ALTER TABLE {relation} ADD CONSTRAINT {constraint} PRIMARY KEY USING INDEX {index}")
        found.append(DroppedIndexes(table, tuple(statements)))
    return tuple(found)


def copy_all(endpoint: Endpoint, tables: Sequence[Table]) -> None:
    """Fill every table, each over a connection of its own, as many at once as there are cores; raises `LoadError`."""
    _on_every_core(endpoint, [partial(_copy, table) for table in tables])


def run_all(endpoint: Endpoint, works: Sequence[Sequence[str]]) -> None:
    """Run lists of statements in parallel, each list in order on its own connection; raises `LoadError`.

    Where there is a list for every core, no index build starts parallel workers.
    """
    alone = ["SET max_parallel_maintenance_workers = 0"] if len(works) >= len(os.sched_getaffinity(0)) else []
    _on_every_core(endpoint, [partial(_run, [*alone, *work]) for work in works])


def _copy(table: Table, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    with connection.transaction(), connection.cursor() as cursor:
        if table.truncated:
            cursor.execute(f"TRUNCATE {table.name}".encode())
        options = "FORMAT binary" + (", FREEZE" if table.truncated else "")
        columns = f" ({', '.join(table.columns)})" if table.columns else ""
        statement = f"COPY {table.name}{columns} FROM STDIN ({options})"
        with cursor.copy(statement.encode()) as copy:
            copy.write(HEADER)
            for chunk in table.chunks():
                copy.write(chunk)
            copy.write(TRAILER)


def _run(statements: Iterable[str], connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    for statement in statements:
        connection.execute(statement.encode())


_Work = Callable[["psycopg.Connection[tuple[object, ...]]"], None]


def _on_every_core(endpoint: Endpoint, works: Sequence[_Work]) -> None:
    import psycopg

    def one(work: _Work) -> None:
        with endpoint.connect(autocommit=True) as connection:
            work(connection)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            list(pool.map(one, works))
        except psycopg.Error as error:
            pool.shutdown(cancel_futures=True)
            why = error.diag.message_primary or str(error).strip()
            raise LoadError(f"the tables could not be filled: {why.splitlines()[0]}") from error
