"""Which factor does it: main effects and interactions of treatments that vary several.

A main effect is the mean over pairs of treatments that differ in *this factor only*, in the same block; an interaction
is the difference of two such differences. Factors that moved together have no such pair: they are named as confounded
and get no number (page size and WAL block size in Vondra 2012; Fisher, The Design of Experiments, on confounding).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.compare import Looks
from pgassay.analysis.effects import Certainty, Effect, estimate
from pgassay.analysis.numbers import plural
from pgassay.analysis.observations import Contrasts, Observation, Table, tables
from pgassay.study.responses import Response, Scale

Treatments = Mapping[str, Mapping[str, str]]
"""A treatment's label to its levels: factor to level as typed."""

Term = tuple[tuple[float, str], ...]
"""A contrast of treatments: (weight, label)."""


@dataclass(frozen=True)
class Factorial:
    """`main` and `interactions` are effects whose treatment reads `factor=level` or `factor=level * factor=level`."""

    main: tuple[Effect, ...]
    interactions: tuple[Effect, ...]
    confounded: tuple[str, ...]


def factorial(
    observations: Sequence[Observation],
    treatments: Treatments,
    baseline: Mapping[str, str],
    response: Response,
    *,
    blocks_max: int,
    looks: Looks = "every block",
) -> Factorial:
    """Effects of every level against the baseline's, averaged over the other factors, and of every pair of levels.

    Intervals are simultaneous over all of them within a cell and hold at every look (or at the only one, see `Looks`).
    """
    mains, pairs = _terms(treatments, baseline, 1), _terms(treatments, baseline, 2)
    known = tables(observations, response.scale)
    comparisons = max(1, (len(mains) + len(pairs)) * len(known))
    certainty = Certainty(LEVEL, comparisons, blocks_max, looks == "every block")

    def effects(named: Mapping[str, list[Term]]) -> tuple[Effect, ...]:
        found = []
        for cell, table in known.items():
            for name, terms in named.items():
                contrasts = _contrasts(table, terms, response.scale)
                found.append(estimate(contrasts, name, cell, response, certainty, primary=False))
        return tuple(found)

    return Factorial(effects(mains), effects(pairs), confounded(treatments))


def confounded(treatments: Treatments) -> tuple[str, ...]:
    """A sentence for each group of factors whose levels always move together."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in tuple(dict.fromkeys(name for levels in treatments.values() for name in levels)):
        moves = [levels.get(name, "") for levels in treatments.values()]
        first = {level: place for place, level in reversed(list(enumerate(moves)))}
        if len(first) > 1:  # two factors move together when they split the treatments alike
            groups.setdefault(tuple(first[level] for level in moves), []).append(name)
    return tuple(
        f"{', '.join(names[:-1])} and {names[-1]} always move together, so this study cannot tell which of them has"
        " the effect"
        for names in groups.values()
        if len(names) > 1
    )


def _terms(treatments: Treatments, baseline: Mapping[str, str], together: int) -> dict[str, list[Term]]:
    """Levels of so many factors `together` to the sets of treatments that differ in these factors only.

    Of one factor (`a=x`) they are pairs, from the baseline's level to it; of two (`a=x * b=y`) squares of four. Levels
    without any such set are left out.
    """
    index = {frozenset(levels.items()): label for label, levels in treatments.items()}
    others = {
        factor: dict.fromkeys(each[factor] for each in treatments.values() if each.get(factor, usual) != usual)
        for factor, usual in baseline.items()
    }
    terms: dict[str, list[Term]] = {}
    for factors in combinations(baseline, together):
        for chosen in product(*(others[factor] for factor in factors)):
            changed = dict(zip(factors, chosen, strict=True))
            name = " * ".join(f"{factor}={level}" for factor, level in changed.items())
            for label, levels in treatments.items():
                if not changed.items() <= levels.items():
                    continue
                term = [(1.0, label)]
                for size in range(1, together + 1):
                    for back in combinations(factors, size):
                        corner = index.get(frozenset({**levels, **{each: baseline[each] for each in back}}.items()))
                        term += [] if corner is None else [((-1.0) ** size, corner)]
                if len(term) == 2**together:
                    terms.setdefault(name, []).append(tuple(term))
    return terms


def _contrasts(table: Table, terms: Sequence[Term], scale: Scale) -> Contrasts:
    """The mean of `terms` in each block that has every treatment of at least one of them."""
    blocks, array = table.array()
    column = {name: place for place, name in enumerate(table.treatments)}
    values = np.log(array) if scale is Scale.RATIO else array
    rows = []
    for term in terms:
        if all(label in column for _, label in term):
            rows.append(sum((weight * values[:, column[label]] for weight, label in term), np.zeros(len(blocks))))
    stacked = np.asarray(rows, dtype=np.float64).reshape(len(rows), len(blocks))
    # Only blocks with every pair: another mixture of pairs in some blocks would be another estimand.
    whole = [bool(np.isfinite(column).all()) for column in stacked.T] if rows else [False] * len(blocks)
    kept = tuple(block for block, keep in zip(blocks, whole, strict=True) if keep)
    left_out = tuple(incomplete(block) for block, keep in zip(blocks, whole, strict=True) if not keep)
    if len(rows) < len(terms):
        of = f"{len(terms)} {plural('combination', len(terms))}"
        left_out += (f"{len(terms) - len(rows)} of {of} of the other factors have no valid trial and are left out",)
    means = stacked[:, np.asarray(whole, dtype=bool)].mean(axis=0) if rows else np.zeros(0)
    return Contrasts(kept, means, np.full(len(kept), np.nan), left_out)


def incomplete(block: int) -> str:
    """A block without all treatments of a factorial contrast."""
    return f"block {block}: not every treatment of this comparison has a value"
