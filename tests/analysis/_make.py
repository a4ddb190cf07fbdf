"""Observations and responses for the tests, in a line."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pgassay.analysis.observations import Observation
from pgassay.study.responses import Better, Response, Scale

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
LATENCY_MS = Response("latency_ms", "mean latency", "ms", Better.LOWER)
WAL_BYTES = Response("wal_bytes", "WAL bytes per transaction", "B", Better.LOWER, cost=True)
CPU_US = Response("cpu_us", "server CPU per transaction", "us", Better.LOWER, cost=True)
HOT_SHARE = Response("hot_share", "share of HOT updates", "share", Better.HIGHER, Scale.DIFFERENCE, cost=True)


def columns(
    values: Mapping[str, Sequence[float | None]], condition: str = "", covariate: str = ""
) -> list[Observation]:
    """Treatment → values of blocks 1, 2 … as observations, block by block."""
    length = max(len(column) for column in values.values())
    return [
        Observation(block + 1, treatment, condition, covariate, column[block])
        for block in range(length)
        for treatment, column in values.items()
        if block < len(column)
    ]


def noisy(
    rng: np.random.Generator, means: Mapping[str, float], blocks: int, cv: float
) -> dict[str, npt.NDArray[np.float64]]:
    """Log-normal columns with a common block effect of 20 %."""
    block = rng.normal(0.0, 0.2, blocks)
    return {name: mean * np.exp(block + rng.normal(0.0, cv, blocks)) for name, mean in means.items()}
