"""What was refused or failed is told with its reason, short: in the text, on the page, for scripts."""

from dataclasses import asdict, replace

from benchmarks.advise import LIMITS, Server, space_with
from pgassay.advise import screening
from pgassay.advise.asking import settings_of
from pgassay.advise.report import render, values
from pgassay.advise.space import Limits, Machine, space_of
from pgassay.advise.task import Cause, Failure, gathered, lowered, refused_rows, refused_table
from pgassay.advise.walk import walk
from pgassay.report.section import Table
from tests.advise.test_walk import task

SPACE = space_of(settings_of({}, ["work_mem", "jit", "random_page_cost"]), Machine(8 << 30, 2), {})
START = SPACE.start
BOTH = START.with_values({"jit": "off", "work_mem": "64MB"})
ONE = START.with_values({"jit": "off"})


def test_they_are_gathered_by_their_reason_with_what_they_have_in_common() -> None:
    found = gathered(
        [
            (ONE, Cause.FAILED, "process 4711 ended"),
            (BOTH, Cause.FAILED, "process 4712 ended"),
            (BOTH, Cause.FAILED, "process 4713 ended"),
            (ONE, Cause.UNFIT, "too much"),
            (ONE, Cause.UNFIT, "too much"),
        ],
        START,
    )
    assert found == (
        Failure({"jit": "off"}, 1, Cause.UNFIT, "too much", 1),
        Failure({"jit": "off"}, 2, Cause.FAILED, "process 4711 ended", 3),
    )
    assert refused_rows(found) == [
        ["jit = off", "left out, it does not fit", "too much", "1 configuration"],
        ["jit = off", "failed in its trial", "process 4711 ended", "3 trials"],
    ]
    (folded,) = refused_table(found)
    (table,) = folded.blocks
    assert isinstance(table, Table)
    assert len(table.rows) == 2
    assert asdict(found[1]) == {
        "changes": {"jit": "off"}, "configurations": 2, "cause": "failed in its trial", "why": "process 4711 ended",
        "times": 3,
    }  # fmt: skip


def test_where_nothing_was_refused_nothing_is_said() -> None:
    assert refused_table(()) == ()


def test_a_far_level_that_leaves_the_others_no_room_is_named_with_what_is_tried_instead() -> None:
    limits = Limits(8 << 30, 50)
    space = space_of(settings_of({}, ["shared_buffers", "work_mem", "jit"]), Machine(8 << 30, 2), {})
    plan = screening.plan(space, limits, 1)
    found = gathered(lowered(space, plan.levels, limits), space.start)
    assert found, "50 clients cannot sort in 256 MB each"
    named = {name for each in found for name in each.changes}
    assert named <= {"shared_buffers", "work_mem"}
    assert all("of memory, and at most" in each.why and "is screened" in each.why for each in found)
    roomy = Limits(1 << 40, 1)
    assert [*lowered(space, screening.plan(space, roomy, 1).levels, roomy)] == []


def test_an_advice_tells_what_did_not_fit() -> None:
    server = Server(space_with(6), 0.02, 1)
    wanted = task(server, budget_s=900.0)
    found = walk(wanted, server)
    assert found.refused == ()
    assert values(wanted, found, ["tps"], "x")["refused"] == []
    assert "refused or failed" not in render(wanted, found, ["tps"], "x")
    told = replace(found, refused=(Failure({"s0": "16"}, 1, Cause.REFUSED, "no such value", 1),))
    text = render(wanted, told, ["tps"], "x")
    assert "refused or failed:\n  s0 = 16: refused before any trial, 1 configuration: no such value\n" in text
    assert values(wanted, told, ["tps"], "x")["refused"][0]["why"] == "no such value"


def test_two_settings_that_limit_each_other_are_named_when_the_screening_meets_them() -> None:
    names = ["max_parallel_workers_per_gather", "jit", "work_mem"]
    space = space_of(settings_of({}, names), Machine(8 << 30, 16), {"max_parallel_workers": "4"})
    plan = screening.plan(space, LIMITS, 1)
    found = {tuple(each.changes): each.why for each in gathered(lowered(space, plan.levels, LIMITS), space.start)}
    assert "is above max_parallel_workers = 4" in found["max_parallel_workers_per_gather",]
