"""Fields from paths and options, and which of them become factors."""

from pathlib import PurePath

import pytest

from pgassay.errors import UsageError
from pgassay.importing.reader import (
    FOLDER,
    ForeignRun,
    Reading,
    Use,
    fields_of_path,
    levels_of,
    natural,
    parse_given,
    parse_pattern,
    parse_roles,
    settle_roles,
)


def reading(*fields: dict[str, str], suggested: tuple[str, ...] = ()) -> Reading:
    runs = tuple(ForeignRun(f"run {place}", each, {"tps": 1.0}) for place, each in enumerate(fields))
    return Reading("made", runs, (), suggested=suggested)


def test_a_pattern_reads_the_end_of_a_path() -> None:
    pattern = parse_pattern("pg-{page}-{wal}-16/{scale}/run-{mode}-{run}/pgbench.log")
    path = PurePath("/data/xeon/logs/pg-1-4-16/7500/run-rw-3/pgbench.log")
    assert pattern.fields(path) == {"page": "1", "wal": "4", "scale": "7500", "mode": "rw", "run": "3"}
    assert pattern.fields(PurePath("pg-1-4-16/7500/run-rw-3/initdb.log")) is None
    assert pattern.fields(PurePath("xpg-1-4-16/7500/run-rw-3/pgbench.log")) is None


def test_options_give_levels_to_the_files_that_match() -> None:
    given = [parse_given("size=8kB:fast/*"), parse_given("drive=nvme"), parse_given("size=4kB:slow/*")]
    assert fields_of_path(PurePath("runs/fast/1.out"), None, given) == {"size": "8kB", "drive": "nvme"}
    assert fields_of_path(PurePath("slow/1.out"), None, given) == {"size": "4kB", "drive": "nvme"}


@pytest.mark.parametrize("text", ["size", "=8kB", "size=", "size=8kB:"])
def test_a_level_needs_name_and_value(text: str) -> None:
    with pytest.raises(UsageError, match="wants NAME=VALUE"):
        parse_given(text)


@pytest.mark.parametrize("text", ["pgbench.log", "{a}/{a}"])
def test_a_pattern_names_each_field_once(text: str) -> None:
    with pytest.raises(UsageError, match="in braces"):
        parse_pattern(text)


def test_run_10_comes_after_run_9() -> None:
    paths = [PurePath(f"run-{number}/out") for number in (10, 9, 1)]
    assert [path.as_posix() for path in sorted(paths, key=natural)] == ["run-1/out", "run-9/out", "run-10/out"]


def test_unsaid_treatments_are_the_suggestions_that_differ_and_it_is_said() -> None:
    runs = reading({"clients": "1", "scale": "5"}, {"clients": "2", "scale": "5"}, suggested=("scale", "clients"))
    roles, said = settle_roles(runs, parse_roles([]))
    assert roles.treatment == (Use("clients", "clients"),)
    assert said == ("treatments differ by clients; no option says otherwise",)


def test_a_folder_that_repeats_another_field_is_no_factor_of_its_own() -> None:
    same = reading({"clients": "1", FOLDER: "c1"}, {"clients": "2", FOLDER: "c2"}, suggested=("clients", FOLDER))
    assert settle_roles(same, parse_roles([]))[0].treatment == (Use("clients", "clients"),)
    rows = [{"clients": c, FOLDER: f} for c in "12" for f in "ab"]
    crossed, _ = settle_roles(reading(*rows, suggested=("clients", FOLDER)), parse_roles([]))
    assert [use.field for use in crossed.treatment] == ["clients", FOLDER]


def test_what_was_said_is_taken_and_nothing_else() -> None:
    runs = reading({"a": "1", "b": "1", "run": "1"}, {"a": "2", "b": "2", "run": "1"}, suggested=("b",))
    roles, said = settle_roles(runs, parse_roles(["treatment=a:build.block_size,block=run"]))
    assert (roles.treatment, roles.block, said) == ((Use("a", "build.block_size"),), "run", ())
    assert levels_of(roles.treatment, {"a": ""}) == {"build.block_size": "unknown"}
    assert settle_roles(runs, parse_roles(["condition=b"]), ("a", "b"))[0].treatment == (Use("a", "a"),)


def test_fields_that_are_not_there() -> None:
    with pytest.raises(UsageError, match='no field "c"'):
        settle_roles(reading({"a": "1"}), parse_roles(["treatment=c"]))
    with pytest.raises(UsageError, match="distinguishes the treatments"):
        settle_roles(reading({"a": "1"}), parse_roles([]))
    assert settle_roles(reading({"a": "1"}), parse_roles([]), needed=False)[0].treatment == ()
