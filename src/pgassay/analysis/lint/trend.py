"""One treatment whose few runs only climb or only fall, and far: a sign, as chance alone gives it in 2 of n! orders.

`monotone` judges all treatments together and gives a proof; this one looks at the single published triple. Far means
more than three identical runs differ by in 19 of 20 cases, at the usual run-to-run spread of read-write pgbench.
"""

from itertools import pairwise
from math import factorial

from pgassay.analysis.lint.order import monotone
from pgassay.analysis.lint.values import Benchmark
from pgassay.study.findings import Finding, Severity

USUAL_SPREAD = 0.0341
"""Between runs, in-buffer read-write pgbench: mean over 693 submissions (OpenBenchmarking, pts/pgbench-1.9.1)."""

RANGE_OF_THREE = 3.314
"""The 95 % point of the range of three normal values, in standard deviations (tables of the studentized range)."""

FAR = USUAL_SPREAD * RANGE_OF_THREE


def trend(benchmark: Benchmark) -> tuple[Finding, ...]:
    """The farthest one-way course of at least three runs; nothing where `monotone` has found more."""
    if not benchmark.in_order or monotone(benchmark):
        return ()
    courses = []
    for arm in benchmark.groups:
        values = benchmark.values(arm)
        if len(values) >= 3 and values[0] != 0.0 and (_one_way(values) or _one_way(values[::-1])):
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
            remedy="look at the seconds of each run: a cache that fills, a drive or a burst credit that empties",
            evidence=f"{arm}: {listed}, {100 * change:+.0f} % from first to last "
            f"(one way by chance in 1 of {chance} orders)",
        ),
    )


def _one_way(values: tuple[float, ...]) -> bool:
    return all(earlier < later for earlier, later in pairwise(values))
