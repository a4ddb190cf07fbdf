"""A real server with trigrams: asked about a setting of that extension, and on a PostgreSQL that does not have it."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import run
from time import sleep

import psycopg
import pytest

from pgassay.capture import files
from pgassay.cli import main
from pgassay.record.reading import Run
from pgassay.study.responses import Status
from pgassay.testing import real
from tests import machine

pytestmark = [pytest.mark.system, pytest.mark.slow]

SCHEMA = """
CREATE EXTENSION pg_stat_statements;
CREATE EXTENSION pg_trgm;
CREATE TABLE notes (id int PRIMARY KEY, body text NOT NULL);
INSERT INTO notes SELECT n, 'note ' || n || ' ' || md5(n::text) FROM generate_series(1, 100) n;
CREATE INDEX notes_trigrams ON notes USING gin (body gin_trgm_ops);
CREATE VIEW alike AS SELECT a.id, b.body FROM notes a JOIN notes b ON a.body % b.body;
ANALYZE;
"""
SHORT = (
    "--blocks", "2..2", "--allow-busy", "--allow-volatile", "--slice", "500ms", "--set", "load.duration=2s",
    "--set", "load.warmup=0s",
)  # fmt: skip
READ = "SELECT max(md5(a.body || b.body)) FROM notes a, notes b WHERE a.id <> %s"
"""It takes most of the time, so that the load is worth a question without the other."""
ALIKE = "SELECT count(*) FROM notes a JOIN notes b ON a.body %% b.body WHERE a.id = %s"


@dataclass(frozen=True)
class Trigrams:
    """A capture, and a folder for what questions make."""

    capture: Path
    folder: Path


@contextmanager
def driven(conninfo: str) -> Iterator[None]:
    """Both statements are sent again and again."""
    ended = threading.Event()

    def work() -> None:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            number = 0
            while not ended.is_set():
                number = number % 100 + 1
                connection.execute(READ, (number,))
                connection.execute(ALIKE, (number,))
                sleep(0.002)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture(scope="module")
def trigrams() -> Iterator[Trigrams]:
    if "pg_trgm" not in installed():
        pytest.skip("this PostgreSQL comes without pg_trgm")
    with machine.own_folder() as folder:
        with real.server(shared_preload_libraries="pg_stat_statements") as (server, _):
            with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
                connection.execute(SCHEMA)
            path = folder / "trigrams.capture"
            with driven(server.endpoint.conninfo()):
                assert main(["capture", server.endpoint.conninfo(), "--for", "3s", "--out", str(path)]) == 0
        yield Trigrams(path, folder)


def pg_config(name: str) -> Path:
    told = run([real.installation().bindir / "pg_config", name], capture_output=True, text=True, check=True)
    return Path(told.stdout.strip())


def installed() -> set[str]:
    return {each.stem for each in (pg_config("--sharedir") / "extension").glob("*.control")}


def without_trigrams(folder: Path) -> Path:
    """The programs of this PostgreSQL, with a pg_config that leads to a folder without pg_trgm."""
    bindir, share = folder / "bin", folder / "share"
    bindir.mkdir()
    (share / "extension").mkdir(parents=True)
    for name in installed() - {"pg_trgm"}:
        (share / "extension" / f"{name}.control").touch()
    original = real.installation().bindir
    for each in original.iterdir():
        if each.name != "pg_config":
            (bindir / each.name).symlink_to(each)
    script = bindir / "pg_config"
    script.write_text(f'#!/bin/sh\n[ "$1" = --sharedir ] && echo "{share}" || exec "{original}/pg_config" "$@"\n')
    script.chmod(0o755)
    for each in (folder, bindir, share, share / "extension"):
        each.chmod(0o755)
    return bindir


def ask(trigrams: Trigrams, name: str, *words: str) -> Run:
    out = trigrams.folder / name
    where = ("--data-dir", str(trigrams.folder / f"{name}-data"), "--out", str(out))
    assert main(["ask", str(trigrams.capture), *words, *SHORT, *where]) == 0
    return Run.open(out)


def test_an_extension_that_is_missing_here_is_left_out_and_its_statement_named(
    trigrams: Trigrams, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "pg_trgm" in files.read(trigrams.capture).source.extensions
    with machine.own_folder() as folder:
        asked = ask(trigrams, "without", "jit=on,off", "--pg-bindir", str(without_trigrams(folder)))
    said = capsys.readouterr()
    assert (
        "it is not installed here: extension pg_trgm; and what needs them: VIEW public alike; INDEX public" in said.err
    )
    assert "1 of 2 statements are played" in said.out
    assert "of the time: SELECT count(*) FROM notes a JOIN notes b" in said.out
    assert re.search(r"it fails here: .*operator does not exist: text % text", said.out), said.out
    assert list(asked.study["factors"]) == ["server.jit"]


def test_a_setting_of_an_extension_needs_no_prefix(trigrams: Trigrams) -> None:
    asked = ask(trigrams, "threshold", "pg_trgm.similarity_threshold=0.3,0.9")
    assert asked.study["factors"] == {"server.pg_trgm.similarity_threshold": ["0.3", "0.9"]}
    assert [each for each in asked.trials if each.status is not Status.VALID] == [], "each says that it has its level"
