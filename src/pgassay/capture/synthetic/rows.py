"""From shares to rows: how often each value occurs, where NULLs are, and how far the physical order follows the values.

pg_stats.correlation is Pearson's, between the order of the rows and that of their values, equal values in the order
of the rows (analyze.c, compute_scalar_stats). A share of the rows lies in order and the others anywhere, as in a table
that is appended to and updated; that share follows from the correlation.
"""

import numpy as np

from pgassay.capture.synthetic.domains import Floats, Integers

NULL = -1


def counts(shares: Floats, rows: int, random: np.random.Generator) -> Integers:
    """How often each value occurs in so many rows: its share, rounded so that the sum is right ("systematic")."""
    edges = np.floor(np.cumsum(shares) / shares.sum() * rows + random.random())
    edges[-1] = rows
    often: Integers = np.diff(np.minimum(edges, rows), prepend=0).astype(np.int64)
    return often


def in_order_share(correlation: float, shares: Floats) -> float:
    """The share of rows that lies in order (negative: in falling order) where a column has this correlation.

    Rows anywhere have one too, since equal values count as ordered: the sum of the squared shares.
    """
    by_chance = float(np.square(shares / shares.sum()).sum())
    if by_chance >= 1.0:
        return 1.0
    return float(np.clip((correlation - by_chance) / (1 - by_chance), -1.0, 1.0))


def loosen(order: Integers, in_order: float, random: np.random.Generator) -> Integers:
    """`order` with all but a share of its entries shuffled among themselves; reversed where the share is negative."""
    arranged = order[::-1].copy() if in_order < 0 else order.copy()
    moved = np.flatnonzero(random.random(len(order)) >= abs(in_order))
    arranged[moved] = arranged[random.permutation(moved)]
    return arranged


def column_rows(
    shares: Floats, rows: int, null_fraction: float, correlation: float | None, random: np.random.Generator
) -> Integers:
    """Numbers of values (into `shares`), one a row in physical order; `NULL` where there is none."""
    if not len(shares):
        return np.full(rows, NULL, np.int64)
    nulls = round(rows * null_fraction)
    ordered = np.repeat(np.arange(len(shares)), counts(shares, rows - nulls, random))
    values = loosen(ordered, in_order_share(correlation or 0.0, shares), random)
    if not nulls:
        return values
    drawn = np.full(rows, NULL, np.int64)
    drawn[np.sort(random.permutation(rows)[nulls:])] = values
    return drawn
