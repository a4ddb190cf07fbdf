"""A question on the command line becomes a study that the lab reads."""

from pathlib import Path

import pytest

from pgassay.capture.format import Load, Moment, Source, Statement
from pgassay.capture.question import Question, clients_of, document, parse, protocol_of
from pgassay.errors import UsageError
from pgassay.lab.run import write_study

SOURCE = Source("17.5", 17, "app", "UTF8", "C", False, {"work_mem": "4MB", "jit": "off"}, (), (), {})
INDEX = "CREATE INDEX ON orders (customer_id)"


def test_settings_need_no_prefix_and_the_first_level_is_the_baseline() -> None:
    asked = parse(["work_mem=4MB, 64MB", "load.clients=1,4"], [INDEX], None)
    assert asked == Question({"server.work_mem": ("4MB", "64MB"), "load.clients": ("1", "4")}, (INDEX,))
    assert asked.named == f"work_mem 4MB, 64MB; load.clients 1, 4; {INDEX}"


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


def test_statements_that_are_seldom_planned_are_prepared() -> None:
    def load(plans: int) -> Load:
        return Load(1.0, (Statement(1, "SELECT 1", 10, 1.0, 1, plans=plans),))

    assert [protocol_of(load(plans)) for plans in (0, 2, 10)] == ["simple", "prepared", "simple"]
