"""A real server whose application has a role and schemas of its own: what a capture makes of names, and of rights."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from threading import Event

import psycopg
import pytest

from pgassay.bench.server import Server
from pgassay.capture import files, scripts
from pgassay.capture.format import Statement
from pgassay.cli import main
from pgassay.testing import real

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
    with real.own_folder() as folder, working(clinic):
        path = folder / "clinic.capture"
        assert main(["capture", conninfo(clinic, "reader"), "--for", "3s", "--out", str(path)]) == 0
        found = files.read(path)
    assert found.source.search_paths == (("care", "public"),)
    assert found.source.settings["search_path"] == '"care", "public"'
    statement = Statement(1, "SELECT count(*) FROM message WHERE channel = $1", 9, 9.0, 9)
    made = scripts.script(found, statement, Random(1))
    assert ("letter" in made, "fax" in made) == (True, False)


def test_without_pg_stat_statements_the_roles_that_may_connect_say_where(clinic: Server) -> None:
    with real.own_folder() as folder:
        path = folder / "clinic.capture"
        words = ["capture", conninfo(clinic, "reader"), "--without-load", "--out", str(path)]
        with psycopg.connect(clinic.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute("DROP EXTENSION pg_stat_statements")
            try:
                assert main(words) == 0
            finally:
                connection.execute("CREATE EXTENSION pg_stat_statements")
        assert files.read(path).source.search_paths == (("care", "public"),)
