"""Runs that differ from each other by more than the effects that anybody would claim from them.

Not the number of runs alone decides: twenty of a noisy benchmark tell less than five of a quiet one. What n runs of
each of two treatments can tell is t × s × sqrt(2 / n), with s their spread on the log scale (see docs/lint.md).
"""

from math import exp, log, sqrt
from statistics import stdev

from pgassay.analysis.boundaries import FIRST_LOOK, fixed_critical
from pgassay.analysis.lint.values import Benchmark
from pgassay.analysis.messages import percent
from pgassay.study.findings import Finding, Severity


def noisy(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Arms with enough runs by number whose spread nevertheless hides an effect of the asked resolution."""
    if benchmark.replicate != "run":
        return ()
    found: list[tuple[float, float, str, tuple[float, ...]]] = []
    judged = 0
    for arm in benchmark.groups:
        values = tuple(value for value in benchmark.values(arm) if value > 0.0)
        if len(values) < FIRST_LOOK:
            continue  # too few: another finding says so, with its own numbers
        judged += 1
        spread = stdev(map(log, values))
        tells = exp(fixed_critical(2 * len(values) - 1, 0.05) * spread * sqrt(2.0 / len(values))) - 1.0
        if tells > benchmark.resolution:
            found.append((tells, spread, arm, values))
    if not found:
        return ()
    tells, spread, arm, values = max(found)
    return (
        Finding(
            "noisy",
            Severity.WARNING,
            "identical runs differ by more than the effects that matter",
            remedy="find what moves (neighbours, checkpoints, start state), "
            "or repeat until the interval is narrow enough",
            evidence=f"{len(found)} of {judged} treatments; the worst: {arm}, {len(values)} runs from "
            f"{min(values):.6g} to {max(values):.6g}, spread {percent(spread)}: they tell nothing below "
            f"{percent(tells)}, where {percent(benchmark.resolution)} is asked",
        ),
    )
