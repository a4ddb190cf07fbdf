"""Order: runs that climb or fall, a first run unlike the others, treatments always run in the same order.

If the runs of a treatment were exchangeable, each order of n of them would have the chance 1 / n!; how many treatments
show a pattern is then binomial, and a small tail says that time and not the treatment made the numbers.
"""

from itertools import pairwise
from math import exp, lgamma
from statistics import mean, median

from scipy.special import bdtrc  # type: ignore[import-untyped]

from pgassay.analysis.lint.values import Benchmark, Finding

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
            "runs climb or fall in time: the system was not in a steady state",
            f"{len(patterned)} of {len(groups)} treatments (by chance {sum(expected):.1f}, p = {tail:.2g}); "
            f"{patterned[0]}: {example}",
            "start each run from the same state, run longer, and randomise the order in blocks",
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
                    "the first run is not like the others: it warms what they find warm",
                    f"run 1 is {word} in {len(odd)} of {len(groups)} treatments (by chance {sum(expected):.1f}, "
                    f"p = {tail:.2g}); median run 1 / mean of the others = {ratio:.3f}",
                    "mark the first run as warm-up, or give every run the same start state",
                )
            )
    return tuple(found)


def fixed_order(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Treatments whose runs came one after another, or repetitions that always had the same order."""
    if len(benchmark.groups) < 2 or any(run.position is None for run in benchmark.runs):
        return ()
    order = [run.arm for run in sorted(benchmark.runs, key=lambda run: run.position or 0)]
    repeats = max(len(runs) for runs in benchmark.groups.values())
    changes = sum(one != other for one, other in pairwise(order))
    if repeats > 1 and changes == len(benchmark.groups) - 1:
        evidence = f"all runs of a treatment follow each other: {order[0]} first, {order[-1]} last"
    elif repeats > 1 and _same_rounds(order, len(benchmark.groups)):
        evidence = f"{repeats} rounds in the same order, {order[0]} always first"
    else:
        return ()
    return (
        Finding(
            "fixed-order",
            "treatments were run in a fixed order, so drift in time looks like an effect",
            evidence,
            "randomise the order of treatments within each repetition",
        ),
    )


def _same_rounds(order: list[str], size: int) -> bool:
    rounds = [tuple(order[start : start + size]) for start in range(0, len(order), size)]
    return len(rounds) > 1 and len(set(rounds)) == 1 and len(set(rounds[0])) == size


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
