"""Filling tables quickly: indexes off, COPY in binary over several connections at once, indexes on again.

Rows are made by numpy in PostgreSQL's binary format, a whole column at a time: every field is a length and its bytes
(manual, "COPY, Binary Format"). Fields of several lengths are laid out as wide as the widest and the rest is cut out at
once, so that no row is ever touched by Python. They arrive in tables that are truncated in the same transaction, so
that with wal_level = minimal no WAL is written and FREEZE leaves nothing for VACUUM (manual, "Populating a Database").
An index that is built afterwards is sorted first, and keeps its storage parameters.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.server import Server

if TYPE_CHECKING:
    import psycopg

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

ALPHABET = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_PAIRS = np.frombuffer(b"".join(bytes((a, b)) for a in ALPHABET for b in ALPHABET), np.uint16)
_NUMERIC_PARTS = 2
_BASE = 10_000


@dataclass(frozen=True)
class Field:
    """One column: the bytes of every row side by side, `lengths` where they differ (-1 for NULL)."""

    data: Bytes
    lengths: npt.NDArray[np.int32] | None = None


def integers(values: Numbers, null: npt.NDArray[np.bool_] | None = None) -> Field:
    """INTEGER; NULL where `null` says so."""
    data = values.astype(">i4").view(np.uint8).reshape(len(values), 4)
    return Field(data) if null is None else Field(data, np.where(null, -1, 4).astype(np.int32))


def timestamps(microseconds: Numbers, null: npt.NDArray[np.bool_] | None = None) -> Field:
    """TIMESTAMP, in microseconds since 2000."""
    data = microseconds.astype(">i8").view(np.uint8).reshape(len(microseconds), 8)
    return Field(data) if null is None else Field(data, np.where(null, -1, 8).astype(np.int32))


def numerics(values: Numbers, scale: int) -> Field:
    """NUMERIC with `scale` digits (at most 4) after the point, from whole numbers of its last digit; below 10^8."""
    unit = 10**scale
    size, sign = np.abs(values), np.where(values < 0, 0x4000, 0)
    whole = size // unit
    words = np.zeros((len(values), 7), ">i2")
    words[:, 0] = _NUMERIC_PARTS + 1
    words[:, 1] = 1  # the weight of the first of three digits to the base 10 000
    words[:, 2] = sign
    words[:, 3] = scale
    words[:, 4] = whole // _BASE
    words[:, 5] = whole % _BASE
    words[:, 6] = size % unit * (_BASE // unit)
    return Field(words.view(np.uint8).reshape(len(values), 14))


def texts(values: Sequence[str], picks: Numbers) -> Field:
    width = max(map(len, values))
    table = np.frombuffer(b"".join(value.encode().ljust(width) for value in values), np.uint8).reshape(-1, width)
    lengths = np.array([len(value) for value in values], np.int32)
    return Field(table[picks], lengths[picks])


def constant(value: str, rows: int) -> Field:
    return Field(np.tile(np.frombuffer(value.encode(), np.uint8), (rows, 1)))


def random_texts(random: np.random.Generator, rows: int, least: int, most: int) -> Field:
    """Random letters and digits, from `least` to `most` of them (an "a-string" of TPC-C)."""
    drawn = random.integers(0, len(_PAIRS), (rows, -(-most // 2)), np.uint16)
    data = _PAIRS[drawn].view(np.uint8)[:, :most]
    if least == most:
        return Field(data)
    return Field(data, random.integers(least, most + 1, rows, np.int32))


def random_digits(random: np.random.Generator, rows: int, width: int) -> Field:
    """Random digits (an "n-string" of TPC-C)."""
    return Field(random.integers(ord("0"), ord("9") + 1, (rows, width), np.uint8))


def pack(fields: Sequence[Field]) -> bytes:
    rows = len(fields[0].data)
    width = 2 + sum(4 + field.data.shape[1] for field in fields)
    packed = np.empty((rows, width), np.uint8)
    packed[:, :2] = (0, len(fields))
    used = None
    if any(field.lengths is not None for field in fields):
        used = np.ones((rows, width), np.bool_)
    place = 2
    for field in fields:
        size = field.data.shape[1]
        lengths = np.full(rows, size, np.int32) if field.lengths is None else field.lengths
        packed[:, place : place + 4] = lengths.astype(">i4").view(np.uint8).reshape(rows, 4)
        place += 4
        packed[:, place : place + size] = field.data
        if used is not None and field.lengths is not None:
            used[:, place : place + size] = np.arange(size) < lengths[:, None]
        place += size
    return packed.tobytes() if used is None else packed[used].tobytes()


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


def drop_indexes(server: Server, tables: Iterable[str]) -> dict[str, list[str]]:
    """Drop the tables' indexes and primary keys; returns for each the statements that bring them back, in order."""
    found: dict[str, list[str]] = {}
    for table in tables:
        statements = found[table] = []
        for index, relation, definition, constraint in server.query(_INDEXES, (table,)):
            statements.append(definition)
            if constraint is None:
                server.execute(f"DROP INDEX {index}")
            else:
                server.execute(f"ALTER TABLE {relation} DROP CONSTRAINT {constraint}")
                statements.append(f"ALTER TABLE {relation} ADD CONSTRAINT {constraint} PRIMARY KEY USING INDEX {index}")
    return found


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
