"""Load levels: what users type becomes one canonical text that stands for itself; nonsense is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.interfaces.factor import SetupDraft, Stage
from pgassay.interfaces.options import OptionFactor, factors_of
from pgassay.load.drivers import factors
from pgassay.load.pgbench.options import (
    PgbenchOptions,
    Script,
    check_scripts,
    check_whole,
    in_proportion,
    parse_scripts,
    show_scripts,
)

BY_NAME = {factor.pattern: factor for factor in factors()}


def canonical(name: str, typed: str) -> str:
    return BY_NAME[name].parse(name, typed).canonical


@pytest.mark.parametrize(
    ("name", "typed", "wanted"),
    [
        ("load.clients", "8", "8"),
        ("load.scale", "1_000", "1000"),
        ("load.duration", "90", "90s"),
        ("load.duration", "1.5min", "90s"),
        ("load.duration", "90s", "90s"),
        ("load.warmup", "0", "0s"),
        ("load.rate", "500.0", "500"),
        ("load.rate", "none", "none"),
        ("load.latency_limit", "0.02s", "20ms"),
        ("load.latency_limit", "20", "20ms"),
        ("load.transactions", "10000", "10000"),
        ("load.age", "2x", "2x"),
        ("load.age", "2.0x", "2x"),
        ("load.age", "none", "none"),
        ("load.protocol", "prepared", "prepared"),
        ("load.cache", "cold", "cold"),
        ("load.checkpoint", "none", "none"),
        ("load.vacuum", "true", "on"),
        ("load.keep_log", "off", "off"),
        ("load.count", "misses", "misses"),
        ("load.count", "true", "on"),
        ("load.script", "simple-update", "simple-update"),
        ("load.script", "select-only@1", "select-only"),
        ("load.script", "simple-update@3, select-only", "simple-update@3,select-only@1"),
        ("load.script", "/a.sql@3\n/b,c.sql", "/a.sql@3\n/b,c.sql@1"),
        ("load.init", "/d/schema.sql", "/d/schema.sql"),
        ("load.driver", "pgbench", "pgbench"),
        ("load.row_bytes", "2000", "2000"),
        ("load.row_bytes", "2kB", "2048"),
        ("load.row_storage", "toasted", "toasted"),
        ("load.variables", "rows = 5, days=7", "rows=5,days=7"),
        ("load.variables", "note=a,b\ndays=7", "note=a,b\ndays=7"),
        ("load.variables", "none", "none"),
    ],
)
def test_canonical_forms(name: str, typed: str, wanted: str) -> None:
    assert canonical(name, typed) == wanted
    assert canonical(name, wanted) == wanted, "a canonical text stands for itself"
    assert BY_NAME[name].parse(name, typed).typed == typed


@pytest.mark.parametrize(
    ("name", "typed", "says"),
    [
        ("load.clients", "0", "at least 1"),
        ("load.clients", "four", "whole number"),
        ("load.jobs", "2.5", "whole number"),
        ("load.duration", "1.5s", "whole seconds"),
        ("load.duration", "0", "at least 1s"),
        ("load.duration", "a while", "whole seconds"),
        ("load.rate", "-5", "per second"),
        ("load.rate", "fast", "per second"),
        ("load.latency_limit", "0", "length of time"),
        ("load.latency_limit", "soon", "length of time"),
        ("load.age", "2", "multiple"),
        ("load.age", "0x", "multiple"),
        ("load.age", "oldx", "multiple"),
        ("load.protocol", "binary", "cannot be"),
        ("load.cache", "hot", "cannot be"),
        ("load.driver", "sysbensh", "cannot be"),
        ("load.vacuum", "maybe", "on or off"),
        ("load.script", "a.sql@many", "whole number"),
        ("load.script", "a.sql@0", "whole number"),
        ("load.variables", "rows", "NAME=VALUE"),
        ("load.variables", "a b=1", "NAME=VALUE"),
        ("load.script", " , ", "no value"),
        ("load.init", " ", "no value"),
        ("load.row_bytes", "16", "from 32 to 31000"),
        ("load.row_bytes", "1MB", "from 32 to 31000"),
        ("load.row_bytes", "wide", "bytes of a row"),
        ("load.row_storage", "external", "cannot be"),
    ],
)
def test_nonsense_is_refused(name: str, typed: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        canonical(name, typed)
    assert name.removeprefix("load.") in caught.value.message


def test_every_factor_is_declared_once_with_a_summary() -> None:
    assert len(BY_NAME) == len(factors())
    assert all(factor.summary for factor in factors())
    data = {factor.pattern for factor in factors_of(PgbenchOptions) if factor.stage is Stage.DATA}
    assert data == {"load.scale", "load.age", "load.init", "load.row_bytes", "load.row_storage"}


def test_every_option_has_a_factor() -> None:
    assert {f"load.{name}" for name in PgbenchOptions().to_levels()} <= set(BY_NAME)


def test_levels_are_written_where_the_load_reads_them() -> None:
    setup = SetupDraft()
    for name, typed in (("load.clients", "8"), ("load.duration", "2min"), ("load.transactions", "none")):
        BY_NAME[name].prepare(name, BY_NAME[name].parse(name, typed), setup)
    assert setup.load == {"clients": "8", "duration": "120s"}
    options = PgbenchOptions.from_levels(setup.load)
    assert (options.clients, options.duration_s, options.transactions) == (8, 120, None)


def test_transactions_prevail_over_a_duration() -> None:
    options = PgbenchOptions.from_levels({"duration": "60s", "transactions": "1000"})
    assert (options.timed_s, options.transactions) == (None, 1000)


def test_defaults_are_those_of_pgbench() -> None:
    options = PgbenchOptions.from_levels({})
    assert (options.scripts, options.clients, options.threads, options.protocol) == (
        (Script("tpcb-like"),),
        1,
        1,
        "simple",
    )
    assert options.duration_s == 60


def test_never_more_threads_than_clients() -> None:
    assert PgbenchOptions.from_levels({"clients": "1", "jobs": "4"}).threads == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["tpcb-like", "/x/a.sql", "/x/b,c.sql", "/x/d@2.sql"]), st.integers(1, 9)), min_size=1
    )
)
def test_scripts_come_back(parts: list[tuple[str, int]]) -> None:
    text = "\n".join(f"{name}@{weight}" for name, weight in parts) + "\n"
    scripts = parse_scripts(text)
    assert scripts == tuple(Script(name, weight) for name, weight in parts)
    if len(parts) > 1:
        assert parse_scripts(show_scripts(scripts)) == scripts


def test_a_missing_script_is_named_with_a_near_one() -> None:
    with pytest.raises(UsageError, match="does not exist") as caught:
        check_scripts(parse_scripts("simple-updat"))
    assert caught.value.hint is not None
    assert "simple-update" in caught.value.hint


def test_a_factor_is_a_value() -> None:
    assert isinstance(BY_NAME["load.scale"], OptionFactor)
    assert BY_NAME["load.scale"] == BY_NAME["load.scale"]


def test_jobs_follow_the_clients_of_each_trial() -> None:
    followed = PgbenchOptions.from_levels({"clients": "7", "jobs": "clients"})
    assert (followed.jobs, followed.threads) == (None, 7)
    assert PgbenchOptions.from_levels({"clients": "7", "jobs": "7"}).jobs == 7
    with pytest.raises(UsageError):
        PgbenchOptions.from_levels({"jobs": "cores"})


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SELECT 1;\n", ""),
        ("\\if :a\n\\if :b\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\n\\elif :c\nSELECT 3\n\\endif\n", ""),
        ("SELECT 1;\n\\else\nSELECT 2;\n", "without the other"),
        ("\\if :a\nSELECT 1;\n", "without the other"),
        ("SELECT 1;\n\\endif\n\\if :a\nSELECT 2;\n", "without the other"),
        ("-- no rows yet\n\n  -- \\set a 1\n", 'own.sql" has no command'),
        ("\\set a 1\n", ""),
    ],
)
def test_a_script_must_be_whole_to_be_a_part_of_one_that_plays_several(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "own.sql"
    path.write_text(text)
    scripts = (Script("select-only"), Script(str(path)))
    if not wrong:
        check_whole(scripts)
        assert f"-- {path}\n{text}" in in_proportion([(each, each.text) for each in scripts])
    else:
        with pytest.raises(UsageError, match=wrong):
            check_whole(scripts)


def test_a_weight_is_one_that_pgbench_takes() -> None:
    assert parse_scripts(f"a.sql@{2**31 - 1}")[0].weight == 2**31 - 1
    with pytest.raises(UsageError, match="weight"):
        parse_scripts(f"a.sql@{2**31}")
