"""The table's rows, made fast: blocks of binary COPY data (manual, "COPY", "Binary Format") straight from numpy.

One COPY does it: FREEZE works only in the transaction that made or emptied the table, so several sessions cannot share
it. Making rows costs a fifth of taking them in, and runs beside it in the server's other process.
"""

from collections.abc import Iterator

import numpy as np

from pgassay.load.cacheprobe.sizes import COPIES

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
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
