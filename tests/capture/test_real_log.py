"""The log that a real server writes: a capture without pg_stat_statements, and values where there is that extension."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import sleep

import psycopg
import pytest

from pgassay._core import ServerLogReader
from pgassay.capture import files
from pgassay.capture.replaying import Stage, try_each
from pgassay.capture.scripts import scripted
from pgassay.cli import main
from pgassay.host.runner import SystemClock
from pgassay.interfaces.server import Server
from pgassay.load.player import PlayedLoad, PlayedScript, Player, ReplayedLog
from pgassay.testing import real

pytestmark = pytest.mark.system

PREFIX = "%m [%c] %q%u@%d/%a "
INSERT = "INSERT INTO orders VALUES ($1, $2)"
SELECT = "SELECT note FROM orders WHERE id = $1 AND note <> $2"


def run_transactions(server: Server) -> None:
    with psycopg.connect(server.endpoint.conninfo(), application_name="the app") as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        connection.commit()
        for number in (1, 2):
            connection.execute("INSERT INTO orders VALUES (%s, %s)", (number, "it's\n\tnew"), prepare=True)
            connection.execute("SELECT note FROM orders -- a page\n WHERE id = 1 AND note <> 'x'")
            connection.commit()


def test_a_server_without_the_extension_is_captured_by_its_log(tmp_path: Path) -> None:
    path = tmp_path / "app.capture"
    with real.server(log_line_prefix=PREFIX, log_min_duration_statement="0") as (server, _):
        run_transactions(server)
        log = tmp_path / "server.log"
        server.query("SELECT 'a statement behind the last'")
        log.write_text(server.log_text(), encoding="utf-8")
        words = ["capture", server.endpoint.conninfo(), "--data", "none", "--with-literals", "--log", str(log)]
        assert main([*words, "--out", str(path)]) == 0
    load = files.read(path).load
    assert load is not None
    assert load.logged is not None
    by_id = {each.query_id: each.text for each in load.statements}
    insert = next(each for each in load.statements if each.text == INSERT)
    assert insert.parameters == (("1", "it's\n\tnew"), ("2", "it's\n\tnew"))
    kinds = {tuple(by_id[number] for number in each.statements): each.commits for each in load.logged.transactions}
    assert kinds == {(INSERT, SELECT): 2}


def test_a_rotated_log_is_read_in_order_its_old_pieces_compressed(tmp_path: Path) -> None:
    path = tmp_path / "app.capture"
    copies = [tmp_path / name for name in ("c", "a", "b")]
    with real.server(log_line_prefix=PREFIX, log_min_duration_statement="0") as (server, _):
        taken = 0
        for turn, copy in enumerate(copies):
            server.query(f"SELECT {turn} AS turn")
            server.query("SELECT 'a statement behind the last', pg_sleep(0.01)")  # no two pieces begin at one time
            plain = server.log_text()[taken:]  # as logrotate's copytruncate leaves it
            taken += len(plain)
            copy.write_bytes(plain.encode() if turn == 2 else gzip.compress(plain.encode()))
        words = ["capture", server.endpoint.conninfo(), "--data", "none", "--with-literals"]
        assert main([*words, "--log", ",".join(map(str, sorted(copies))), "--out", str(path)]) == 0
    events = ServerLogReader(sorted(copies), [PREFIX])
    times = [(event[0], event[5][7]) for event in events if event[5].endswith(" AS turn")]
    assert times == sorted(times)
    assert [turn for _, turn in times] == ["0", "1", "2"]
    load = files.read(path).load
    assert load is not None
    assert next(each for each in load.statements if each.text == "SELECT $1 AS turn").calls == 3


def test_a_log_whose_prefix_changed_and_whose_end_is_missing_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, log, later = tmp_path / "app.capture", tmp_path / "server.log", "%t [%p] "
    with real.server(log_line_prefix=PREFIX, log_min_duration_statement="0") as (server, _):
        run_transactions(server)
        server.execute(f"ALTER SYSTEM SET log_line_prefix = '{later}'")
        server.execute("SELECT pg_reload_conf()")
        while (shown := server.query("SHOW log_line_prefix")) != [(later,)]:
            assert shown == [(PREFIX,)]
            sleep(0.1)
        with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
            for _ in range(3):
                connection.execute("SELECT note FROM orders WHERE id = 2 AND note <> 'y'")
            connection.execute("SELECT 'the end'")
        whole = server.log_text()
        log.write_text(whole[: whole.index("'the end'")], encoding="utf-8")
        words = ["capture", server.endpoint.conninfo(), "--data", "none", "--log", str(log), "--out", str(path)]
        assert main([*words, "--log-line-prefix", PREFIX, "--log-line-prefix", later]) == 0
    assert "last record is left out" in capsys.readouterr().err
    load = files.read(path).load
    assert load is not None
    assert {each.text: each.calls for each in load.statements}[SELECT] == 5


def test_a_log_of_statements_without_durations_is_captured_and_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, log = tmp_path / "app.capture", tmp_path / "server.log"
    with real.server(log_line_prefix=PREFIX, log_statement="all", log_min_duration_statement="-1") as (server, _):
        run_transactions(server)
        server.query("SELECT 'a statement behind the last'")
        log.write_text(server.log_text(), encoding="utf-8")
        words = ["capture", server.endpoint.conninfo(), "--data", "none", "--with-literals", "--log", str(log)]
        assert main([*words, "--out", str(path)]) == 0
        assert "have no duration" in capsys.readouterr().err
        load = files.read(path).load
        assert load is not None
        assert load.logged is not None
        assert {each.text: (each.calls, each.exec_ms) for each in load.statements if each.text in (INSERT, SELECT)} == {
            INSERT: (2, 0.0), SELECT: (2, 0.0),
        }  # fmt: skip
        assert [(each.commits, each.pause_ms) for each in load.logged.transactions] == [(2, 0.0)]
        server.execute("TRUNCATE orders")
        replayed = ReplayedLog((log,), (PREFIX,), database=server.endpoint.database)
        with Player(replayed, server.endpoint, real.runner(), SystemClock()) as player:
            assert player.log is not None
            played = player.play(duration_ms=int(player.log.length_ms) + 1000)
        assert dict(played.failed) == {}
        assert server.query("SELECT id, note FROM orders ORDER BY id") == [(1, "it's\n\tnew"), (2, "it's\n\tnew")]


FORMATS = ("text", "json", "yaml", "xml")
EXPLAINED = {
    "shared_preload_libraries": "pg_stat_statements", "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on", "auto_explain.log_verbose": "on",
    "log_line_prefix": PREFIX, "log_statement": "none", "log_min_duration_statement": "-1",
}  # fmt: skip


def columns(number: int) -> str:
    """Other names for the same columns would be the same statement to the server."""
    return ", ".join(["note", "id", "note", "id"][: number + 1])


@contextmanager
def asked_again(server: Server) -> Iterator[None]:
    """A query again and again in four sessions, each with another format of auto_explain, while the context lasts."""
    ended = threading.Event()

    def ask(number: int) -> None:
        with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute(f"SET auto_explain.log_format = '{FORMATS[number]}'")
            while not ended.wait(0.05):
                connection.execute(f"SELECT {columns(number)} FROM orders\n WHERE id = {number} AND note <> 'x<\ny\"'")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(FORMATS))]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_log_of_auto_explain_alone_gives_values_to_what_was_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, alone = tmp_path / "app.capture", tmp_path / "alone.capture"
    with real.server(**EXPLAINED) as (server, data):
        with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
            connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        (log,) = (data.parent / "socket").glob("server-*.log")
        words = ["capture", server.endpoint.conninfo(), "--data", "none", "--with-literals", "--log", str(log)]
        with asked_again(server):
            assert main([*words, "--for", "2s", "--out", str(path)]) == 0
        said = capsys.readouterr()
        server.execute("DROP EXTENSION pg_stat_statements")
        assert main([*words, "--out", str(alone)]) == 2
    assert "does not say how often a statement ran" in capsys.readouterr().err
    assert "entries of auto_explain are not used" not in said.err
    capture = files.read(path)
    assert capture.load is not None
    assert capture.load.logged is None
    seen = {each.text: each for each in capture.load.statements if "FROM orders" in each.text}
    for number in range(len(FORMATS)):
        statement = seen[f"SELECT {columns(number)} FROM orders\n WHERE id = $1 AND note <> $2"]
        assert statement.calls > 1
        assert set(statement.parameters) == {(str(number), 'x<\ny"')}
        (played,) = [each for each in scripted(capture).played if f"SELECT {columns(number)} FROM" in each.label]
        assert f"id = E'{number}' AND note <> E'x<\\x0ay\"'" in played.text
    tuples = sum(len(each.parameters) for each in capture.load.statements)
    assert capture.load.planned_values == tuples
    assert f"values: {tuples} tuples of them from entries of auto_explain" in said.out


def sell(server: Server, *, sales: int) -> None:
    """A shop's transactions: a line of a customer and the count of this customer's lines, which agree ever after."""
    random = Random(1)
    with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE lines (customer int, amount int)")
        connection.execute("CREATE TABLE sums (customer int PRIMARY KEY, amount int)")
        connection.execute("INSERT INTO lines SELECT n, 0 FROM generate_series(1, 400) n")
        connection.execute("INSERT INTO sums SELECT n, 0 FROM generate_series(1, 400) n")
        connection.execute("ANALYZE")
        for _ in range(sales):
            customer = random.randint(1, 400)
            connection.execute("BEGIN")
            connection.execute(f"INSERT INTO lines VALUES ({customer}, 1)")
            connection.execute(f"UPDATE sums SET amount = amount + 1 WHERE customer = {customer}")
            connection.execute("COMMIT")
            connection.execute(f"SELECT amount FROM sums WHERE customer = {customer}")


def test_transactions_of_a_log_are_played_as_such(tmp_path: Path) -> None:
    path, log = tmp_path / "shop.capture", tmp_path / "server.log"
    with real.server(log_line_prefix=PREFIX, log_min_duration_statement="0") as (server, _):
        sell(server, sales=30)
        server.query("SELECT 'a statement behind the last'")
        log.write_text(server.log_text(), encoding="utf-8")
        words = ["capture", server.endpoint.conninfo(), "--log", str(log)]
        assert main([*words, "--out", str(path)]) == 0
        capture = files.read(path)
        assert capture.load is not None
        load, runner, clock = scripted(capture), real.runner(), SystemClock()
        (sale,) = [each for each in load.played if each.transaction]
        assert (len(sale.statements), sale.weight) == (2, 30)
        assert "the same as $1 of statement 1" in sale.text
        alone = {each.label: each.weight for each in load.played if not each.transaction}
        assert alone["SELECT amount FROM sums WHERE customer = $1"] == 30
        assert not any(label.startswith(("INSERT INTO lines VALUES", "UPDATE sums")) for label in alone)
        assert try_each(load.tried, Stage(server, runner, clock)).failed == {}
        server.execute("TRUNCATE lines")
        server.execute("UPDATE sums SET amount = 0")
        with Player(PlayedLoad((PlayedScript(sale.name, sale.text),)), server.endpoint, runner, clock) as player:
            assert player.play(transactions=50).transactions == 50
        wrong = server.query(
            "SELECT customer FROM sums JOIN (SELECT customer, count(*) FROM lines GROUP BY 1) l USING (customer)"
            " WHERE sums.amount <> l.count UNION ALL SELECT sum(amount) FROM sums HAVING sum(amount) <> 50"
        )
        assert wrong == []
