"""Values as COPY reads them: distinct, in order, of their type and width."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.errors import SyntheticError
from pgassay.capture.synthetic.generation import Slots, codes, escaped, values
from pgassay.capture.synthetic.statistics import Column, Knot


def slots(*places: int) -> Slots:
    return Slots(np.array(places, np.int64), np.full(len(places), 1 / len(places)), np.full(len(places), -1))


def made(column: Column, found: Slots) -> list[object]:
    return values(column, found, np.random.default_rng(1)).to_list()


@given(st.integers(1, 3000), st.sampled_from([None, 3, 8]))
def test_invented_texts_are_distinct_and_in_order(count: int, longest: int | None) -> None:
    found = codes(count, longest, "c")
    assert len(set(found)) == count
    assert found == sorted(found)
    assert all(len(text) <= (longest or 99) for text in found)


def test_more_texts_than_there_are_is_refused_by_name() -> None:
    assert len(set(codes(60, 1, "flag"))) == 60
    with pytest.raises(SyntheticError, match='"flag" has 1000 distinct values of at most 1 characters'):
        codes(1000, 1, "flag")


@pytest.mark.parametrize("average", [7, 40, 127, 128, 900])
def test_the_mean_width_is_that_of_the_statistics(average: int) -> None:
    knots = tuple(Knot(place, width) for place, width in enumerate((average // 2, average, 2 * average)))
    texts = made(Column("c", "text", "text", average_width_bytes=average, knots=knots), slots(*range(3000)))
    header = 1 if average <= 127 else 4
    assert np.mean([len(str(text)) + header for text in texts]) == pytest.approx(average, rel=0.05)


def test_a_common_value_has_its_own_width_and_one_that_the_schema_names_stays() -> None:
    column = Column("c", "text", "text", average_width_bytes=21, knots=(Knot(5, 9, 0.5, "it's open"), Knot(7, 30, 0.2)))
    found = Slots(np.array([5, 7]), np.array([0.7, 0.3]), np.array([0, 1]))
    kept, invented = made(column, found)
    assert kept == "it's open"
    assert len(str(invented)) == 30


def test_limits_of_a_type_hold() -> None:
    column = Column("c", "varchar(6)", "text", average_width_bytes=40, longest=6)
    assert max(len(str(text)) for text in made(column, slots(*range(500)))) == 6


@pytest.mark.parametrize(
    ("column", "places", "expected"),
    [
        (Column("c", "integer", "integer", step=5, offset=2), (0, 3), [2, 17]),
        (Column("c", "numeric", "decimal", digits=2), (-150, 5), ["-1.50", "0.05"]),
        (Column("c", "float8", "float", digits=3), (1500,), ["1.5"]),
        (Column("c", "date", "date"), (-1, 366), ["1999-12-31", "2001-01-01"]),
        (Column("c", "timestamptz", "timestamp"), (1_500_000,), ["2000-01-01 00:00:01.500000"]),
        (Column("c", "time", "time"), (3_600_000_000,), ["1:00:00"]),
        (Column("c", "boolean", "label", labels=("false", "true")), (1,), ["true"]),
        (Column("c", "inet", "address"), (9, 12), ["10.0.0.0", "10.0.0.1"]),
        (Column("c", "interval", "interval"), (9, 12), ["1 seconds", "2 seconds"]),
    ],
)
def test_each_type_is_written_as_copy_reads_it(column: Column, places: tuple[int, ...], expected: list[object]) -> None:
    assert made(column, slots(*places)) == expected


def test_other_forms() -> None:
    two, wide = slots(10, 20), Column("c", "x", "text", average_width_bytes=60)
    assert all(len(str(text)) == 32 for text in made(replace(wide, kind="uuid"), two))
    assert all(str(text).startswith("\\x") for text in made(replace(wide, kind="bytes"), two))
    assert all(str(text).startswith('{"a":"') for text in made(replace(wide, kind="jsonb"), two))
    assert all(str(text).startswith("{") for text in made(replace(wide, kind="integers"), two))
    assert all(str(text).startswith("{") for text in made(replace(wide, kind="texts"), two))


def test_what_copy_would_misread_is_escaped() -> None:
    assert escaped(pl.Series(["a\tb", "c\\d", "e\nf"])).to_list() == ["a\\tb", "c\\\\d", "e\\nf"]
    assert escaped(pl.Series([1, 2])).to_list() == [1, 2]
