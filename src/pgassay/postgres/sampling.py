"""Which chunks are read: all, or a few from every stretch of every relation, the same ones each time.

A relation is cut into as many equal stretches as it gets chunks, and one chunk is drawn from each (stratified sampling,
Cochran, Sampling Techniques, chapter 5), so that old and new rows are both seen. What is small is read whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pgassay.postgres.cluster_files import DataFile

SAMPLED_CHUNK_BYTES = 64 << 10
WHOLE_CHUNK_BYTES = 1 << 20
LEAST_BYTES = 1 << 20
"""Of each part, so that a small table's figure is its own."""


class Part(Protocol):
    """Files that are sampled as one: a relation, the WAL."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files, in the order in which they are read."""

    @property
    def bytes(self) -> int:
        """The size of all of them."""


@dataclass(frozen=True)
class Chunks:
    """Parallel arrays: which part, which file of `paths`, where, how long."""

    paths: list[Path]
    parts: NDArray[np.uint32]
    files: NDArray[np.uint32]
    offsets: NDArray[np.uint64]
    lengths: NDArray[np.uint32]


def choose(parts: Sequence[Part], sample_bytes: int | None) -> Chunks:
    """Chunks of all parts, about `sample_bytes` together, None for everything."""
    total = sum(part.bytes for part in parts)
    share = 1.0 if sample_bytes is None or sample_bytes >= total else sample_bytes / total
    random = np.random.default_rng(0)
    paths: list[Path] = []
    columns: list[list[NDArray[np.uint64]]] = [[], [], [], []]
    for number, part in enumerate(parts):
        read_bytes = max(part.bytes * share, min(LEAST_BYTES, part.bytes))
        chunk_bytes = WHOLE_CHUNK_BYTES if read_bytes >= part.bytes else SAMPLED_CHUNK_BYTES
        files, offsets, lengths = _all_chunks(part, len(paths), chunk_bytes)
        paths += [file.path for file in part.files]
        if read_bytes < part.bytes:
            stretches = max(1, min(int(read_bytes / chunk_bytes), len(files)))
            edges = np.linspace(0, len(files), stretches + 1).astype(np.int64)
            kept = random.integers(edges[:-1], edges[1:])
            files, offsets, lengths = files[kept], offsets[kept], lengths[kept]
        for column, values in zip(columns, (np.full(len(files), number), files, offsets, lengths), strict=True):
            column.append(values.astype(np.uint64))
    joined = [np.concatenate(column) for column in columns]
    return Chunks(
        paths, joined[0].astype(np.uint32), joined[1].astype(np.uint32), joined[2], joined[3].astype(np.uint32)
    )


def _all_chunks(part: Part, first_file: int, chunk_bytes: int) -> tuple[NDArray[np.int64], ...]:
    counts = [-(-file.bytes // chunk_bytes) for file in part.files]
    files = np.repeat(np.arange(len(counts)), counts)
    starts = np.concatenate([np.arange(count, dtype=np.int64) for count in counts]) * chunk_bytes
    sizes = np.array([file.bytes for file in part.files], dtype=np.int64)[files]
    return files + first_file, starts, np.minimum(chunk_bytes, sizes - starts)
