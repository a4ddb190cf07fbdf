"""From chunks to figures: what each part of the cluster takes on a compressing drive, and how sure that is.

A part's stored bytes are its bytes times (stored ÷ read) in its sample. The error is that of a ratio over chunks
(Cochran, Sampling Techniques, 6.3), with the share not read as the finite population correction; 0 when all was read.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgassay._core import scan_blocks
from pgassay.compressibility.cluster import Cluster, Part, look
from pgassay.compressibility.fillfactor import RelaidTable, relay
from pgassay.compressibility.request import BLOCK_BYTES, Request
from pgassay.postgres import sampling

_BATCH_CHUNKS = 4096
"""Between batches Ctrl-C is heard."""

_BLOCKS, _ZEROS, _SUMS = 0, 1, 2


@dataclass(frozen=True)
class Weighed:
    """`stored` and `standard_errors` are bytes of the whole part, one for each codec and (innermost) granularity."""

    part: Part
    read_bytes: int
    zero_share: float
    stored: tuple[float, ...]
    standard_errors: tuple[float, ...]


@dataclass(frozen=True)
class Estimate:
    """What was found: each part of the cluster, and tables at other fillfactors.

    `tables_left_out` are too small to tell, or not among the largest.
    """

    request: Request
    cluster: Cluster
    parts: tuple[Weighed, ...]
    tables: tuple[RelaidTable, ...]
    tables_left_out: int


def estimate(request: Request) -> Estimate:
    """Look at the cluster and weigh it; raises `PgassayError`, `OSError`."""
    cluster = look(request)
    parts = list(cluster.parts)
    chunks = sampling.choose(parts, request.sample_bytes)
    rows = _scan(request, chunks)
    order = np.searchsorted(chunks.parts, np.arange(len(parts) + 1))
    weighed = [_weigh(part, rows[order[i] : order[i + 1]]) for i, part in enumerate(parts)]
    tables, left_out = relay(request, parts)
    return Estimate(request, cluster, tuple(weighed), tables, left_out)


def _scan(request: Request, chunks: sampling.Chunks) -> NDArray[np.uint64]:
    found = []
    for start in range(0, len(chunks.files), _BATCH_CHUNKS):
        batch = slice(start, start + _BATCH_CHUNKS)
        found.append(
            scan_blocks(
                chunks.paths,
                chunks.files[batch],
                chunks.offsets[batch],
                chunks.lengths[batch],
                codecs=request.codecs,
                granularities=request.granularities,
                threads=request.jobs,
            )
        )
    return np.concatenate(found)


def _weigh(part: Part, rows: NDArray[np.uint64]) -> Weighed:
    """One part from its chunks' rows."""
    values = rows.astype(np.float64)
    read = values[:, _BLOCKS] * BLOCK_BYTES
    total = read.sum()
    if not total:
        # A running server has removed it since it was listed.
        nothing = (0.0,) * (values.shape[1] - _SUMS)
        return Weighed(part, 0, 0.0, nothing, nothing)
    # Files whose length is no multiple of 4 KiB take whole blocks.
    whole = max(float(part.bytes), total)
    ratios = values[:, _SUMS:].sum(axis=0) / total
    errors = np.zeros_like(ratios)
    if total < whole and len(values) > 1:
        residuals = values[:, _SUMS:] - read[:, None] * ratios
        spread = np.sqrt((residuals**2).sum(axis=0) / (len(values) - 1) / len(values))
        errors = spread / read.mean() * np.sqrt(1 - total / whole)
    return Weighed(
        part,
        int(total),
        float(values[:, _ZEROS].sum() / values[:, _BLOCKS].sum()),
        tuple(map(float, ratios * whole)),
        tuple(map(float, errors * whole)),
    )
