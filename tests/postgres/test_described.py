"""What PostgreSQL says of its settings without a server: the lines of --describe-config, -C, and a complaint."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.host.accounts import choose
from pgassay.postgres.settings import Described, describe, in_words
from tests.fakes.runner import FakeRunner

LINES = """\
autovacuum_naptime\tsighup\tAutovacuum\tINTEGER\t0\t1\t2147483\tTime to sleep between autovacuum runs.\t
jit\tuser\tQuery Tuning / Other Planner Options\tBOOLEAN\tFALSE\t\t\tAllow JIT compilation.\t
wal_buffers\tpostmaster\tWrite-Ahead Log / Settings\tINTEGER\t0\t-1\t262143\tSets the number of buffers for WAL.\t
search_path\tuser\tClient Connection Defaults / Statement Behavior\tSTRING\t"$user", public\t\t\tSets the order.\t
seq_page_cost\tuser\tQuery Tuning / Planner Cost Constants\tREAL\t0\t0\t1.79769e+308\tSets the estimate.\t
"""
DEFAULTS = {"autovacuum_naptime": "60", "jit": "on", "wal_buffers": "-1", "seq_page_cost": "1"}
UNITS = {"autovacuum_naptime": " s", "wal_buffers": " 8kB", "seq_page_cost": ""}


def postgres(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
    if arguments == ["--describe-config"]:
        return 0, LINES, ""
    name = arguments[-1]
    if "-c" not in arguments:
        return 0, f"{DEFAULTS[name]}\n", ""
    value = arguments[arguments.index("-c") + 1].partition("=")[2]
    return 1, "", f'FATAL:  {value}{UNITS[name]} is outside the valid range for parameter "{name}" (1 .. 9)\n'


def test_settings_are_described_by_the_programs_themselves() -> None:
    names = ["autovacuum_naptime", "JIT", "wal_buffers", "search_path", "seq_page_cost", "pg_trgm.limit"]
    found = describe(FakeRunner({"postgres": postgres}), choose(), Path("/pg/bin"), names)
    assert list(found) == ["autovacuum_naptime", "JIT", "wal_buffers", "search_path", "seq_page_cost"]
    naptime = found["autovacuum_naptime"]
    assert naptime == Described("autovacuum_naptime", "integer", "sighup", "60s", "s", 1, 2147483)
    assert (naptime.apply, naptime.limits) == ("reload", "1s to 2147483s")
    assert [naptime.within(each) for each in ("1min", "0", "600h", "64kB", "soon")] == [
        True,
        False,
        False,
        False,
        False,
    ]
    buffers = found["wal_buffers"]
    assert (buffers.apply, buffers.default, buffers.limits) == ("restart", "-1", "-1 to 2097144kB")
    assert [buffers.within(each) for each in ("-1", "16MB", "4GB")] == [True, True, False]
    assert (found["JIT"].default, found["search_path"].default) == (
        "on",
        '"$user", public',
    )
    assert (found["JIT"].limits, found["JIT"].within("perhaps")) == ("", True)
    assert found["seq_page_cost"].unit is None
    assert found["seq_page_cost"].within("1.5")


def test_nothing_is_asked_for_nothing() -> None:
    runner = FakeRunner({"postgres": postgres})
    assert describe(runner, choose(), Path("/pg/bin"), ()) == {}
    assert runner.calls == []


@pytest.mark.parametrize(
    ("amount", "unit", "told"),
    [
        (16384, "8kB", "128MB"), (64, "kB", "64kB"), (300, "s", "300s"), (0.2, "ms", "0.2ms"), (-1, "kB", "-1"),
        (0, "kB", "0"), (4, None, "4"), (1.79769e308, None, "1.79769e+308"),
    ],
)  # fmt: skip
def test_base_units_in_words(amount: float, unit: str | None, told: str) -> None:
    assert in_words(amount, unit) == told
