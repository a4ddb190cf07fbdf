"""The log that a capture keeps to be played again: what of it, how it is written, and when there is none."""

import os
import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from pgassay._core import ServerLogReader
from pgassay.capture import likeness, logs, question, replaying
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Logged, Statement
from pgassay.capture.logs import LogFiles
from pgassay.cli import main
from pgassay.host.runner import SystemClock
from pgassay.load.player import ReplayedLog, facts_of
from pgassay.load.replay import PlayedStatement, ReplayLoad, ReplayOptions
from pgassay.testing import real
from tests.capture.test_question import SOURCE
from tests.load import replayed
from tests.load.loads import real_tools
from tests.load.replayed import PREFIX, Said, statement

NAME = replayed.name_of(0)
TOKEN = "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4"  # gitleaks:allow, a made-up one
KEPT = [
    Said(0.0, NAME, "LOG:  connection authorized: user=a database=b"),
    statement(0.1, NAME, "BEGIN"),
    Said(0.2, NAME, "LOG:  duration: 1.500 ms  execute q: UPDATE t SET a = $1, b = $2 WHERE c = $3"),
    Said(0.2, NAME, "DETAIL:  parameters: $1 = 'it''s, $2 = ', $2 = NULL, $3 = '7'"),
    statement(0.3, NAME, "COMMIT"),
    Said(0.4, NAME, "ERROR:  division by zero"),
    Said(0.4, NAME, "STATEMENT:  SELECT 1 / 0"),
    statement(4.9, NAME, "SELECT 'done'"),
]
SECRET = [
    statement(0.5, NAME, "SELECT id FROM users WHERE password_hash = 'x'"),
    statement(0.6, NAME, f"SELECT id FROM sessions WHERE key = '{TOKEN}'"),
    statement(0.7, NAME, "ALTER ROLE a PASSWORD 'geheim'"),
    statement(0.8, NAME, "CREATE TABLE u ()"),
]


def keep(folder: Path, said: list[Said]) -> tuple[int, int]:
    """How many calls were kept, and how many were not because they seem to hold a secret."""
    return kept_of(replayed.write(folder / "server.log", said), PREFIX)


def kept_of(log: Path, prefix: str) -> tuple[int, int]:
    with log.with_name(replaying.FILE).open("w", encoding="utf-8") as file:
        kept = replaying.KeptLog(file, "shop")
        logs.read(LogFiles((log,)), prefix, "shop", with_values=True, on_event=kept.take)
    return kept.calls, kept.secret


def test_what_is_kept_is_what_was_logged(tmp_path: Path) -> None:
    assert keep(tmp_path, KEPT) == (4, 0)
    was, kept = (list(ServerLogReader([tmp_path / name], (PREFIX,))) for name in ("server.log", replaying.FILE))
    assert kept == was
    assert ["it's, $2 = ", None, "7"] in [each[6] for each in kept]


def test_secrets_and_utility_statements_stay_behind(tmp_path: Path) -> None:
    assert keep(tmp_path, [*KEPT, *SECRET]) == (4, 2)
    text = (tmp_path / replaying.FILE).read_text()
    assert not any(word in text for word in ("password_hash", TOKEN, "geheim", "CREATE TABLE"))
    kept = replaying.KeptLog(StringIO(), "")
    kept.calls, kept.secret = 4, 2
    assert "2 more seem to hold a secret" in kept.note


def test_other_databases_stay_behind(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    lines = [f"2026-11-23 01:29:4{n}.000 UTC [{n}] {name} LOG:  statement: SELECT {n}\n" for n, name in
             enumerate(("shop", "other", "shop", "other"))]  # fmt: skip
    log.write_text("".join(lines), encoding="utf-8")
    assert kept_of(log, "%m [%p] %d ") == (2, 0)


def test_a_log_that_comes_through_a_pipe_is_kept_too(tmp_path: Path) -> None:
    keep(tmp_path, KEPT)
    straight = (tmp_path / replaying.FILE).read_text()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', str(tmp_path / "server.log"), str(pipe)]):
        assert kept_of(pipe, PREFIX) == (4, 0)
    assert (tmp_path / replaying.FILE).read_text() == straight != ""


def test_a_disk_that_is_full_ends_the_reading(tmp_path: Path) -> None:
    def full(event: logs.Event) -> None:
        raise OSError(28, "No space left on device")

    log = replayed.write(tmp_path / "server.log", KEPT)
    with pytest.raises(CaptureError, match="No space left on device"):
        logs.read(LogFiles((log,)), PREFIX, "shop", with_values=True, on_event=full)


@pytest.mark.system
def test_warm_up_and_window_are_as_long_as_the_log_allows(tmp_path: Path) -> None:
    keep(tmp_path, KEPT)
    assert facts_of(ReplayedLog((tmp_path / replaying.FILE,)), real.runner()).log_calls == 5
    table = replaying.load_table(tmp_path, real.runner())
    assert table == {
        "driver": "replay", "log": [str(tmp_path / replaying.FILE)], "warmup": "0s", "duration": "4s",
    }  # fmt: skip
    assert replaying.load_table(tmp_path, real.runner(), Path("own.log")) == {"driver": "replay"}
    keep(tmp_path, KEPT[:5])
    with pytest.raises(CaptureError, match="spans 0 s, too little"):
        replaying.load_table(tmp_path, real.runner())


def test_without_a_log_nothing_is_played_again(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="has no log") as refused:
        replaying.load_table(tmp_path, real.runner())
    assert "--with-literals" in (refused.value.hint or "")


def test_a_log_is_the_load_in_place_of_scripts(tmp_path: Path) -> None:
    asked = question.parse(["work_mem=4MB,64MB"], (), question.AT_OWN_PACE)
    table = {"driver": "replay", "log": ["/a/log.json"], "warmup": "1s", "duration": "9s"}
    found = question.document(SOURCE, None, tmp_path / "data.dump", {}, asked, replayed=table)
    assert found["load"] == {**table, "init": str(tmp_path / "data.dump"), "checkpoint": "wal"}
    assert found["responses"] == {"primary": "latency_ms"}


SUMS = (
    Statement(7, "UPDATE sums SET amount = amount + $1 WHERE customer = $2", 100, 50.0, 100),
    Statement(8, "INSERT INTO orders VALUES ($1)", 100, 50.0, 100),
    Statement(9, "SELECT $1", 5, 1.0, 5),
    Statement(10, "BEGIN", 100, 1.0, 0),
    Statement(11, "COMMIT", 100, 9.0, 0),
)


def test_a_replayed_statement_is_the_sources_where_the_texts_are_the_same_without_constants() -> None:
    owner = replaying.owner_of(Load(10.0, SUMS), ["SELECT b FROM t WHERE a = $1"])
    texts = ("SELECT $3", "SELECT b FROM t WHERE a = $1", "END", "SELECT setting FROM pg_settings")
    assert [owner(Statement(70 + n, text, 1, 1.0, 1)) for n, text in enumerate(texts)] == [9, 71, 72, None]


def test_without_pg_stat_statements_the_player_counts() -> None:
    """Of a log alone the source's identifiers are hashes of its texts."""
    text, other = "SELECT b FROM t WHERE a = $1", "SELECT c FROM t"
    source = Load(10.0, (Statement(logs.identifier(text), text, 40, 8.0, 0),), logged=Logged(10.0, 40))
    played = [
        PlayedStatement(text, 20, 4.0, 20),
        PlayedStatement(other, 20, 4.0, 20),
        PlayedStatement("BEGIN", 20, 1.0, 0),
        PlayedStatement("SELECT 1 / 0", 0, 0.0, 0),
    ]
    made = replaying.by_player(played, 5.0, source)
    assert [each.query_id for each in made.statements] == [source.statements[0].query_id, logs.identifier(other)]
    parts = {each.name: each.likeness for each in likeness.compare(source, made, 1.0).parts}
    known = {name: like for name, like in parts.items() if like is not None}
    assert known == {
        "calls by statement": 0.5, "time by statement": 0.5, "time a call": 1.0, "calls a second": pytest.approx(0.5),
        "time that is played": 1.0,
    }  # fmt: skip


def replay_of(folder: Path, said: list[Said]) -> ReplayLoad:
    log = replayed.write(folder / "server.log", said)
    options = ReplayOptions.from_levels({"log": str(log), "log_prefix": PREFIX, "duration": "2s"})
    return ReplayLoad(options, real_tools())


@pytest.mark.slow
@pytest.mark.system
def test_a_replay_is_counted_as_the_source_was(tmp_path: Path) -> None:
    """The same log is like itself, and a log with another statement in the place of one is not."""
    source = Load(2.0, SUMS, counters={"updates": 100.0, "hot_updates": 100.0})
    said = replayed.sums(2, 2.0, 50)
    other = [replace(each, message=each.message.replace("UPDATE sums SET", "UPDATE sums AS s SET")) for each in said]
    made: list[Load] = []
    for log in (said, said, other):
        with real.server(shared_preload_libraries="pg_stat_statements") as (server, _):
            for each in replayed.SCHEMA.strip().split(";\n"):
                server.execute(each.rstrip(";"))
            result, load = replaying.play(replay_of(tmp_path, log), server, tmp_path / "out", SystemClock(), source)
            assert dict(result.problems) == {}
            if load is None:
                pytest.skip("this PostgreSQL has no pg_stat_statements")
            made.append(load)
    counts = {each.query_id: (each.calls, each.rows) for each in made[0].statements if each.query_id < 10}
    assert counts == {7: (100, 100), 8: (100, 100), 9: (1, 1)} or counts == {7: (100, 100), 8: (100, 100)}
    assert sum(each.calls for each in made[0].statements) in (400, 401), "nothing of ours is in it"
    assert made[0].counters["updates"] == 100.0
    same, unlike = (likeness.compare(made[0], each, 1.0) for each in made[1:])
    alike = {each.name: each.likeness for each in same.parts}
    assert (alike["calls by statement"], alike["rows a call"]) == (1.0, 1.0)
    assert not same.unlike
    assert {each.name: each.likeness for each in unlike.parts}["calls by statement"] == pytest.approx(0.75, abs=0.01)


def test_a_log_and_scripts_are_too_much(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["ask", str(tmp_path), "work_mem=4MB,64MB", "--replay", "--set", "load.script=a.sql"]
    assert main(words) == 2
    assert "--replay and load.script cannot be used together" in capsys.readouterr().err
