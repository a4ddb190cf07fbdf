"""A line stays only where leaving it out was shown to be worse."""

import pytest

from pgassay import library
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.proof import judged, kept_together, left_out_in_turn, reduced, supported
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.space import Configuration, Machine, space_of
from pgassay.advise.task import Compared
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


def test_lines_that_are_missed_only_together_stay_together() -> None:
    lines = judged(BEST, START, {START.with_values({"a": "2"}): compared(Kind.WORSE)})
    together = kept_together(lines, {"a", "b"})
    assert {each.name: each.together for each in together} == {"a": True, "b": False}
    assert reduced(START, together) == BEST


def test_a_line_that_no_trial_has_shown_to_matter_does_not_stay_with_the_others() -> None:
    lines = kept_together(judged(BEST, START, {}), {"b"})
    assert [(each.name, each.kept, each.together) for each in lines] == [("b", True, True), ("a", False, False)]
    assert kept_together(judged(BEST, START, {}), set()) == judged(BEST, START, {})


@pytest.mark.parametrize(
    ("value", "far", "effect", "standing", "left_out", "kept"),
    [
        ("16", "16", 1.2, Standing.ACTIVE, Kind.UNRESOLVED, True),
        ("8", "16", 1.2, Standing.ACTIVE, Kind.UNRESOLVED, True),
        ("1", "16", 1.2, Standing.ACTIVE, Kind.UNRESOLVED, False),
        ("16", "16", 0.8, Standing.ACTIVE, Kind.UNRESOLVED, False),
        ("16", "16", 1.2, Standing.OPEN, Kind.UNRESOLVED, False),
        ("16", "16", 1.2, Standing.ACTIVE, Kind.EQUIVALENT, False),
        ("16", "16", 1.2, Standing.ACTIVE, Kind.BETTER, False),
    ],
)
def test_what_is_not_resolved_stays_where_the_screening_has_shown_that_it_helps(
    value: str, far: str, effect: float, standing: Standing, left_out: Kind, kept: bool
) -> None:
    setting = Setting("a", "2", Scale.LOG, low="1", high="16")
    space = space_of([setting], Machine(8 << 30, 2), {})
    best = space.start.with_values({"a": value})
    lines = judged(best, space.start, {space.start: compared(left_out)})
    shown = Screened("a", "2", far, effect, effect / 1.1, effect * 1.1, standing)
    [line] = supported(lines, [shown], space, higher=True)
    assert line.kept is kept
    assert (line.screened == shown) is kept
