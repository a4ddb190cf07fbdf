"""Rows of one column: as often as the shares say, in the physical order that the correlation says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.synthetic.generation import NULL, Integers, column_rows, counts, loosen

SHARES = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=50)


def correlation(values: Integers) -> float:
    """As ANALYZE computes it: of the places of values in their order, equal ones in the order of the rows."""
    order = np.argsort(values, kind="stable")
    return float(np.corrcoef(order, np.arange(len(order)))[0, 1])


@given(SHARES, st.integers(0, 5000), st.integers(0, 100))
def test_each_value_occurs_as_often_as_its_share_says(shares: list[float], rows: int, seed: int) -> None:
    found = counts(np.array(shares), rows, np.random.default_rng(seed))
    assert found.sum() == rows
    assert (abs(found - np.array(shares) / sum(shares) * rows) < 1 + 1e-6).all()


@given(st.integers(0, 300), st.floats(-1, 1), st.integers(0, 100))
def test_loosening_loses_nothing(size: int, in_order: float, seed: int) -> None:
    found = loosen(np.arange(size), in_order, np.random.default_rng(seed))
    assert sorted(found.tolist()) == list(range(size))


@pytest.mark.parametrize("wanted", [-1.0, -0.6, 0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("distinct", [40, 20_000])
def test_the_physical_order_has_the_correlation(wanted: float, distinct: int) -> None:
    rows = column_rows(np.ones(distinct), 20_000, 0.0, wanted, np.random.default_rng(7))
    assert correlation(rows) == pytest.approx(wanted, abs=0.06)


def test_few_values_anywhere_are_correlated_by_chance_and_that_is_known() -> None:
    shares = np.array([0.7, 0.2, 0.1])
    anywhere = correlation(column_rows(shares, 20_000, 0.0, 0.0, np.random.default_rng(7)))
    assert correlation(column_rows(shares, 20_000, 0.0, 0.54, np.random.default_rng(7))) == pytest.approx(
        0.54, abs=0.06
    )
    assert anywhere < 0.54


@given(st.floats(0, 1), st.integers(1, 2000))
def test_nulls_have_their_share(null_fraction: float, rows: int) -> None:
    found = column_rows(np.array([0.5, 0.5]), rows, null_fraction, 0.5, np.random.default_rng(3))
    assert len(found) == rows
    assert (found == NULL).sum() == round(rows * null_fraction)


def test_a_column_of_nulls_has_no_values() -> None:
    assert (column_rows(np.empty(0), 5, 1.0, None, np.random.default_rng(3)) == NULL).all()
