"""Servers that cannot be read, or not as they are: what is said of each, and what still works."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.bench.server import Server
from pgassay.capture import files
from pgassay.cli import main
from pgassay.load.pgbench import data
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.testing import real

pytestmark = pytest.mark.system

OWNED = """
CREATE EXTENSION pg_stat_statements;
CREATE ROLE app;
CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats, pg_read_all_data;
CREATE ROLE stranger LOGIN;
CREATE DATABASE closed;
REVOKE CONNECT ON DATABASE closed FROM public;
CREATE SCHEMA own AUTHORIZATION app;
CREATE TABLE own.orders (id int PRIMARY KEY);
ALTER TABLE own.orders OWNER TO app;
GRANT SELECT ON own.orders TO reader;
ALTER DEFAULT PRIVILEGES FOR ROLE app IN SCHEMA own GRANT SELECT ON TABLES TO reader;
INSERT INTO own.orders SELECT generate_series(1, 100);
"""
LIBRARY = {"shared_preload_libraries": "pg_stat_statements", "wal_level": "replica", "max_wal_senders": "4"}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with real.private_folder() as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server(**LIBRARY) as (started, _):
        with psycopg.connect(started.endpoint.conninfo(), autocommit=True) as connection:
            for statement in filter(str.strip, OWNED.split(";")):
                connection.execute(statement.encode())
        yield started


def of(server: Server, **more: str) -> str:
    where = server.endpoint
    named = {"host": str(where.socket_directory), "port": str(where.port), "user": where.user, "dbname": where.database}
    return " ".join(f"{name}={value}" for name, value in {**named, **more}.items())


def taken(conninfo: str, path: Path, *more: str) -> int:
    return main(["capture", conninfo, "--for", "0.2s", "--out", str(path), *more])


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ({"host": "127.0.0.1", "port": "1"}, "is the server running"),
        ({"host": "/nowhere"}, "is the server running"),
        ({"dbname": "nowhere"}, "dbname=NAME names another database"),
        ({"user": "nobody_here"}, "user=NAME names another role"),
        ({"dbname": "closed", "user": "stranger"}, "the role needs CONNECT on this database"),
        ({"sslmode": "sometimes"}, "as for psql"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_error_with_what_helps(
    server: Server, folder: Path, more: dict[str, str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert taken(of(server, **more), folder / "none") == 2
    said = capsys.readouterr()
    first, second = said.err.splitlines()
    assert (first.startswith("pgassay: error: could not read the server: "), said.out) == (True, "")
    assert second.startswith("hint: ")
    assert hint in second


def test_a_role_without_rights_is_told_which_it_needs(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert taken(of(server, user="stranger"), folder / "none") == 2
    assert "grant pg_read_all_data" in capsys.readouterr().err
    assert not (folder / "none").exists()


def test_rows_hidden_by_policies_are_no_data(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
        connection.execute("CREATE TABLE hidden (); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY")
        try:
            assert taken(of(server, user="reader"), folder / "none") == 2
        finally:
            connection.execute("DROP TABLE hidden")
    assert "BYPASSRLS" in capsys.readouterr().err


def test_a_replica_is_captured_and_says_so(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, where = real.installation(), folder / "replica"
    words = ["-D", str(where), "-R", "-c", "fast", "-d", server.endpoint.conninfo()]
    copied = real.runner().run([str(found.bindir / "pg_basebackup"), *words], unprivileged=True)
    assert copied.status == 0, copied.stderr
    replica = found.start(where, LIBRARY, folder / "socket")
    try:
        with psycopg.connect(replica.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute("SELECT count(*) FROM own.orders WHERE id > 5")
        assert taken(of(replica), folder / "replica.capture") == 0
    finally:
        replica.stop()
    assert "read replica" in capsys.readouterr().err
    capture = files.read(folder / "replica.capture")
    assert (capture.source.replica, capture.data.bytes > 0) == (True, True)


def test_data_of_roles_and_tablespaces_that_are_not_here_can_be_loaded(server: Server, folder: Path) -> None:
    path = folder / "owned.capture"
    with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
        connection.execute("SET allow_in_place_tablespaces = on")
        connection.execute("CREATE TABLESPACE fast LOCATION ''")
        connection.execute("CREATE INDEX faster ON own.orders (id) TABLESPACE fast")
    assert taken(of(server, user="reader"), path) == 0
    bindir, runner = real.installation().bindir, real.runner()
    options = PgbenchOptions(init=path / files.read(path).data.file)
    with real.server() as (other, _):
        data.create(bindir, runner, other, options)
        data.fill(bindir, runner, other, options)
        assert other.query("SELECT count(*) FROM own.orders") == [(100,)]
        assert other.query("SELECT count(*) FROM pg_indexes WHERE indexname = 'faster'") == [(1,)]
