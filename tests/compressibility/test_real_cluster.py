"""A real cluster: names without a server are those that the server gives, and FILLFACTOR does what was foretold."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main
from pgassay.postgres import cluster_files
from pgassay.postgres.server import LocalServer
from pgassay.testing import real

pytestmark = pytest.mark.system

LOAD = (
    "CREATE SCHEMA app",
    "CREATE TABLE app.rows AS SELECT i, md5(i::text) AS word, now() AS at FROM generate_series(1, 40000) AS i",
    "CREATE INDEX word ON app.rows (word)",
    "CREATE TABLE app.long AS SELECT i, string_agg(md5((i * j)::text), '') AS body"
    " FROM generate_series(1, 100) AS i, generate_series(1, 200) AS j GROUP BY i",
    "CREATE TABLE app.less (LIKE app.rows) WITH (fillfactor = 75)",
    "INSERT INTO app.less SELECT * FROM app.rows",
    "VACUUM FULL pg_namespace",
    "VACUUM FULL app.long",
    "CHECKPOINT",
)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """A server with a few tables, stopped at the end."""
    installation = real.installation()
    with real.private_folder() as folder:
        installation.initialize(folder / "data", {})
        settings = {"fsync": "off", "shared_buffers": "32MB", "autovacuum": "off"}  # it would change files meanwhile
        started = installation.start(folder / "data", settings, folder / "socket")
        try:
            for statement in LOAD:
                started.query(statement)
            yield started
        finally:
            started.stop()


def measured(capsys: pytest.CaptureFixture[str], cluster: str) -> dict[str, Any]:
    assert main(["drive", "compressibility", cluster, "--whole", "--json", "--fillfactor", "75"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


def directory_of(server: LocalServer) -> Path:
    return Path(str(server.query("SHOW data_directory")[0][0]))


def test_names_from_files_are_the_servers(server: LocalServer) -> None:
    found = cluster_files.list_files(directory_of(server))
    asked = cluster_files.names_from_server(server.endpoint.conninfo())
    from_files = cluster_files.names_from_files(found)
    there = {file.owner for file in found.files if file.bytes}
    names = {place: name for place, name in asked.names.items() if place in there}
    assert len(names) > 100
    assert any(name.schema == "app" for name in names.values())
    for place, name in names.items():
        known = from_files[place]
        assert (known.database, known.schema, known.relation, known.kind) == (
            name.database, name.schema, name.relation, name.kind,
        )  # fmt: skip
        assert (known.of is None) == (name.of is None)


def test_a_table_at_75_is_what_was_foretold_from_one_at_100(
    capsys: pytest.CaptureFixture[str], server: LocalServer
) -> None:
    answer = measured(capsys, str(directory_of(server)))
    parts = {one["name"]: one for one in answer["parts"] if one["schema"] == "app"}
    assert {"rows", "word", "less", "long"} <= set(parts)
    assert parts["word"]["table"] == "rows"
    toast = next(one for one in answer["parts"] if one["kind"] == "TOAST" and one["table"] == "long")
    assert toast["bytes"] > 300_000
    tables = {one["name"]: one["levels"] for one in answer["fillfactors"]}
    full, low = tables["rows"]
    assert full["bytes"] == pytest.approx(parts["rows"]["bytes"], rel=0.02)
    assert low["bytes"] == pytest.approx(parts["less"]["bytes"], rel=0.02)
    for position in range(2):
        foretold = low["stored"][position]["stored_bytes"]
        assert foretold == pytest.approx(parts["less"]["stored"][position]["stored_bytes"], rel=0.03)


def test_a_connection_string_limits_it_to_that_database(
    capsys: pytest.CaptureFixture[str], server: LocalServer
) -> None:
    answer = measured(capsys, server.endpoint.conninfo())
    databases = {one["database"] for one in answer["parts"]}
    assert databases == {server.query("SELECT current_database()")[0][0], None}
    assert {"table", "index", "WAL"} <= {one["kind"] for one in answer["parts"]}
    assert [one["database"] for one in answer["parts"] if one["kind"] == "unnamed"] == []
