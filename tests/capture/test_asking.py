"""From a capture to the files of a study: what is refused before anything runs, and what is told."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from pgassay.capture import asking
from pgassay.capture.asking import PreparedQuestion
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Capture, Data, Load, Statement
from pgassay.capture.question import parse
from pgassay.capture.scripts import CapturedScript, ScriptedLoad, UnplayedStatement
from pgassay.interfaces.places import Version
from pgassay.interfaces.running import Completed
from pgassay.testing.fakes import FakeInstallation
from tests.capture.test_scripts import SOURCE, capture

KEYED = Statement(1, "SELECT status FROM orders WHERE id = $1", 30, 75.0, 30)
SORTED = Statement(2, "SELECT id FROM orders ORDER BY status", 2, 25.0, 2)
OWN = SOURCE.major
ASKED = parse(["work_mem=4MB,64MB"], [], None)


class Programs:
    """A pg_restore whose dump holds one table, and a pg_config with one extension."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "extension").mkdir(exist_ok=True)
        (folder / "extension" / "hstore.control").touch()
        (folder / "auto_explain.so").touch()

    def run(self, command: Sequence[str], **_: object) -> Completed:
        asks = {"--sharedir", "--pkglibdir"} & set(command)
        said = str(self.folder) if asks else "210; 1259 16400 TABLE public orders app\n"
        return Completed(tuple(command), 0, said, "")


def asked(
    folder: Path, found: Capture, *versions: int, programs: Programs | None = None, connections: int = 0
) -> PreparedQuestion:
    whole = replace(found, data=Data("dump", "data.dump", 1, 1)) if found.data == Data() else found
    programs = programs or Programs(folder)
    serving = [FakeInstallation(version=Version(each, 1, f"{each}.1")) for each in versions or (OWN,)]
    write = partial(asking.write, connections=connections)
    return write(folder, whole, ASKED, serving, programs, "now")  # type: ignore[arg-type]


def test_each_statement_has_a_script_with_its_calls_as_weight(tmp_path: Path) -> None:
    found = asked(tmp_path, capture(KEYED, SORTED))
    first, second = tmp_path / "asked/now/001.sql", tmp_path / "asked/now/002.sql"
    assert found.document()["load"]["script"] == [f"{first}@30", f"{second}@2"]
    assert first.read_text() == found.load.played[0].text
    assert found.data == tmp_path / "data.dump"
    assert found.warnings == {}


@pytest.mark.parametrize(
    ("change", "said", "hint"),
    [
        ("CREATE INDEX ON ordrs (status)", "names a table that the capture does not have: ordrs", '"orders"'),
        ("CREATE INDEX ON orders (status, statsu)", "names a column that orders does not have: statsu", '"status"'),
        ("CREATE INDEX ON other.orders (status)", "names a table that the capture does not have: orders", '"orders"'),
        ("ALTER TABLE odrers ADD COLUMN x int", "names a table that the capture does not have: odrers", '"orders"'),
        ("CREATE INDX ON orders (status)", "cannot be parsed: syntax error", None),
        ("CREATE INDEX ON orders (lower(status)) INCLUDE (id) WHERE status > 'a'", "", None),
        ("CREATE INDEX ON public.orders (status)", "", None),
        ("ALTER TABLE orders ADD COLUMN x int; CREATE INDEX ON orders (x)", "", None),
        ("CREATE TABLE own (a int); CREATE INDEX ON own (a)", "", None),
        ("ALTER TABLE IF EXISTS none SET (fillfactor = 80)", "", None),
        ("ALTER INDEX orders_pkey SET (fillfactor = 80)", "", None),
        ("DROP INDEX orders_status_idx", "", None),
    ],
)
def test_names_in_a_change_are_looked_up_in_the_capture_before_anything_is_written(
    tmp_path: Path, change: str, said: str, hint: str | None
) -> None:
    whole = replace(capture(KEYED), data=Data("dump", "data.dump", 1, 1))
    (tmp_path / "there").mkdir()
    serving = [FakeInstallation(version=Version(OWN, 1, f"{OWN}.1"))]

    def ask() -> PreparedQuestion:
        return asking.write(tmp_path, whole, parse([], [change], None), serving, Programs(tmp_path / "there"), "now")  # type: ignore[arg-type]

    if not said:
        assert ask().question.changes == (change,)
        return
    with pytest.raises(CaptureError) as raised:
        ask()
    assert said in raised.value.message
    assert hint is None or hint in (raised.value.hint or "")
    assert not (tmp_path / "asked").exists()


def test_two_questions_of_one_second_have_a_folder_each(tmp_path: Path) -> None:
    first, second = asked(tmp_path, capture(KEYED)), asked(tmp_path, capture(SORTED))
    assert [each.folder.name for each in (first, second)] == ["now", "now-2"]
    assert [(each.folder / "001.sql").read_text() for each in (first, second)] == [
        each.load.played[0].text for each in (first, second)
    ]


class AtOnce(Programs):
    """A pg_restore that leaves a policy out; while it makes the first script, somebody else asks, too."""

    scripts = 0

    def __init__(self, folder: Path, other: Thread) -> None:
        super().__init__(folder)
        self.other = other

    def run(self, command: Sequence[str], **more: object) -> Completed:
        stdout = more.get("stdout")
        if not isinstance(stdout, Path):
            done = super().run(command, **more)
            return replace(done, stdout=f"{done.stdout}3300; 3256 16500 POLICY public orders own app\n")
        self.scripts += 1
        if self.scripts == 1:
            self.other.start()
            self.other.join(1.0)  # if it does not wait for us, it has its script now
        stdout.write_text(f"SELECT {self.scripts};\n")
        return Completed(tuple(command), 0, "", "")


def test_what_is_made_once_is_made_by_one_of_two_who_ask_at_the_same_time(tmp_path: Path) -> None:
    answers: list[PreparedQuestion] = []
    other = Thread(target=lambda: answers.append(asked(tmp_path, capture(SORTED), programs=programs)))
    programs = AtOnce(tmp_path, other)
    answers.append(asked(tmp_path, capture(KEYED), programs=programs))
    other.join()
    assert [each.data for each in answers] == [tmp_path / "asked/data.sql"] * 2
    assert (programs.scripts, (tmp_path / "asked/data.sql").read_text()) == (1, "SELECT 1;\n")


def test_a_script_that_fails_is_left_out_and_named(tmp_path: Path) -> None:
    found = asked(tmp_path, capture(KEYED, SORTED))
    less = found.without({"002": "duplicate key"})
    assert [each.name for each in less.load.played] == ["001"]
    assert less.load.time_share == pytest.approx(0.75)
    assert less.load.unplayed[0].reason == "it fails here: duplicate key"
    with pytest.raises(
        CaptureError, match=r"^25\.0% of the source's time can be played.*75\.0%: SELECT status .*: a$"
    ) as refused:
        found.without({"001": "a"})
    assert str(refused.value.hint).startswith("let it run here")


def test_a_count_has_each_statement_that_matters_in_each_block_or_says_which_it_has_not(tmp_path: Path) -> None:
    """A report of ten seconds for each hundred reads is nearly all of the work, and one of a hundred transactions."""
    report, read = Statement(3, "SELECT sum(total) FROM orders", 1, 10_000.0, 1), replace(KEYED, calls=99, exec_ms=99.0)
    seldom = replace(SORTED, calls=1, exec_ms=1.0)
    found = asked(tmp_path, capture(report, read, seldom))
    assert found.needed == {report.text: 127}, "the others take less than a hundredth"
    tried = Load(10.0, (report, read, seldom))
    assert found.document(counted=tried)["load"]["transactions"] == "127"
    said = found.rare(["500", "20"])
    assert said.startswith('a count of 20 transactions can be without "SELECT sum(total) FROM orders", which')
    assert "load.transactions=127" in said
    assert found.rare(["127"]) == ""
    assert asked(tmp_path, capture(read)).document(counted=tried)["load"]["transactions"] == "5"
    nothing = replace(found, load=replace(found.load, tried=()))
    assert (nothing.needed, nothing.document()["load"].get("transactions")) == ({}, None)


def test_what_keeps_a_database_in_order_is_no_part_of_the_load_that_can_be_played() -> None:
    def left(*shares: tuple[str, float]) -> str:
        played = CapturedScript((Statement(1, "SELECT 1", 1, 1.0, 1),), "001", "SELECT 1;\n", 1)
        unplayed = tuple(UnplayedStatement(Statement(9, text, 1, 1.0, 1), "", share) for text, share in shares)
        return ScriptedLoad((played,), unplayed).too_little

    assert left(("VACUUM orders", 0.6), ("analyze", 0.2), ("SELECT note FROM orders", 0.05)) == ""
    assert left(("VACUUM orders", 0.6), ("SELECT note FROM orders", 0.25)).startswith("37.5% of the source's time can")


def test_a_load_of_which_less_than_half_can_be_played_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    hidden = Statement(3, "SELECT note FROM orders WHERE length(note) > $1", 9, 75.0, 9)
    with pytest.raises(CaptureError) as refused:
        asked(tmp_path, capture(hidden, SORTED))
    assert refused.value.message.startswith("25.0% of the source's time can be played, so the answer would be about")
    assert "75.0%: SELECT note FROM orders WHERE length(note) > $1: the value of $1 is" in refused.value.message
    assert "--log FILE --with-literals" in str(refused.value.hint)
    assert not (tmp_path / "asked").exists()
    assert asked(tmp_path, capture(hidden, replace(SORTED, exec_ms=75.0))).load.time_share == 0.5
    with pytest.raises(CaptureError, match="the capture has no statements"):
        asked(tmp_path, capture())


def test_commits_take_time_of_the_statements_that_they_commit(tmp_path: Path) -> None:
    commit = Statement(3, "COMMIT", 30, 900.0, 0)
    found = asked(tmp_path, capture(commit, KEYED))
    assert (found.load.time_share, len(found.load.played)) == (1.0, 1)


def test_what_differs_from_the_server_is_told(tmp_path: Path) -> None:
    found = asked(tmp_path, replace(capture(KEYED), source=replace(SOURCE, major=13, collation="de_DE.UTF-8")))
    assert set(found.warnings) == {"other_version", "other_collation"}
    assert "de_DE.UTF-8" in found.warnings["other_collation"]


def test_preloaded_libraries_are_loaded_where_they_are_here_and_named_where_not(tmp_path: Path) -> None:
    libraries = ("pg_stat_statements", "$libdir/auto_explain", "pg_cron", "timescaledb", "/opt/own.so")
    found = asked(tmp_path, replace(capture(KEYED), source=replace(SOURCE, libraries=libraries)))
    assert found.document()["fixed"]["server.shared_preload_libraries"] == "auto_explain"
    assert found.warnings == {
        "libraries_left_out": "left out of shared_preload_libraries: pg_cron (it acts by itself),"
        " timescaledb (it is not installed here), /opt/own.so (it is not installed here)"
    }


def test_the_library_of_an_extension_whose_setting_is_asked_about_is_loaded(tmp_path: Path) -> None:
    programs = Programs(tmp_path)
    (tmp_path / "hstore.so").touch()
    question = parse(["server.hstore.own=1,2", "server.auto_explain.log_analyze=on,off", "work_mem=4MB,64MB"], [], None)
    found = replace(capture(KEYED), source=replace(SOURCE, extensions={"hstore": "1"}), data=Data("dump", "data.dump"))
    serving = [FakeInstallation(version=Version(OWN, 1, f"{OWN}.1"))]
    study = asking.write(tmp_path, found, question, serving, programs, "now")  # type: ignore[arg-type]
    assert study.libraries == ("hstore",), "auto_explain is no extension of the server"
    assert study.warnings == {
        "settings_of_nothing": "no extension and no preloaded library of the server is called auto_explain:"
        " its settings do nothing"
    }
    assert asked(tmp_path, found).libraries == ()


def test_one_of_the_versions_being_the_servers_needs_no_warning(tmp_path: Path) -> None:
    assert asked(tmp_path, capture(KEYED), OWN, 18).warnings == {}


def test_settings_that_a_version_does_not_know_are_left_out_of_all(tmp_path: Path) -> None:
    settings = {"work_mem": "4MB", "Vacuum_Defer_Cleanup_Age": "0", "jit_of_old": "on"}
    found = capture(KEYED)
    found = replace(found, source=replace(found.source, settings=settings))
    study = asked(tmp_path, found, OWN, 18)
    held = [name for name in study.document()["fixed"] if name.startswith("server.")]
    assert held == [], "work_mem is varied"
    assert study.warnings["settings_left_out"] == (
        "left out of the settings, because PostgreSQL 18 does not know them: Vacuum_Defer_Cleanup_Age, jit_of_old"
    )


def test_a_limit_on_connections_that_is_too_small_for_the_load_is_left_out(tmp_path: Path) -> None:
    found = capture(KEYED)
    found = replace(found, source=replace(found.source, settings={"max_connections": "50"}))
    kept, raised = (asked(tmp_path, found, connections=needed) for needed in (50, 95))
    assert kept.document()["fixed"]["server.max_connections"] == "50"
    assert kept.warnings == {}
    assert "server.max_connections" not in raised.document()["fixed"]
    assert raised.warnings == {
        "connections_left_out": "left out of the settings, because the load may need 95 connections:"
        " max_connections = 50"
    }


def test_a_limit_on_connections_that_is_no_number_is_left_to_the_server(tmp_path: Path) -> None:
    found, value = capture(KEYED), "9" * 5000
    found = replace(found, source=replace(found.source, settings={"max_connections": value}))
    assert asked(tmp_path, found, connections=95).document()["fixed"]["server.max_connections"] == value


class Listed(Programs):
    """A pg_restore that shows dependencies, of a dump with an index, a table or nothing that needs pg_trgm."""

    def __init__(self, folder: Path, *needing: str) -> None:
        super().__init__(folder)
        self.needing = needing

    def run(self, command: Sequence[str], **more: object) -> Completed:
        if isinstance(stdout := more.get("stdout"), Path):
            stdout.write_text("SELECT 1;\n")
        if "--list" not in command:
            return super().run(command, **more)
        told = [f"{line}\n;\tdepends on: 2 210" if "--verbose" in command else line for line in self.needing]
        lines = ["2; 3079 16384 EXTENSION - pg_trgm ", "210; 1259 16400 TABLE public orders app", *told]
        return Completed(tuple(command), 0, "\n".join(lines) + "\n", "")


TRIGRAMS = replace(capture(KEYED), source=replace(SOURCE, extensions={"pg_trgm": "1.6", "hstore": "1"}))


def test_an_extension_that_is_not_here_is_left_out_with_what_needs_it(tmp_path: Path) -> None:
    programs = Listed(tmp_path, "300; 1259 16410 INDEX public orders_note app")
    found = asked(tmp_path, TRIGRAMS, programs=programs)
    assert found.data == tmp_path / "asked/without-pg_trgm/data.sql"
    assert found.data.with_name("contents.txt").read_text() == "210; 1259 16400 TABLE public orders app\n"
    assert found.warnings == {
        "extensions_left_out": "left out of the data, because it is not installed here: extension pg_trgm;"
        " and what needs them: INDEX public orders_note"
    }
    (tmp_path / "extension" / "pg_trgm.control").touch()
    assert asked(tmp_path, TRIGRAMS, programs=programs).data == tmp_path / "data.dump", "where it is here, all is taken"


def test_a_table_that_needs_an_extension_is_not_left_out(tmp_path: Path) -> None:
    programs = Listed(tmp_path, "211; 1259 16401 TABLE public notes app")
    with pytest.raises(
        CaptureError, match=r"does not have: pg_trgm \(columns or defaults of public\.notes\)$"
    ) as caught:
        asked(tmp_path, TRIGRAMS, programs=programs)
    assert "install them" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (replace(capture(KEYED), data=Data("none", database_bytes=5)), "holds no data"),
        (capture(Statement(1, "VACUUM", 1, 1.0, 0)), "a utility statement is not played"),
        (capture(), "the capture has no statements"),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path: Path, wrong: Capture, said: str) -> None:
    with pytest.raises(CaptureError, match=said):
        asked(tmp_path, wrong)
