"""Factors that always moved together: whatever was found, nobody can say which of them did it."""

from pgassay.analysis.factorial import confounded
from pgassay.analysis.lint.values import Benchmark
from pgassay.study.findings import Finding, Severity


def confounded_factors(benchmark: Benchmark) -> tuple[Finding, ...]:
    """A finding for each pair of factors with the same partition of the treatments."""
    treatments = {run.treatment: run.levels for run in benchmark.runs if run.levels}
    return tuple(
        Finding(
            "confounded",
            Severity.WARNING,
            "two factors cannot be told apart",
            remedy="add treatments that change one of them alone",
            evidence=sentence,
        )
        for sentence in confounded(treatments)
    )
