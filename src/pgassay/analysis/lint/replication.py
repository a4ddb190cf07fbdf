"""Too few runs for what is claimed: what this many can tell, in numbers."""

from math import exp, log, sqrt
from statistics import mean, stdev

from pgassay.analysis.boundaries import FIRST_LOOK, fixed_critical
from pgassay.analysis.lint.values import Benchmark
from pgassay.analysis.messages import percent
from pgassay.study.findings import Finding, Severity

MEDIAN_CHECK = 2
"""Values that a spread needs."""


def too_few(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Treatments with fewer than five runs."""
    counts = {treatment: len(benchmark.values(treatment)) for treatment in benchmark.groups}
    few = {treatment: count for treatment, count in counts.items() if count < FIRST_LOOK}
    if not few:
        return ()
    least = min(few.values())
    evidence = f"{len(few)} of {len(counts)} treatments, as few as {least} {'run' if least == 1 else 'runs'}"
    spread = _spread(benchmark)
    if spread is not None and least >= MEDIAN_CHECK:
        evidence += (
            f"; at their spread of {percent(spread)} a difference below {percent(_resolution(spread, least))} is noise"
        )
    return (
        Finding(
            "too-few",
            Severity.WARNING,
            "there are too few runs to tell an effect from noise",
            remedy=f"at least {FIRST_LOOK} runs of each, better as many as an interval narrow enough needs",
            evidence=evidence,
        ),
    )


def below_resolution(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Differences from the baseline (or the first treatment) that the runs cannot tell from none: Welch's interval."""
    baseline = benchmark.baseline or (benchmark.runs[0].treatment if benchmark.runs else "")
    arms = {(runs[0].treatment, runs[0].condition): arm for arm, runs in benchmark.groups.items()}
    vague = []
    pairs = 0
    for (treatment, condition), arm in arms.items():
        if treatment == baseline or (baseline, condition) not in arms:
            continue
        pairs += 1
        mine, base = _logs(benchmark, arm), _logs(benchmark, arms[baseline, condition])
        if len(mine) < MEDIAN_CHECK or len(base) < MEDIAN_CHECK:
            continue
        effect, half = mean(mine) - mean(base), _half_width(mine, base)
        if effect != 0.0 and abs(effect) < half:
            vague.append((arm, exp(effect) - 1.0, exp(half) - 1.0))
    if not vague:
        return ()
    arm, effect, half = max(vague, key=lambda one: abs(one[1]))
    return (
        Finding(
            "below-resolution",
            Severity.WARNING,
            "differences are smaller than what these runs can tell from none",
            remedy="report the interval, and run more blocks before a winner is named",
            evidence=f"{len(vague)} of {pairs} comparisons; the largest: {arm} differs by {percent(effect)}, "
            f"its 95 % interval is ±{percent(half)}",
        ),
    )


def _logs(benchmark: Benchmark, treatment: str) -> list[float]:
    return [log(value) for value in benchmark.values(treatment) if value > 0.0]


def _spread(benchmark: Benchmark) -> float | None:
    """The spread of runs within treatments, pooled, on the log scale; None when no treatment has two."""
    groups = [logs for logs in (_logs(benchmark, treatment) for treatment in benchmark.groups) if len(logs) > 1]
    freedom = sum(len(logs) - 1 for logs in groups)
    return sqrt(sum((len(logs) - 1) * stdev(logs) ** 2 for logs in groups) / freedom) if freedom else None


def _resolution(spread: float, runs: int) -> float:
    """Half the width of a difference of two means of `runs` each, as a share."""
    return exp(fixed_critical(2 * runs - 1, 0.05) * spread * sqrt(2.0 / runs)) - 1.0


def _half_width(mine: list[float], base: list[float]) -> float:
    """Welch's interval; its degrees of freedom rounded down, which is never too narrow."""
    one, other = stdev(mine) ** 2 / len(mine), stdev(base) ** 2 / len(base)
    if one + other == 0.0:
        return 0.0
    freedom = (one + other) ** 2 / (one**2 / (len(mine) - 1) + other**2 / (len(base) - 1))
    return fixed_critical(int(max(1.0, freedom)) + 1, 0.05) * sqrt(one + other)
