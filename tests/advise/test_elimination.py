"""A line stays only where leaving it out was shown to be worse."""

import pytest

from pgassay import library
from pgassay.advise.elimination import (
    Compared,
    judged,
    kept_together,
    left_out_in_turn,
    put_back_in_turn,
    reduced,
    restored,
)
from pgassay.advise.space import Configuration
from pgassay.analysis.verdicts import Kind, Verdict

START = Configuration({"a": "1", "b": "1", "c": "1", "other": "x"})
BEST = START.with_values({"a": "2", "b": "2"})


def compared(kind: Kind) -> Compared:
    [effect] = library.compare({"best": [1.0] * 5, "without": [0.9, 0.91, 0.9, 0.92, 0.9]}, "best")
    return Compared(effect, Verdict(kind, kind.value))


def test_each_change_is_left_out_once() -> None:
    assert left_out_in_turn(BEST, START) == {
        "a": START.with_values({"b": "2"}),
        "b": START.with_values({"a": "2"}),
    }


@pytest.mark.parametrize(
    ("kind", "kept"),
    [(Kind.WORSE, True), (Kind.FAILED, True), (Kind.EQUIVALENT, False), (Kind.UNRESOLVED, False), (Kind.BETTER, False)],
)
def test_only_what_is_worse_without_stays(kind: Kind, kept: bool) -> None:
    lines = judged(BEST, START, {START.with_values({"a": "2"}): compared(kind)})
    assert {each.name: each.kept for each in lines} == {"a": False, "b": kept}
    assert lines[0].name == ("b" if kept else "a")
    assert reduced(START, lines) == (START.with_values({"b": "2"}) if kept else START)


def test_of_two_lines_that_do_the_same_one_is_put_back() -> None:
    lines = judged(BEST, START, {})
    back = put_back_in_turn(START, lines)
    assert back == {"a": START.with_values({"a": "2"}), "b": START.with_values({"b": "2"})}
    found = restored(
        START, lines, {back["a"]: compared(Kind.UNRESOLVED), back["b"]: compared(Kind.BETTER)}, higher=True
    )
    assert {each.name: each.kept for each in found} == {"a": False, "b": True}
    assert restored(START, lines, {}, higher=True) == lines


def test_lines_that_are_missed_only_together_stay_together() -> None:
    lines = judged(BEST, START, {START.with_values({"a": "2"}): compared(Kind.WORSE)})
    together = kept_together(lines, {"a", "b"})
    assert {each.name: each.together for each in together} == {"a": True, "b": False}
    assert reduced(START, together) == BEST


def test_a_line_that_no_trial_has_shown_to_matter_does_not_stay_with_the_others() -> None:
    lines = kept_together(judged(BEST, START, {}), {"b"})
    assert [(each.name, each.kept, each.together) for each in lines] == [("b", True, True), ("a", False, False)]
    assert kept_together(judged(BEST, START, {}), set()) == judged(BEST, START, {})
