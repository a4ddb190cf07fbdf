"""The windows and budgets that a plan names would really try what it says."""

import pytest

from benchmarks.advise import LIMITS
from pgassay.advise import budget
from pgassay.advise.asking import budget_text, longer_windows
from pgassay.advise.knowledge import known_settings
from pgassay.advise.space import Machine, space_of
from pgassay.advise.task import Longer, Task
from pgassay.advise.text import plan
from pgassay.errors import UsageError
from pgassay.study.quantities import seconds

KNOWN = known_settings()
MACHINE = Machine(16 << 30, 4, 16)
PLENTY_S = 1e9


def needed_s(settings: int, longer_s: float) -> float:
    return budget.amounts(PLENTY_S, 15.0 + longer_s, settings, finalists=3).needed_s


def test_each_window_names_what_it_tries_in_addition_and_the_least_budget() -> None:
    space = space_of(KNOWN.values(), MACHINE, {}, window_s=10)
    short, long = longer_windows(KNOWN.values(), space, 10, needed_s)
    assert (short.names, short.window_s) == (("table.fillfactor",), 30)
    assert long.window_s == 600
    assert {"max_wal_size", "checkpoint_timeout", "autovacuum_naptime"} <= set(long.names)
    tried = len(space_of(KNOWN.values(), MACHINE, {}, window_s=600).dimensions)
    assert tried == len(space.dimensions) + len(short.names) + len(long.names)
    assert budget.amounts(seconds("--budget", long.budget), 15.0 + 590, tried, finalists=3)
    with pytest.raises(UsageError, match="too small"):
        budget.amounts(seconds("--budget", long.budget) - 3600, 15.0 + 590, tried, finalists=3)


def test_what_is_left_out_for_another_reason_is_not_promised() -> None:
    barred = {"table.fillfactor": "this load brings its own tables"}
    space = space_of(KNOWN.values(), MACHINE, {}, window_s=10, barred=barred)
    assert space.left_out["table.fillfactor"] == barred["table.fillfactor"]
    assert [each.window_s for each in longer_windows(KNOWN.values(), space, 10, needed_s)] == [600]
    assert longer_windows(KNOWN.values(), space_of(KNOWN.values(), MACHINE, {}), 600, needed_s) == ()


def test_a_plan_says_it_in_one_line() -> None:
    space = space_of([KNOWN["jit"]], MACHINE, {})
    steps = budget.amounts(PLENTY_S, 10.0, 1, finalists=1)
    longer = (Longer(("table.fillfactor",), 30, "90min"), Longer(("max_wal_size", "checkpoint_timeout"), 600, "97h"))
    told = plan(Task(space, LIMITS, steps, True, 0.05, 1, longer=longer), ["tps"]).splitlines()
    assert told[-1] == (
        "longer windows would try table.fillfactor with -T 30 --budget 90min;"
        " max_wal_size, checkpoint_timeout with -T 600 --budget 97h"
    )
    assert "longer" not in plan(Task(space, LIMITS, steps, True, 0.05, 1), ["tps"])


@pytest.mark.parametrize(("needed", "told"), [(59.0, "1min"), (7200.0, "120min"), (7201.0, "3h")])
def test_a_budget_is_rounded_up(needed: float, told: str) -> None:
    assert budget_text(needed) == told
    assert seconds("--budget", told) >= needed


def test_nothing_to_try_in_so_short_a_window_is_said() -> None:
    with pytest.raises(UsageError, match="max_wal_size: its effect takes windows of 600 s, and these are 10 s"):
        space_of([KNOWN["max_wal_size"]], MACHINE, {}, window_s=10)
