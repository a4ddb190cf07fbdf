"""What an advice for several objectives says of costs and settings, in text and page."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import exp
from pathlib import Path

from benchmarks.advise import space_with
from benchmarks.advise_front import OBJECTIVES, TwoServer
from pgassay.advise.front import moved_costs
from pgassay.advise.report import render, sections
from pgassay.advise.space import Configuration
from pgassay.advise.task import PointTrials, Task
from pgassay.advise.walk import Advice, walk
from pgassay.analysis.observations import Observation
from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.report.section import Figure, Folded, Table
from pgassay.study.responses import Better, Response
from pgassay.testing.planted import make_run
from tests.advise.test_front_walk import task

WAL = Response("wal", "WAL of a transaction", "bytes", Better.LOWER, cost=True)
CPU = Response("cpu", "CPU of a transaction", "us", Better.LOWER, cost=True)


class Costly(TwoServer):
    """Where s0 has left its start a transaction writes 30 % less WAL; its CPU is always the same."""

    def points(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> PointTrials:
        """With both costs."""
        found = super().points(name, start, arms, seed, blocks, budget_s)

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
def found() -> tuple[Task, Advice]:
    server = Costly(space_with(6), 0.02, 1)
    wanted = task(server, budget_s=1500.0)
    return wanted, walk(wanted, server)


def test_costs_are_named_where_they_moved_and_nowhere_else() -> None:
    wanted, advice = found()
    start = wanted.space.start
    for point in advice.points:
        if point.configuration == start:
            continue
        differs = "s0" in point.configuration.changes_from(start)
        assert [each.startswith("WAL of a transaction") for each in point.costs] == [True] * differs
    told = render(wanted, advice, OBJECTIVES, "x")
    assert "  costs against the start: WAL of a transaction 30" in told or "WAL of a transaction 29" in told
    assert "CPU of a transaction" not in told


def test_without_costs_nothing_is_said_of_them() -> None:
    one, other = (Configuration({"s0": each}) for each in "12")
    nothing = PointTrials(OBJECTIVES, [one, other], {}, {}, (), 0.02)
    assert moved_costs(nothing, [other], 8) == {other: ()}


def test_the_page_has_each_objective_with_what_each_setting_does_to_it(tmp_path: Path) -> None:
    wanted, advice = found()
    findings = Findings(make_run(tmp_path / "run"))
    names = tuple(findings.responses)[:2]
    chapters = page.chapters(findings, own=sections(wanted, advice, names))
    mine = chapters[1]
    folds = {each.summary: each for each in mine.blocks if isinstance(each, Folded)}
    (table,) = folds["All settings that were screened"].blocks
    assert isinstance(table, Table)
    assert {str(row[0]) for row in table.rows} == {each.name for each in advice.screened}
    assert len(table.rows[0]) == 3 + 2 * len(names) + 1
    for name in names:
        figures = folds[f"The settings by {findings.responses[name].title}"].blocks
        assert [each.name for each in figures if isinstance(each, Figure)] == [f"screened-{name}"]
    assert len({each.title for each in mine.figures.values()}) == len(mine.figures), "each says what it is of"
    every = [name for each in chapters for name in each.figures]
    assert len(every) == len(set(every)), "a page finds each by its name"
