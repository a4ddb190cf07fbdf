"""An extension on a build: by a fake makefile what is a build of its own and what is refused; a real one by PGXS."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.cli.postgres import builder
from pgassay.errors import UsageError
from pgassay.interfaces.factor import Readable
from pgassay.lab.places import Building
from pgassay.postgres.builds.builder import missing_builds
from pgassay.postgres.builds.recipe import BuildError, Recipe, parse_extension, parse_spec
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.factors import FACTORS
from pgassay.testing import real
from tests.postgres.builds.fake_source import builds_made, make_builder, make_tree, needs_make
from tests.postgres.builds.test_real_build import CONSENT, built

pytestmark = needs_make

MAKEFILE = """all:
\ttouch made
install: all
\tcp said.txt $(dir $(PG_CONFIG))said.txt
clean:
\trm -f made
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def extension(folder: Path, said: str = "one") -> Path:
    """A repository with one commit."""
    made = folder / "extension"
    made.mkdir()
    (made / "Makefile").write_text(MAKEFILE)
    (made / "said.txt").write_text(said)
    git(made, "init", "-q")
    git(made, "add", ".")
    git(made, "commit", "-q", "-m", said)
    return made


def commit(folder: Path, said: str) -> None:
    (folder / "said.txt").write_text(said)
    git(folder, "commit", "-q", "-a", "-m", said)


def test_two_commits_of_an_extension_are_two_builds_of_one_postgresql(tmp_path: Path) -> None:
    ours, tree, added = make_builder(tmp_path), make_tree(tmp_path), extension(tmp_path)
    commit(added, "two")
    source = parse_spec(f"directory:{tree}")
    asked = [
        BuildRequest(source=source, extension=parse_extension(f"git:{added}@{name}")) for name in ("HEAD~1", "HEAD")
    ]
    assert len(missing_builds(ours, asked)) == 2
    found = [ours.installation(each).bindir for each in asked]
    assert [(each / "said.txt").read_text() for each in found] == ["one", "two"]
    assert ours.installation(asked[0]).bindir == found[0]
    plain = ours.installation(BuildRequest(source=source)).bindir
    assert not (plain / "said.txt").exists()
    manifest = ours.cache.manifest(found[1].parent.name)
    assert manifest is not None
    assert manifest.extension == f"git:{added}@HEAD ({git(added, 'rev-parse', 'HEAD')})"
    assert manifest.source == f"directory:{tree}"
    assert ours.cache.manifest(plain.parent.name) != manifest
    ours.cache.check_contents(found[1].parent.name)


def test_a_build_that_was_kept_without_pgxs_is_made_again_once(tmp_path: Path) -> None:
    ours, tree, added = make_builder(tmp_path), make_tree(tmp_path), extension(tmp_path)
    source = parse_spec(f"directory:{tree}")
    ours.installation(BuildRequest(source=source))
    assert builds_made(tmp_path) == 1
    ours.installation(BuildRequest(source=source, extension=parse_extension(f"directory:{added}")))
    assert builds_made(tmp_path) == 2, "the fake PostgreSQL has none, as older builds"


def test_a_folder_is_cleaned_first_and_an_edit_is_another_build(tmp_path: Path) -> None:
    ours, tree, added = make_builder(tmp_path), make_tree(tmp_path), extension(tmp_path)
    request = BuildRequest(source=parse_spec(f"directory:{tree}"), extension=parse_extension(f"directory:{added}"))
    (added / "made").touch()
    first = ours.installation(request).bindir
    assert (added / "made").exists(), "the user's own folder is left as it is"
    (added / "said.txt").write_text("edited")
    second = ours.installation(request).bindir
    assert first != second
    assert (second / "said.txt").read_text() == "edited"


def test_an_extension_that_does_not_build_leaves_nothing_but_its_log(tmp_path: Path) -> None:
    ours, tree, added = make_builder(tmp_path), make_tree(tmp_path), extension(tmp_path)
    (added / "Makefile").write_text("all:\n\techo 'fatal error: no such thing' >&2; exit 1\n")
    request = BuildRequest(source=parse_spec(f"directory:{tree}"), extension=parse_extension(f"git:{added}@HEAD"))
    git(added, "commit", "-q", "-a", "-m", "broken")
    with pytest.raises(BuildError, match="make failed: fatal error: no such thing") as caught:
        ours.installation(request)
    key = ours.recipe(request)[0].key
    assert ours.cache.manifest(key) is None
    assert str(ours.cache.logs / f"{key}.log") in str(caught.value.hint)
    assert (ours.cache.logs / f"{key}.log").read_text().startswith("fatal error")


@pytest.mark.parametrize("text", ["official", "tarball:/x.tar", "git:/x", "pgvector", ""])
def test_what_names_no_extension_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_extension(text)


def test_a_folder_without_a_makefile_and_an_unknown_commit_are_refused(tmp_path: Path) -> None:
    ours, tree, added = make_builder(tmp_path), make_tree(tmp_path), extension(tmp_path)
    base = BuildRequest(source=parse_spec(f"directory:{tree}"))
    for text, said in (
        (f"directory:{tmp_path / 'cache'}", "has no Makefile"),
        (f"directory:{tmp_path / 'nothing'}", "nothing"),
        (f"git:{added}@v9", 'has no commit "v9"'),
    ):
        (tmp_path / "cache").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match=said):
            ours.recipe(replace(base, extension=parse_extension(text)))


def test_a_recipe_without_an_extension_keeps_its_key() -> None:
    plain = Recipe("a" * 64, "16.4", 8192, 8192, 1 << 30, (), "-O2", "gcc")
    assert plain.key == "46190f7febdc0631b48c734e"
    assert replace(plain, extension_sha256="b" * 64).key != plain.key


CONTROL = "default_version = '1.0'\nmodule_pathname = '$libdir/assayed'\nrelocatable = true\n"
SQL = "CREATE FUNCTION assayed() RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C STRICT;\n"
C = """#include "postgres.h"
#include "fmgr.h"
PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(assayed);
Datum assayed(PG_FUNCTION_ARGS) { PG_RETURN_INT32(42); }
"""
PGXS = """MODULES = assayed
EXTENSION = assayed
DATA = assayed--1.0.sql
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)
"""


@pytest.mark.system
@pytest.mark.timeout(540)
def test_a_real_extension_is_built_installed_and_read_back(tmp_path: Path) -> None:
    ours = builder(Building(allow_deb_src=bool(os.environ.get(CONSENT))))
    base = ours.cache.manifest(built(ours).bindir.parent.name)
    assert base is not None
    made = tmp_path / "assayed"
    made.mkdir()
    for name, text in (("Makefile", PGXS), ("assayed.control", CONTROL), ("assayed--1.0.sql", SQL), ("assayed.c", C)):
        (made / name).write_text(text)
    text = f"directory:{made}"
    recipe = base.recipe
    request = BuildRequest(
        block_bytes=recipe.block_bytes,
        wal_block_bytes=recipe.wal_block_bytes,
        cflags=recipe.cflags,
        version=recipe.version,
        source=parse_spec(base.source.partition(" (")[0]),
        extension=parse_extension(text),
    )
    installation = ours.installation(request)
    try:
        with real.private_folder() as folder:
            installation.initialize(folder / "data", {})
            server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
            try:
                server.execute("CREATE EXTENSION assayed")
                assert server.query("SELECT assayed()") == [(42,)]
                (factor,) = (each for each in FACTORS if each.pattern == "build.extension")
                level = factor.parse("build.extension", text)
                assert factor.read_back("build.extension", level, Readable(server)) == level.canonical
            finally:
                server.stop(immediately=True)
    finally:
        ours.cache.remove(installation.bindir.parent.name)
