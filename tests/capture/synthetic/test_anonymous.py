"""What is written down of values: their places, and no value that a person could recognise."""

from dataclasses import asdict, replace
from decimal import Decimal

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.synthetic.reading import Named, moved, referring, with_knots
from pgassay.capture.synthetic.statistics import Column, Kind

WIDE = Column("salary", "integer", "integer", distinct=-0.3)


def random() -> np.random.Generator:
    return np.random.default_rng(5)


def named(*lines: str, frequency: float | None = None) -> list[Named]:
    return [Named(Decimal(line), len(line), frequency) for line in lines]


@given(st.lists(st.integers(-(10**12), 10**12), min_size=2, max_size=60, unique=True), st.integers(0, 50))
def test_moved_numbers_keep_their_order_and_stay_only_where_there_is_no_room(numbers: list[int], seed: int) -> None:
    known = np.array(sorted(numbers), np.int64)
    found = moved(known, np.random.default_rng(seed))
    assert (np.diff(found) > 0).all()
    assert known[0] <= found[0]
    assert found[-1] <= known[-1]
    inner = slice(1, -1)
    assert (found[inner] > known[:-2]).all()
    assert (found[inner] < known[2:]).all()
    roomy = np.minimum(np.diff(known)[:-1], np.diff(known)[1:]) > 3
    assert (found[inner][roomy] != known[inner][roomy]).all()


def test_sparse_numbers_move_and_keep_their_grid() -> None:
    salaries = [str(31_000 + 137_500 * n) for n in range(60)]
    found = with_knots(WIDE, named(*salaries), 1_000_000, random())
    values = [found.offset + knot.place * found.step for knot in found.knots]
    assert all(value % 500 == 0 for value in values)
    dense = with_knots(replace(WIDE, distinct=-1.0), named("1", "400", "1000"), 1000, random())
    assert [dense.offset + knot.place * dense.step for knot in dense.knots] == [1, 400, 1000], "a key only counts"


def test_decimals_keep_their_digits() -> None:
    priced = Column("price", "numeric(10,2)", "decimal", distinct=-0.5)
    found = with_knots(priced, named("0.99", "12.50", "999.49"), 1000, random())
    assert (found.digits, found.knots[0].width_bytes) == (2, 4)
    huge = with_knots(priced, named("0.5", "1e30"), 1000, random())
    assert all(abs(knot.place) < 2**63 for knot in huge.knots)


def test_texts_become_ranks() -> None:
    text = Column("name", "text", "text")
    values = [*named("1", "3", "9"), *named("2", "7", frequency=0.2)]
    found = with_knots(text, values, 100, random())
    places = [knot.place for knot in found.knots]
    assert places == sorted(places)
    assert len(set(places)) == 5
    assert [knot.frequency for knot in found.knots] == [None, 0.2, None, 0.2, None]
    low, common, middle = places[:3]
    assert common == pytest.approx((low + middle) / 2, rel=1e-6)


def test_nothing_of_a_text_is_written_down() -> None:
    text = Column("name", "text", "text")
    found = with_knots(text, [Named(Decimal(rank), 12, 0.1) for rank in range(5)], 100, random())
    written = msgspec.json.encode(found)
    assert msgspec.json.decode(written, type=Column) == found
    assert [set(asdict(knot)) for knot in found.knots] == [{"place", "width_bytes", "frequency", "kept"}] * 5
    assert all(knot.kept is None for knot in found.knots)


def test_a_column_moves_with_the_one_that_it_refers_to() -> None:
    lines = named(*(str(n * n * 1000) for n in range(1, 30)))
    parent = with_knots(WIDE, lines, 100_000, random())
    child = referring(Column("c", "bigint", "integer"), lines[4:9], parent, lines)
    assert [knot.place for knot in child.knots] == [knot.place for knot in parent.knots[4:9]]
    between = referring(Column("c", "bigint", "integer"), named("1001"), parent, lines)
    assert parent.knots[0].place <= between.knots[0].place <= parent.knots[1].place


@pytest.mark.parametrize("kind", ["integer", "text", "timestamp"])
def test_a_column_without_statistics_has_no_knots(kind: Kind) -> None:
    assert with_knots(Column("c", "x", kind), [], 0, random()).knots == ()
    assert referring(Column("c", "x", kind), [], Column("p", "x", kind), []).knots == ()
