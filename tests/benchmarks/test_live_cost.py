"""Windows with and without a viewer are compared by the seconds that lie wholly in them."""

from math import log

import pytest

from benchmarks.live_cost import Span, neighbours

FIRST, SECOND = Span(True, 10.2, 13.3, 0.0), Span(False, 15.0, 18.2, 0.0)


def test_seconds_that_reach_over_an_edge_do_not_count() -> None:
    tps = {11.1: 1.0, 12.1: 90.0, 13.1: 92.0, 14.1: 1.0, 15.1: 1.0, 16.1: 100.0, 17.1: 100.0, 18.1: 103.0, 19.1: 1.0}
    assert neighbours([FIRST, SECOND], tps) == pytest.approx([log(91 / 101)])
    assert neighbours([SECOND, FIRST], tps) == pytest.approx([log(91 / 101)])


def test_a_pair_with_an_empty_side_is_left_out() -> None:
    assert neighbours([FIRST, SECOND], {12.1: 90.0}) == []
