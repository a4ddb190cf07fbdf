"""A capture of a server that exists only as answers: what is asked, what is refused, what is warned of."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.capture import reads, taking
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Data, Function, View
from pgassay.capture.reads import HIDDEN
from pgassay.capture.source import Rows
from pgassay.capture.taking import Identity, Request, Taken, identify, take
from pgassay.capture.texts import announcement, summary
from pgassay.testing.fakes import FakeClock

IDENTITY = ("17.5", 17, "app", "UTF8", "C", False, 25 << 20, "pg_stat_statements, auto_explain")
ZERO = (0, 0, 0, 0, 0, 0)


class FakeServer:
    """Answers reads by what they are about; `asked` holds every statement."""

    def __init__(self, **answers: Any) -> None:
        self.answers: Mapping[str, Any] = {
            "the version": [IDENTITY],
            "the extensions": [("pg_stat_statements", "1.11", "public"), ("plpgsql", "1.0", "pg_catalog")],
            "the settings": [("work_mem", "4MB"), ("port", "5433"), ("pg_stat_statements.max", "100")],
            "the tables": [
                ("public", "t", 100.0, 1),
                ("public", "new", -1.0, 0),
            ],
            "the columns": [
                ("public", "t", "a", "integer", True, True, True),
                ("public", "t", "password", "text", False, False, False),
            ],
            "pg_stats": [
                ("public", "t", "a", 0.0, 4, -1.0, None, None, ["1", "50", "100"]),
                ("public", "t", "password", 0.5, 9, 2.0, ["x"], [0.5], None),
            ],
            "the functions": [("pay", ["", "amount"], ["bigint", "numeric"], True, True)],
            "the views": [
                ("public", "v", "a", "public", "t", "a"),
                ("public", "v", "b", "public", "t", "a"),
                ("public", "v", "b", "public", "u", "b"),
            ],
            "the rights": [(True,)],
            "the search paths": [("me", '"$user", public', 1.0, True)],
            "pg_stat_activity": [("active", "", 2), ("active", "IO: WALSync", 1), ("idle", "", 4)],
            **{name.replace("_", " ") if name != "pg_stats" else name: found for name, found in answers.items()},
        }  # fmt: skip
        self.asked: list[str] = []
        self.snapshots = iter(
            answers.get("snapshots", ([(1, None, 5, 5.0, 5, *ZERO)], [(1, "SELECT $1", 9, 9.0, 9, *ZERO)]))
        )
        self.counted = iter(({"updates": 10, "wal_bytes": None}, {"updates": 30, "wal_bytes": None}))

    def read(self, what: str, sql: str) -> Rows:
        self.asked.append(sql)
        if what == "pg_stat_statements":
            return Rows((), tuple(next(self.snapshots)))
        if what == "the counters":
            found = next(self.counted)
            return Rows(tuple(found), (tuple(found.values()),))
        return Rows((), (([], []),) if sql == reads.RIGHTS else tuple(self.answers[what]))


def taken(server: FakeServer, request: Request | None = None) -> Taken:
    wanted = request or Request(window_s=5.0)
    return take(server, identify(server, wanted), wanted, FakeClock(), lambda left: None)


def test_the_load_is_the_difference_of_two_snapshots_with_a_look_each_second() -> None:
    load = taken(FakeServer()).capture.load
    assert load is not None
    assert load.window_s == 5.0
    assert [(each.calls, each.exec_ms) for each in load.statements] == [(4, 4.0)]
    assert [each.at_s for each in load.moments] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert load.moments[0].states == {"active": 3, "idle": 4}
    assert load.moments[0].waits == {"CPU": 2, "IO: WALSync": 1}
    assert load.counters == {"updates": 20.0}, "what the server does not tell is not 0"


def test_settings_of_the_servers_place_stay_there_by_name() -> None:
    source = taken(FakeServer()).capture.source
    assert source.settings == {"work_mem": "4MB"}
    assert source.left_out == ("port", "pg_stat_statements.max")
    assert source.libraries == ("pg_stat_statements", "auto_explain")


def test_values_of_private_columns_are_left_out_and_a_new_table_has_no_statistics() -> None:
    found = taken(FakeServer()).capture
    (number, password), new = found.tables[0].columns, found.tables[1]
    assert number.histogram == ("1", "50", "100")
    assert (password.common_values, password.common_shares, password.null_share) == ((), (0.5,), 0.5)
    assert (new.rows, new.columns) == (None, ())
    assert found.secrets == ("values of public.t.password: its name says that they are private",)


def test_functions_have_their_arguments_and_views_the_columns_that_they_are_of() -> None:
    found = taken(FakeServer()).capture
    assert found.functions == (Function("pay", (("", "bigint"), ("amount", "numeric"))),)
    assert found.volatile_functions == ("pay",)
    assert found.views == (View("public", "v", (("a", "public", "t", "a"),)),), "b is of two"


@pytest.mark.parametrize(
    ("request_", "values"),
    [
        (Request(5.0), True),
        (Request(5.0, with_data=False), False),
        (Request(5.0, with_data=False, with_literals=True), True),
    ],
)
def test_values_are_asked_for_only_where_they_are_kept(request_: Request, values: bool) -> None:
    server = FakeServer()
    taken(server, request_)
    assert (reads.statistics(values=True) in server.asked) is values
    assert (reads.statistics(values=False) in server.asked) is not values


def test_literals_stay_only_if_they_are_asked_for() -> None:
    text = "SELECT 'a' /* b */"
    for literals, wanted in ((True, text), (False, "SELECT $1")):
        server = FakeServer(snapshots=([], [(1, text, 1, 1.0, 1, *ZERO)]))
        load = taken(server, Request(1.0, with_literals=literals)).capture.load
        assert load is not None
        assert [each.text for each in load.statements] == [wanted]


def test_a_text_with_a_secret_is_left_out_and_named() -> None:
    server = FakeServer(snapshots=([], [(7, "SELECT 'postgres://u:pw@h/d'", 1, 1.0, 1, *ZERO)]))
    found = taken(server, Request(1.0, with_literals=True)).capture
    assert found.load is not None
    assert found.load.statements[0].text == ""
    assert "statement 7: it seems to hold a password" in found.secrets[-1]


def test_an_idle_server_a_replica_and_hidden_texts_are_warned_of() -> None:
    assert "no statement ended in 1 s" in taken(FakeServer(snapshots=([], [])), Request(1.0)).warnings[0]
    replica = (*IDENTITY[:5], True, *IDENTITY[6:])
    assert "read replica" in taken(FakeServer(the_version=[replica])).warnings[0]
    hidden = FakeServer(snapshots=([], [(1, HIDDEN, 1, 1.0, 1, *ZERO)]))
    assert "the text of 1 statements is hidden" in taken(hidden).warnings[0]


@pytest.mark.parametrize(
    ("answers", "said", "hint"),
    [
        ({"the_extensions": []}, "pg_stat_statements is not available", "without a restart: CREATE EXTENSION"),
        ({"the_version": [(*IDENTITY[:7], "")]}, "pg_stat_statements is not", "add it to shared_preload_libraries"),
        ({"the_version": [("12.1", 12, *IDENTITY[2:])]}, "the server is PostgreSQL 12.1", "13 and later"),
    ],
)
def test_a_server_that_cannot_be_captured_says_what_helps(answers: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(CaptureError, match=said) as refused:
        taken(FakeServer(**answers))
    assert hint in str(refused.value.hint)
    assert said.startswith("the server") or "--without-load" in str(refused.value.hint)


def test_a_role_that_cannot_see_the_libraries_may_still_read_the_load() -> None:
    assert taken(FakeServer(the_version=[(*IDENTITY[:7], None)])).capture.load is not None


def test_without_the_load_nothing_is_asked_of_pg_stat_statements() -> None:
    server = FakeServer(the_extensions=[])
    found = taken(server, Request(with_load=False))
    assert found.capture.load is None
    assert not any("pg_stat_statements" in sql or "pg_stat_activity" in sql for sql in server.asked)


def test_every_read_has_our_mark_and_reads() -> None:
    server = FakeServer()
    taken(server)
    assert all(sql.startswith(f"SELECT /* {reads.MARK} */") for sql in server.asked)


def test_older_servers_are_asked_for_what_they_have() -> None:
    assert "toplevel" not in reads.statements("public", 13, texts=True)
    assert "toplevel" in reads.statements("public", 14, texts=False)
    assert "pg_stat_wal" not in reads.counters(13, replica=False)
    assert "pg_current_wal_lsn" not in reads.counters(13, replica=True), "a standby refuses it"


def test_the_list_of_reads_comes_first_and_the_cost_last() -> None:
    server = FakeServer()
    request = Request(window_s=5.0)
    identity: Identity = identify(server, request)
    said = announcement(identity, request)
    assert all(word in said for word in ("pg_settings", "pg_stat_activity", "every table", "25MB", "5 s"))
    assert "every table" not in announcement(identity, Request(with_data=False))
    assert announcement(identity, request, 1 << 30).splitlines()[-1] == (
        "dump: 25MB are needed here at most, since indexes are not read and it is compressed; 1GB are free"
    )
    shown = summary(taken(FakeServer()).capture, Path("app.capture"))
    assert "0.8 calls a second" in shown
    assert "its processor time cannot be seen from here" in shown
    assert "next: pgassay ask" not in shown, "it has no data"
    dumped = replace(taken(FakeServer()).capture, data=Data("dump", "data.dump", 1, 1))
    assert "next: pgassay ask here/app.capture work_mem" in summary(dumped, Path("here/app.capture"))


def test_names_are_looked_for_where_the_busiest_role_does_not_where_ours_does() -> None:
    tables = [("public", "t", 1.0, 1), ("care", "t", 1.0, 1), ("Ops 1", "t", 1.0, 1)]
    paths = [
        ("monitor", '"$user", public', 3.0, True),
        ("app", 'care, "Ops 1",nowhere, Public', 900.0, False),
        ("seldom", "public", 2.0, False),
        ("care", '"$user", public', 100.0, False),
    ]
    source = taken(FakeServer(the_tables=tables, the_search_paths=paths)).capture.source
    assert source.search_paths == (("care", "Ops 1", "public"), ("care", "public"))
    assert source.settings["search_path"] == '"care", "Ops 1", "public"'
    alone = taken(FakeServer()).capture.source
    assert (alone.search_paths, "search_path" in alone.settings) == ((("public",),), False)


def test_texts_that_the_parser_does_not_know_are_left_out_and_counted() -> None:
    raw = "SELECT a FROM t WHERE no = 4111111111111111"
    rows = [(1, raw, 1, 1.0, 1, *ZERO), (2, "SELECT 'cut", 1, 1.0, 1, *ZERO), (3, HIDDEN, 1, 1.0, 1, *ZERO)]
    found = taken(FakeServer(snapshots=([], rows))).capture
    assert found.load is not None
    assert {each.text for each in found.load.statements} == {"SELECT a FROM t WHERE no = $1", "", HIDDEN}
    assert any("the texts of 1 statements" in each for each in found.secrets)


def test_a_role_that_sees_nothing_of_a_busy_server_is_told_what_it_lacks() -> None:
    idle = taken(FakeServer(snapshots=([], []))).warnings
    blind = taken(FakeServer(snapshots=([], []), the_rights=[(False,)])).warnings
    assert [any("pg_read_all_stats" in each for each in said) for said in (idle, blind)] == [False, True]


_PLAYED, _NOT = "SELECT a FROM t WHERE a = $1", "SELECT b FROM nowhere WHERE b = $1"


def _foreseen(request: Request, not_played_ms: float, **answers: Any) -> tuple[str, ...]:
    """What is warned of before the window, on a server that has counted two statements."""
    counted = [(1, _PLAYED, 9, 10.0, 9, *ZERO), (2, _NOT, 9, not_played_ms, 9, *ZERO)]
    server = FakeServer(snapshots=[counted], **answers)
    return taking.require_possible(server, identify(server, request), request, Path("/"))


def test_a_load_of_which_little_can_be_played_is_foreseen_before_the_window() -> None:
    """It was once known ten minutes later, when a question was asked."""
    pytest.importorskip("pglast")
    (said,) = _foreseen(Request(), 90.0)
    assert said.startswith("by what pg_stat_statements has counted so far, 10.0% of the source's time can be played")
    assert f"not played, 90.0%: {_NOT}: " in said
    assert "--with-literals" in said
    assert _foreseen(Request(), 5.0) == ()


def test_what_cannot_be_foreseen_is_not_guessed() -> None:
    (said,) = _foreseen(Request(), 90.0, the_rights=[(False,)])
    assert said.startswith("the role lacks pg_read_all_stats")
    for request in (
        Request(with_literals=True), Request(with_data=False), Request(with_load=False)
    ):  # fmt: skip
        assert _foreseen(request, 90.0) == ()


def test_the_announcement_names_the_reads_that_foresee() -> None:
    server = FakeServer()
    for request, said in ((Request(), True), (Request(with_literals=True), False), (Request(with_data=False), False)):
        assert ("are read once more before it" in announcement(identify(server, request), request)) is said
