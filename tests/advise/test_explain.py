"""What an advice says of one setting: its screening, its lines, the costs that moved with it."""

from dataclasses import replace
from functools import cache

import pytest

from benchmarks.advise import Server, space_with
from pgassay.advise.elimination import Compared, Line
from pgassay.advise.task import Task
from pgassay.advise.text import costs, explain, require_known, values_of_setting
from pgassay.advise.walk import Advice, walk
from pgassay.errors import UsageError
from tests.advise.test_walk import task


@cache
def found() -> tuple[Task, Advice]:
    server = Server(space_with(7), 0.02, 1)
    wanted = task(server)
    return wanted, walk(wanted, server)


def test_a_setting_is_explained_from_its_screening_to_its_manual() -> None:
    wanted, advice = found()
    told = explain("s0", wanted, advice, ["tps"]).splitlines()
    assert told[-1].startswith("manual: ")
    assert any(line.startswith("screening: s0 1 to 16") for line in told)


def test_scripts_have_the_same_of_a_setting() -> None:
    wanted, advice = found()
    told = values_of_setting("s0", wanted, advice, ["tps"])
    assert [each["name"] for each in told["known"]] == ["s0"]
    assert told["lines"][0]["kept"]


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


def test_without_an_advice_it_is_what_the_manual_says() -> None:
    assert "screening" not in explain("work_mem", None, None)
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
