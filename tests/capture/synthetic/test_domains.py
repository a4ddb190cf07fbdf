"""Distinct values by common values and histogram: as many as were counted, in order, with their shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.synthetic.generation import lay_out, share_out
from pgassay.capture.synthetic.statistics import Column, Knot


def column(commons: dict[int, float], bounds: list[int], null_fraction: float = 0.0) -> Column:
    knots = [Knot(place, 4, share) for place, share in commons.items()] + [Knot(place, 4) for place in bounds]
    knots.sort(key=lambda knot: knot.place)
    return Column("c", "integer", "integer", null_fraction, 4, -1.0, 0.0, tuple(knots))


def places(of: Column) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array([knot.place for knot in of.knots], np.int64)


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 500))
def test_things_are_shared_out_evenly_as_far_as_there_is_room(room: list[int], count: int) -> None:
    given_room = np.array(room, np.int64)
    found = share_out(count, given_room)
    assert found.sum() == min(count, sum(room))
    assert (found <= given_room).all()
    assert (found >= 0).all()
    left = found[found < given_room]
    if len(left):
        assert found.max() - left.min() <= 1


@given(st.data())
def test_values_are_distinct_and_common_ones_keep_their_share(data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(-1000, 1000), min_size=4, max_size=40, unique=True))
    many = data.draw(st.integers(0, len(numbers) - 2))
    commons = {number: 0.5 / many for number in numbers[:many]} if many else {}
    described = column(commons, numbers[many:])
    count = data.draw(st.integers(len(numbers), 3000))
    found = lay_out(described, places(described), count)
    assert (np.diff(found.slots) > 0).all()
    assert found.shares.sum() == pytest.approx(1.0)
    assert len(found.slots) <= count
    for number, share in commons.items():
        assert found.shares[found.slots == number].sum() == pytest.approx(share)
    outer = [*numbers[many:], *commons]
    assert found.slots[0] >= min(outer)
    assert found.slots[-1] <= max(outer)


def test_each_bin_of_the_histogram_has_the_same_share() -> None:
    described = column({}, [0, 10, 1000, 100_000])
    found = lay_out(described, places(described), 300)
    shares = [found.shares[(found.slots > low) & (found.slots <= high)].sum() for low, high in ((-1, 10), (10, 1000))]
    assert shares == pytest.approx([1 / 3, 1 / 3])
    assert len(found.slots) == 300, "the first bin has room for 11, the others take the rest"


def test_a_dense_key_is_every_number() -> None:
    described = column({}, [1, 250, 500, 750, 1000])
    found = lay_out(described, places(described), 1000, unique=True)
    assert found.slots.tolist() == list(range(1, 1001))
    assert found.shares.tolist() == [0.001] * 1000


def test_a_unique_column_goes_on_above_where_there_is_no_room() -> None:
    described = column({}, [1, 5, 10])
    assert len(lay_out(described, places(described), 20, unique=True).slots) == 20
    assert len(lay_out(described, places(described), 20, unique=True, highest=14).slots) == 14


def test_without_a_histogram_the_common_values_are_all() -> None:
    described = column({3: 0.6, 7: 0.3}, [], null_fraction=0.1)
    found = lay_out(described, places(described), 2)
    assert found.slots.tolist() == [3, 7]
    assert found.shares.tolist() == pytest.approx([2 / 3, 1 / 3])


def test_without_statistics_values_lie_side_by_side() -> None:
    described = column({}, [])
    assert lay_out(described, places(described), 3).slots.tolist() == [1, 2, 3]


def test_microseconds_do_not_overflow() -> None:
    described = column({}, [700_000_000_000_000, 800_000_000_000_000])
    found = lay_out(described, places(described), 1_000_000)
    assert len(found.slots) == 1_000_000
    assert found.slots[0] >= 700_000_000_000_000
    assert found.slots[-1] == 800_000_000_000_000
