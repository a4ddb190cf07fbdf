"""Rows that keys bind: unique, from their parents, with each column's own distribution."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgassay.capture.synthetic.generation import Columns, Marginal, Parent, bound_rows, combination_codes, first_of_each


def even(values: int, correlation: float = 0.0) -> Marginal:
    return Marginal(np.arange(values), np.full(values, 1 / values), correlation)


def random() -> np.random.Generator:
    return np.random.default_rng(11)


def pairs(rows: Columns, *names: str) -> set[tuple[int, ...]]:
    return set(zip(*(rows[name].tolist() for name in names), strict=True))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), min_size=1, max_size=60))
def test_codes_are_equal_where_rows_are(rows: list[tuple[int, int]]) -> None:
    columns = [np.array([row[place] for row in rows], np.int64) for place in (0, 1)]
    found = combination_codes(columns)
    assert len(set(found.tolist())) == len(set(rows)) == len(first_of_each(columns))
    assert len(set(zip(found.tolist(), rows, strict=True))) == len(set(rows))


def test_a_full_grid_is_filled() -> None:
    marginals = {"w": even(3, 1.0), "d": even(10, 0.2), "c": even(50, 0.01)}
    rows = bound_rows(marginals, ("w", "d", "c"), (), 1500, random())
    assert len(pairs(rows, "w", "d", "c")) == len(rows["w"]) == 1500
    assert rows["w"].tolist() == sorted(rows["w"].tolist()), "the physical order follows the first column"


@example(4, 4, 0.5625, 9)
@given(st.integers(2, 40), st.integers(2, 40), st.floats(0.02, 1.0), st.integers(0, 50))
def test_pairs_are_unique_at_any_density(one: int, other: int, density: float, seed: int) -> None:
    wanted = max(1, int(one * other * density))
    rows = bound_rows({"a": even(one), "b": even(other)}, ("a", "b"), (), wanted, np.random.default_rng(seed))
    assert len(pairs(rows, "a", "b")) == len(rows["a"]) <= wanted
    assert wanted - len(rows["a"]) <= max(1, wanted // 10), "a tenth at most, of a small table one row"


def test_a_skewed_column_keeps_its_distribution_in_a_sparse_key() -> None:
    shares = 1 / np.arange(1, 501)
    marginals = {"order": even(2000), "product": Marginal(np.arange(500), shares / shares.sum(), 0.0)}
    rows = bound_rows(marginals, ("order", "product"), (), 6000, random())
    assert len(rows["order"]) == len(pairs(rows, "order", "product")) > 5900
    assert (rows["product"] == 0).mean() == pytest.approx(shares[0] / shares.sum(), abs=0.01)


def test_a_foreign_key_takes_rows_of_its_parent_each_as_often() -> None:
    parent = bound_rows({"w": even(2, 1.0), "o": even(300)}, ("w", "o"), (), 600, random())
    marginals = {"w": even(2, 1.0), "o": even(300), "n": even(10)}
    rows = bound_rows(marginals, ("w", "o", "n"), (Parent(("w", "o"), parent),), 3000, random())
    assert pairs(rows, "w", "o") == pairs(parent, "w", "o")
    assert len(pairs(rows, "w", "o", "n")) == len(rows["n"]) == 3000
    assert np.bincount(rows["n"]).tolist() == [300] * 10


def test_a_key_that_is_a_foreign_key_has_each_parent_once() -> None:
    parent = bound_rows({"w": even(2, 1.0), "o": even(300)}, ("w", "o"), (), 600, random())
    late = Marginal(np.arange(200, 300), np.full(100, 0.01), 0.0)
    rows = bound_rows({"w": even(2, 1.0), "o": late}, ("w", "o"), (Parent(("w", "o"), parent),), 200, random())
    assert pairs(rows, "w", "o") == {(w, o) for w in (0, 1) for o in range(200, 300)}


def test_two_foreign_keys_agree_in_the_columns_that_they_share() -> None:
    first = {"w": np.array([0, 0, 1, 1]), "d": np.array([0, 1, 0, 1])}
    second = {"w": np.array([0, 1, 1]), "i": np.array([5, 6, 7])}
    marginals = {"w": even(2), "d": even(2), "i": Marginal(np.array([5, 6, 7]), np.full(3, 1 / 3), 0.0)}
    parents = (Parent(("w", "d"), first), Parent(("w", "i"), second))
    rows = bound_rows(marginals, (), parents, 400, random())
    assert pairs(rows, "w", "i") == {(0, 5), (1, 6), (1, 7)}
    assert len(rows["w"]) == 400


def test_rows_without_a_fitting_parent_are_left_out() -> None:
    parents = (
        Parent(("w", "d"), {"w": np.array([0, 1]), "d": np.array([0, 0])}),
        Parent(("w", "i"), {"w": np.array([0]), "i": np.array([0])}),
    )
    rows = bound_rows({"w": even(2), "d": even(1), "i": even(1)}, (), parents, 10, random())
    assert rows["w"].tolist() == [0] * 5


def test_more_rows_than_combinations_are_not_made() -> None:
    rows = bound_rows({"a": even(2), "b": even(3)}, ("a", "b"), (), 10, random())
    assert len(rows["a"]) == len(pairs(rows, "a", "b")) == 6
