"""Neighbouring windows with and without a viewer are compared, whichever came first."""

from math import log

import pytest

from benchmarks.live_cost import Span, neighbours

WATCHED, ALONE = Span(True, 91.0, 0.003), Span(False, 101.0, 0.0)


def test_the_order_of_a_pair_turns_and_its_ratio_does_not() -> None:
    assert neighbours([WATCHED, ALONE, ALONE, WATCHED]) == pytest.approx([log(91 / 101)] * 2)


def test_a_pair_without_events_or_transactions_is_left_out() -> None:
    assert neighbours([Span(True, 91.0, 0.003, told=False), ALONE, WATCHED, Span(False, 0.0, 0.0)]) == []


def test_a_last_window_that_stands_alone_is_left_out() -> None:
    assert neighbours([WATCHED, ALONE, ALONE]) == pytest.approx([log(91 / 101)])
