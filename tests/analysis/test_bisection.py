"""The posterior over commits: by the formula, by hand, where commits cannot be measured, and in simulated histories."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.commits import (
    SURE,
    Measured,
    NextBlock,
    change,
    difference,
    found,
    measured,
    next_block,
    shown,
    spans,
)

GOOD_AND_BAD = [Measured(4, contrast) for contrast in (-0.05, -0.06, -0.04, -0.05, -0.055)]


def shares(last: int, seen: list[Measured]) -> list[float]:
    return [span.share for span in spans(last, seen)]


def test_before_a_block_all_commits_are_alike_and_a_span_counts_for_as_many_as_it_has() -> None:
    assert shares(4, []) == [0.25] * 4
    assert shares(4, GOOD_AND_BAD) == pytest.approx([0.25] * 4), "bad alone tells nothing of the place"
    assert [(s.after, s.upto, round(s.share, 9)) for s in spans(4, [], {2, 3})] == [(0, 1, 0.25), (1, 4, 0.75)]


def test_it_is_the_integral_over_effect_and_spread() -> None:
    seen = [Measured(2, 0.9), Measured(2, 1.4), Measured(2, 0.7), Measured(1, 0.3), Measured(1, 0.8)]

    effects = np.linspace(-12.0, 12.0, 4801)[:, None]
    log_spreads = np.linspace(-3.0, 6.0, 901)

    def mass(place: int) -> float:
        squares = sum((each.contrast - (effects if each.commit >= place else 0.0)) ** 2 for each in seen)
        return float(np.exp(-squares / (2 * np.exp(2 * log_spreads)) - len(seen) * log_spreads).sum())

    first, second = mass(1), mass(2)
    assert shares(2, seen) == pytest.approx([first / (first + second), second / (first + second)], rel=1e-2)


def test_a_commit_like_the_good_one_moves_the_change_behind_it() -> None:
    like_good = [*GOOD_AND_BAD, *(Measured(2, contrast) for contrast in (0.002, -0.004, 0.001))]
    assert sum(shares(4, like_good)[2:]) > 0.99
    like_bad = [*GOOD_AND_BAD, *(Measured(2, contrast) for contrast in (-0.05, -0.048, -0.056))]
    assert sum(shares(4, like_bad)[:2]) > 0.99


def test_the_next_block_goes_to_the_middle_and_to_bad_while_the_effect_is_hardly_known() -> None:
    assert next_block(4, [], spans(4, [])) == NextBlock(4)
    assert next_block(4, GOOD_AND_BAD, spans(4, GOOD_AND_BAD)) == NextBlock(2)
    like_good = [*GOOD_AND_BAD, *(Measured(2, contrast) for contrast in (0.002, -0.004, 0.001))]
    assert next_block(4, like_good, spans(4, like_good)) in (NextBlock(3), NextBlock(3, 2))
    assert next_block(1, [Measured(1, 0.1)], spans(1, [Measured(1, 0.1)])) is None
    often = [*(Measured(2, c) for c in (-0.4, 0.2, 0.3, -0.1, -0.3)), *(Measured(1, 0.02 * c) for c in range(-50, 50))]
    assert next_block(2, often, spans(2, often)) == NextBlock(2), "a hundred blocks of the one, five of the other"


def test_a_suspected_commit_is_set_beside_the_one_before_it() -> None:
    noise = (0.03, -0.03)
    seen = [
        Measured(commit, level + each) for commit, level in ((8, -0.05),) * 5 + ((3, 0.0), (4, -0.05)) for each in noise
    ]
    known = spans(8, seen)
    assert next_block(8, seen, known) == NextBlock(4, 3), "what is before it and what is after are ruled out at once"
    apart = [*seen, *(Measured(4, -0.05 + each, 3) for each in noise)]
    alike = [*seen, *(Measured(4, each, 3) for each in noise)]
    assert spans(8, apart)[3].share > known[3].share > spans(8, alike)[3].share


def test_blocks_of_two_others_count_where_the_change_is_between_them() -> None:
    seen = [Measured(3, -0.05), Measured(3, -0.06), Measured(3, -0.04), Measured(2, -0.05, 1), Measured(2, -0.055, 1)]
    assert spans(3, seen)[1].share > 0.9
    effect = change(3, seen, spans(3, seen)[1], 100)
    assert effect.estimate == pytest.approx(exp(-0.051))


def test_a_span_is_named_when_it_is_sure_enough_and_where_there_is_no_other() -> None:
    assert found(spans(4, GOOD_AND_BAD)) is None
    assert found(spans(3, [], {1, 2})) == spans(3, [], {1, 2})[0]
    blocks = [*GOOD_AND_BAD, *(Measured(c, x) for c in (1, 2) for x in (0.0, 0.01, -0.01)), *(Measured(3, -0.05),) * 3]
    span = found(spans(4, blocks))
    assert span is not None
    assert (span.after, span.upto, span.share > SURE) == (2, 3, True)
    effect = change(4, blocks, span, 100)
    assert effect.low < exp(-0.05) < effect.high < 1.0
    assert not effect.doubtful


def test_the_effect_of_the_only_commit_has_the_interval_of_good_against_bad() -> None:
    contrasts = [-0.05, -0.06, -0.05, -0.04, -0.05, -0.07]
    blocks = [Measured(1, contrast) for contrast in contrasts]
    (span,) = spans(1, blocks)
    effect, mean = change(1, blocks, span, 40), difference(contrasts, 40)
    assert effect.estimate == pytest.approx(exp(mean.mean))
    assert (effect.low, effect.high) == pytest.approx((exp(mean.mean - mean.half), exp(mean.mean + mean.half)))
    assert change(1, blocks, span, 400).low < effect.low, "more looks, a wider interval"


def test_two_changes_are_doubted() -> None:
    rng = np.random.default_rng(1)
    level = {1: 0.0, 2: -0.05, 3: -0.1}
    blocks = [Measured(commit, mean + float(rng.normal(0.0, 0.01))) for commit, mean in level.items() for _ in range(8)]
    known = spans(3, blocks)
    assert change(3, blocks, max(known, key=lambda span: span.share), 100).doubtful


def test_good_against_bad_has_no_interval_before_the_fifth_block_and_must_be_clear_of_nothing() -> None:
    few = difference([-0.05, -0.06, -0.05, -0.04], 20)
    assert not shown(few)
    enough = difference([-0.05, -0.06, -0.05, -0.04, -0.05], 20)
    assert shown(enough)
    assert measured(enough)
    assert not shown(difference([0.05, -0.06, 0.05, -0.04, 0.01], 20))


@pytest.mark.parametrize(("last", "seen", "skipped"), [(0, [], ()), (3, [Measured(4, 0.1)], ()),
                                                       (3, [Measured(0, 0.1)], ()),
                                                       (3, [Measured(2, 0.1, 2)], ()), (3, [Measured(2, 0.1, -1)], ()),
                                                       (3, [], (3,)), (3, [], (0,))])  # fmt: skip
def test_what_is_no_history_is_refused(last: int, seen: list[Measured], skipped: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"good and bad|not in this history"):
        spans(last, seen, skipped)


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(1, 12), st.integers(-300, 300)), max_size=30),
    st.sets(st.integers(1, 11)),
)
@settings(max_examples=150, deadline=None)
def test_shares_are_probabilities_and_the_order_of_blocks_is_of_no_account(
    last: int, blocks: list[tuple[int, int]], skipped: set[int]
) -> None:
    gone = {commit for commit in skipped if commit < last}
    seen = [Measured(commit, percent / 100) for commit, percent in blocks if commit <= last and commit not in gone]
    known = spans(last, seen, gone)
    assert sum(span.share for span in known) == pytest.approx(1.0)
    assert min(span.share for span in known) >= 0.0
    assert [span.upto for span in known] == [commit for commit in range(1, last + 1) if commit not in gone]
    assert [span.share for span in spans(last, seen[::-1], gone)] == pytest.approx([span.share for span in known])
    asked = next_block(last, seen, known)
    assert asked is None or asked.commit in {span.upto for span in known}
    assert asked is None or asked.against in {0, *(each.commit for each in seen)}, "only what can be measured"


@pytest.mark.parametrize("place", [1, 9, 16])
def test_a_planted_change_is_found_beside_commits_that_cannot_be_measured(place: int) -> None:
    last, gone, rng = 16, {4, 5, 6}, np.random.default_rng(place)
    seen: list[Measured] = []
    named = None
    while named is None and len(seen) < 300:
        known = spans(last, seen, gone)
        asked = next_block(last, seen, known)
        assert asked is not None
        assert not {asked.commit, asked.against} & gone
        changed = asked.against < place <= asked.commit
        seen.append(Measured(asked.commit, float(rng.normal(log(0.95) if changed else 0.0, 0.02)), asked.against))
        named = found(spans(last, seen, gone))
    assert named is not None
    assert named.after < place <= named.upto
