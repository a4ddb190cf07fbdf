"""Runs that did not run: aborted, cut short, stalled or without a value, yet standing in the table as results.

pgbench prints a tps line after an abort too, and exits with status 2; a script that greps the line records it.
"""

from math import isfinite

from pgassay.analysis.lint.benchmark import Benchmark, Run
from pgassay.study.findings import Finding, Severity


def aborted(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs whose tool said that it gave up."""
    bad = [run for run in benchmark.runs if run.aborted]
    if not bad:
        return ()
    first = bad[0]
    return (
        Finding(
            "aborted",
            Severity.ERROR,
            "aborted runs are counted as results",
            remedy="leave them out, report that the treatment failed, and look at the exit status of each run",
            evidence=f"{len(bad)} of {len(benchmark.runs)} runs, the first of {_where(first)}: {first.aborted}",
        ),
    )


def short(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs much shorter than planned, or than their like where no plan is known."""
    bad = [(run, target) for run, target in zip(benchmark.runs, benchmark.short_of_s, strict=True) if target]
    if not bad:
        return ()
    worst, target = min(bad, key=lambda each: (each[0].seconds or 0.0) / (each[1] or 1.0))
    known = sum(run.seconds is not None for run in benchmark.runs)
    return (
        Finding(
            "short",
            Severity.ERROR,
            "runs that ended early are counted as results",
            remedy="leave them out and find out why they ended: no space, a crash, a timeout",
            evidence=f"{len(bad)} of {known} runs; {_where(worst)} ran {worst.seconds:.3g} s of {target:.5g} s",
        ),
    )


STALLED_LEAST = 3
"""Reports in a row without a transaction, at the end of a run, from which it stands still."""


def stalled(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs that made no transaction from some moment to their end, whatever their mean is."""
    found = [(run, since) for run in benchmark.runs if (since := _stands_still_from(run)) is not None]
    if not found:
        return ()
    known = sum(bool(run.course) for run in benchmark.runs)
    run, (since_s, until_s) = found[0]
    return (
        Finding(
            "stalled",
            Severity.ERROR,
            "runs that stood still to their end are counted as results",
            remedy="find out what they waited for (locks, a full disk, a lost connection), and measure again",
            evidence=f"{len(found)} of {known} runs; {_where(run)} made no transaction from {since_s:.5g} s to"
            f" {until_s:.5g} s",
        ),
    )


def _stands_still_from(run: Run) -> tuple[float, float] | None:
    moving = max((place for place, (_, tps) in enumerate(run.course) if tps != 0.0), default=-1)
    if len(run.course) - 1 - moving < STALLED_LEAST:
        return None
    return (run.course[moving][0] if moving >= 0 else 0.0), run.course[-1][0]


THROUGHPUT = ("tps", "qps", "nopm", "tpm", "tpmc", "iops")


def missing(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Runs without a number, or with one that cannot be."""
    nothing = benchmark.response.lower() in THROUGHPUT
    bad = [
        run for run in benchmark.runs if run.value is None or not isfinite(run.value) or (nothing and run.value <= 0.0)
    ]
    if not bad:
        return ()
    return (
        Finding(
            "missing",
            Severity.ERROR,
            "runs have no value",
            remedy="say why they have none: a treatment that often fails is not as good as its other runs",
            evidence=f"{len(bad)} of {len(benchmark.runs)} runs, the first of {_where(bad[0])}",
        ),
    )


def _where(run: Run) -> str:
    return f"{run.arm} ({run.place})" if run.place else run.arm
