"""The whole way to a front on simulated servers whose truth is known; its text, its page, its JSON."""

from functools import cache
from pathlib import Path

import pytest

from benchmarks.advise import LIMITS, RESOLUTION, TPS, TRIAL_S, space_with
from benchmarks.advise_front import OBJECTIVES, TwoServer, fronted
from pgassay.advise import budget
from pgassay.advise.asking import objectives_of
from pgassay.advise.front import SURE, Standing
from pgassay.advise.front_page import drawing, rows_of, sections
from pgassay.advise.front_text import auto_conf, explained, headline, render, values
from pgassay.advise.front_walk import FrontAdvice, walk_front
from pgassay.advise.space import Configuration
from pgassay.advise.task import Task
from pgassay.errors import UsageError
from pgassay.report import page
from pgassay.report.charts import specified
from pgassay.report.findings import Findings
from pgassay.report.section import Figure, Sentences, Table
from pgassay.study.thresholds import Limit, Relation
from pgassay.testing.planted import make_run

TITLES = ("transactions per second", "cost of a transaction")


def task(server: TwoServer, points: int = 4) -> Task:
    steps = budget.front_amounts(600.0, TRIAL_S, len(server.space.dimensions), points=points)
    return Task(server.space, LIMITS, steps, True, 0.05, server.seed, (False,))


def walked(server: TwoServer) -> FrontAdvice:
    return walk_front(task(server), server, OBJECTIVES, RESOLUTION, lambda said: None)


@cache
def found_on(seed: int) -> tuple[TwoServer, FrontAdvice]:
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
    conf = auto_conf(wanted, found.front[0], OBJECTIVES)
    changed = found.front[0].configuration.changes_from(wanted.space.start)
    assert [each for each in conf.splitlines() if not each.startswith("#")] == [
        f"{name} = '{value}'" for name, value in changed.items()
    ]
    told_values = values(wanted, found, OBJECTIVES, "runs/x")
    assert told_values["front"] == [each.label for each in found.front]
    assert [each["settings"] for each in told_values["points"] if each["label"] == found.front[0].label] == [changed]
    assert "screening by cost: s0" in explained("s0", found, OBJECTIVES)


def test_the_picture_has_a_cross_for_each_point_and_greys_what_is_not_offered() -> None:
    _, found = found_on(1)
    rows = rows_of(found, TITLES)
    assert [each["label"] for each in rows] == [each.label for each in found.points]
    chosen = {each["label"] for each in rows if each["standing"] == "front"}
    assert chosen == {each.label for each in found.front}
    shades = {each["shade"] for each in rows if each["label"] in chosen}
    assert len(shades) == 1
    assert not shades & {each["shade"] for each in rows if each["label"] not in chosen}
    assert all(each["x_low"] <= each["x"] <= each["x_high"] for each in rows)
    drawn = drawing(found, TITLES)
    assert drawn is not None
    assert specified(drawn.chart)["layer"]


def test_the_page_begins_with_the_answer_and_its_figure_is_not_called_as_the_section_is(tmp_path: Path) -> None:
    server, found = found_on(1)
    findings = Findings(make_run(tmp_path / "run"))
    answer, mine = sections(task(server), found, tuple(findings.responses)[:2])
    assert answer.name == "headline", "it takes the place of the run's own"
    sentences, _ = answer.blocks(findings)
    figure, table, *lines = mine.blocks(findings)
    assert isinstance(sentences, Sentences)
    assert isinstance(figure, Figure)
    assert isinstance(table, Table)
    assert "points to choose from" in sentences.texts[0]
    assert figure.name != mine.name, "a page finds both by name"
    assert [str(row[0]) for row in table.rows] == [each.label for each in found.points]
    assert len(lines) == len(found.front)


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


def test_three_objectives_have_three_panels() -> None:
    _, found = found_on(1)
    three = FrontAdvice(
        found.screened,
        found.not_screened,
        tuple(
            type(each)(each.label, each.configuration, (*each.effects, *each.effects[:1]), each.kept, each.standing)
            for each in found.points
        ),
        found.trials,
        found.failed,
    )
    titles = (*TITLES, "something else")
    assert len({each["panel"] for each in rows_of(three, titles)}) == 3
    drawn = drawing(three, titles)
    assert drawn is not None
    assert len(specified(drawn.chart)["vconcat"]) == 3
    assert {each.standing for each in three.points} >= {Standing.FRONT, Standing.REFERENCE}


def test_objectives_are_at_most_three_different_names() -> None:
    assert objectives_of("tps") == ("tps",)
    assert objectives_of("tps, latency_p99_ms") == ("tps", "latency_p99_ms")
    with pytest.raises(UsageError, match="at most 3"):
        objectives_of("a,b,c,d")
    with pytest.raises(UsageError, match="names tps twice"):
        objectives_of("tps,tps")


def test_a_small_budget_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="too small: 15 settings need at least"):
        budget.front_amounts(300.0, 5.0, 15, points=5)
    enough = budget.front_amounts(7200.0, 5.0, 15, points=5)
    spent = 5.0 * (2 * enough.screening_pairs + enough.batches * 7) + enough.confirmation_s
    assert spent <= 7200.0
    assert enough.blocks > budget.BLOCKS_MIN
