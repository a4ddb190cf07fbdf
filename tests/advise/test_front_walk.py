"""The whole way to a front on simulated servers whose truth is known; its text, its page, its JSON."""

from functools import cache
from itertools import combinations
from math import exp
from pathlib import Path

import pytest

from benchmarks.advise import LIMITS, TPS, TRIAL_S, space_with
from benchmarks.advise_front import OBJECTIVES, ThreeServer, TwoServer, area, fronted, ideal, volume
from benchmarks.advise_front import THREE as RESPONSES
from pgassay.advise import budget
from pgassay.advise.asking import objectives_of
from pgassay.advise.front import judged
from pgassay.advise.report import auto_confs, headline, point_rows, points_drawing, render, sections, values
from pgassay.advise.smoothing import SURE
from pgassay.advise.space import Configuration
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice, walk
from pgassay.errors import UsageError
from pgassay.report import page
from pgassay.report.charts import specified
from pgassay.report.findings import Findings
from pgassay.report.section import Figure, Folded, Sentences, Table
from pgassay.study.thresholds import Limit, Relation
from pgassay.testing.planted import make_run

TITLES = ("transactions per second", "cost of a transaction")


def task(server: TwoServer, points: int = 4, budget_s: float = 600.0) -> Task:
    steps = budget.amounts(
        budget_s, TRIAL_S, len(server.space.dimensions), finalists=points, objectives=len(server.responses)
    )
    return Task(server.space, LIMITS, steps, True, 0.05, server.seed, server.others)


def walked(server: TwoServer) -> Advice:
    return walk(task(server), server)


@cache
def found_on(seed: int) -> tuple[TwoServer, Advice]:
    server = TwoServer(space_with(6), 0.02, seed)
    return server, walked(server)


def test_points_across_the_front_are_found_and_confirmed() -> None:
    server, found = found_on(1)
    assert len(found.front) > 1
    outcome = fronted(server, [each.configuration for each in found.front], [])
    assert outcome.missed < 0.3
    assert outcome.false == 0
    for point in found.front:
        truth = server.gains(point.configuration)
        assert max(truth) > 0
        for effect, gain, sign in zip(point.effects, truth, (1, -1), strict=True):
            assert (effect.estimate > 1) == (sign * gain > 0) or effect.low < 1 < effect.high


def test_walked_again_it_decides_the_same() -> None:
    assert walked(TwoServer(space_with(6), 0.02, 1)) == found_on(1)[1]


def test_it_is_said_which_configuration_is_for_which_trade() -> None:
    server, found = found_on(1)
    wanted = task(server)
    told = render(wanted, found, OBJECTIVES, "runs/x")
    for point in found.points:
        assert f"\n{point.label}" in told
    assert f"{len(found.front)} points to choose from by tps and cost" in headline(found, OBJECTIVES)
    assert "picture: runs/x/confirmation/report/report.html" in told
    conf = auto_confs(wanted, found, OBJECTIVES)[f"point-{found.front[0].label}.conf"]
    changed = found.front[0].configuration.changes_from(wanted.space.start)
    assert [each for each in conf.splitlines() if not each.startswith("#")] == [
        f"{name} = '{value}'" for name, value in changed.items()
    ]
    told_values = values(wanted, found, OBJECTIVES, "runs/x")
    assert told_values["front"] == [each.label for each in found.front]
    assert [each["settings"] for each in told_values["points"] if each["label"] == found.front[0].label] == [changed]


def test_the_picture_has_a_cross_for_each_point_and_greys_what_is_not_offered() -> None:
    _, found = found_on(1)
    rows = point_rows(found, TITLES)
    assert [each["label"] for each in rows] == [each.label for each in found.points]
    chosen = {each["label"] for each in rows if each["standing"] == "front"}
    assert chosen == {each.label for each in found.front}
    shades = {each["shade"] for each in rows if each["label"] in chosen}
    assert len(shades) == 1
    assert not shades & {each["shade"] for each in rows if each["label"] not in chosen}
    assert all(each["x_low"] <= each["x"] <= each["x_high"] for each in rows)
    drawn = points_drawing(found, TITLES)
    assert drawn is not None
    assert specified(drawn.chart)["layer"]


def test_the_page_begins_with_the_answer_and_its_figure_is_not_called_as_the_section_is(tmp_path: Path) -> None:
    server, found = found_on(1)
    findings = Findings(make_run(tmp_path / "run"))
    answer, mine = sections(task(server), found, tuple(findings.responses)[:2])
    assert answer.name == "headline", "it takes the place of the run's own"
    sentences, _ = answer.blocks(findings)
    said, figure, table, their_lines, *lines = mine.blocks(findings)
    assert isinstance(said, Sentences)
    assert any(each.startswith("risks: ") for each in said.texts)
    assert isinstance(their_lines, Table)
    assert {str(row[0]) for row in their_lines.rows} == {each.label for each in found.front}
    assert isinstance(sentences, Sentences)
    assert isinstance(figure, Figure)
    assert isinstance(table, Table)
    assert "points to choose from" in sentences.texts[0]
    assert figure.name != mine.name, "a page finds both by name"
    assert [str(row[0]) for row in table.rows] == [each.label for each in found.points]
    folds = [each.summary for each in lines if isinstance(each, Folded)]
    assert folds[: len(found.front)] == [f"Lines of {each.label}" for each in found.front]


def test_the_page_has_one_interval_for_an_effect(tmp_path: Path) -> None:
    server, found = found_on(1)
    findings = Findings(make_run(tmp_path / "run"))
    assert "Verdict" in [each.section.title for each in page.chapters(findings, drawn=False)]
    own = sections(task(server), found, tuple(findings.responses)[:2])
    titles = [each.section.title for each in page.chapters(findings, drawn=False, own=own)]
    assert titles[1] == "The front"
    assert "Verdict" not in titles


def test_a_limit_is_hard() -> None:
    limit = Limit("tps < 1700", TPS, Relation.BELOW, 1700.0, False)
    server = TwoServer(space_with(6), 0.02, 1, sizes=(0.4, 0.3, 0.2, 0.1), limits=(limit,))
    found = walked(server)
    assert all(one.probability >= SURE for each in found.front for one in each.kept)
    assert all(each.kept for each in found.points)
    assert "keeps tps < 1700" in render(task(server), found, OBJECTIVES, "x")


class Sized(TwoServer):
    """Its second objective repeats to the byte, as the size of data does, and one setting alone changes it."""

    growth = 0.3

    def cost(self, configuration: Configuration) -> float:
        """The true log-size: 0 at the start."""
        return self.growth * (configuration.values["s0"] != "1")

    def all_of(self, configuration: Configuration, common: float) -> tuple[float, ...] | None:
        """One trial."""
        speed = self.measure(configuration, common)
        return None if speed is None else (speed, round(1e9 * exp(self.cost(configuration))))


class Fixed(Sized):
    """The size is always the same."""

    growth = 0.0


@pytest.mark.parametrize("kind", [Sized, Fixed])
def test_an_objective_without_any_noise_has_its_points_and_its_picture(kind: type[Sized]) -> None:
    server = kind(space_with(6), 0.02, 2)
    wanted = task(server, budget_s=900.0)
    found = walk(wanted, server)
    assert found.front
    for point in found.points:
        for effect in point.effects[1:]:
            size = exp(server.cost(point.configuration))
            assert effect.low <= size * 1.000001
            assert effect.high >= size / 1.000001
    assert all(max(server.gains(each.configuration)) > 0 for each in found.front)
    assert points_drawing(found, TITLES) is not None
    assert headline(found, OBJECTIVES) in render(wanted, found, OBJECTIVES, "x")


def test_where_nothing_matters_nothing_is_offered() -> None:
    server = TwoServer(space_with(6), 0.01, 3, sizes=(0.0, 0.0, 0.0, 0.0))
    found = walked(server)
    assert not found.front
    assert "no" in headline(found, OBJECTIVES)
    assert values(task(server), found, OBJECTIVES, "x")["confirmed"] is False


def test_points_that_fail_are_not_offered() -> None:
    def fails(configuration: Configuration) -> bool:
        return configuration.values["s3"] == "16" and configuration.values["s1"] == "16"

    found = walked(TwoServer(space_with(6), 0.02, 6, fails=fails))
    assert found.failed > 0
    assert not any(fails(each.configuration) for each in found.front)


THREE = tuple(RESPONSES)


@cache
def found_of_three(seed: int) -> tuple[ThreeServer, Advice]:
    server = ThreeServer(space_with(6), 0.03, seed)
    wanted = task(server, budget_s=1500.0)
    found = walk(wanted, server)
    assert server.trials * TRIAL_S <= 1500.0
    return server, found


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_three_objectives_are_walked_to_the_end_and_no_point_is_false(seed: int) -> None:
    server, found = found_of_three(seed)
    assert {each.objective for each in found.screened} == {0, 1, 2}
    assert len(found.front) > 1
    every = [each.configuration for each in found.points]
    outcome = fronted(server, [each.configuration for each in found.front], every)
    assert outcome.false == 0
    assert outcome.missed < ideal(server, 4).missed + 0.15, "few points leave much of a volume"
    arms = len(set(every)) - 1
    effects = [effect for each in found.points for effect in each.effects]
    assert {each.comparisons for each in effects} == {3 * arms}, "one family of all points and objectives"


def test_intervals_of_three_objectives_hold_together() -> None:
    """Of 40 confirmations two may miss a truth; more than six come in 3 of 1000."""
    space, wrong = space_with(6), 0
    levels = [("16", "1"), ("1", "16"), ("8", "8"), ("16", "16"), ("4", "1"), ("1", "4"), ("2", "16")]
    arms = [space.start.with_values({"s0": one, "s1": other}) for one, other in levels]
    labels = {"start": space.start, **{str(number): each for number, each in enumerate(arms)}}
    for seed in range(40):
        server = ThreeServer(space, 0.03, seed)
        points = judged(server.points("", space.start, arms, 0, 8, 0.0), labels, {}, 8)
        wrong += any(
            not effect.low <= exp(gain if more else -gain) <= effect.high
            for each in points[1:]
            for effect, gain, more in zip(
                each.effects, server.gains(each.configuration), (True, False, False), strict=True
            )
        )
    assert wrong <= 6


def test_three_objectives_have_a_panel_for_each_pair_and_all_three_in_words(tmp_path: Path) -> None:
    server, found = found_of_three(1)
    titles = [each.title for each in server.responses.values()]
    rows = point_rows(found, titles)
    panels = {each["panel"] for each in rows}
    assert panels == {f"{one} (right) against {two} (up)" for one, two in combinations(titles, 2)}
    for panel in panels:
        assert [each["label"] for each in rows if each["panel"] == panel] == [each.label for each in found.points]
    drawn = points_drawing(found, titles)
    assert drawn is not None
    assert len(specified(drawn.chart)["vconcat"]) == 3
    told = render(task(server), found, THREE, "x")
    assert "by tps and p99 and bytes" in told or "one point" in told
    head = next(line for line in told.splitlines() if line.startswith("point  "))
    assert head.split()[1:4] == list(THREE)
    findings = Findings(make_run(tmp_path / "run"))
    front = page.chapters(findings, own=sections(task(server), found, tuple(findings.responses)[:3]))[1]
    assert [name.split("-")[0] for name in front.figures].count("screened") == 3


def test_what_points_dominate_is_an_area_or_a_volume() -> None:
    square = [(1.0, 0.5), (0.5, 1.0), (0.2, 0.2)]
    assert volume(square, (0.0, 0.0)) == area(square, (0.0, 0.0)) == 0.75
    assert volume([(1.0, 1.0, 1.0)], (0.0, 0.0, 0.0)) == 1.0
    assert volume([(1.0, 1.0, 0.5), (0.5, 0.5, 1.0), (2.0, 2.0, -1.0)], (0.0, 0.0, 0.0)) == 0.5 + 0.5 * 0.25


def test_objectives_are_at_most_three_different_names() -> None:
    assert objectives_of("tps") == ("tps",)
    assert objectives_of("tps, latency_p99_ms") == objectives_of("tps,p99_ms") == ("tps", "latency_p99_ms")
    with pytest.raises(UsageError, match="at most 3"):
        objectives_of("a,b,c,d")
    with pytest.raises(UsageError, match="names tps twice"):
        objectives_of("tps,tps")
    with pytest.raises(UsageError, match="names latency_p99_ms twice"):
        objectives_of("p99_ms,latency_p99_ms")


def test_a_small_budget_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="too small: 15 settings need at least"):
        budget.amounts(300.0, 5.0, 15, finalists=5, objectives=2)
    enough = budget.amounts(7200.0, 5.0, 15, finalists=5, objectives=2)
    spent = 5.0 * (2 * enough.least.screening_pairs + enough.batches * 7) + enough.confirmation_s
    assert spent <= 7200.0
    assert budget.blocks_of(enough, 8) > budget.BLOCKS_MIN
    least = budget.amounts(enough.needed_s, 5.0, 15, finalists=5, objectives=2)
    assert budget.blocks_of(least, 8) == budget.BLOCKS_MIN
