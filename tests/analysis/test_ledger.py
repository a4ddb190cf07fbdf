"""What a recovered ledger is set against: acknowledged, in flight, never sent, missing in the middle."""

from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.power_cuts import MARGIN_NS, Comparison, compare_ledger

SECOND_NS = 1_000_000_000
CUT_NS = 100 * SECOND_NS


def client(*seconds: float) -> list[tuple[int, bool]]:
    """Commits that were answered so many seconds before the cut."""
    return [(CUT_NS - int(each * SECOND_NS), True) for each in seconds]


def test_all_acknowledged_commits_there_is_sound() -> None:
    assert compare_ledger({0: (3, 3)}, {0: client(3, 2, 1)}, CUT_NS) == Comparison(0, 0.0, 0, 0)


def test_the_one_in_flight_may_be_there_or_not() -> None:
    later = [*client(3, 2), (CUT_NS + SECOND_NS, True), (CUT_NS + 2 * SECOND_NS, True)]
    assert compare_ledger({0: (3, 3)}, {0: later}, CUT_NS) == compare_ledger({0: (2, 2)}, {0: later}, CUT_NS)
    assert compare_ledger({0: (3, 3)}, {0: later}, CUT_NS).invented == 0


def test_what_was_sent_after_the_cut_cannot_be_there() -> None:
    later = [*client(3, 2), (CUT_NS + SECOND_NS, True), (CUT_NS + 2 * SECOND_NS, True)]
    assert compare_ledger({0: (4, 4)}, {0: later}, CUT_NS).invented == 1
    assert compare_ledger({9: (2, 2)}, {}, CUT_NS).invented == 1


def test_lost_commits_are_counted_with_the_time_of_the_first() -> None:
    found = compare_ledger({0: (1, 1)}, {0: client(3, 2, 1), 1: client(0.5)}, CUT_NS)
    assert (found.lost, found.loss_ms) == (3, 2000.0)


def test_what_was_answered_just_before_the_cut_is_not_judged() -> None:
    just = [(CUT_NS - MARGIN_NS + 1, True)]
    assert compare_ledger({}, {0: just}, CUT_NS).lost == 0
    assert compare_ledger({}, {0: [(CUT_NS - MARGIN_NS, True)]}, CUT_NS).lost == 1


def test_a_hole_is_found_and_a_failed_transaction_leaves_none() -> None:
    assert compare_ledger({0: (2, 3)}, {0: client(3, 2, 1)}, CUT_NS).holes == 1
    failed = client(3, 2, 1)
    failed[1] = (failed[1][0], False)
    assert compare_ledger({0: (2, 3)}, {0: failed}, CUT_NS) == Comparison(0, 0.0, 0, 0)


@given(st.lists(st.floats(0.1, 50), max_size=30), st.integers(0, 30))
def test_a_prefix_loses_exactly_the_rest(seconds: list[float], kept: int) -> None:
    mine = client(*sorted(seconds, reverse=True))
    kept = min(kept, len(mine))
    found = compare_ledger({0: (kept, kept)} if kept else {}, {0: mine}, CUT_NS)
    assert (found.lost, found.invented, found.holes) == (len(mine) - kept, 0, 0)
