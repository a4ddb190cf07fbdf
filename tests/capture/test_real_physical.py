"""A real server's files captured in each way, made a cluster of ours, and refused where nothing could come of them."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from pgassay.capture import files
from pgassay.cli import main
from pgassay.interfaces.server import Server
from pgassay.postgres.copied import ROLE
from pgassay.postgres.installation import COPY_DATABASE, COPY_OF
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.testing import real
from tests.capture import web_shop
from tests.capture.watched import slots

pytestmark = pytest.mark.system

SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "max_prepared_transactions": "2",
    "autovacuum": "off",
}
OWNED = """
CREATE EXTENSION pg_stat_statements;
CREATE EXTENSION postgres_fdw;
CREATE ROLE owner LOGIN;
CREATE ROLE stranger LOGIN IN ROLE pg_read_all_stats;
CREATE TABLE bloated AS SELECT n AS id, 0 AS changed, repeat('x', 80) AS filler FROM generate_series(1, 5000) n;
ALTER TABLE bloated OWNER TO owner;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1');
CREATE USER MAPPING FOR PUBLIC SERVER elsewhere OPTIONS (user 'a', password 'secret');
CREATE USER MAPPING FOR owner SERVER elsewhere OPTIONS (user 'a', password 'secret');
CREATE SUBSCRIPTION follows CONNECTION 'host=127.0.0.1 port=1' PUBLICATION p WITH (connect = false, slot_name = 's');
ALTER SUBSCRIPTION follows DISABLE;
ALTER DATABASE app SET work_mem = '1MB';
CREATE FUNCTION no_more() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no more'; END $$;
"""
UPDATES = 3


@dataclass(frozen=True)
class Source:
    """The running server, its data directory, the database `app` of it, and a folder for what the tests make."""

    server: Server
    data: Path
    folder: Path

    def conninfo(self, user: str = "postgres") -> str:
        where = self.server.endpoint
        return f"host={where.socket_directory} port={where.port} user={user} dbname=app"

    def contents(self) -> str:
        """A hash of all data, definitions and settings."""
        words = [str(real.installation().bindir / "pg_dumpall"), "-d", self.conninfo(), "--restrict-key=same"]
        dumped = subprocess.run(words, capture_output=True, check=False)
        if dumped.returncode:
            dumped = subprocess.run(words[:-1], capture_output=True, check=True)
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            settings = connection.execute(
                "SELECT name, setting, source FROM pg_settings WHERE source <> 'client' ORDER BY 1"
            ).fetchall()
            kept = slots(connection)
        return hashlib.sha256(dumped.stdout + repr((settings, kept)).encode()).hexdigest()

    def take(self, path: Path, *words: str, user: str = "postgres") -> int:
        given = ("--for", "0.2s", "--checkpoint", "fast", "--out", str(path), *words)
        return main(["capture", self.conninfo(user), *given])


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    with real.server(**SETTINGS) as (server, data), real.private_folder() as folder:
        server.execute("CREATE DATABASE app")
        found = Source(server, data, folder)
        place = folder / "fast"
        place.mkdir()
        shutil.chown(place, data.owner(), data.group())
        with psycopg.connect(found.conninfo(), autocommit=True) as connection:
            for statement in filter(str.strip, OWNED.split(";\n")):
                connection.execute(statement.encode())
            for _ in range(UPDATES):
                connection.execute("UPDATE bloated SET changed = changed + 1")
            connection.execute(f"CREATE TABLESPACE fast LOCATION '{place}'".encode())
            connection.execute("CREATE TABLE apart TABLESPACE fast AS SELECT generate_series(1, 1000) AS id")
            connection.execute("CREATE EVENT TRIGGER guard ON ddl_command_start EXECUTE FUNCTION no_more()")
            connection.execute("BEGIN; DELETE FROM apart WHERE id = 1; PREPARE TRANSACTION 'left open'")
        yield found


@pytest.fixture(scope="module")
def backup(source: Source) -> Path:
    """A base backup as an administrator takes it, its tablespace beside it."""
    path, words = source.folder / "backup", [str(real.installation().bindir / "pg_basebackup"), "--checkpoint=fast"]
    mapped = f"--tablespace-mapping={source.folder / 'fast'}={source.folder / 'backup.fast'}"
    done = real.runner().run([*words, f"--pgdata={path}", mapped, "-d", source.server.endpoint.conninfo()])
    assert done.status == 0, done.stderr
    return path


def copy_of(backup: Path, name: str) -> Path:
    path = backup.with_name(name)
    shutil.copytree(backup, path, symlinks=True)
    owner = backup.stat()
    for each in (path, *path.rglob("*")):
        os.chown(each, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return path


def fingerprint(directory: Path) -> str:
    """Of every file below it: name, mode, time, contents; links are followed."""
    found = hashlib.sha256()
    for folder, _, names in os.walk(directory, followlinks=True):
        for name in sorted(names):
            path = Path(folder) / name
            facts = path.stat()
            found.update(f"{path} {facts.st_mode} {facts.st_mtime_ns}".encode() + path.read_bytes())
    return found.hexdigest()


@contextmanager
def ours(capture: Path) -> Iterator[Server]:
    """A server of ours that began from the capture's files."""
    found = real.installation()
    with real.private_folder() as folder:
        options = {COPY_OF: str(capture / files.read(capture).data.file), COPY_DATABASE: "app"}
        found.initialize(folder / "data", options)
        server = found.start(folder / "data", {"autovacuum": "off"}, folder / "socket")
        try:
            yield server
        finally:
            server.stop()


def pages(server: Server | Source) -> object:
    sql = "SELECT pg_relation_size('bloated') / 8192, (SELECT count(*) FROM apart), (SELECT sum(changed) FROM bloated)"
    if isinstance(server, Source):
        with psycopg.connect(server.conninfo()) as connection:
            return connection.execute(sql).fetchone()
    return server.query(sql)[0]


def test_a_base_backup_keeps_every_page_and_loses_what_belongs_to_its_place(source: Source) -> None:
    path, before = source.folder / "based.capture", source.contents()
    assert source.take(path, "--data", "basebackup") == 0
    assert source.contents() == before
    with ours(path) as server:
        assert pages(server) == pages(source)
        assert server.endpoint.user == ROLE
        ((tablespace,),) = server.query("SELECT pg_relation_filepath('apart')")
        assert str(tablespace).startswith("pg_tblspc/")
        assert server.query("SELECT count(*) FROM pg_prepared_xacts") == [(0,)]
        assert server.query("SELECT count(*) FROM pg_user_mappings") == [(0,)]
        assert server.query("SELECT count(*) FROM pg_subscription WHERE subenabled") == [(0,)]
        assert server.query("SELECT tableowner FROM pg_tables WHERE tablename = 'bloated'") == [("owner",)]
        assert server.query("SHOW work_mem") == [("4MB",)]
        server.execute("CREATE INDEX ON bloated (changed)")
        for name in ("postgres", "owner", "stranger"):
            with pytest.raises(psycopg.OperationalError, match="rejects connection"):
                psycopg.connect(server.endpoint.conninfo().replace(f"'{ROLE}'", f"'{name}'"))
    assert source.contents() == before
    cluster = path / "cluster"
    assert not any(each.is_symlink() for each in cluster.rglob("*"))


def test_a_backup_is_copied_whole_and_only_read(
    source: Source, backup: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, path = fingerprint(backup), source.folder / "kept.capture"
    assert source.take(path, "--data", f"backup:{backup}") == 0
    assert "the backup's files" in capsys.readouterr().out
    with ours(path) as server:
        assert pages(server) == pages(source)
    assert fingerprint(backup) == before


def test_a_stopped_servers_directory_needs_no_label(source: Source, backup: Path) -> None:
    found, stopped = real.installation(), source.folder / "stopped"
    path = source.folder / "stopped.capture"
    shutil.copytree(backup, source.folder / "flat", symlinks=False)
    (source.folder / "flat" / "tablespace_map").unlink(missing_ok=True)
    found.initialize(stopped, {COPY_OF: str(source.folder / "flat"), COPY_DATABASE: "app"})
    assert not (stopped / "backup_label").exists()
    assert source.take(path, "--data", f"backup:{stopped}") == 0
    with ours(path) as server:
        assert pages(server) == pages(source)


def test_a_question_before_costs_little_and_says_what_it_will_cost(
    source: Source, capsys: pytest.CaptureFixture[str]
) -> None:
    assert source.take(source.folder / "none", "--data", "basebackup", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "are needed here, " in said
    assert "a checkpoint, at full speed" in said
    assert not (source.folder / "none").exists()


def test_files_that_nothing_could_come_of_are_refused_by_name(
    source: Source, backup: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = copy_of(backup, "torn")
    (torn / "backup_label").unlink()
    dry = copy_of(backup, "dry")
    for each in (dry / "pg_wal").glob("0*"):
        each.unlink()
    damaged = copy_of(backup, "damaged")
    (damaged / "PG_VERSION").write_text("15\n\n")
    lost = copy_of(backup, "lost")
    (link,) = (lost / "pg_tblspc").iterdir()
    link.unlink()
    link.symlink_to(source.folder / "gone")
    other = copy_of(backup, "other")
    (other / "PG_VERSION").write_text("9\n")
    for path, said in (
        (source.data, "is in use by a running server (process"),
        (torn, "was copied while its server ran"),
        (dry, "has not the WAL that recovery needs: pg_wal/0"),
        (damaged, "the backup is not whole"),
        (lost, 'the copy is incomplete: "'),
        (other, "are of PostgreSQL 9, and PostgreSQL "),
        (source.folder / "nowhere", "is not a whole data directory: it has no PG_VERSION"),
        (source.folder, "is not a whole data directory"),
    ):
        assert source.take(source.folder / "none", "--data", f"backup:{path}") == 2, path
        first, *_ = (line for line in capsys.readouterr().err.splitlines() if "error:" in line)
        assert said in first
        assert not (source.folder / "none").exists()


def test_a_role_that_may_not_replicate_is_told_what_it_needs(
    source: Source, capsys: pytest.CaptureFixture[str]
) -> None:
    assert source.take(source.folder / "none", "--data", "basebackup", user="stranger") == 2
    assert "the role needs the attribute: ALTER ROLE … REPLICATION" in capsys.readouterr().err
    assert not (source.folder / "none").exists()


def test_too_little_room_ends_it_before_the_load_is_watched(
    source: Source, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgassay.capture.taking.disk_usage", lambda path: os.stat_result)
    monkeypatch.setattr("os.stat_result.free", 1 << 20, raising=False)
    assert source.take(source.folder / "none", "--data", "basebackup") == 2
    assert "free" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_question_to_the_files_finds_the_missing_index_on_data_as_bloated_as_the_servers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with real.server(**SETTINGS, shared_buffers="64MB") as (server, _), real.own_folder() as folder:
        with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute(web_shop.SCHEMA)
            for part in range(4):
                connection.execute("UPDATE orders SET total = total + 1 WHERE id %% 4 <> %s", (part,))
                connection.execute("VACUUM orders")
        path, where = folder / "shop.capture", server.endpoint
        conninfo = f"host={where.socket_directory} port={where.port} user=postgres dbname=postgres"
        with web_shop.driven(where):
            words = ("--for", "4s", "--data", "basebackup", "--checkpoint", "fast", "--out", str(path))
            assert main(["capture", conninfo, *words]) == 0
        index = "CREATE INDEX ON orders (customer_id)"
        places = ("--data-dir", str(folder / "data"), "--out", str(folder / "run"))
        assert main(["ask", str(path), "--index", index, *web_shop.SHORT, *places]) == 0
        said = capsys.readouterr().out
        (verdict,) = Findings(Run.open(folder / "run")).verdicts
    source_hot, our_hot = next(line for line in said.splitlines() if "HOT updates" in line).split()[2:4]
    assert abs(float(source_hot.rstrip("%")) - float(our_hot.rstrip("%"))) < 10
    assert (verdict.verdict.kind.value, verdict.effect.estimate > 1.5) == ("better", True)
