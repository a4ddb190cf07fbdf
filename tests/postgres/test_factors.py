"""PostgreSQL's factors against the fake server: levels, what they ask for (settings, builds), what they read back."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.factor import Factor, Readable, SetupDraft, Stage, matches
from pgassay.postgres.builds.cache import MANIFEST, Manifest
from pgassay.postgres.builds.recipe import Recipe
from pgassay.postgres.factors import FACTORS
from pgassay.postgres.settings import status_of_map
from pgassay.study.levels import Level
from pgassay.testing.fakes import FakeInstallation, FakeServer


def _factor(name: str) -> Factor:
    exact = [factor for factor in FACTORS if factor.pattern == name]
    return exact[0] if exact else next(factor for factor in FACTORS if matches(factor.pattern, name))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeServer]:
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {"data_checksums": "on", "wal_segment_size": "32MB"})
    server = installation.start(tmp_path / "data", {"work_mem": "64kB", "fsync": "off"}, tmp_path / "socket")
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("name", "typed", "canonical"),
    [
        ("server.shared_buffers", "1GB", "1073741824B"),
        ("server.pg_stat_statements.max", "100", "100"),
        ("postgres.version", "17", "17"),
        ("postgres.version", "17.5", "17.5"),
        ("init.data_checksums", "YES", "on"),
        ("init.wal_segment_size", "64MB", "67108864B"),
        ("init.wal_segment_size", "64", "67108864B"),
        ("table.fillfactor", "75", "75"),
        ("table.public.t.fillfactor", "075", "75"),
        ("index.fillfactor", "10", "10"),
    ],
)
def test_levels(name: str, typed: str, canonical: str) -> None:
    level = _factor(name).parse(name, typed)
    assert (level.typed, level.canonical) == (typed, canonical)


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("server.port", "5432"), ("server.listen_addresses", "*"), ("server.shared_buffers", "8KB"),
        ("postgres.version", "twelve"), ("init.data_checksums", "maybe"), ("init.wal_segment_size", "5MB"),
        ("table.fillfactor", "9"), ("table.fillfactor", "101"), ("table.fillfactor", "75%"),
        ("index.fillfactor", ""), ("table.t.fillfactor", "-50"),
    ],
)  # fmt: skip
def test_levels_refused(name: str, typed: str) -> None:
    with pytest.raises(PgassayError):
        _factor(name).parse(name, typed)


def test_what_they_ask_of_the_rooms() -> None:
    setup = SetupDraft()
    for name, typed in {
        "server.work_mem": "64 kB",
        "postgres.version": "17.0",
        "init.data_checksums": "1",
        "init.wal_segment_size": "1GB",
    }.items():
        factor = _factor(name)
        factor.prepare(name, factor.parse(name, typed), setup)
    assert setup.settings == {"work_mem": "64 kB"}
    assert (setup.version, setup.build) == ("17.0", {})
    assert setup.init_options == {"data_checksums": "on", "wal_segment_size": "1GB"}


@pytest.mark.parametrize(
    ("name", "typed", "read_back"),
    [
        ("server.work_mem", "64kB", "65536B"),
        ("server.work_mem", "1MB", "65536B"),
        ("server.no_such_setting", "1", "there is no such setting"),
        ("postgres.version", "17", "17"),
        ("postgres.version", "17.5", "17.5"),
        ("postgres.version", "17.4", "17.5"),
        ("init.data_checksums", "on", "on"),
        ("init.wal_segment_size", "32MB", "33554432B"),
    ],
)
def test_read_back(name: str, typed: str, read_back: str | None, server: FakeServer) -> None:
    factor = _factor(name)
    assert factor.read_back(name, factor.parse(name, typed), Readable(server)) == read_back


def test_adoption_asks_the_server(server: FakeServer) -> None:
    setting, any_level = _factor("server.*"), Level("75", "75")
    assert setting.adopt_by("server.shared_buffers", any_level, server) == "restart"
    assert setting.adopt_by("server.work_mem", any_level, server) == "reload"
    assert _factor("table.fillfactor").adopt_by("table.fillfactor", any_level, server) is None, "nothing was updated"


def test_a_fillfactor_is_adopted_for_updated_tables_by_name_and_says_where_it_is_of_no_use(tmp_path: Path) -> None:
    written = [("early", 7), ("late", 0)]
    installation = FakeInstallation(answers={r"SELECT relid": lambda *_: list(written)})
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path / "socket")
    for table, _ in written:
        server.execute(f"CREATE TABLE {table} (i int)")
    alter, rewrite, aside = _adopt("table.fillfactor", "75", server).splitlines()
    assert alter == "ALTER TABLE early SET (fillfactor = 75)"
    assert "VACUUM FULL" in rewrite
    assert aside.startswith("table.fillfactor was also set on late, whose rows this load does not update")
    assert "late" not in _adopt("table.fillfactor", "100", server), "the default takes no room"


def _adopt(name: str, typed: str, server: FakeServer) -> str:
    return _factor(name).adopt_by(name, Level(typed, typed), server) or ""


def test_fillfactor_is_set_on_the_empty_schema_and_not_rewritten_after(server: FakeServer) -> None:
    factor = _factor("table.fillfactor")
    level = factor.parse("table.fillfactor", "75")
    assert factor.read_back("table.fillfactor", level, Readable(server)) is None, "there are no tables yet"
    server.execute("CREATE TABLE t (i int)")
    factor.on_empty_schema("table.fillfactor", level, server)
    factor.on_loaded_data("table.fillfactor", level, server)
    assert not [sql for sql in server.statements if sql.startswith("VACUUM")]
    assert factor.read_back("table.fillfactor", level, Readable(server)) == "75"


def test_a_table_that_came_with_its_rows_is_rewritten(server: FakeServer) -> None:
    factor = _factor("table.fillfactor")
    level = factor.parse("table.fillfactor", "75")
    server.execute("CREATE TABLE t (i int)")
    assert factor.read_back("table.fillfactor", level, Readable(server)) == "t default"
    factor.on_loaded_data("table.fillfactor", level, server)
    assert "VACUUM (FULL, ANALYZE) t" in server.statements
    assert factor.read_back("table.fillfactor", level, Readable(server)) == "75"


def test_stages_come_in_the_design_s_order() -> None:
    assert _factor("postgres.version").stage == Stage.BUILD
    assert _factor("init.data_checksums").stage == Stage.INIT
    assert {_factor(name).stage for name in ("table.fillfactor", "table.*.fillfactor", "index.fillfactor")} == {
        Stage.DATA
    }
    assert _factor("server.*").stage == Stage.SERVER
    assert all(factor.summary for factor in FACTORS)


SMAPS = """\
7f0000000000-7f0010000000 rw-s 00000000 00:0f 1234   /anon_hugepage (deleted)
Size:             262144 kB
KernelPageSize:     2048 kB
7f1000000000-7f1000100000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
"""


def test_huge_pages_are_told_by_the_memory_map() -> None:
    assert status_of_map(SMAPS) == "on"
    assert status_of_map(SMAPS.replace("2048 kB", "4 kB")) == "off"
    assert status_of_map(SMAPS.replace("rw-s", "rw-p")) == "off", "a private mapping is not shared memory"
    assert status_of_map("") == "off"


def _server(folder: Path, config: Mapping[str, str], shown: Mapping[str, str]) -> FakeServer:
    answers = {
        r"SELECT setting FROM pg_config": lambda server, found, given: [(config.get(given[0], ""),)],
        r"SHOW (?P<size>block_size|wal_block_size)$": lambda server, found, given: [(shown[found["size"]],)],
    }
    installation = FakeInstallation(answers=answers)
    installation.initialize(folder / "data", {})
    return installation.start(folder / "data", {}, folder)


@pytest.mark.parametrize(
    ("name", "typed", "canonical"),
    [
        ("build.block_size", "4kB", "4096B"),
        ("build.block_size", "4096B", "4096B"),
        ("build.wal_block_size", "64kB", "65536B"),
        ("build.version", "17.5", "17.5"),
        ("build.cflags", "  -O3   -march=native ", "-O3 -march=native"),
        ("build.source", "distribution", "distribution"),
    ],
)
def test_levels_ask_for_a_build_before_everything_else(name: str, typed: str, canonical: str) -> None:
    factor, setup = _factor(name), SetupDraft()
    level = factor.parse(name, typed)
    factor.prepare(name, level, setup)
    assert (level.canonical, factor.stage) == (canonical, Stage.BUILD)
    assert (setup.version, setup.build) == ("", {name.removeprefix("build."): canonical})


@pytest.mark.parametrize(
    ("name", "typed"),
    [("build.block_size", "64kB"), ("build.block_size", "8"), ("build.wal_block_size", "128kB"), ("build.version", "x"),
     ("build.cflags", "-O2; rm"), ("build.cflags", "O3"), ("build.source", "somewhere")],
)  # fmt: skip
def test_build_levels_refused(name: str, typed: str) -> None:
    with pytest.raises(UsageError):
        _factor(name).parse(name, typed)


def test_sizes_and_flags_are_what_the_server_says(tmp_path: Path) -> None:
    config = {"CONFIGURE": " '--with-blocksize=2' 'CFLAGS=-O3 -g' 'CC=gcc'"}
    readable = Readable(_server(tmp_path, config, {"block_size": "2048", "wal_block_size": "8192"}))
    for name, typed, found in (
        ("build.block_size", "4kB", "2048B"),
        ("build.wal_block_size", "8kB", "8192B"),
        ("build.version", "17", "17"),
        ("build.version", "17.4", "17.5"),
        ("build.cflags", "-O2", "-O3 -g"),
    ):
        factor = _factor(name)
        assert factor.read_back(name, factor.parse(name, typed), readable) == found


def test_the_source_is_what_the_manifest_beside_the_servers_programs_says(tmp_path: Path) -> None:
    recipe = Recipe("ab" * 32, "17.5", 8192, 8192, 1 << 30, (), "-O2", "gcc")
    manifest = Manifest(recipe, "git:/src@main (0123abcd)", "", 1.0, 1, {})
    folder = tmp_path / recipe.key
    folder.mkdir()
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest)))
    readable = Readable(_server(tmp_path, {"BINDIR": str(folder / "bin")}, {}))
    factor = _factor("build.source")
    for typed, found in (("git:/src@main", "git:/src@main"), ("git:/src@v17", None)):
        assert factor.read_back(factor.pattern, factor.parse(factor.pattern, typed), readable) == found
    (folder / MANIFEST).unlink()
    assert factor.read_back(factor.pattern, factor.parse(factor.pattern, "git:/src@main"), readable) is None
