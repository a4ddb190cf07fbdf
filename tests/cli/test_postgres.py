"""`pgassay postgres`: every build is checked, and damage is reported with its remedy."""

from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.request import BuildRequest
from tests.postgres.builds.fake_source import make_builder, make_tree, needs_make

pytestmark = needs_make


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    """A cache with two builds of a fake source."""
    found, tree = make_builder(tmp_path), make_tree(tmp_path)
    for block_bytes in (2048, 8192):
        found.installation(BuildRequest(block_bytes=block_bytes, source=parse_spec(f"directory:{tree}")))
    monkeypatch.setattr("pgassay.cli.postgres.builder", lambda: found)
    return found


def test_verify_looks_at_every_build_and_names_the_damaged_ones(
    ours: Builder, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ours.cache.all_keys()
    for key in keys:
        (ours.cache.directory(key) / "bin" / "postgres").unlink()
    assert main(["postgres", "verify"]) != 0
    told = capsys.readouterr()
    assert [line.partition("  ")[0] for line in told.out.splitlines()] == [key[:12] for key in keys]
    assert told.out.count("bin/postgres is missing") == 2
    assert "2 of 2 builds are damaged" in told.err
    assert f"pgassay postgres remove {' '.join(keys)}" in told.err


def test_what_the_remedy_says_is_what_helps(ours: Builder, capsys: pytest.CaptureFixture[str]) -> None:
    stray = ours.cache.directory("notes")
    stray.write_text("not a build")
    assert main(["postgres", "list"]) == 0
    assert "damaged" in capsys.readouterr().out
    assert main(["postgres", "remove", "notes", *ours.cache.all_keys()[:1]]) == 0
    assert not stray.exists()
    assert len(ours.cache.all_keys()) == 1


def test_an_empty_cache_is_told(ours: Builder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["postgres", "remove", *ours.cache.all_keys()]) == 0
    capsys.readouterr()
    assert main(["postgres", "verify"]) == 0
    assert "no builds in" in capsys.readouterr().out
