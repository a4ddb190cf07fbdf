"""Seconds used as replicates: many values of one run tell how that run went, not how the next one will."""

from math import sqrt

import numpy as np

from pgassay.analysis.autocorrelation import mean_error
from pgassay.analysis.lint.values import Benchmark
from pgassay.study.findings import Finding, Severity

LEAST = 30
"""Values of a treatment from which its correlation can be judged."""


def seconds_as_replicates(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Values that are seconds by name, or neighbours more alike than independent runs would be.

    The lag-one correlation of n independent values has a standard error of 1 / sqrt(n); above three of them counts.
    """
    worst: tuple[float, str, int, float] | None = None
    if not benchmark.in_order and benchmark.replicate != "second":
        return ()
    for treatment in benchmark.groups:
        values = np.asarray(benchmark.values(treatment))
        n = len(values)
        if n < LEAST or float(np.ptp(values)) == 0.0:
            continue
        rest = values - values.mean()
        correlation = float(rest[1:] @ rest[:-1] / (rest @ rest))
        alike = correlation > 3.0 / sqrt(n) or benchmark.replicate == "second"
        if alike and (worst is None or correlation > worst[0]):
            worst = (correlation, treatment, n, mean_error(values).inefficiency)
    if worst is None and benchmark.replicate != "second":
        return ()
    evidence = "one value is a second of a run, not a run"
    if worst is not None:
        correlation, treatment, n, inefficiency = worst
        evidence = (
            f"{treatment}: neighbours correlate {correlation:.2f}, {n} values count as {n / max(inefficiency, 1):.0f}"
        )
    return (
        Finding(
            "pseudo-replicates",
            Severity.WARNING,
            "values within a run are used as if they were runs",
            remedy="repeat the run, each time from the same start state, and compare means of runs",
            evidence=evidence,
        ),
    )
