"""Which block is late: beside what others took, first blocks beside first ones."""

from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from pgassay.fleet.dask_executor import HANGS, HANGS_S, LATE, Pace


def test_before_a_block_has_come_home_nothing_is_late() -> None:
    assert Pace().usual_s("h1") is None
    assert not Pace().late("h1", 1e9)


def test_a_host_that_still_prepares_its_data_is_compared_with_first_blocks_alone() -> None:
    pace = Pace()
    for seconds in (100.0, 10.0, 10.0):
        pace.ended("h1", seconds)
    assert pace.usual_s("h1") == 10.0
    assert pace.usual_s("h2") == 100.0
    assert pace.late("h1", 40.0)
    assert not pace.late("h2", 40.0)


def test_a_second_block_is_compared_with_first_ones_where_there_is_no_other() -> None:
    pace = Pace()
    pace.ended("h1", 100.0)
    assert pace.late("h1", 301.0)
    assert not pace.late("h1", 299.0)


def test_a_block_hangs_after_many_times_what_blocks_take_and_not_before_ten_minutes() -> None:
    pace = Pace()
    assert not pace.hangs("h1", 1e9)
    pace.ended("h1", 1.0)
    assert not pace.hangs("h1", HANGS_S)
    assert pace.hangs("h1", HANGS_S + 1.0)
    pace.ended("h1", HANGS_S)
    assert not pace.hangs("h1", HANGS * HANGS_S)
    assert pace.hangs("h1", HANGS * HANGS_S + 1.0)


@given(st.lists(st.floats(1.0, 100.0), min_size=1), st.floats(0.0, 1000.0))
def test_late_is_far_longer_than_the_median(lengths_s: list[float], seconds: float) -> None:
    pace = Pace()
    for each in (1.0, *lengths_s):
        pace.ended("h1", each)
    assert pace.late("h1", seconds) == (seconds > LATE * median(lengths_s))
