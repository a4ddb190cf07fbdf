"""Several objectives by plain values: what dominates what, which points are picked, what a confirmation says."""

from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.advise import RESOLUTION, TPS, space_with
from benchmarks.advise_front import COST, OBJECTIVES
from pgassay.advise import budget
from pgassay.advise.front import Standing, dominates, judged, picked
from pgassay.advise.report import chance, line_standing, standing
from pgassay.advise.smoothing import Batches, kept_limits, probability, promising
from pgassay.advise.space import Configuration, Limits
from pgassay.advise.task import PointTrials, Task
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.thresholds import Limit, Relation

SPACE = space_with(6)
LEVELS = ("1", "2", "4", "8", "16")


def at(index: int, other: int = 0) -> Configuration:
    return SPACE.start.with_values({"s0": LEVELS[index], "s1": LEVELS[other]})


def test_what_is_as_good_in_everything_and_better_in_something_dominates() -> None:
    assert dominates((1.0, 0.0), (0.5, 0.0))
    assert not dominates((1.0, 0.0), (1.0, 0.0))
    assert not dominates((1.0, -0.1), (0.5, 0.0))
    assert dominates((1.0, -0.01), (0.5, 0.0), 0.02)
    assert not dominates((0.01, 0.0), (0.0, 0.0), 0.02)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=20))
def test_the_front_dominates_all_the_rest_and_nothing_of_itself(values: list[tuple[float, float]]) -> None:
    gains = {Configuration({"n": str(number)}): each for number, each in enumerate(values)}
    front = picked(gains, len(gains))
    rest = [each for each in gains if each not in front]
    assert not any(dominates(gains[one], gains[other]) for one in front for other in front)
    assert all(any(dominates(gains[one], gains[each]) for one in front) for each in rest)


def test_points_are_picked_from_end_to_end() -> None:
    gains = {at(0): (0.0, 1.0), at(1): (0.1, 0.9), at(2): (0.5, 0.5), at(3): (1.0, 0.0), at(4): (0.4, 0.4)}
    assert picked(gains, 3) == [at(3), at(2), at(0)]
    assert picked(gains, 9) == [at(3), at(2), at(1), at(0)]
    assert picked({}, 3) == []


def test_what_was_seen_once_counts_half_and_what_failed_nothing() -> None:
    once, thrice, failed = at(0), at(1), at(2)
    batches: Batches = [
        [(once, (1.0, 2.0)), (thrice, (1.0, 2.0)), (failed, (9.0, 9.0))],
        [(failed, None), (thrice, (1.0, 2.0))],
        [(thrice, (1.0, 2.0))],
    ]
    found = promising(None, batches)
    assert found == {at(0): (0.5, 1.0), at(1): (0.75, 1.5)}


def seen(
    speeds: dict[Configuration, float],
    costs: dict[Configuration, float],
    limits: tuple[Limit, ...] = (),
    blocks: int = 6,
) -> PointTrials:
    """Values that vary by one per cent from block to block."""
    everything = list(speeds)
    wobble = [1.0, 1.01, 0.99, 1.005, 0.995, 1.0]

    def observed(values: dict[Configuration, float]) -> list[Observation]:
        return [
            Observation(block + 1, str(number), "", "", values[each] * wobble[(block + number) % 6])
            for block in range(blocks)
            for number, each in enumerate(everything)
        ]

    observations = {"tps": observed(speeds), "cost": observed(costs)}
    return PointTrials(OBJECTIVES, everything, observations, {"tps": TPS, "cost": COST}, limits, RESOLUTION)


def standings(found: PointTrials, blocks: int = 6) -> dict[str, str]:
    labels = dict(zip(("start", "A", "B", "C", "D"), found.configurations, strict=False))
    searched = {each: (0.0, 0.0) for name, each in labels.items() if name != "start"}
    points = judged(found, labels, searched, blocks)
    return {each.label: standing(each) for each in points}


def test_a_confirmation_tells_front_dominated_and_no_gain_apart() -> None:
    speeds = {at(0): 100.0, at(1): 150.0, at(2): 120.0, at(3): 140.0, at(4): 100.2}
    costs = {at(0): 10.0, at(1): 13.0, at(2): 9.0, at(3): 14.0, at(4): 10.01}
    assert standings(seen(speeds, costs)) == {
        "start": "reference", "A": "front", "B": "front", "C": "dominated by A", "D": "dominated by B",
    }  # fmt: skip
    alone = {each: speeds[each] for each in (at(0), at(4))}
    assert standings(seen(alone, costs))["A"] == "no gain shown"


def test_a_gain_within_the_resolution_is_no_trade() -> None:
    speeds = {at(0): 100.0, at(1): 150.0, at(2): 130.0}
    costs = {at(0): 10.0, at(1): 5.0, at(2): 4.99}
    assert standings(seen(speeds, costs))["B"] == "dominated by A"


def test_a_limit_is_held_with_its_probability_and_a_point_that_breaks_it_dominates_nothing() -> None:
    speeds = {at(0): 100.0, at(1): 150.0, at(2): 120.0}
    costs = {at(0): 10.0, at(1): 9.0, at(2): 9.5}
    limit = Limit("tps < 140", TPS, Relation.BELOW, 140.0, False)
    found = standings(seen(speeds, costs, (limit,)))
    assert found == {"start": "reference", "A": "breaks a limit", "B": "front"}


def test_what_failed_once_or_has_too_few_blocks_is_no_point() -> None:
    speeds, costs = {at(0): 100.0, at(1): 150.0}, {at(0): 10.0, at(1): 9.0}
    whole = seen(speeds, costs)
    failed = replace(whole, failed={at(1): "no space"})
    assert standings(failed)["A"] == "failed"
    assert standings(seen(speeds, costs, blocks=4), 4)["A"] == "failed"


def test_intervals_are_those_of_all_points_and_objectives_together() -> None:
    speeds = {at(0): 100.0, at(1): 150.0, at(2): 120.0}
    costs = {at(0): 10.0, at(1): 13.0, at(2): 9.0}
    found = seen(speeds, costs)
    points = judged(found, {"A": at(1), "B": at(2)}, {}, 6)
    assert {effect.comparisons for each in points for effect in each.effects} == {4}
    assert all("one look, Bonferroni over 4" in effect.method for each in points for effect in each.effects)


def test_a_line_of_a_point_is_shown_by_the_screening_alone() -> None:
    points = judged(
        seen({at(0): 100.0, at(1, 1): 150.0}, {at(0): 10.0, at(1, 1): 13.0}), {"start": at(0), "A": at(1, 1)}, {}, 6
    )
    asked = Task(
        SPACE, Limits(64 << 30, 4), budget.amounts(3600.0, 5.0, 6, finalists=3, objectives=2), True, 0.05, 1, (False,)
    )
    point = replace(points[1], shown={"s0": (), "s1": (0,)})
    assert line_standing(asked, point, "s0", OBJECTIVES) == "not shown to help by itself"
    assert line_standing(asked, point, "s1", OBJECTIVES) == "shown by the screening to help tps"


def test_a_probability_is_of_one_more_trial() -> None:
    below = Limit("x", TPS, Relation.BELOW, 10.0, False)
    above = Limit("x", TPS, Relation.AT_LEAST, 10.0, False)
    even = [8.0, 12.5]  # as far below ten as above it, in logarithms
    assert probability(even, below) == pytest.approx(0.5)
    assert probability([9.0, 9.1, 9.2], below) + probability([9.0, 9.1, 9.2], above) == pytest.approx(1.0)
    assert probability([9.0, 9.1, 9.2], below) < probability([9.0, 9.1, 9.2] * 4, below)
    assert [probability([9.0, 9.0], each) for each in (below, above)] == [1.0, 0.0]
    assert probability([9.0], below) != probability([9.0], below), "of one trial nothing is known"
    share = Response("hot_share", "HOT", "share", Better.HIGHER, Scale.DIFFERENCE)
    assert probability([0.8, 0.9], Limit("x", share, Relation.ABOVE, 0.85, False)) == pytest.approx(0.5)


@pytest.mark.parametrize(("value", "said"), [(1.0, "> 99 %"), (0.0, "< 1 %"), (0.5, "50 %"), (nan, "not known")])
def test_a_probability_is_never_said_to_be_sure(value: float, said: str) -> None:
    assert chance(value) == said


def test_a_limit_on_a_change_is_about_the_start_of_the_same_block() -> None:
    speeds = {at(0): 100.0, at(1): 150.0}
    costs = {at(0): 10.0, at(1): 12.0}
    limit = Limit("cost < +10 %", COST, Relation.BELOW, 1.1, True)
    points = judged(seen(speeds, costs, (limit,)), {"A": at(1)}, {at(1): (0.4, 0.2)}, 6)
    assert points[0].standing is Standing.BREAKS
    assert points[0].kept[0].probability < 0.01


def test_limits_are_kept_by_name_and_changes_are_against_the_start() -> None:
    below, change = Limit("tps < 140", TPS, Relation.BELOW, 140.0, False), Limit("c", COST, Relation.BELOW, 1.1, True)
    seen = {
        "tps": [Observation(block, name, "", "", 100.0 + block) for block in range(1, 7) for name in ("best", "start")],
        "cost": [
            Observation(block, name, "", "", value * (1 + block / 1000))
            for block in range(1, 7)
            for name, value in (("best", 150.0), ("start", 100.0))
        ],
    }
    keeps, breaks = kept_limits([below, change], seen, "best", "start")
    assert (keeps.limit, breaks.limit) == ("tps < 140", "c")
    assert keeps.probability > 0.99
    assert breaks.probability < 0.01
    assert kept_limits([change], seen, "start", "best")[0].probability > 0.99
