"""Where noise comes from: clusters, restarts, runs, and what the whole session drifts.

Kalibera and Jones (ISMM 2013, "Rigorous benchmarking in reasonable time"): analysis of variance of a balanced nested
plan, closed form. Theirs knows no time; here restart j of every cluster belongs to block j, so that drift, which all
clusters share, counts neither as theirs nor as the restarts'. A run's place after its restart is taken out as well.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.stats import chi2  # type: ignore[import-untyped]

from pgassay.analysis.series import Floats

LEAST = 2
"""Clusters, restarts and runs below which nothing can be told apart."""


@dataclass(frozen=True)
class Components:
    """Variances of one value by source, in its unit squared; one that came out negative is 0.

    `block` is the drift that all clusters share. `trial` is the variance of one trial within a block (restart + run),
    from the mean squares themselves and so never cut off; `trial_freedom` its degrees of freedom (Satterthwaite 1946).
    """

    clusters: int
    restarts: int
    runs: int
    mean: float
    cluster: float
    restart: float
    run: float
    block: float
    trial: float
    trial_freedom: float

    def deviation(self, level: float = 0.95) -> tuple[float, float, float]:
        """The standard deviation of one trial within a block, with its interval (chi-square)."""
        if self.trial_freedom == 0.0:
            return 0.0, 0.0, 0.0
        freedom, tail = self.trial_freedom, (1.0 - level) / 2.0
        ends = (freedom * self.trial / float(chi2.ppf(quantile, freedom)) for quantile in (1.0 - tail, tail))
        low, high = (sqrt(end) for end in ends)
        return sqrt(self.trial), low, high


def variance_components(values: Floats) -> Components:
    """Of a balanced plan, shape (clusters, restarts, runs), all finite; raises `ValueError` below two of each."""
    if values.ndim != 3 or min(values.shape) < LEAST or not np.isfinite(values).all():
        raise ValueError("a balanced plan has at least two clusters, restarts and runs, and no gaps")
    clusters, restarts, runs = values.shape
    level = values - values.mean(axis=(0, 1), keepdims=True)  # the place after a restart is a bias, and no noise
    cells = level.mean(axis=2)
    by_cluster, by_block = cells.mean(axis=1), cells.mean(axis=0)
    within = ((level - cells[:, :, None]) ** 2).sum() / ((clusters * restarts - 1) * (runs - 1))
    rest = cells - by_cluster[:, None] - by_block[None, :]
    crossed = runs * (rest**2).sum() / ((clusters - 1) * (restarts - 1))
    between_clusters = restarts * runs * (by_cluster**2).sum() / (clusters - 1)
    between_blocks = clusters * runs * (by_block**2).sum() / (restarts - 1)
    parts = (crossed / runs, within * (1.0 - 1.0 / runs))
    trial = float(sum(parts))
    freedoms = ((clusters - 1) * (restarts - 1), (clusters * restarts - 1) * (runs - 1))
    doubt = sum(float(part) ** 2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return Components(
        clusters=clusters,
        restarts=restarts,
        runs=runs,
        mean=float(values.mean()),
        cluster=max(0.0, float(between_clusters - crossed) / (restarts * runs)),
        restart=max(0.0, float(crossed - within) / runs),
        run=float(within),
        block=max(0.0, float(between_blocks - crossed) / (clusters * runs)),
        trial=trial,
        trial_freedom=trial**2 / doubt if doubt > 0.0 else 0.0,
    )
