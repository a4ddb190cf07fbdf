"""An advice at other loads: which are tried, what is told where it holds and where another configuration wins."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from benchmarks.advise import LIMITS, TRIAL_S, Server, space_with
from pgassay.advise import budget, robust
from pgassay.advise.page import sections
from pgassay.advise.robust import Condition, Standing, conditions_of, judged, possible
from pgassay.advise.space import Configuration, Limits
from pgassay.advise.task import Question, Task, at_conditions, document
from pgassay.advise.text import plan, render, values
from pgassay.advise.walk import Advice, walk
from pgassay.lab.run import write_study
from pgassay.report.findings import Findings
from pgassay.report.section import Sentences, Table
from pgassay.testing.planted import make_run

LOAD = {"clients": 4, "scale": "20"}


def task(server: Server) -> Task:
    conditions = conditions_of(LOAD)
    count = len(server.space.dimensions)
    steps = budget.amounts(1500.0, TRIAL_S, count, finalists=1, conditions=len(conditions))
    return Task(server.space, LIMITS, steps, True, 0.05, server.seed, conditions=conditions)


def advised(server: Server) -> tuple[Task, Advice]:
    wanted = task(server)
    return wanted, walk(wanted, server)


@cache
def usual() -> tuple[Task, Advice]:
    return advised(Server(space_with(7), 0.02, 1))


@cache
def turned() -> tuple[Task, Advice]:
    return advised(Reversed(space_with(7), 0.02, 1))


class Reversed(Server):
    """With more clients than 4 whatever was changed costs more than it gains."""

    def shift(self, configuration: Configuration, condition: Condition) -> float:
        """Four times the gain is lost."""
        return -4 * self.truth(configuration) if condition.tried == 8 else 0.0


def test_half_and_double_the_clients_and_twice_the_data_are_tried() -> None:
    assert [each.name for each in conditions_of(LOAD)] == ["2 clients", "8 clients", "scale 40"]
    assert [each.levels for each in conditions_of(LOAD)] == [
        (("clients", "2"), ("scale", "20")),
        (("clients", "8"), ("scale", "20")),
        (("clients", "4"), ("scale", "40")),
    ]
    assert [each.name for each in conditions_of({"clients": 1})] == ["2 clients"]
    assert [each.name for each in conditions_of({"clients": 4, "rate": "100"})] == ["rate 50", "rate 200"]
    assert conditions_of({"clients": "many", "script": "a.sql"}) == ()


def test_an_advice_that_wins_everywhere_holds() -> None:
    wanted, found = usual()
    assert [each.standing for each in found.robust] == [Standing.HOLDS] * 3
    told = render(wanted, found, ["tps"], "runs/x")
    assert told.count("the advice holds: tps ×") == 3
    assert "winner changes" not in told


def test_a_default_that_is_not_the_start_is_tried_beside_it() -> None:
    server = Server(space_with(7), 0.02, 1)
    space = server.space
    bad = space.start.with_values({"s6": space.dimensions[6].levels[-1]})
    server.space = replace(space, start=bad)
    _, found = advised(server)
    assert all(set(each.against) == {"start", "default"} for each in found.robust)
    assert [row[2] for row in robust.table(found.robust, "tps").rows].count("–") == 0  # type: ignore[union-attr]


def test_where_the_start_wins_it_is_said_from_where_on() -> None:
    wanted, found = turned()
    assert {each.condition.name: each.standing for each in found.robust} == {
        "2 clients": Standing.HOLDS, "8 clients": Standing.OVERTAKEN, "scale 40": Standing.HOLDS,
    }  # fmt: skip
    told = render(wanted, found, ["tps"], "runs/x")
    assert "at 8 clients: the start is better" in told
    assert "the winner changes between 4 clients and 8 clients" in told
    (eight,) = [each for each in values(wanted, found, ["tps"], "x")["robust"] if each["tried"] == 8]
    assert eight["better"] == ["start"]
    assert eight["against"]["start"]["verdict"] == "better"


def test_the_page_has_a_row_for_each_load(tmp_path: Path) -> None:
    wanted, found = turned()
    _, advice = sections(wanted, found, ["tps"])
    blocks = list(advice.blocks(Findings(make_run(tmp_path / "run"))))
    assert robust.table(found.robust, "tps") in blocks
    table = robust.table(found.robust, "tps")
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["2 clients", "8 clients", "scale 40"]
    assert [row[3] for row in table.rows] == ["holds", "the start is better", "holds"]
    assert robust.table((), "tps") is None


def test_without_conditions_it_says_that_nothing_else_was_tried() -> None:
    wanted, found = usual()
    asked, wanted = wanted, replace(wanted, conditions=())
    found = replace(found, robust=())
    assert "other loads: not tried (--robust does)" in render(wanted, found, ["tps"], "x")
    assert "not tried at other loads" in plan(wanted, ["tps"])
    assert "at 2 clients, 8 clients, scale 40" in plan(asked, ["tps"])


def test_of_a_load_whose_data_have_no_scale_it_is_said_that_twice_the_data_was_not_tried(tmp_path: Path) -> None:
    """As a capture's: its clients can be varied, and its data cannot."""
    wanted, found = usual()
    said = "at twice the data: not tried, since the data of this load have no scale"
    assert said not in render(wanted, found, ["tps"], "x")
    assert said not in plan(wanted, ["tps"])
    clients = conditions_of({"clients": 4, "script": "a.sql"})
    wanted = replace(wanted, conditions=clients)
    found = replace(found, robust=tuple(each for each in found.robust if each.condition.varied == "clients"))
    assert render(wanted, found, ["tps"], "x").splitlines().count(said) == 1
    assert said in plan(wanted, ["tps"])
    _, advice = sections(wanted, found, ["tps"])
    sentences = next(iter(advice.blocks(Findings(make_run(tmp_path / "run")))))
    assert isinstance(sentences, Sentences)
    assert sentences.texts.count(said) == 1


def test_what_was_not_confirmed_is_not_tried_elsewhere() -> None:
    _, found = advised(Server(space_with(6), 0.01, 3, sizes=(0.0, 0.0, 0.0, 0.0)))
    assert found.robust == ()


def test_a_load_that_does_not_fit_the_memory_is_left_out_with_its_reason() -> None:
    both = (Configuration({"work_mem": "128MB", "shared_buffers": "1GB"}),)
    run, left_out = possible(conditions_of({"clients": 4}), both, Limits(4 << 30, 4))
    assert [each.name for each in run] == ["2 clients"]
    (eight,) = left_out
    assert eight.standing is Standing.NOT_TRIED
    assert eight.why
    assert robust.table(left_out, "tps") is not None


def test_what_has_no_result_there_fails_and_what_lost_its_trials_is_open() -> None:
    two, eight = conditions_of({"clients": 4})
    start = Configuration({"work_mem": "4MB"})
    found = judged((two, eight), {two: None, eight: {}}, {"start": start})
    assert [each.standing for each in found] == [Standing.FAILS, Standing.OPEN]
    told = [line.partition(":")[0] for line in robust.sentences(found, "tps")]
    assert told == ["at 2 clients", "at 8 clients", "at twice the data"]


def test_the_study_varies_the_load_and_nothing_of_it_is_given_twice() -> None:
    space = space_with(4)
    other = space.start.with_values({"s0": "16"})
    question = Question({"clients": 4, "scale": "20", "duration": "3s"}, "tps")
    made = document(question, space, "elsewhere", [space.start, other], {})
    varied = at_conditions(made, conditions_of(question.load))
    assert varied["load"] == {"duration": "3s"}
    assert varied["conditions"][1] == {"load.clients": "8", "load.scale": "20"}


def test_such_a_study_is_one_that_the_lab_knows() -> None:
    made = {"treatments": [{"server.jit": "on"}, {"server.jit": "off"}], "load": dict(LOAD), "responses": {}}
    made["responses"] = {"primary": "tps"}
    study = write_study("elsewhere", at_conditions(made, conditions_of(LOAD))).study
    assert len(study.linked_conditions) == 3
    assert len(study.arms) == 6


def test_the_time_for_it_comes_from_the_confirmation() -> None:
    without = budget.amounts(3600.0, 5.0, 10, finalists=1)
    with_ = budget.amounts(3600.0, 5.0, 10, finalists=1, conditions=3)
    assert without.robust_s == 0.0
    assert with_.robust_s >= 5.0 * 5 * 3 * 3
    assert with_.needed_s == without.needed_s + 5.0 * 5 * 3 * 3
    assert with_.needed_s <= with_.lines_s + with_.confirmation_s + with_.robust_s + 5.0 * 1000
