"""A build of another machine: kept where it is whole and finds its libraries, with a note of who sent it."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.bench.running import Completed
from pgassay.errors import PgassayError
from pgassay.host.runner import LocalRunner
from pgassay.postgres.builds import portability
from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.messages import BuildError
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.request import BuildRequest
from tests.postgres.builds.fake_source import builds_made, make_builder, make_tree, needs_make

pytestmark = needs_make


@dataclass(frozen=True)
class Here:
    """Another machine with a build that was sent to it and is not in its cache yet."""

    builder: Builder
    request: BuildRequest
    key: str
    origin: Path

    def arrive(self) -> None:
        with self.builder.cache.staging() as staging:
            self.builder.adopt(Path(shutil.copytree(self.origin, staging / "sent")), self.key, "h1")


@pytest.fixture
def here(tmp_path: Path) -> Here:
    there, tree = make_builder(tmp_path / "there"), make_tree(tmp_path)
    request = BuildRequest(source=parse_spec(f"directory:{tree}"))
    origin = there.installation(request).bindir.parent
    return Here(make_builder(tmp_path / "here"), request, origin.name, origin)


def test_a_build_that_was_sent_is_found_as_one_made_here_and_says_where_it_is_from(here: Here, tmp_path: Path) -> None:
    here.arrive()
    assert here.builder.installation(here.request).bindir == here.builder.cache.directory(here.key) / "bin"
    assert builds_made(tmp_path) == 1
    manifest = here.builder.cache.manifest(here.key)
    assert manifest is not None
    assert manifest.origin == "h1"
    here.builder.cache.check_contents(here.key)


def test_a_build_with_a_file_changed_or_added_on_the_way_is_refused(here: Here) -> None:
    (here.origin / "bin" / "added").touch()
    with pytest.raises(BuildError, match="are not those that its manifest lists"):
        here.arrive()
    (here.origin / "bin" / "added").unlink()
    with (here.origin / "bin" / "postgres").open("a") as program:
        program.write("#\n")
    with pytest.raises(BuildError, match="are not those that its manifest lists"):
        here.arrive()
    assert here.builder.cache.all_keys() == ()


def test_a_build_that_does_not_run_here_is_not_kept(here: Here) -> None:
    def refuse(*_: Any) -> None:
        raise BuildError("it does not start")

    with pytest.raises(BuildError, match="does not start"):
        replace(here, builder=replace(here.builder, verify=refuse)).arrive()
    assert here.builder.cache.all_keys() == ()


class Ldd(LocalRunner):
    """Says of every program what ldd says of one whose libraries are in part missing, or too old."""

    def run(self, command: Sequence[str], **how: Any) -> Completed:
        if command[0] != "ldd":
            return super().run(command, **how)
        said = "/b/bin/postgres:\n\tlibzstd.so.1 => not found\n\tlibc.so.6 => /l/libc.so.6\n\tlibpq.so.5 => not found\n"
        older = "/b/bin/postgres: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /b/bin/postgres)\n"
        return Completed(tuple(command), 1, said, older)


def test_libraries_that_are_not_here_are_named_and_its_own_are_none_of_them(here: Here) -> None:
    (here.origin / "lib").mkdir()
    (here.origin / "lib" / "libpq.so.5").touch()
    runner = Ldd(here.builder.account)
    assert portability.missing_libraries(here.origin, runner) == ["GLIBC_2.38", "libzstd.so.1"]
    with pytest.raises(BuildError, match=r"this machine lacks GLIBC_2\.38, libzstd\.so\.1, which build"):
        portability.require(here.origin, here.key, runner)


def test_a_program_is_movable_where_it_finds_libpq_from_where_it_is(here: Here) -> None:
    client = here.origin / "bin" / "pgbench"
    assert portability.movable(here.origin), "needs no library of ours"
    client.write_bytes(b"\x7fELF\0libpq.so.5\0/var/lib/builds/b/lib\0")
    assert not portability.movable(here.origin)
    with pytest.raises(BuildError, match="in the folder alone where they were built"):
        portability.require(here.origin, here.key, here.builder.runner)
    client.write_bytes(b"\x7fELF\0libpq.so.5\0$ORIGIN/../lib\0")
    assert portability.movable(here.origin)


def test_the_source_of_a_build_that_was_sent_is_known_and_fetched_where_another_size_needs_it(here: Here) -> None:
    """What cannot be fetched is named as such, and not as damage of the cache."""
    here.arrive()
    manifest = here.builder.cache.manifest(here.key)
    assert manifest is not None
    asked = []

    def refuse(url: str) -> Any:
        asked.append(url)
        raise OSError("no route to host")

    sources = replace(here.builder.sources, opener=refuse)
    sources.learn(replace(manifest, source="official"))
    known = sources.in_cache(None, "16")
    assert known is not None
    assert (known.sha256, known.version) == (manifest.recipe.source_sha256, "16.4")
    builder = replace(here.builder, sources=sources)
    assert builder.installation(BuildRequest(version="16"), may_build=False).bindir.parent.name == here.key
    assert not asked
    with pytest.raises(PgassayError, match=r"could not fetch .*16\.4"):
        builder.installation(BuildRequest(version="16", block_bytes=2048))
    assert asked
