"""What an advice for several objectives says of one setting: effects, lines, costs, slices; in text, JSON and page."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import exp
from pathlib import Path

from benchmarks.advise import RESOLUTION, space_with
from benchmarks.advise_front import OBJECTIVES, TwoServer
from pgassay.advise import front_page, front_text
from pgassay.advise.explain import explain
from pgassay.advise.front import Seen
from pgassay.advise.front_costs import moved
from pgassay.advise.front_explain import by_setting, company, points_with, sentences, settings, slices_of, values
from pgassay.advise.front_walk import FrontAdvice, walk_front
from pgassay.advise.screening import Standing
from pgassay.advise.space import Configuration
from pgassay.advise.task import Task
from pgassay.analysis.observations import Observation
from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.report.json_values import to_json
from pgassay.report.section import Figure, Folded, Sentences, Table
from pgassay.study.responses import Better, Response
from pgassay.testing.planted import make_run
from tests.advise.test_front_walk import task

WAL = Response("wal", "WAL of a transaction", "bytes", Better.LOWER, cost=True)
CPU = Response("cpu", "CPU of a transaction", "us", Better.LOWER, cost=True)


class Costly(TwoServer):
    """Where s0 has left its start a transaction writes 30 % less WAL; its CPU is always the same."""

    def seen(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> Seen:
        """With both costs."""
        found = super().seen(name, start, arms, seed, blocks, budget_s)

        def observed(mean: float, less: float) -> list[Observation]:
            return [
                each._replace(
                    value=mean
                    * (less if found.configurations[int(each.treatment)].values["s0"] != "1" else 1.0)
                    * exp(self.chance.gauss(0, 0.01)),
                )
                for each in found.observations["tps"]
            ]

        observations = {**found.observations, "wal": observed(500.0, 0.7), "cpu": observed(90.0, 1.0)}
        responses = {**found.responses, "wal": WAL, "cpu": CPU}
        return replace(found, observations=observations, responses=responses, costs=("wal", "cpu"))


@cache
def found() -> tuple[Task, FrontAdvice]:
    server = Costly(space_with(6), 0.02, 1)
    wanted = task(server, budget_s=1500.0)
    return wanted, walk_front(wanted, server, OBJECTIVES, RESOLUTION, lambda said: None)


def test_a_setting_is_explained_by_each_objective_from_its_screening_to_its_slices() -> None:
    wanted, advice = found()
    told = explain("s0", wanted, None, sentences("s0", wanted, advice, OBJECTIVES)).splitlines()
    assert told[-1].startswith("manual: ")
    for objective in OBJECTIVES:
        assert any(line.startswith(f"screening by {objective}: s0 1 to 16: ") for line in told)
        assert f"  {objective}:" in told
    mine = points_with("s0", wanted, advice)
    assert mine
    assert [each.label for each in mine] == [
        line.split()[1].rstrip(":") for line in told if line.startswith("point ") and ": s0 = " in line
    ]
    assert any(": with it tps " in line and ", cost " in line for line in told)
    assert any("no evidence" in line for line in told)
    assert any("; point" in line for line in told), "the level of a point to choose from is marked"


def test_a_slice_has_every_trial_of_screening_and_search_by_each_objective() -> None:
    wanted, advice = found()
    shapes = slices_of("s0", wanted, advice, OBJECTIVES)
    assert list(shapes) == list(OBJECTIVES)
    assert len(advice.seen) > advice.trials, "those of the screening, too"
    for levels in shapes.values():
        assert sum(len(each.ratios) for each in levels) == len(advice.seen)
    speed = shapes["tps"]
    assert speed[-1].mean > speed[0].mean, "its effect is planted"
    lines = [each.configuration.changes_from(wanted.space.start) for each in advice.front]
    assert {each.level for each in speed if each.advised} == {each["s0"] for each in lines if "s0" in each}
    assert slices_of("s0", wanted, replace(advice, seen=()), OBJECTIVES) == {}
    assert list(sentences("fsync", wanted, advice, OBJECTIVES)) == [], "it is no setting of this space"


def test_costs_are_named_where_they_moved_and_nowhere_else() -> None:
    wanted, advice = found()
    start = wanted.space.start
    for point in advice.points:
        if point.configuration == start:
            continue
        differs = "s0" in point.configuration.changes_from(start)
        assert [each.startswith("WAL of a transaction") for each in point.costs] == [True] * differs
        assert set(point.line_costs) == set(point.left_out)
        for name, costs in point.line_costs.items():
            assert bool(costs) == (name == "s0")
            assert all(each.startswith("WAL of a transaction") and "higher" in each for each in costs)
    assert any(each.line_costs.get("s0") for each in advice.front)
    told = front_text.render(wanted, advice, OBJECTIVES, "x")
    assert "  costs against the start: WAL of a transaction 30" in told or "WAL of a transaction 29" in told
    assert "CPU of a transaction" not in told
    shown = "\n".join(sentences("s0", wanted, advice, OBJECTIVES))
    assert "  without it: WAL of a transaction" in shown


def test_without_costs_nothing_is_said_of_them() -> None:
    one, other = (Configuration({"s0": each}) for each in "12")
    nothing = Seen([one, other], {}, {}, ())
    assert moved(nothing, [(other, one)], 8) == {(other, one): ()}


def test_a_line_in_company_is_set_against_the_screening() -> None:
    _, advice = found()
    point = next(each for each in advice.front if "s0" in each.left_out)
    screened = {
        objective: replace(one, far=point.configuration.values["s0"])
        for objective, found_of in zip(OBJECTIVES, advice.screened, strict=True)
        for one in found_of
        if one.name == "s0"
    }
    assert [each.split(":")[0] for each in company("s0", point, screened)] == [
        "interaction by tps", "interaction by cost",
    ]  # fmt: skip
    other = {objective: replace(each, far="another level") for objective, each in screened.items()}
    assert list(company("s0", point, other)) == []
    assert list(company("s0", replace(point, left_out={}), screened)) == []


def test_scripts_have_the_same_of_every_setting() -> None:
    wanted, advice = found()
    told = json.loads(to_json(by_setting(wanted, advice, OBJECTIVES)))
    assert list(told) == [each.name for each in wanted.space.dimensions]
    one = told["s0"]
    assert one == json.loads(to_json(values("s0", wanted, advice, OBJECTIVES)))
    assert set(one["screened"]) == set(one["slices"]) == set(OBJECTIVES)
    assert one["screened"]["tps"]["low"] > 1
    assert [each["point"] for each in one["lines"]] == [each.label for each in points_with("s0", wanted, advice)]
    assert any(each["costs_without"] and len(each["effects"]) == 2 for each in one["lines"])
    assert sum(len(each["ratios"]) for each in one["slices"]["cost"]) == len(advice.seen)


def test_the_page_has_each_setting_with_a_panel_for_each_objective(tmp_path: Path) -> None:
    wanted, advice = found()
    findings = Findings(make_run(tmp_path / "run"))
    names = tuple(findings.responses)[:2]
    own = front_page.sections(wanted, advice, names)
    chapters = page.chapters(findings, own=own)
    (mine,) = [each for each in chapters if each.section.name == own[2].name]
    assert not mine.section.open, "the front comes first"
    tables = [each for each in mine.blocks if isinstance(each, Table)]
    assert {str(row[0]) for table in tables for row in table.rows} == {each.name for each in advice.screened[0]}
    folds = [each for each in mine.blocks if isinstance(each, Folded)]
    assert [each.summary.split(":")[0] for each in folds] == list(settings(wanted, advice))
    first = folds[0]
    assert isinstance(first.blocks[0], Sentences)
    assert isinstance(first.blocks[-1], Figure)
    drawn = mine.figures[first.blocks[-1].name]
    assert len(drawn.specification["vconcat"]) == len(names)
    assert set(mine.figures) == {f"screened-{each}" for each in names} | {
        f"slices-{each}" for each in settings(wanted, advice)
    }
    assert len({each.title for each in mine.figures.values()}) == len(mine.figures), "each says what it is of"
    every = [name for each in chapters for name in each.figures]
    assert len(every) == len(set(every)), "a page finds each by its name"


def test_what_does_not_matter_for_any_objective_has_a_row_and_no_fold() -> None:
    wanted, advice = found()
    placebos = {
        each.name
        for each in advice.screened[0]
        if all(one.standing is Standing.PLACEBO for of in advice.screened for one in of if one.name == each.name)
    }
    lines = {name for each in advice.front for name in each.configuration.changes_from(wanted.space.start)}
    assert placebos
    assert not set(settings(wanted, advice)) & (placebos - lines)
