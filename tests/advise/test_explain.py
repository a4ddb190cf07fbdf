"""What an advice says of one setting: its slice, its company, the costs that moved with it."""

from dataclasses import replace
from functools import cache

import pytest

from benchmarks.advise import Server, space_with
from pgassay.advise.elimination import Compared, Line
from pgassay.advise.explain import company, costs, explain, require_known, slice_of, sliced, values
from pgassay.advise.page import slices
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice, walk
from pgassay.errors import UsageError
from pgassay.report.charts import specified
from tests.advise.test_walk import task


@cache
def found() -> tuple[Task, Advice]:
    server = Server(space_with(7), 0.02, 1)
    wanted = task(server)
    return wanted, walk(wanted, server)


def test_a_slice_has_every_trial_at_its_level() -> None:
    wanted, advice = found()
    levels = slice_of("s0", wanted, advice)
    assert sum(len(each.ratios) for each in levels) == len(advice.seen)
    assert [each.level for each in levels] == [
        each for each in wanted.space.dimension("s0").levels if each in {one.level for one in levels}
    ]
    assert levels[-1].mean > levels[0].mean, "its effect is planted"
    (kept,) = [each for each in advice.lines if each.name == "s0"]
    assert [each.level for each in levels if each.advised] == [kept.value]


def test_of_a_setting_of_which_only_two_levels_were_seen_there_is_no_slice() -> None:
    wanted, advice = found()
    shown = sliced(wanted, advice)
    assert shown
    assert all(len(each) > 2 for each in shown.values())
    assert set(shown) <= {each.name for each in advice.lines}


def test_the_drawing_has_a_panel_for_each() -> None:
    wanted, advice = found()
    shapes = sliced(wanted, advice)
    drawn = specified(slices(shapes, "transactions per second").chart)
    assert len(drawn["vconcat"]) == len(shapes)


def test_a_setting_is_explained_from_its_screening_to_its_manual() -> None:
    wanted, advice = found()
    told = explain("s0", wanted, advice, ["tps"]).splitlines()
    assert told[-1].startswith("manual: ")
    assert any(line.startswith("screening: s0 1 to 16") for line in told)
    assert any("no evidence" in line for line in told)
    assert any(line.endswith(", advised") for line in told)


def test_scripts_have_the_same_of_a_setting() -> None:
    wanted, advice = found()
    told = values("s0", wanted, advice, ["tps"])
    assert [each["name"] for each in told["known"]] == ["s0"]
    assert told["lines"][0]["kept"]
    assert sum(len(each["ratios"]) for each in told["slice"]) == len(advice.seen)
    assert values("fsync", wanted, advice, ["tps"])["slice"] == []


def with_costs(*named: str) -> Line:
    _, advice = found()
    line = next(each for each in advice.lines if each.without is not None)
    assert line.without is not None
    return replace(line, without=replace(line.without, costs=named))


def test_the_costs_that_moved_are_named_and_nothing_is_said_without_any() -> None:
    assert list(costs(with_costs("WAL bytes 24 % higher", "CPU 3 % higher"))) == [
        "without it: WAL bytes 24 % higher; CPU 3 % higher"
    ]
    assert list(costs(with_costs())) == []


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.5, 0.9, "it acts otherwise in this company"), (0.2, 50.0, "none shown")]
)
def test_a_line_acts_otherwise_where_its_intervals_do_not_meet(low: float, high: float, said: str) -> None:
    line = with_costs()
    screened = Screened(line.name, line.start, line.value, (low * high) ** 0.5, low, high, Standing.ACTIVE)
    (sentence,) = company(line, screened)
    assert said in sentence
    assert sentence.endswith("over all of the screening" + (": it acts otherwise in this company" if high < 1 else ""))
    (part,) = company(line, replace(screened, along_with="delay = 0"))
    assert "in the screening along with delay = 0" in part
    assert "over all of the screening" not in part
    other = replace(screened, far="another level")
    assert list(company(line, other)) == [], "of another level nothing is known alone"
    assert list(company(replace(line, without=None), screened)) == []


def test_without_an_advice_it_is_what_the_manual_says() -> None:
    assert "seen by" not in explain("work_mem", None, None)
    assert isinstance(found()[1].lines[0].without, Compared)


def test_a_name_is_known_by_us_or_by_the_advice_and_else_refused() -> None:
    wanted, _ = found()
    stranger = replace(wanted, space=replace(wanted.space, left_out={"my.own": "it trades durability"}))
    for name in ("work_mem", "s0", "my.own"):
        require_known(name, stranger)
    assert explain("my.own", stranger, None) == "my.own: not tried: it trades durability\n"
    with pytest.raises(UsageError) as raised:
        require_known("s0_", stranger)
    assert raised.value.hint == 'did you mean "s0"?'
    with pytest.raises(UsageError):
        require_known("s0", None)
