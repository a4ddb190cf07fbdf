"""Faults of the plan: factors that always moved together, and treatments always run in the same order."""

from itertools import pairwise

from pgassay.analysis.factorial import confounded
from pgassay.analysis.lint.benchmark import Benchmark
from pgassay.study.findings import Finding, Severity


def confounded_factors(benchmark: Benchmark) -> tuple[Finding, ...]:
    """A finding for each pair of factors with the same partition of the treatments."""
    treatments = {run.treatment: run.levels for run in benchmark.runs if run.levels}
    return tuple(
        Finding(
            "confounded",
            Severity.WARNING,
            "two factors cannot be separated",
            remedy="add treatments that change one of them alone",
            evidence=sentence,
        )
        for sentence in confounded(treatments)
    )


def fixed_order(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Treatments whose runs came one after another, or repetitions that always had the same order, in every condition.

    Comparisons never cross conditions, and scripts often loop over conditions outermost.
    """
    if any(run.position is None for run in benchmark.runs):
        return ()
    orders: dict[str, list[str]] = {}
    for run in sorted(benchmark.runs, key=lambda run: run.position or 0):
        orders.setdefault(run.condition, []).append(run.arm)
    compared = [order for order in orders.values() if len(set(order)) > 1 and len(set(order)) < len(order)]
    found = [_fixed(order) for order in compared]
    if not found or not all(found):
        return ()
    evidence = found[0] if len(found) == 1 else f"in each of {len(found)} conditions; in the first: {found[0]}"
    return (
        Finding(
            "fixed-order",
            Severity.WARNING,
            "treatments were run in a fixed order, so drift in time looks like an effect",
            remedy="randomise the order of treatments within each repetition",
            evidence=evidence,
        ),
    )


def _fixed(order: list[str]) -> str:
    """How the order was fixed, in words; empty where it was not."""
    arms = len(set(order))
    if sum(one != other for one, other in pairwise(order)) == arms - 1:
        return f"all runs of a treatment follow each other: {order[0]} first, {order[-1]} last"
    rounds = [tuple(order[start : start + arms]) for start in range(0, len(order), arms)]
    whole, rest = [each for each in rounds if len(each) == arms], rounds[-1]
    same = len(whole) > 1 and len(set(rounds[0])) == arms and set(whole) == {rounds[0]}
    same = same and rest == rounds[0][: len(rest)]
    return f"{len(rounds)} rounds in the same order, {order[0]} always first" if same else ""
