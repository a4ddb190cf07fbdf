"""A real server whose application has a role and schemas of its own: what a capture makes of names, and of rights."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event

import psycopg
import pytest

from pgassay.capture import files, scripts
from pgassay.capture.format import Statement
from pgassay.cli import main
from pgassay.interfaces.server import Server
from pgassay.testing import real
from tests import machine

pytestmark = pytest.mark.system

CLINIC = """
CREATE EXTENSION pg_stat_statements;
CREATE ROLE app LOGIN;
CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats, pg_read_all_data;
CREATE SCHEMA care AUTHORIZATION app;
CREATE TABLE public.message AS SELECT 'fax' AS channel FROM generate_series(1, 50);
CREATE TABLE care.message AS SELECT 'letter' AS channel FROM generate_series(1, 500);
ALTER TABLE care.message OWNER TO app;
ALTER ROLE app SET search_path = care, public;
ANALYZE;
"""


@pytest.fixture(scope="module")
def clinic() -> Iterator[Server]:
    with real.server(shared_preload_libraries="pg_stat_statements") as (started, _):
        with psycopg.connect(started.endpoint.conninfo(), autocommit=True) as connection:
            for statement in filter(str.strip, CLINIC.split(";")):
                connection.execute(statement.encode())
        yield started


@contextmanager
def working(server: Server) -> Iterator[None]:
    """The application at work."""
    done = Event()

    def work() -> None:
        with psycopg.connect(conninfo(server, "app"), autocommit=True) as connection:
            while not done.wait(0.01):
                connection.execute("SELECT count(*) FROM message WHERE channel = 'letter'")

    with ThreadPoolExecutor() as pool:
        pool.submit(work)
        try:
            yield
        finally:
            done.set()


def conninfo(server: Server, user: str) -> str:
    where = server.endpoint
    return f"host={where.socket_directory} port={where.port} user={user} dbname={where.database}"


def test_values_are_those_of_the_table_that_the_application_reads(clinic: Server) -> None:
    with machine.own_folder() as folder, working(clinic):
        path = folder / "clinic.capture"
        assert main(["capture", conninfo(clinic, "reader"), "--for", "3s", "--out", str(path)]) == 0
        found = files.read(path)
    assert found.source.search_paths == (("care", "public"),)
    assert found.source.settings["search_path"] == '"care", "public"'
    statement = Statement(1, "SELECT count(*) FROM message WHERE channel = $1", 9, 9.0, 9)
    made = scripts.script(found, statement, Random(1))
    assert ("letter" in made, "fax" in made) == (True, False)


def test_without_pg_stat_statements_the_roles_that_may_connect_say_where(clinic: Server) -> None:
    with machine.own_folder() as folder:
        path = folder / "clinic.capture"
        words = ["capture", conninfo(clinic, "reader"), "--without-load", "--out", str(path)]
        with psycopg.connect(clinic.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute("DROP EXTENSION pg_stat_statements")
            try:
                assert main(words) == 0
            finally:
                connection.execute("CREATE EXTENSION pg_stat_statements")
        assert files.read(path).source.search_paths == (("care", "public"),)


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The error and its hint; a window of an hour is never waited for."""
    capsys.readouterr()
    assert main(["capture", *words]) == 2
    error, hint = capsys.readouterr().err.splitlines()[-2:]
    return error, hint


@pytest.mark.parametrize("more", [["--dry-run"], ["--for", "1h"]])
def test_missing_rights_a_strange_log_and_hidden_rows_are_found_before_the_window(
    clinic: Server, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "x.capture"), *more]
    error, hint = refused([conninfo(clinic, "app"), *out], capsys)
    assert "public.message" in error
    assert "care.message" not in error
    assert "pg_read_all_data" in hint
    log = tmp_path / "postgresql.log"
    log.write_text("bob 2026-11-23 01:29:46 UTC: LOG:  duration: 1.000 ms  statement: SELECT 1\n" * 9, encoding="utf-8")
    error, hint = refused([conninfo(clinic, "reader"), "--log", str(log), *out], capsys)
    assert "do not begin with log_line_prefix" in error
    with psycopg.connect(clinic.endpoint.conninfo(), autocommit=True) as connection:
        connection.execute("ALTER TABLE care.message ENABLE ROW LEVEL SECURITY")
        try:
            error, hint = refused([conninfo(clinic, "reader"), *out], capsys)
        finally:
            connection.execute("ALTER TABLE care.message DISABLE ROW LEVEL SECURITY")
    assert "care.message" in error
    assert "BYPASSRLS" in hint


def test_a_role_that_sees_no_statements_of_others_is_named(
    clinic: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with psycopg.connect(clinic.endpoint.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE ROLE blind LOGIN")
    words = [
        "capture",
        conninfo(clinic, "blind"),
        "--data",
        "none",
        "--for",
        "1s",
        "--out",
        str(tmp_path / "x.capture"),
    ]
    with working(clinic):
        assert main(words) == 0
    said = capsys.readouterr().err
    assert said.count("the role lacks pg_read_all_stats") == 2, "before the window, and where nothing was seen"
    assert "no statement ended in 1 s that the role may see" in said


def test_the_collation_of_an_icu_database_is_named(clinic: Server, tmp_path: Path) -> None:
    icu = "LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'de-DE'"
    with psycopg.connect(clinic.endpoint.conninfo(), autocommit=True) as connection:
        try:
            connection.execute(f"CREATE DATABASE german TEMPLATE template0 {icu}".encode())
        except psycopg.Error as error:
            pytest.skip(f"this PostgreSQL makes no ICU database: {error}")
    path = tmp_path / "german.capture"
    where = conninfo(clinic, "reader").replace(f"dbname={clinic.endpoint.database}", "dbname=german")
    assert main(["capture", where, "--without-load", "--data", "none", "--out", str(path)]) == 0
    assert files.read(path).source.collation == "de-DE (ICU)"
