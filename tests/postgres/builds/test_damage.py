"""A cache that was changed by hand: each damage is named with what helps, and nothing of it is built or run."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.cache import file_sha256
from pgassay.postgres.builds.recipe import BuildError, parse_spec
from pgassay.postgres.builds.request import BuildRequest
from tests.postgres.builds.fake_source import builds_made, make_builder, make_tree, needs_make

pytestmark = needs_make


def _fetched(tmp_path: Path) -> tuple[Builder, Path]:
    """A builder whose cache holds a fetched source, and that source's note."""
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    tarball = tmp_path / "fetched.tar"
    subprocess.run(["tar", "-C", str(tmp_path), "-cf", str(tarball), tree.name], check=True)
    sha256 = file_sha256(tarball)
    kept = tarball.rename(builder.cache.sources / f"{sha256}.tar")
    note = kept.with_suffix(".json")
    note.write_text(json.dumps({"spec": "official", "sha256": sha256, "version": "16.4", "commit": ""}))
    return builder, note


def test_a_fetched_source_is_used_again_and_needed_for_building_only(tmp_path: Path) -> None:
    builder, note = _fetched(tmp_path)
    request = BuildRequest(version="16")
    first = builder.installation(request)
    note.with_suffix(".tar").unlink()
    assert builder.installation(request).bindir == first.bindir
    with pytest.raises(BuildError, match="its tarball is gone") as caught:
        builder.installation(replace(request, block_bytes=2048))
    assert str(note) in caught.value.message
    note.unlink()  # as the hint has it: then it is fetched again
    assert builder.sources.in_cache(None, "16") is None


def test_a_fetched_source_that_was_changed_by_hand_is_not_built(tmp_path: Path) -> None:
    builder, note = _fetched(tmp_path)
    with note.with_suffix(".tar").open("ab") as file:
        file.write(b"\0" * 512)
    with pytest.raises(BuildError, match="it is not what was fetched") as caught:
        builder.installation(BuildRequest(version="16"))
    assert "remove that file" in str(caught.value.hint)
    assert builds_made(tmp_path) == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"spec": "official"}', "\xff", '{"spec": 5, "sha256": "x", "version": "16"}']
)
def test_a_note_of_a_source_that_was_changed_by_hand_is_named(tmp_path: Path, text: str) -> None:
    builder, note = _fetched(tmp_path)
    note.write_text(text, encoding="latin-1")
    with pytest.raises(BuildError, match="in the cache is damaged") as caught:
        builder.installation(BuildRequest(version="16"))
    assert str(note) in caught.value.message


def test_what_somebody_put_among_the_builds_is_named_before_anything_is_built(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    key = builder.recipe(BuildRequest(source=parse_spec(f"directory:{tree}")))[0].key
    builder.cache.directory(key).parent.mkdir(parents=True)
    builder.cache.directory(key).touch()
    assert builder.cache.all_keys() == (key,)
    with pytest.raises(BuildError, match="is damaged") as caught:
        builder.installation(BuildRequest(source=parse_spec(f"directory:{tree}")))
    assert caught.value.hint == f"remove it: pgassay postgres remove {key}"
    builder.cache.remove(key)
    builder.installation(BuildRequest(source=parse_spec(f"directory:{tree}")))
    assert builds_made(tmp_path) == 1
