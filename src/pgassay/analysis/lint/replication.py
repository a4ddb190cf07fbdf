"""What this many runs can tell, in numbers: too few, too noisy, no runs at all but seconds, differences too small.

Not the number of runs alone decides: twenty of a noisy benchmark tell less than five of a quiet one. What n runs of
each of two treatments can tell is t × s × sqrt(2 / n), with s their spread on the log scale (see docs/report.md). Many
values of one run tell how that run went, not how the next one will.
"""

from math import exp, log, sqrt
from statistics import mean, median, stdev

import numpy as np

from pgassay.analysis.boundaries import FIRST_LOOK, fixed_critical
from pgassay.analysis.lint.benchmark import Benchmark
from pgassay.analysis.numbers import percent
from pgassay.analysis.seconds import mean_error
from pgassay.study.findings import Finding, Severity

LEAST_FOR_SPREAD = 2
"""Values that a spread needs."""

LEAST_FOR_NOISE = 3
"""Runs of an arm from which its own spread is judged; fewer are only counted."""


def too_few(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Arms with fewer than five runs, below which pgassay itself decides nothing."""
    counts = {treatment: len(benchmark.values(treatment)) for treatment in benchmark.groups}
    few = {treatment: count for treatment, count in counts.items() if count < FIRST_LOOK}
    if not few:
        return ()
    least = min(few.values())
    evidence = f"{len(few)} of {len(counts)} treatments, as few as {least} {'run' if least == 1 else 'runs'}"
    spread = _spread(benchmark)
    if spread is not None and least >= LEAST_FOR_SPREAD:
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
        if len(mine) < LEAST_FOR_SPREAD or len(base) < LEAST_FOR_SPREAD:
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
            "differences are smaller than these runs can show",
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


def noisy(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Arms of three runs and more whose own spread hides an effect of the asked resolution; the worst is named."""
    if benchmark.replicate != "run":
        return ()
    found: list[tuple[float, float, str, tuple[float, ...]]] = []
    variations: list[float] = []
    for arm in benchmark.groups:
        values = tuple(value for value in benchmark.values(arm) if value > 0.0)
        if len(values) < LEAST_FOR_NOISE:
            continue  # too few: another finding says so, with its own numbers
        variations.append(stdev(values) / mean(values))
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
            evidence=f"{len(found)} of {len(variations)} treatments; the worst: {arm}, {len(values)} runs from "
            f"{min(values):.6g} to {max(values):.6g}, spread {percent(spread)}: they cannot show effects below "
            f"{percent(tells)}, and {percent(benchmark.resolution)} is asked for{_variation(values, variations)}",
        ),
    )


def _variation(values: tuple[float, ...], all_of: list[float]) -> str:
    """The coefficient of variation, as others compute it, beside that of a usual treatment."""
    own = percent(stdev(values) / mean(values))
    return f" (CV {own}; the median of {len(all_of)} is {percent(median(all_of))})" if len(all_of) > 1 else ""


LEAST_FOR_CORRELATION = 30
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
        if n < LEAST_FOR_CORRELATION or float(np.ptp(values)) == 0.0:
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
