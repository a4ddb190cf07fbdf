"""Runs that did not run: aborted, cut short or without a value, yet standing in the table as results.

pgbench prints a tps line after an abort too, and exits with status 2; a script that greps the line records it.
"""

from math import isfinite
from statistics import median

from pgassay.analysis.lint.values import Benchmark, Finding

SHORT = 0.95
"""A run shorter than this share of what was planned (or of the median run) is short."""


def aborted(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs whose tool said that it gave up."""
    bad = [run for run in benchmark.runs if run.aborted]
    if not bad:
        return ()
    first = bad[0]
    return (
        Finding(
            "aborted",
            "aborted runs are counted as results",
            f"{len(bad)} of {len(benchmark.runs)} runs, the first of {first.treatment}: {first.aborted}",
            "leave them out, report that the treatment failed, and look at the exit status of each run",
        ),
    )


def short(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs much shorter than planned."""
    known = [run for run in benchmark.runs if run.seconds is not None]
    if not known:
        return ()
    usual = median(run.seconds for run in known if run.seconds is not None)
    bad = [run for run in known if (run.seconds or 0.0) < SHORT * (usual if run.planned_s is None else run.planned_s)]
    if not bad:
        return ()
    worst = min(bad, key=lambda run: run.seconds or 0.0)
    planned = usual if worst.planned_s is None else worst.planned_s
    return (
        Finding(
            "short",
            "runs that ended early are counted as results",
            f"{len(bad)} of {len(known)} runs; {worst.treatment} ran {worst.seconds:.3g} s of {planned:.5g} s",
            "leave them out and find out why they ended: no space, a crash, a timeout",
        ),
    )


def missing(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs without a number, or with one that cannot be."""
    bad = [run for run in benchmark.runs if run.value is None or not isfinite(run.value)]
    if not bad:
        return ()
    return (
        Finding(
            "missing",
            "runs have no value",
            f"{len(bad)} of {len(benchmark.runs)} runs, the first of {bad[0].treatment}",
            "say what became of them: a treatment that often fails is not as good as its other runs",
        ),
    )
