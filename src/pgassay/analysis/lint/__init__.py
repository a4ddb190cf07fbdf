"""Reasons why a benchmark cannot support its claim: its runs in, findings with evidence and remedy out.

For other people's results as for one's own; pure, like all of the analysis.
"""

from collections.abc import Callable

from pgassay.analysis.lint.benchmark import Benchmark, Run
from pgassay.analysis.lint.completeness import aborted, missing, short, stalled
from pgassay.analysis.lint.design import confounded_factors, fixed_order
from pgassay.analysis.lint.load import load_setup
from pgassay.analysis.lint.order import first_run, monotone, trend
from pgassay.analysis.lint.replication import below_resolution, noisy, seconds_as_replicates, too_few
from pgassay.analysis.lint.setup import Setup
from pgassay.study.findings import Finding

__all__ = ["Benchmark", "Run", "Setup", "lint"]

Check = Callable[[Benchmark], tuple[Finding, ...]]

CHECKS: tuple[Check, ...] = (
    *(aborted, short, stalled, missing),
    load_setup,
    *(confounded_factors, seconds_as_replicates, first_run, monotone, trend, fixed_order),
    *(too_few, noisy, below_resolution),
)
"""In the order in which a reader should hear of them: first what makes numbers wrong, then what makes them vague."""


def lint(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Every finding; none means that these reasons are absent, and not that the benchmark is right."""
    return tuple(finding for check in CHECKS for finding in check(benchmark))
