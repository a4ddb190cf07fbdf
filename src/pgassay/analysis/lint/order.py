"""Patterns in time: runs that climb or fall, a first run unlike the others.

If the runs of a treatment were exchangeable, each order of n of them would have the chance 1 / n!; how many treatments
show a pattern is then binomial, and a small tail says that time and not the treatment made the numbers. `trend` looks
at a single published triple: a sign and no proof, as chance alone gives it in 2 of n! orders.
"""

from itertools import pairwise
from math import exp, factorial, lgamma
from statistics import mean, median

from scipy.special import bdtrc  # type: ignore[import-untyped]

from pgassay.analysis.lint.benchmark import Benchmark
from pgassay.study.findings import Finding, Severity

CHANCE = 0.05
"""A pattern less likely than this among exchangeable runs is a finding."""


def monotone(benchmark: Benchmark) -> tuple[Finding, ...]:
    """More treatments than chance would give whose runs only climb or only fall."""
    groups = _groups(benchmark, 3)
    if not groups or not benchmark.in_order:
        return ()
    patterned = [treatment for treatment, values in groups.items() if _one_way(values)]
    expected = [2.0 * exp(-lgamma(len(values) + 1)) for values in groups.values()]
    tail = _tail(len(patterned), expected)
    if not patterned or tail >= CHANCE:
        return ()
    example = " → ".join(f"{value:.5g}" for value in groups[patterned[0]][:5])
    return (
        Finding(
            "monotone",
            Severity.WARNING,
            "runs climb or fall in time: the system was not in a steady state",
            remedy="start each run from the same state, run longer, and randomise the order in blocks",
            evidence=f"{len(patterned)} of {len(groups)} treatments (by chance {sum(expected):.1f}, p = {tail:.2g}); "
            f"{patterned[0]}: {example}",
        ),
    )


def first_run(benchmark: Benchmark) -> tuple[Finding, ...]:
    """A first run that is lowest (or highest) in more treatments than chance would give."""
    groups = _groups(benchmark, 3)
    found: list[Finding] = []
    if not benchmark.in_order:
        return ()
    for word, pick in (("lowest", min), ("highest", max)):
        odd = [values for values in groups.values() if values[0] == pick(values) and values.count(values[0]) == 1]
        expected = [1.0 / len(values) for values in groups.values()]
        # Both sides are looked at, so each gets half.
        tail = _tail(len(odd), expected)
        if odd and tail < CHANCE / 2:
            ratio = median(values[0] / mean(values[1:]) for values in groups.values() if mean(values[1:]) != 0.0)
            found.append(
                Finding(
                    "first-run",
                    Severity.WARNING,
                    "the first run differs from the others: it fills the caches that they find filled",
                    remedy="mark the first run as warm-up, or give every run the same start state",
                    evidence=f"run 1 is {word} in {len(odd)} of {len(groups)} treatments "
                    f"(by chance {sum(expected):.1f}, p = {tail:.2g}); median run 1 / mean of the others = {ratio:.3f}",
                )
            )
    return tuple(found)


def _groups(benchmark: Benchmark, least: int) -> dict[str, tuple[float, ...]]:
    found = {treatment: benchmark.values(treatment) for treatment in benchmark.groups}
    return {treatment: values for treatment, values in found.items() if len(values) >= least}


def _one_way(values: tuple[float, ...]) -> bool:
    pairs = list(pairwise(values))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


def _tail(count: int, chances: list[float]) -> float:
    """P(at least `count` of independent events): binomial with the mean chance, which is never too small by much."""
    if count == 0 or not chances:
        return 1.0
    return float(bdtrc(count - 1, len(chances), sum(chances) / len(chances)))


USUAL_SPREAD = 0.0341
"""Between runs, in-buffer read-write pgbench: mean over 693 submissions (OpenBenchmarking, pts/pgbench-1.9.1)."""

RANGE_OF_THREE = 3.314
"""The 95 % point of the range of three normal values, in standard deviations (tables of the studentized range)."""

FAR = USUAL_SPREAD * RANGE_OF_THREE


def trend(benchmark: Benchmark) -> tuple[Finding, ...]:
    """The treatment whose runs (three or more) only climb or only fall, farthest of all; none if `monotone` found more.

    Far means more than three identical runs differ by in 19 of 20 cases, at the usual run-to-run spread of read-write
    pgbench.
    """
    if not benchmark.in_order or monotone(benchmark):
        return ()
    courses = []
    for arm in benchmark.groups:
        values = benchmark.values(arm)
        if len(values) >= 3 and values[0] != 0.0 and _one_way(values):
            courses.append((values[-1] / values[0] - 1.0, arm, values))
    far = [course for course in courses if abs(course[0]) > FAR]
    if not far:
        return ()
    change, arm, values = max(far, key=lambda course: abs(course[0]))
    listed = " → ".join(f"{value:.5g}" for value in values[:5]) + (" …" if len(values) > 5 else "")
    chance = factorial(len(values)) // 2
    return (
        Finding(
            "trend",
            Severity.NOTE,
            "the runs of one treatment only climb or only fall, and far",
            remedy="look at the seconds of each run: a cache that fills up, a drive or a burst credit that runs out",
            evidence=f"{arm}: {listed}, {100 * change:+.0f} % from first to last "
            f"(one way by chance in 1 of {chance} orders)",
        ),
    )
