"""Rows of columns that a key binds together: unique pairs, and foreign keys of several columns.

A foreign key of several columns takes whole rows of its parent, as often as the columns' shares say: a parent's weight
is the product of what its values occur more often here than there (raking, with independent columns). What is left of
a unique key is dealt: within each group of rows that are equal so far, every value at most once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pgassay.capture.synthetic.domains import Floats, Integers, share_out
from pgassay.capture.synthetic.rows import counts, in_order_share, loosen

Columns = dict[str, Integers]
"""Each column's values by their numbers, a row each."""
_DENSE = 0.2
"""Where more of all combinations are used, drawing at random would not find the last ones."""
_TRIES = 30


@dataclass(frozen=True)
class Marginal:
    """A column by itself: its values' numbers, their shares, and how far the physical order follows them."""

    numbers: Integers
    shares: Floats
    correlation: float


@dataclass(frozen=True)
class Parent:
    """Rows of another table that a foreign key takes: `rows` under the names of our columns."""

    columns: tuple[str, ...]
    rows: Columns


def bound_rows(
    marginals: Mapping[str, Marginal],
    key: Sequence[str],
    parents: Sequence[Parent],
    rows: int,
    random: np.random.Generator,
) -> Columns:
    """At most `rows` rows of all columns of `marginals`, unique in `key` (if any), in physical order."""
    drawn: Columns = {}
    for parent in parents:
        _take(drawn, parent, marginals, key, rows, random)
    local = sorted((name for name in key if name not in drawn), key=lambda name: len(marginals[name].numbers))
    for name in local:
        others = [other for other in key if other in drawn]
        _deal(drawn, name, marginals[name], others, rows, random, last=name == local[-1])
    if key:
        drawn = _select(drawn, first_of_each([drawn[name] for name in key]))
    return _physical(drawn, marginals, random)


def codes(columns: Sequence[Integers]) -> Integers:
    """A number for each row, equal where all columns are; from 0 without gaps."""
    code = np.unique(columns[0], return_inverse=True)[1].astype(np.int64)
    for column in columns[1:]:
        values, inverse = np.unique(column, return_inverse=True)
        code = np.unique(code * len(values) + inverse, return_inverse=True)[1].astype(np.int64)
    return code


def first_of_each(columns: Sequence[Integers]) -> Integers:
    """The places of the first row of each combination, rising."""
    return np.sort(np.unique(codes(columns), return_index=True)[1]).astype(np.int64)


def _select(columns: Columns, places: Integers) -> Columns:
    return {name: values[places] for name, values in columns.items()}


def _take(
    drawn: Columns,
    parent: Parent,
    marginals: Mapping[str, Marginal],
    key: Sequence[str],
    rows: int,
    random: np.random.Generator,
) -> None:
    """Add a foreign key's columns to `drawn`: rows of the parent, those that fit where columns are there already."""
    shared = [name for name in parent.columns if name in drawn]
    if shared:
        return _take_fitting(drawn, parent, shared, random)
    weights = np.ones(len(parent.rows[parent.columns[0]]))
    for name in parent.columns:
        here, there = _spread(marginals[name], parent.rows[name])
        weights *= here[parent.rows[name]] / there[parent.rows[name]]
    if not weights.any():
        weights[:] = 1.0
    often = counts(weights, rows, random)
    if key and set(key) <= set(parent.columns):  # each combination once
        often = np.minimum(often, 1)
        unused = np.flatnonzero((often == 0) & (weights > 0))
        missing = min(rows - int(often.sum()), len(unused))
        often[random.permutation(unused)[:missing]] = 1
    picked = np.repeat(np.arange(len(weights)), often)
    for name in parent.columns:
        drawn[name] = parent.rows[name][picked]
    return None


def _spread(marginal: Marginal, parent_numbers: Integers) -> tuple[Floats, Floats]:
    """The share of each value here and among the parent's rows, by the value's number."""
    size = 1 + max(int(parent_numbers.max(initial=0)), int(marginal.numbers.max(initial=0)))
    here = np.zeros(size)
    here[marginal.numbers] = marginal.shares
    there = np.bincount(parent_numbers, minlength=size) / max(len(parent_numbers), 1)
    return here, np.where(there > 0, there, 1.0)


def _take_fitting(drawn: Columns, parent: Parent, shared: Sequence[str], random: np.random.Generator) -> None:
    """For each row any of the parent's rows that agrees with it; rows without one are left out."""
    ours = len(drawn[shared[0]])
    code = codes([np.concatenate((drawn[name], parent.rows[name])) for name in shared])
    mine, theirs = code[:ours], code[ours:]
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], mine)
    many = np.searchsorted(theirs[order], mine, side="right") - first
    kept = np.flatnonzero(many)
    picked = order[first[kept] + (random.random(len(kept)) * many[kept]).astype(np.int64)]
    for name in drawn:
        drawn[name] = drawn[name][kept]
    for name in parent.columns:
        drawn[name] = parent.rows[name][picked]


def _deal(
    drawn: Columns,
    name: str,
    marginal: Marginal,
    others: Sequence[str],
    rows: int,
    random: np.random.Generator,
    *,
    last: bool,
) -> None:
    """Add a column of the key: its values in their shares, spread over the groups of rows that are equal in `others`.

    The `last` one has no two equal values in a group, if it can be.
    """
    if not drawn:
        drawn[name] = np.repeat(marginal.numbers, counts(marginal.shares, rows, random))
        return
    size = len(next(iter(drawn.values())))
    group = codes([drawn[other] for other in others]) if others else np.zeros(size, np.int64)
    groups = int(group.max(initial=-1)) + 1
    often = counts(marginal.shares, size, random)
    over = often - groups
    if last and (excess := int(over[over > 0].sum())) > 0:
        often = np.minimum(often, groups)
        often = often + share_out(excess, groups - often)
    if last and size < _DENSE * groups * len(often):
        drawn[name] = marginal.numbers[_draw_apart(group, often, random)]
        return
    # Slots go round by round, one of each group in turn; a value's copies lie side by side in them, so in other groups.
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=groups)
    turn = np.empty(size, np.int64)
    turn[order] = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slots = np.lexsort((random.permutation(groups)[group], turn))
    frequent = np.argsort(-often, kind="stable")
    copies = np.repeat(frequent, often[frequent])
    dealt = np.empty(size, np.int64)
    dealt[slots[: len(copies)]] = copies
    dealt[slots[len(copies) :]] = frequent[0]  # more rows than combinations: these are left out as equal
    drawn[name] = marginal.numbers[dealt]


def _draw_apart(group: Integers, often: Integers, random: np.random.Generator) -> Integers:
    """Each row any value, each value as often as it should; equal ones in a group change with others, some times."""
    values = random.permutation(np.repeat(np.arange(len(often)), often))
    for _ in range(_TRIES):
        again = np.ones(len(values), np.bool_)
        again[np.unique(group * len(often) + values, return_index=True)[1]] = False
        equal = np.flatnonzero(again)
        if not len(equal):
            break
        swapped = np.unique(np.concatenate((equal, random.integers(0, len(values), len(equal)))))
        values[swapped] = values[random.permutation(swapped)]
    return values


def _physical(drawn: Columns, marginals: Mapping[str, Marginal], random: np.random.Generator) -> Columns:
    """The rows sorted by the column that the physical order follows most, then by the next; loosened as that one is."""
    if not drawn:
        return drawn
    names = sorted(drawn, key=lambda name: -abs(marginals[name].correlation))
    signs = [-1 if marginals[name].correlation < 0 else 1 for name in names]
    order = np.lexsort([sign * drawn[name] for name, sign in zip(names, signs, strict=True)][::-1])
    first = marginals[names[0]]
    loose = loosen(order, abs(in_order_share(first.correlation, first.shares)), random)
    return _select(drawn, loose)
