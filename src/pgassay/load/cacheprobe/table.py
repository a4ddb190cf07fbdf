"""The published table: `random(random real, data float[])`, frozen as it is loaded, with an index on its key.

Its rows are made fast: blocks of binary COPY data (manual, "COPY", "Binary Format") straight from numpy. One COPY does
it: FREEZE works only in the transaction that made or emptied the table, so several sessions cannot share it. Making
rows costs a fifth of what loading them costs, and happens at the same time.
"""

from collections.abc import Iterator

import numpy as np

from pgassay.bench.server import Server
from pgassay.load import messages
from pgassay.load.bulk import HEADER, TRAILER
from pgassay.load.cacheprobe.options import COPIES, CacheprobeOptions

TABLE = "random"
INDEX = "random_random_idx"
EXTENSIONS = ("pg_prewarm", "pg_buffercache")
SEED = 1
"""The data are the same for every run: what differs between trials is which keys are probed."""
CHUNK_ROWS = 20_000
_FLOAT8_OID = 701

_ROW = np.dtype(
    [
        ("fields", ">i2"),
        ("key_bytes", ">i4"),
        ("key", ">f4"),
        ("array_bytes", ">i4"),
        ("dimensions", ">i4"),
        ("flags", ">i4"),
        ("element", ">i4"),
        ("size", ">i4"),
        ("lower", ">i4"),
        ("items", [("bytes", ">i4"), ("value", ">f8")], (COPIES,)),
    ]
)


def create(server: Server) -> None:
    """The empty table, so that its options can be set."""
    server.execute(f"CREATE TABLE {TABLE} (random real, data float[])")


def fill(server: Server, options: CacheprobeOptions) -> None:
    """COPY with FREEZE, index, VACUUM ANALYZE; the size is kept as the table's comment. Raises `LoadError`."""
    import psycopg

    try:
        with (
            psycopg.connect(server.endpoint.conninfo(), options="") as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"TRUNCATE {TABLE}".encode())
            with cursor.copy(f"COPY {TABLE} FROM STDIN (FORMAT binary, FREEZE)".encode()) as copy:
                for chunk in chunks(options.rows, SEED):
                    copy.write(chunk)
    except psycopg.Error as error:
        raise messages.copy_failed(TABLE, str(error)) from error
    server.execute(f"CREATE INDEX ON {TABLE} (random)")
    server.execute(f"COMMENT ON TABLE {TABLE} IS '{options.size}'")
    server.execute(f"VACUUM (ANALYZE) {TABLE}")
    for extension in EXTENSIONS:
        if server.query("SELECT 1 FROM pg_available_extensions WHERE name = %s", [extension]):
            server.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")


def chunks(rows: int, seed: int) -> Iterator[bytes]:
    """Everything that COPY … FROM STDIN (FORMAT binary) takes for so many rows of (real, float[])."""
    generator = np.random.default_rng(seed)
    block = np.zeros(min(rows, CHUNK_ROWS), dtype=_ROW)
    for name, value in (
        ("fields", 2), ("key_bytes", 4), ("array_bytes", 20 + COPIES * 12), ("dimensions", 1), ("element", _FLOAT8_OID),
        ("size", COPIES), ("lower", 1),
    ):  # fmt: skip
        block[name] = value
    block["items"]["bytes"] = 8
    yield HEADER
    left = rows
    while left:
        part = block[: min(left, CHUNK_ROWS)]
        keys = generator.random(len(part))
        part["key"] = keys
        part["items"]["value"] = keys[:, np.newaxis]
        yield part.tobytes()
        left -= len(part)
    yield TRAILER
