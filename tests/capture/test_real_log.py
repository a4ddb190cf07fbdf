"""The log that a real server writes is a capture where there is no pg_stat_statements."""

from pathlib import Path
from time import sleep

import psycopg
import pytest

from pgassay.bench.server import Server
from pgassay.capture import files
from pgassay.cli import main
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
    assert "last line is not whole" in capsys.readouterr().err
    load = files.read(path).load
    assert load is not None
    assert {each.text: each.calls for each in load.statements}[SELECT] == 5
