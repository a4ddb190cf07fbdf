"""Every check, in the order in which a reader should hear of them: first what makes numbers wrong, then vague."""

from collections.abc import Callable

from pgassay.analysis.lint.completeness import aborted, missing, short
from pgassay.analysis.lint.confounding import confounded_factors
from pgassay.analysis.lint.independence import seconds_as_replicates
from pgassay.analysis.lint.noise import noisy
from pgassay.analysis.lint.order import first_run, fixed_order, monotone
from pgassay.analysis.lint.replication import below_resolution, too_few
from pgassay.analysis.lint.trend import trend
from pgassay.analysis.lint.values import Benchmark
from pgassay.study.findings import Finding

Check = Callable[[Benchmark], tuple[Finding, ...]]

CHECKS: tuple[Check, ...] = (
    aborted,
    short,
    missing,
    confounded_factors,
    seconds_as_replicates,
    first_run,
    monotone,
    trend,
    fixed_order,
    too_few,
    noisy,
    below_resolution,
)


def lint(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Every finding; none means that these reasons are not there, and not that the benchmark is right."""
    return tuple(finding for check in CHECKS for finding in check(benchmark))
