"""A machine that gets slower meanwhile: it is said, drawn, and taken for no gain."""

import json
from functools import cache
from math import exp, log
from pathlib import Path
from statistics import median

import pytest

from benchmarks.advise import Server, placebos, space_with
from benchmarks.advise_front import OBJECTIVES, TwoServer, fronted
from pgassay.advise import drift, text
from pgassay.advise.drift import drift_of
from pgassay.advise.page import sections
from pgassay.advise.space import Configuration
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice, walk
from pgassay.report import page
from pgassay.report.charts import specified
from pgassay.report.findings import Findings
from pgassay.report.json_values import to_json
from pgassay.testing.planted import make_run
from tests.advise import test_front_walk
from tests.advise.test_walk import task

SLOWER = log(0.7) / 100
"""In a hundred trials 30 % of the speed are lost, steadily."""


class Slowing(Server):
    """Nothing else is common to a batch."""

    def measure(self, configuration: Configuration, common: float = 0.0) -> float | None:
        """One trial."""
        return super().measure(configuration, 0.0)


@cache
def slowed(seed: int) -> tuple[Server, Task, Advice]:
    server = Slowing(space_with(10), 0.02, seed, drift=SLOWER)
    wanted = task(server)
    return server, wanted, walk(wanted, server)


def test_a_line_is_found_and_noise_is_none() -> None:
    exact = drift_of([exp(-0.01 * at) for at in range(11)])
    assert exact is not None
    assert exact.change == pytest.approx(exp(-0.1))
    assert exact.shown
    assert exact.line == pytest.approx(exact.starts)
    still = drift_of([1.0, 1.02, 0.99, 1.01, 1.0, 0.98, 1.01])
    assert still is not None
    assert not still.shown
    assert still.low < still.change < still.high
    assert drift_of([1.0, 0.9, 0.8]) is None
    assert drift_of([1.0, 0.9, 0.8, 0.0]) is None


@pytest.mark.parametrize("seed", [1, 2])
def test_on_a_machine_that_gets_slower_no_setting_without_effect_is_advised(seed: int) -> None:
    server, _, found = slowed(seed)
    assert found.confirmed
    assert found.recommended is not None
    assert placebos(server, found.recommended) == 0
    assert server.truth(found.recommended) > 0.6 * server.best()
    still = walk(task(plain := Slowing(space_with(10), 0.02, seed)), plain)
    assert len(found.starts) == pytest.approx(len(still.starts), abs=3)
    drift, none = (drift_of([each for (each,) in one.starts]) for one in (found, still))
    assert drift is not None
    assert none is not None
    assert drift.high < 0.9
    assert 0.95 < none.change < 1.05


def test_where_nothing_matters_a_machine_that_gets_faster_makes_no_advice() -> None:
    for seed in (1, 2):
        server = Slowing(space_with(8), 0.01, seed, sizes=(0.0, 0.0, 0.0, 0.0), drift=-SLOWER)
        assert not walk(task(server), server).confirmed


def test_it_is_said_and_drawn_and_in_the_values(tmp_path: Path) -> None:
    _, wanted, found = slowed(1)
    told = text.render(wanted, found, ["tps"], "x")
    (sentence,) = [each for each in told.splitlines() if each.startswith("drift: ")]
    assert sentence.startswith("drift: tps of the start moved by -")
    assert f"over {len(found.starts)} batches" in sentence
    assert "no drift is shown" not in sentence
    assert "relative to the start of their own batch" in sentence
    values = json.loads(to_json(text.values(wanted, found, ["tps"], "x")))["drift"]["tps"]
    assert values["shown"]
    assert [(each,) for each in values["starts"]] == list(found.starts)
    findings = Findings(make_run(tmp_path / "run"))
    chapter = page.chapters(findings, own=sections(wanted, found, ["tps"]))[1]
    rows = chapter.figures["starts"].specification["data"]["values"]
    assert [each["batch"] for each in rows] == list(range(1, len(found.starts) + 1))
    assert rows[0]["line"] == pytest.approx(0.0)
    assert median(each["seen"] for each in rows) < -5


def test_of_a_machine_that_stays_as_it_is_that_is_said() -> None:
    (sentence,) = drift.sentences({"tps": [1.0, 1.02, 0.99, 1.01, 1.0, 0.98, 1.01]})
    assert ", so no drift is shown; " in sentence
    assert list(drift.sentences({"tps": [1.0]})) == []
    assert drift.picture({"tps": [1.0]}, {"tps": "speed"}) == ()
    assert drift.values({"tps": [1.0]}) == {"tps": None}


def test_of_several_objectives_each_is_told(tmp_path: Path) -> None:
    server = TwoServer(space_with(6), 0.02, 1, drift=2 * SLOWER)
    wanted = test_front_walk.task(server)
    found = walk(wanted, server)
    assert fronted(server, [each.configuration for each in found.front], []).false == 0
    starts = text.starts(found, OBJECTIVES)
    assert list(starts) == list(OBJECTIVES)
    speed, cost = (drift_of(each) for each in starts.values())
    assert speed is not None
    assert cost is not None
    assert speed.high < 1
    told = text.render(wanted, found, OBJECTIVES, "x")
    assert [each.split()[1] for each in told.splitlines() if each.startswith("drift: ")] == list(OBJECTIVES)
    assert set(text.values(wanted, found, OBJECTIVES, "x")["drift"]) == set(OBJECTIVES)
    assert len(specified(drift.drawing({"a": speed, "b": cost}).chart)["vconcat"]) == 2
    findings = Findings(make_run(tmp_path / "run"))
    names = tuple(findings.responses)[:2]
    front = page.chapters(findings, own=sections(wanted, found, names))[1]
    assert "starts" in front.figures
