"""Which settings matter at all: a folded Plackett–Burman design, and effects with simultaneous intervals.

R. L. Plackett and J. P. Burman, "The design of optimum multifactorial experiments" (1946); the folded form is Box and
Wilson's. Each row has its mirror, in which every setting takes its other level: in their difference whatever two
settings do together cancels, and so does what the machine did to both. The matrices are Paley's, doubled by Sylvester.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from math import exp, isfinite, log, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pgassay.advise.space import Configuration, Limits, Space, index_of, within
from pgassay.analysis.boundaries import fixed_critical
from pgassay.errors import UsageError

Floats = npt.NDArray[np.float64]
Measured: TypeAlias = Sequence[Mapping[Configuration, float | None]]
"""Of each pair of a plan the values of its row and its mirror; None for what failed, nothing for what was disturbed."""
Signs: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.int64]]"
SPARE = 9
"""Rows more than settings, at least: by these the noise is known."""
SPARE_OF_LINES = 4
"""The same of lines."""
SPARE_APART = 6
"""The same of settings that are screened apart from those whose servers take turns: they are few."""
LEVEL = 0.95
LINES = "the advised lines"
LOOK = 9
"""Pairs after which it is asked whether a setting does so much that it hides the others."""
HIDES = log(2)
"""What such a setting surely does: it doubles or halves the objective."""
_HIDING_LEVEL, BESIDE_LEVEL = 0.99, 0.96
"""Of such settings, and of the others along with them: together they err in 5 %."""
_FEWEST_LOOKED = 6
_ORDER_MAX = 200


class Standing(StrEnum):
    """What screening says of a setting."""

    ACTIVE = "active"
    PLACEBO = "does not matter"
    OPEN = "open"


@dataclass(frozen=True)
class Screened:
    """A setting's effect from its start to its far level, as a ratio with a simultaneous interval."""

    name: str
    start: str
    far: str
    effect: float
    low: float
    high: float
    standing: Standing
    along_with: str = ""
    """What it was tried along with, where not among all settings: `LINES`, or the settings that do far more."""
    objective: int = 0
    """The number of the objective that the effect is on."""


@dataclass(frozen=True)
class Pair:
    """A row of the design and its mirror: `signs` of the settings in the row (+1 is the far level)."""

    signs: tuple[int, ...]
    row: Configuration
    mirror: Configuration

    @property
    def signed(self) -> tuple[tuple[tuple[int, ...], Configuration], ...]:
        return (self.signs, self.row), (tuple(-each for each in self.signs), self.mirror)


@dataclass(frozen=True)
class Plan:
    """The pairs of a screening, and the two levels that each setting takes in it."""

    names: tuple[str, ...]
    levels: Mapping[str, tuple[str, str]]
    """Start and far level."""
    pairs: tuple[Pair, ...]
    along_with: str = ""
    """See `Screened.along_with`."""


def matrix(least: int) -> Signs:
    """The smallest Hadamard matrix that we can make with at least so many rows; its first column is all 1."""
    order = 4 * ((max(4, least) + 3) // 4)
    while order <= _ORDER_MAX:
        found = _hadamard(order)
        if found is not None:
            return found * found[:, :1]
        order += 4
    raise ValueError(f"no design of {least} rows")


def _hadamard(order: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]] | None":
    if order <= 2:
        return np.array([[1]] if order == 1 else [[1, 1], [1, -1]], dtype=np.int64)
    prime = order - 1
    if prime % 4 == 3 and all(prime % each for each in range(2, int(sqrt(prime)) + 1)):
        squares = {each * each % prime for each in range(1, prime)}
        turned = [[1 if (column - row) % prime in squares else -1 for column in range(prime)] for row in range(prime)]
        whole = np.ones((order, order), dtype=np.int64)
        whole[1:, 1:] = turned
        return whole
    half = _hadamard(order // 2) if order % 2 == 0 and (order // 2 <= 2 or order // 2 % 4 == 0) else None
    return None if half is None else np.block([[half, half], [half, -half]])


def rows_needed(settings: int, spare: int = SPARE) -> int:
    """Pairs that a screening of so many settings takes: of the smallest design with `spare` more columns."""
    return len(matrix(settings + spare))


def batches_needed(settings: int, most: int, spare: int = SPARE) -> int:
    """Batches of at most so many pairs; few settings have fewer different pairs than rows, and repeat them."""
    rows = rows_needed(settings, spare)
    return max(-(-rows // most), -(-rows // (1 << (settings - 1))))


def in_batches(pairs: Sequence["Pair"], most: int) -> tuple[tuple[int, ...], ...]:
    """Numbers of the pairs, batch by batch, such that no batch has a configuration twice.

    So each pair has trials of its own: two that shared them would count as two and be one.
    """
    found: list[list[int]] = []
    for number, pair in enumerate(pairs):
        mine = {pair.row, pair.mirror}
        for batch in found:
            if len(batch) < most and not any(mine & {pairs[each].row, pairs[each].mirror} for each in batch):
                batch.append(number)
                break
        else:
            found.append([number])
    return tuple(map(tuple, found))


def plan(space: Space, limits: Limits, seed: int, spare: int = SPARE) -> Plan:
    """The pairs in random order, every setting on a random column; levels are modest enough to be tried together.

    A setting that cannot go away from its start within the limits is no part of it.
    """
    levels = {name: pair for name, pair in _levels(space, limits).items() if pair[0] != pair[1]}
    return _folded(space.start, levels, [matrix(len(levels) + spare)], random.Random(f"screening/{seed}"))


def begun(plan: Plan, most: int, look: int = LOOK) -> tuple[Plan, Plan]:
    """The plan of the first batches, of at most so many pairs each and `look` in all, and of the rest."""
    batches = in_batches(plan.pairs, most)
    parts = batches[: look // most], batches[look // most :]
    first, rest = (tuple(plan.pairs[number] for batch in part for number in batch) for part in parts)
    return replace(plan, pairs=first), replace(plan, pairs=rest)


def hiding(plan: Plan, values: Measured) -> tuple[Screened, ...]:
    """One or two settings that surely do so much that they hide all others, by the first pairs; mostly none.

    Nine pairs cannot tell fifteen settings apart, but one that does ten times what all others do explains nearly all
    that they show. Of all settings, and of all pairs of two, the ones that explain most are taken.
    """
    x, y = _pairwise(plan, values)
    for size in (2, 1):
        choices = [each for each in combinations(range(x.shape[1]), size) if np.linalg.matrix_rank(x[:, each]) == size]
        if not choices or len(y) - size < _FEWEST_LOOKED - 1:
            continue
        best = min(choices, key=lambda each: _left(x[:, each], y))
        mine = x[:, best]
        inverse = np.linalg.inv(mine.T @ mine)
        critical = fixed_critical(len(y) - size + 1, (1 - _HIDING_LEVEL) / (size * len(choices)))
        halves = critical * np.sqrt(_left(mine, y) / (len(y) - size) * np.diag(inverse))
        found = dict(zip(best, zip((inverse @ mine.T @ y).tolist(), halves.tolist(), strict=True), strict=True))
        if all(abs(estimate) - half >= HIDES for estimate, half in found.values()):
            return tuple(
                Screened(
                    plan.names[number], *plan.levels[plan.names[number]], exp(estimate), exp(estimate - half),
                    exp(estimate + half), Standing.ACTIVE,
                )
                for number, (estimate, half) in found.items()
            )  # fmt: skip
    return ()


def _left(x: Floats, y: Floats) -> float:
    return float(np.sum((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2))


def better_levels(found: Sequence[Screened], *, higher: bool) -> dict[str, str]:
    return {each.name: each.far if (each.effect > 1) == higher else each.start for each in found}


def plan_others(
    space: Space, limits: Limits, found: Sequence[Screened], seed: int, *, higher: bool, spare: int = SPARE
) -> Plan:
    """The screening of all other settings, each of the `found` ones at the better of its two levels."""
    levels = better_levels(found, higher=higher)
    names = [each.name for each in space.dimensions if each.name not in levels]
    there = replace(space.narrowed(names), start=space.start.with_values(levels))
    given = ", ".join(f"{name} = {value}" for name, value in levels.items())
    return replace(plan(there, limits, seed, spare), along_with=given)


def joined(first: Plan, second: Plan) -> Plan:
    names = (*first.names, *(each for each in second.names if each not in first.names))
    return Plan(names, {**first.levels, **second.levels}, (*first.pairs, *second.pairs))


def least_pairs(lines: int) -> int:
    """Pairs that tell so many lines apart, and the noise."""
    order = len(matrix(lines + 1))
    return order * (1 + (order < lines + SPARE_OF_LINES))


def plan_of_lines(
    start: Configuration,
    best: Configuration,
    names: Sequence[str],
    seed: int,
    most: int,
) -> Plan:
    """The pairs in which each of these lines of `best` is in or out, all other lines in: at most so many, or the least.

    Whole designs follow each other, each with its columns drawn again.
    """
    levels = {name: (start.values[name], best.values[name]) for name in names}
    order = matrix(len(levels) + 1)
    designs = [order] * (max(least_pairs(len(levels)), most) // len(order))
    return replace(_folded(best, levels, designs, random.Random(f"lines/{seed}")), along_with=LINES)


def _folded(
    base: Configuration, levels: Mapping[str, tuple[str, str]], designs: Sequence[Signs], chance: random.Random
) -> Plan:
    """Rows and mirrors of the designs, on `base`, in random order."""
    names, pairs = tuple(levels), []
    for signs in designs:
        columns = chance.sample(range(1, signs.shape[1]), len(names))
        for row in chance.sample(range(len(signs)), len(signs)):
            here = tuple(int(signs[row, column]) for column in columns)
            both = (
                base.with_values({name: levels[name][side * sign > 0] for name, sign in zip(names, here, strict=True)})
                for side in (1, -1)
            )
            pairs.append(Pair(here, *both))
    return Plan(names, levels, tuple(pairs))


def _levels(space: Space, limits: Limits) -> dict[str, tuple[str, str]]:
    """Start and far level of each setting, such that all far ones that are above their start fit together."""
    above = {
        each.name: each.far
        for each in space.dimensions
        if each.ordered and index_of(each.levels, each.far) > index_of(each.levels, each.start)
    }
    highest = within(space.dimensions, space.start.with_values(above), limits, space.start)
    return {
        each.name: (each.start, highest.values[each.name] if each.name in above else each.far)
        for each in space.dimensions
    }


def of_objective(values: Sequence[Mapping[Configuration, tuple[float, ...] | None]], number: int) -> Measured:
    return tuple({each: None if value is None else value[number] for each, value in pair.items()} for pair in values)


def effects(
    plan: Plan, values: Measured, *, margin: float, level: float = LEVEL, objective: int = 0
) -> tuple[Screened, ...]:
    """What the measured values (any positive response) say of each setting; raises `UsageError` where too many failed.

    `values` has an entry for each pair of the plan. `margin` is the share within which an effect does not matter.
    Intervals hold for all settings together.
    """
    count = len(plan.names)
    x, y = _pairwise(plan, values)
    if len(x) <= count or np.linalg.matrix_rank(x) < x.shape[1]:
        x, y = _one_by_one(plan, values)
    freedom = len(x) - x.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        known = sum(len(_usable(mine, (pair.row, pair.mirror))) for pair, mine in zip(plan.pairs, values, strict=True))
        raise UsageError(
            f"the screening has no result: {2 * len(plan.pairs) - known} of its {2 * len(plan.pairs)} trials have no"
            " result",
            "see the reasons in its runs; narrow the space with --space, so that its far levels can be run",
        )
    inverse = np.linalg.inv(x.T @ x)
    estimates = inverse @ x.T @ y
    residual = y - x @ estimates
    errors = np.sqrt(float(residual @ residual) / freedom * np.diag(inverse))
    critical = fixed_critical(freedom + 1, (1 - level) / count)
    found = []
    for name, estimate, error in zip(plan.names, estimates[:count].tolist(), errors[:count].tolist(), strict=True):
        low, high = estimate - critical * error, estimate + critical * error
        standing = Standing.ACTIVE if low > 0 or high < 0 else Standing.OPEN
        if -log(1 + margin) < low and high < log(1 + margin):
            standing = Standing.PLACEBO
        ends = exp(estimate), exp(low), exp(high)
        found.append(Screened(name, *plan.levels[name], *ends, standing, plan.along_with, objective))
    return tuple(found)


def _pairwise(plan: Plan, values: Measured) -> tuple[Floats, Floats]:
    """Signs of the pairs of which both have a value, and their log-ratios."""
    signs, ratios = [], []
    for pair, mine in zip(plan.pairs, values, strict=True):
        found = _usable(mine, (pair.row, pair.mirror))
        if len(found) == 2:
            signs.append(pair.signs)
            ratios.append(log(found[pair.row] / found[pair.mirror]))
    return np.array(signs, dtype=float).reshape(len(signs), len(plan.names)), np.array(ratios)


def _one_by_one(plan: Plan, values: Measured) -> tuple[Floats, Floats]:
    """The same of each value by itself, with a column for what is common, where failures left too few pairs."""
    signed = [
        (signs, found[each])
        for pair, mine in zip(plan.pairs, values, strict=True)
        for found in [_usable(mine, (pair.row, pair.mirror))]
        for signs, each in pair.signed
        if each in found
    ]
    x = np.array([[*(each / 2 for each in signs), 1.0] for signs, _ in signed], dtype=float)
    return x.reshape(len(signed), len(plan.names) + 1), np.array([log(value) for _, value in signed])


def _usable(
    values: Mapping[Configuration, float | None], wanted: Sequence[Configuration]
) -> dict[Configuration, float]:
    """Those of the wanted that have a value that a logarithm takes."""
    known = {each: value for each in wanted if (value := values.get(each)) is not None}
    return {each: value for each, value in known.items() if isfinite(value) and value > 0}


def worth_searching(screened: Sequence[Screened], most: int) -> tuple[str, ...]:
    """The settings that may matter for an objective, the largest effects on any of them first; none shown not to."""
    sizes: dict[str, float] = {}
    for each in screened:
        if each.standing is not Standing.PLACEBO:
            sizes[each.name] = max(abs(log(each.effect)), sizes.get(each.name, 0.0))
    return tuple(sorted(sizes, key=lambda name: -sizes[name])[:most])


def at_better_levels(space: Space, screened: Sequence[Screened], *, higher: bool) -> Configuration:
    """The start with every active setting at the better of its two levels: what a search tries first."""
    names = {each.name for each in space.dimensions}
    better = {
        each.name: each.far
        for each in screened
        if each.name in names and each.standing is Standing.ACTIVE and (each.effect > 1) == higher
    }
    return space.start.with_values(better)
