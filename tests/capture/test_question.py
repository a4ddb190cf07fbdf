"""A question on the command line becomes a study that the lab reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.capture.format import Load, Moment, Source, Statement
from pgassay.capture.question import (
    BUILD,
    BUILT,
    CHECKSUMS,
    INSTALLED,
    Question,
    clients_of,
    document,
    parse,
    with_programs,
)
from pgassay.errors import UsageError
from pgassay.lab.run import write_study

SOURCE = Source("17.5", 17, "app", "UTF8", "C", False, {"work_mem": "4MB", "jit": "off"}, (), (), {})
INDEX = "CREATE INDEX ON orders (customer_id)"


def test_a_count_of_long_statements_plays_few_of_them() -> None:
    quick, long = Statement(1, "SELECT 1", 30000, 3000.0, 30000), Statement(2, "SELECT 2", 300, 48_600.0, 300)

    def played(word: str, *tried: Statement) -> dict[str, object]:
        asked = parse([word], [], None)
        table = document(SOURCE, None, Path("data.dump"), {}, asked, counted=Load(30.0, tried) if tried else None)
        return dict(table["load"])

    work_mem = "work_mem=4MB,64MB"
    assert played(work_mem, quick)["transactions"] == "500", "as many as any count plays, at most"
    assert played(work_mem, quick, long)["transactions"] == str(round(0.05 * 30300 / 51.6))
    assert played(work_mem, long)["transactions"] == "5", "0.05 s is not even one"
    assert "transactions" not in played(work_mem), "a study of times plays for a while"
    assert "transactions" not in played("load.transactions=100,200", long), "they are what is asked"


def test_settings_need_no_prefix_and_the_first_level_is_the_baseline() -> None:
    asked = parse(["work_mem=4MB, 64MB", "load.clients=1,4"], [INDEX], None)
    assert asked == Question({"server.work_mem": ("4MB", "64MB"), "load.clients": ("1", "4")}, (INDEX,))
    assert asked.named == f"work_mem 4MB, 64MB; load.clients 1, 4; {INDEX}"


def test_a_quantile_of_latency_needs_no_prefix_as_what_decides() -> None:
    for typed in ("p99_ms", "latency_p99_ms"):
        assert parse(["work_mem=4MB,64MB"], [], typed).objective == "latency_p99_ms"
    assert parse(["work_mem=4MB,64MB"], [], None).objective == "tps"
    assert parse(["work_mem=4MB,64MB"], [], "wal").objective == "wal_bytes_per_transaction"
    assert parse(["work_mem=4MB,64MB"], [], "hot_share").objective == "hot_share"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing is asked"),
        (["work_mem"], "NAME=VALUE"),
        (["=4MB,8MB"], "NAME=VALUE"),
        (["work_mem="], "NAME=VALUE"),
        (["work_mem=4MB"], "one level"),
        (["work_mem=4MB,4MB"], "one level"),
    ],
)
def test_what_is_no_question_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(words, [], None)


def test_the_study_varies_what_is_asked_and_holds_the_rest_as_the_server_has_it(tmp_path: Path) -> None:
    script = tmp_path / "001.sql"
    script.write_text("SELECT 1;\n")
    load = Load(10.0, (Statement(1, "SELECT 1", 5, 25_000.0, 5),))
    written = document(SOURCE, load, tmp_path / "data.dump", {script: 5}, parse(["work_mem=4MB,64MB"], [INDEX], None))
    study = write_study("ask", written).study
    assert [arm.name for arm in study.arms] == [
        "server.work_mem=4MB, schema.change=none", f"server.work_mem=4MB, schema.change={INDEX}",
        "server.work_mem=64MB, schema.change=none", f"server.work_mem=64MB, schema.change={INDEX}",
    ]  # fmt: skip
    assert study.design.baseline.name == "server.work_mem=4MB, schema.change=none"
    held = {name: level.canonical for name, level in study.fixed.items()}
    assert (held["server.jit"], held["load.clients"], held["load.script"]) == ("off", "3", str(script))
    assert "server.work_mem" not in held


def test_an_option_of_the_load_may_be_asked_for(tmp_path: Path) -> None:
    written = document(SOURCE, None, tmp_path / "data.dump", {}, parse(["load.protocol=simple,prepared"], [], "tps"))
    assert "protocol" not in written["load"]


def test_as_many_clients_play_as_sessions_were_active() -> None:
    statements = (Statement(1, "SELECT 1", 1, 10.0, 1),)
    moments = [Moment(float(n), {"active": active}, {}) for n, active in enumerate((0, 2, 3))]
    assert clients_of(Load(10.0, statements, tuple(moments))) == 2
    assert clients_of(Load(10.0, statements)) == 1
    assert clients_of(Load(1.0, (Statement(1, "SELECT 1", 1, 3500.0, 1),))) == 4


def test_at_a_rate_there_are_clients_to_spare() -> None:
    moments = tuple(Moment(float(n), {"active": active, "idle": 50}, {}) for n, active in enumerate((0, 2, 9)))
    load = Load(10.0, (Statement(1, "SELECT 1", 1, 10.0, 1),), moments)
    assert clients_of(load, multiple=1.0) == 15, "four for each of 3.67 that are active on average"
    assert clients_of(replace(load, moments=moments[2:] + moments[:1] * 20), multiple=1.0) == 9, "the busiest moment"
    assert clients_of(Load(10.0, load.statements), multiple=1.0) == 4


@pytest.mark.parametrize(("plans", "protocol"), [(0, "simple"), (2, "prepared"), (10, "simple")])
def test_statements_that_are_seldom_planned_are_prepared(plans: int, protocol: str) -> None:
    load = Load(1.0, (Statement(1, "SELECT 1", 10, 1.0, 1, plans=plans),))
    written = document(SOURCE, load, Path("data.dump"), {}, parse(["work_mem=4MB,64MB"], [], None))
    assert written["load"]["protocol"] == protocol


def programs_of(*versions: str, builds: tuple[str, ...] = (), installed: tuple[str, ...] = ()) -> object:
    asked = with_programs(parse([], [], None, versions, builds), SOURCE, lambda version: version in installed)
    return asked.programs


def test_versions_are_set_beside_the_servers_own() -> None:
    assert programs_of("18", installed=("17", "18")) == ((INSTALLED, "17"), (INSTALLED, "18"))
    assert programs_of("16, 18", "17", installed=("16", "17", "18")) == (
        (INSTALLED, "17"), (INSTALLED, "16"), (INSTALLED, "18"),
    )  # fmt: skip
    assert programs_of("17.6", installed=("17.5", "17.6")) == ((INSTALLED, "17.5"), (INSTALLED, "17.6"))


def test_all_versions_are_built_where_one_is_not_installed() -> None:
    assert programs_of("18", installed=("17",)) == ((BUILT, "17"), (BUILT, "18"))


def test_one_build_is_set_beside_a_build_of_the_servers_version(tmp_path: Path) -> None:
    patched = f"git:{tmp_path}@patched"
    assert parse([], [], None, [], [patched]).named == f"build {patched}"
    assert programs_of(builds=(patched,)) == ((BUILT, "17"), (BUILD, patched))
    assert programs_of(builds=(f"git:{tmp_path}@main", patched)) == ((BUILD, f"git:{tmp_path}@main"), (BUILD, patched))
    assert programs_of(builds=(str(tmp_path), "official")) == ((BUILD, f"directory:{tmp_path}"), (BUILD, "official"))


@pytest.mark.parametrize(
    ("words", "versions", "builds", "said"),
    [
        ([], ["17"], [], "the server is PostgreSQL 17 itself"),
        ([], ["18"], ["official"], "are given twice"),
        (["postgres.version=16,17"], ["18"], [], "are given twice"),
        (["build.cflags=-O2,-O3"], [], ["official"], "are given twice"),
        ([], [], ["nowhere"], "nowhere"),
    ],
)
def test_what_is_no_choice_of_programs_is_refused(
    words: list[str], versions: list[str], builds: list[str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        with_programs(parse(words, [], None, versions, builds), SOURCE, lambda version: True)


def test_programs_are_crossed_with_what_else_is_asked(tmp_path: Path) -> None:
    asked = parse(["work_mem=4MB,64MB"], [], None, ["18"])
    assert asked.named == "PostgreSQL 18; work_mem 4MB, 64MB"
    asked = with_programs(asked, SOURCE, lambda version: True)
    study = write_study("ask", document(SOURCE, None, tmp_path / "data.dump", {}, asked)).study
    assert [arm.name for arm in study.arms] == [
        f"postgres.version={version}, server.work_mem={size}" for version in (17, 18) for size in ("4MB", "64MB")
    ]
    assert study.design.baseline.name == "postgres.version=17, server.work_mem=4MB"
    assert study.fixed[CHECKSUMS].canonical == "off", "as in 17, and not by default of initdb of 18"


def test_a_build_beside_a_version_makes_a_list_of_treatments(tmp_path: Path) -> None:
    asked = with_programs(parse(["work_mem=4MB,64MB"], [], None, [], ["official"]), SOURCE, lambda version: True)
    study = write_study("ask", document(SOURCE, None, tmp_path / "data.dump", {}, asked)).study
    assert [arm.name for arm in study.arms] == [
        f"{program}, server.work_mem={size}"
        for program in ("build.version=17", "build.source=official")
        for size in ("4MB", "64MB")
    ]
    assert study.design.baseline.name == "build.version=17, server.work_mem=4MB"
