"""Which factor does it: main effects and interactions of treatments that vary several.

A main effect is the mean over pairs of treatments that differ in *this factor only*, in the same block; an interaction
is the difference of two such differences. Factors that moved together have no such pair: they are named as confounded
and get no number (page size and WAL block size in Vondra 2012; Fisher, The Design of Experiments, on confounding).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

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
    level: float = 0.95,
) -> Factorial:
    """Effects of every level against the baseline's, averaged over the other factors, and of every pair of levels.

    Intervals are simultaneous over all of them within a cell and hold at every look (or at the only one, see `Looks`).
    """
    mains = {name: terms for name, terms in _main_terms(treatments, baseline).items() if terms}
    pairs = {name: terms for name, terms in _interaction_terms(treatments, baseline).items() if terms}
    known = tables(observations, response.scale)
    comparisons = max(1, (len(mains) + len(pairs)) * len(known))
    certainty = Certainty(level, comparisons, blocks_max, looks == "every block")

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
    return tuple(_moved_together(names) for names in groups.values() if len(names) > 1)


def _levels(treatments: Treatments, factor: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(levels[factor] for levels in treatments.values() if factor in levels))


def _index(treatments: Treatments) -> dict[frozenset[tuple[str, str]], str]:
    return {frozenset(levels.items()): label for label, levels in treatments.items()}


def _main_terms(treatments: Treatments, baseline: Mapping[str, str]) -> dict[str, list[Term]]:
    """`factor=level` to the pairs of treatments that differ in this factor only, from the baseline's level to it."""
    index = _index(treatments)
    terms: dict[str, list[Term]] = {}
    for factor in baseline:
        for level in _levels(treatments, factor):
            if level == baseline[factor]:
                continue
            found = terms.setdefault(f"{factor}={level}", [])
            for label, levels in treatments.items():
                if levels.get(factor) != level:
                    continue
                partner = index.get(frozenset({**levels, factor: baseline[factor]}.items()))
                if partner is not None:
                    found.append(((1.0, label), (-1.0, partner)))
    return terms


def _interaction_terms(treatments: Treatments, baseline: Mapping[str, str]) -> dict[str, list[Term]]:
    """`a=x * b=y` to the squares of four treatments that differ in these two factors only."""
    index = _index(treatments)
    terms: dict[str, list[Term]] = {}
    for one, other in combinations(baseline, 2):
        for x, y in product(_levels(treatments, one), _levels(treatments, other)):
            if x == baseline[one] or y == baseline[other]:
                continue
            found = terms.setdefault(f"{one}={x} * {other}={y}", [])
            for label, levels in treatments.items():
                if levels.get(one) != x or levels.get(other) != y:
                    continue
                corners = [
                    index.get(frozenset({**levels, **change}.items()))
                    for change in (
                        {one: baseline[one]},
                        {other: baseline[other]},
                        {one: baseline[one], other: baseline[other]},
                    )
                ]
                first, second, both = corners
                if first is not None and second is not None and both is not None:
                    found.append(((1.0, label), (-1.0, first), (-1.0, second), (1.0, both)))
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
        left_out += (_pairs_missing(len(terms) - len(rows), len(terms)),)
    means = stacked[:, np.asarray(whole, dtype=bool)].mean(axis=0) if rows else np.zeros(0)
    return Contrasts(kept, means, np.full(len(kept), np.nan), left_out)


def _moved_together(factors: Sequence[str]) -> str:
    """Factors whose levels always change together, so that their effects cannot be separated."""
    named = f"{', '.join(factors[:-1])} and {factors[-1]}"
    return f"{named} always move together, so this study cannot tell which of them has the effect"


def _pairs_missing(missing: int, of: int) -> str:
    """A factorial contrast averaged over fewer combinations than the study has."""
    combinations = plural("combination", of)
    return f"{missing} of {of} {combinations} of the other factors have no valid trial and are left out"


def incomplete(block: int) -> str:
    """A block without all treatments of a factorial contrast."""
    return f"block {block}: not every treatment of this comparison has a value"
