"""The factors of the programs: what they ask to be built, and what a running server says of them."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from pgassay.bench.factor import Factor, Readable, Setup, Stage
from pgassay.errors import UsageError
from pgassay.postgres.build_factors import FACTORS
from pgassay.postgres.builds.cache import MANIFEST, Manifest
from pgassay.postgres.builds.recipe import Recipe
from pgassay.testing.fakes.server import FakeInstallation, FakeServer


def _factor(name: str) -> Factor:
    return next(factor for factor in FACTORS if factor.pattern == name)


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
    factor, setup = _factor(name), Setup()
    level = factor.parse(name, typed)
    factor.prepare(name, level, setup)
    assert (level.canonical, factor.stage) == (canonical, Stage.BUILD)
    assert setup.installation == {name: canonical}


@pytest.mark.parametrize(
    ("name", "typed"),
    [("build.block_size", "64kB"), ("build.block_size", "8"), ("build.wal_block_size", "128kB"), ("build.version", "x"),
     ("build.cflags", "-O2; rm"), ("build.cflags", "O3"), ("build.source", "somewhere")],
)  # fmt: skip
def test_levels_refused(name: str, typed: str) -> None:
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
