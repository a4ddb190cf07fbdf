"""Servers that cannot be read, or not as they are: what is said of each, and what still works."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.capture import files
from pgassay.cli import main
from pgassay.host.runner import SystemClock
from pgassay.interfaces.load import Tools
from pgassay.interfaces.server import Server
from pgassay.load.pgbench.driver import PgbenchLoad
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
    copied = real.runner().run([str(found.bindir / "pg_basebackup"), *words])
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
        load = PgbenchLoad(options, Tools(bindir, runner, SystemClock()))
        load.create(other)
        load.fill(other)
        assert other.query("SELECT count(*) FROM own.orders") == [(100,)]
        assert other.query("SELECT count(*) FROM pg_indexes WHERE indexname = 'faster'") == [(1,)]


def test_without_pg_stat_statements_it_is_said_how_to_get_it_and_the_rest_works(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.execute("CREATE DATABASE plain")
    assert taken(of(server, dbname="plain"), folder / "none") == 2
    said = capsys.readouterr().err
    assert "pg_stat_statements is not available" in said
    assert "CREATE EXTENSION pg_stat_statements" in said
    assert "--without-load" in said
    assert not (folder / "none").exists()
    assert taken(of(server, dbname="plain"), folder / "plain.capture", "--without-load") == 0
    assert files.read(folder / "plain.capture").load is None


def test_another_encoding_and_other_styles_of_dates_are_read_and_loaded(server: Server, folder: Path) -> None:
    path, runner, bindir = folder / "latin.capture", real.runner(), real.installation().bindir
    server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    server.execute("ALTER DATABASE latin SET datestyle = 'SQL, DMY'")
    with psycopg.connect(of(server, dbname="latin"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        connection.execute(
            "CREATE TABLE größen AS SELECT 'müßig' AS wort, date '2025-12-31' AS tag, n FROM generate_series(1, 50) n"
        )
        connection.execute("ANALYZE größen")
    assert taken(of(server, dbname="latin"), path) == 0
    found = files.read(path)
    (table,) = found.tables
    values = {each.name: each.common_values for each in table.columns}
    assert (found.source.encoding, table.name, values["wort"]) == ("LATIN1", "größen", ("müßig",))
    assert values["tag"] == ("2025-12-31",), "as any server reads it, not 31/12/2025"
    options = PgbenchOptions(init=path / found.data.file)
    with real.server() as (other, _):
        load = PgbenchLoad(options, Tools(bindir, runner, SystemClock()))
        load.create(other)
        load.fill(other)
        assert other.query("SELECT count(*), min(tag)::text FROM größen WHERE wort = 'müßig'") == [(50, "2025-12-31")]
