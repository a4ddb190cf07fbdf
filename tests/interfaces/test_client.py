"""What is made of measured exchanges: trips, and an offset of clocks that is wrong by half a trip at most."""

from hypothesis import given
from hypothesis import strategies as st

from pgassay.interfaces.client import (
    CLOCK_ERROR,
    CLOCK_OFFSET,
    RESPONSES,
    ROUND_TRIP,
    SHORTEST,
    ClockExchange,
    NetworkPath,
)

TRIPS = st.integers(0, 10**9)


def test_the_median_and_the_shortest_trip_are_told_in_microseconds() -> None:
    found = NetworkPath((900_000, 100_000, 300_000), ()).responses()
    assert (found[ROUND_TRIP.name], found[SHORTEST.name]) == (300.0, 100.0)
    assert found[CLOCK_OFFSET.name] is None


def test_what_was_not_measured_is_null() -> None:
    assert dict(NetworkPath((), ()).responses()) == {each.name: None for each in RESPONSES}


@given(st.integers(-(10**12), 10**12), st.lists(st.tuples(TRIPS, TRIPS), min_size=1))
def test_the_offset_is_within_its_error_however_long_either_way_takes(
    planted_ns: int, ways: list[tuple[int, int]]
) -> None:
    sent_ns = 10**18
    clocks = [ClockExchange(sent_ns, there + back, sent_ns + there + planted_ns) for there, back in ways]
    found = NetworkPath((), clocks).responses()
    offset_us, error_us = found[CLOCK_OFFSET.name], found[CLOCK_ERROR.name]
    assert offset_us is not None
    assert error_us is not None
    assert abs(offset_us * 1e3 - planted_ns) <= error_us * 1e3 + 512  # of a sum of doubles near 1e18
    assert error_us == min(there + back for there, back in ways) / 2e3
