"""Order: runs that climb or fall, a first run unlike the others, treatments always run in the same order.

If the runs of a treatment were exchangeable, each order of n of them would have the chance 1 / n!; how many treatments
show a pattern is then binomial, and a small tail says that time and not the treatment made the numbers.
"""

from itertools import pairwise
from math import exp, lgamma
from statistics import mean, median

from scipy.special import bdtrc  # type: ignore[import-untyped]

from pgassay.analysis.lint.values import Benchmark
from pgassay.study.findings import Finding, Severity

CHANCE = 0.05
"""A pattern less likely than this among exchangeable runs is told."""


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
                    "the first run is not like the others: it warms what they find warm",
                    remedy="mark the first run as warm-up, or give every run the same start state",
                    evidence=f"run 1 is {word} in {len(odd)} of {len(groups)} treatments "
                    f"(by chance {sum(expected):.1f}, p = {tail:.2g}); median run 1 / mean of the others = {ratio:.3f}",
                )
            )
    return tuple(found)


def fixed_order(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Treatments whose runs came one after another, or repetitions that always had the same order, in every condition.

    Nobody compares across conditions, and scripts often loop over them outermost.
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
