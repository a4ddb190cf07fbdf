"""The published form, against the statistics module."""

import statistics
from math import isnan

import pytest

from pgassay.analysis.observations import summarise

from ._make import columns


def test_rows_have_the_published_numbers() -> None:
    values = [100.0, 103.0, 98.0, 110.0]
    (row,) = summarise(columns({"a": values}))
    assert (row.n, row.min, row.max) == (4, 98.0, 110.0)
    assert row.avg == pytest.approx(statistics.mean(values))
    assert row.stdev == pytest.approx(statistics.stdev(values))
    assert row.median == pytest.approx(statistics.median(values))


def test_one_value_has_no_spread_and_none_has_no_average() -> None:
    one, none = summarise(columns({"a": [5.0], "b": [None]}))
    assert isnan(one.stdev)
    assert one.avg == 5.0
    assert none.n == 0
    assert isnan(none.avg)
    assert none.left_out == ("block 1: b has no value",)


def test_conditions_have_rows_of_their_own() -> None:
    rows = summarise(columns({"a": [1.0]}, "threads=1") + columns({"a": [3.0]}, "threads=2"))
    assert [(row.condition, row.avg) for row in rows] == [("threads=1", 1.0), ("threads=2", 3.0)]


def test_zeros_count_in_the_published_form_though_ratios_cannot_take_them() -> None:
    (row,) = summarise(columns({"a": [0.0, 0.605, 0.9472, 0.0, 1.2]}))
    assert (row.n, row.min, row.median) == (5, 0.0, 0.605)
    assert row.left_out == ()
