"""Keys, sizes, sources as typed, and what a setup asks to be built: plain values."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.postgres.builds import recipe
from pgassay.postgres.builds.builder import Progress
from pgassay.postgres.builds.recipe import Recipe, Spec, parse_spec
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.builds.sources import fits

RECIPE = Recipe("ab" * 32, "16.4", 8192, 8192, 1 << 30, ("--without-icu",), "-O2", "gcc 12.2")


@pytest.mark.parametrize(
    "change",
    [
        {"source_sha256": "cd" * 32},
        {"version": "16.5"},
        {"block_bytes": 4096},
        {"wal_block_bytes": 4096},
        {"segment_bytes": 1 << 31},
        {"flags": ()},
        {"cflags": "-O3"},
        {"compiler": "gcc 13.1"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_part_of_a_recipe_is_in_its_key(change: dict[str, Any]) -> None:
    assert replace(RECIPE, **change).key != RECIPE.key
    assert replace(RECIPE).key == RECIPE.key


def test_configure_is_told_the_sizes_in_its_own_units() -> None:
    options = replace(RECIPE, block_bytes=2048, wal_block_bytes=65536).configure_options()
    assert options[:3] == ["--with-blocksize=2", "--with-wal-blocksize=64", "--with-segsize=1"]
    assert options[-1] == "CFLAGS=-O2"


def test_known_sizes_are_taken_and_others_refused_with_the_known_ones() -> None:
    assert [recipe.block_bytes(f"{size}kB") for size in (1, 32)] == [1024, 32768]
    assert recipe.wal_block_bytes("64kB") == 65536
    for text in ("64kB", "3kB", "512B"):
        with pytest.raises(UsageError, match="cannot be") as caught:
            recipe.block_bytes(text)
        assert caught.value.hint == "PostgreSQL knows 1kB, 2kB, 4kB, 8kB, 16kB, 32kB"
    with pytest.raises(UsageError, match="has no unit"):
        recipe.block_bytes("8192")


def test_sources_as_typed(tmp_path: Path) -> None:
    assert parse_spec("official") == Spec("official")
    assert str(parse_spec(f"git:{tmp_path}@v17@2")) == f"git:{tmp_path}@v17@2"
    assert parse_spec(f"git:{tmp_path}@abc").commit == "abc"
    assert parse_spec("tarball:here.tar").path == Path.cwd() / "here.tar"
    for text in ("git:/src", "git:/src@-rf", "tarball:", "debian", "official:17", ""):
        with pytest.raises(UsageError, match="names no source"):
            parse_spec(text)


def test_levels_ask_for_a_build_of_these_options() -> None:
    assert BuildRequest.from_levels({"block_size": "2048B"}) == BuildRequest(block_bytes=2048)
    everything = {"wal_block_size": "65536B", "version": "17", "cflags": "-O3", "source": "official"}
    asked = BuildRequest.from_levels(everything)
    assert asked == BuildRequest(wal_block_bytes=65536, version="17", cflags="-O3", source=Spec("official"))
    assert asked.to_levels() == {"block_size": "8192B", **everything}


def test_versions_fit_by_their_major_or_exactly() -> None:
    assert fits("17.5", "17")
    assert fits("17.5", "17.5")
    assert fits("19devel", "19")
    assert not fits("17.5", "17.4")
    assert not fits("7.17", "17")


def test_time_left_is_told_when_there_is_something_to_go_by() -> None:
    assert Progress("x", "make", 10, 1000, 5.0).left_s is None
    assert Progress("x", "make", 250, 1000, 30.0).left_s == pytest.approx(90.0)
    assert Progress("x", "make", 1200, 1000, 30.0).left_s == 0.0


@pytest.mark.parametrize(
    ("bare", "hint"), [("8192", 'write "8kB"'), ("8", 'write "8kB"'), ("5", "PostgreSQL knows 1kB")]
)
def test_a_size_without_a_unit_is_answered_by_the_size_that_it_can_mean(bare: str, hint: str) -> None:
    with pytest.raises(UsageError, match="has no unit") as caught:
        recipe.block_bytes(bare)
    assert str(caught.value.hint).startswith(hint)


def test_compiler_flags_are_words_that_begin_with_a_hyphen() -> None:
    assert recipe.compiler_flags(" -O3  -march=native ") == "-O3 -march=native"
    with pytest.raises(UsageError, match="cannot be"):
        recipe.compiler_flags("O2; rm")
