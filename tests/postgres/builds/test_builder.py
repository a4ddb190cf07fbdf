"""Building with a fake source: the cache's key, what an interruption and a failure leave, and what they say."""

import errno
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.errors import PgassayError, UsageError
from pgassay.postgres.builds.builder import Progress, Toolchain, missing_builds
from pgassay.postgres.builds.recipe import BuildError, Recipe, parse_spec
from pgassay.postgres.builds.request import BuildRequest
from tests.postgres.builds.fake_source import MAKEFILE, builds_made, make_builder, make_tree, needs_make

pytestmark = needs_make


def _wanted(tree: Path, block_bytes: int = 8192) -> BuildRequest:
    return BuildRequest(block_bytes=block_bytes, source=parse_spec(f"directory:{tree}"))


def test_a_build_is_made_once_for_each_recipe(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    first = builder.installation(_wanted(tree))
    again = builder.installation(_wanted(tree))
    other = builder.installation(_wanted(tree, 2048))
    assert first.bindir == again.bindir != other.bindir
    assert builds_made(tmp_path) == 2
    assert (first.found_by, str(first.version)) == ("built", "16.4")
    assert other.version.text.endswith(", 2")


def test_programs_are_told_to_look_for_libraries_from_where_they_are(tmp_path: Path) -> None:
    """As PostgreSQL's makefiles have it: the linker's option in the shell's quotes, within a make of a make."""
    told = tmp_path / "told"
    inner = f"install: inner\ninner:\n\t$(MAKE) told\ntold:\n\tprintf %s '$(rpathdir)' >{told}\n"
    make_builder(tmp_path).installation(_wanted(make_tree(tmp_path, makefile=f"{MAKEFILE}{inner}")))
    assert told.read_text() == "$ORIGIN/../lib"


def test_a_beta_is_of_the_major_version_before_that_word(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    (tree / "configure").write_text((tree / "configure").read_text().replace("16.4", "14beta1"))
    recipe, source = make_builder(tmp_path).recipe(_wanted(tree))
    assert source.version == "14beta1"
    assert "--without-icu" not in recipe.flags, "configure of 14 wants no ICU"


def test_an_edited_source_is_another_build(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    first = builder.installation(_wanted(tree))
    (tree / "src" / "backend" / "main.c").write_text("int other;\n")
    assert builder.installation(_wanted(tree)).bindir != first.bindir


def test_two_commits_are_two_builds(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)

    def git(*words: str) -> str:
        command = ["git", "-C", str(tree), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    (tree / "src" / "backend" / "main.c").write_text("int other;\n")
    git("commit", "-q", "-a", "-m", "two")
    found = [
        builder.installation(BuildRequest(source=parse_spec(f"git:{tree}@{commit}"))).bindir
        for commit in ("HEAD~1", "HEAD")
    ]
    assert found[0] != found[1]
    manifest = builder.cache.manifest(found[1].parent.name)
    assert manifest is not None
    assert manifest.source == f"git:{tree}@HEAD ({git('rev-parse', 'HEAD')})"
    with pytest.raises(UsageError, match='has no commit "nothing"'):
        builder.installation(BuildRequest(source=parse_spec(f"git:{tree}@nothing")))


def test_an_interrupted_build_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    tree = make_tree(tmp_path, makefile=MAKEFILE.replace("\ttouch", "\tsleep 30\n\ttouch"))
    builder = make_builder(tmp_path, interrupt)
    with pytest.raises(KeyboardInterrupt):
        builder.installation(_wanted(tree))
    assert builder.cache.all_keys() == ()
    assert list((tmp_path / "cache" / "staging").iterdir()) == []
    (tree / "src" / "backend" / "Makefile").write_text(MAKEFILE)
    make_builder(tmp_path).installation(_wanted(tree))
    assert len(builder.cache.all_keys()) == 1


KILLED = """
import os, sys
from pathlib import Path
from pgassay import scratch
held = scratch.folder("build", Path(sys.argv[1]))
print(held.__enter__(), flush=True)
os._exit(1)
"""


def test_what_a_killed_build_left_is_put_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASSAY_STATE_DIR", str(tmp_path / "state"))
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    staging = tmp_path / "cache" / "staging"
    staging.mkdir(parents=True)
    done = subprocess.run([sys.executable, "-c", KILLED, str(staging)], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    builder.installation(_wanted(tree))
    assert not left.exists()


@pytest.mark.parametrize(
    ("configure", "words", "hint"),
    [
        ("echo 'configure: error: bison not found' >&2; exit 1", "bison not found", "bison"),
        ("echo 'configure: error: zlib library not found'; exit 1", "zlib library not found", "zlib"),
        ("echo 'x.c:1:1: error: odd' ; exit 1", "odd", "the compiler's message"),
    ],
)
def test_a_failed_build_names_what_is_missing_and_keeps_the_output(
    tmp_path: Path, configure: str, words: str, hint: str
) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path, configure=configure)
    with pytest.raises(BuildError, match=f"configure failed: .*{words}") as caught:
        builder.installation(_wanted(tree))
    assert caught.value.hint is not None
    assert hint in caught.value.hint
    (log,) = (tmp_path / "cache" / "logs").iterdir()
    assert str(log) in caught.value.hint
    assert words in log.read_text()
    assert builder.cache.all_keys() == ()


def test_a_build_that_does_not_verify_is_not_kept(tmp_path: Path) -> None:
    def refuse(installation: object, recipe: Recipe, runner: object) -> None:
        raise BuildError(f"build {recipe.key} has block_size = 8192, not 2048 as requested")

    builder, tree = replace(make_builder(tmp_path), verify=refuse), make_tree(tmp_path)
    with pytest.raises(BuildError, match="has block_size = 8192, not 2048 as requested"):
        builder.installation(_wanted(tree, 2048))
    assert builder.cache.all_keys() == ()


def test_damage_by_hand_is_told_with_its_remedy(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    program = builder.installation(_wanted(tree)).bindir / "postgres"
    (key,) = builder.cache.all_keys()
    builder.cache.check_contents(key)
    whole = program.read_text()
    program.write_text(whole.replace("echo", "ECHO"))
    with pytest.raises(BuildError, match="bin/postgres has other contents"):
        builder.cache.check_contents(key)
    program.unlink()
    with pytest.raises(BuildError, match="bin/postgres is missing") as caught:
        builder.installation(_wanted(tree))
    assert caught.value.hint == f"remove it: pgassay postgres remove {key}"
    builder.cache.remove(builder.cache.find(key[:6]))
    builder.installation(_wanted(tree))
    assert builds_made(tmp_path) == 2


def test_a_dry_run_builds_nothing(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    with pytest.raises(UsageError, match="is not built yet"):
        builder.installation(_wanted(tree), may_build=False)
    assert builds_made(tmp_path) == 0


def test_a_tarball_is_checked_against_the_checksum_beside_it(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    tarball = tmp_path / "source.tar.gz"
    subprocess.run(["tar", "-C", str(tmp_path), "-czf", str(tarball), tree.name], check=True)
    wanted = BuildRequest(source=parse_spec(f"tarball:{tarball}"))
    beside = tmp_path / "source.tar.gz.sha256"
    beside.write_text("0" * 64 + "  source.tar.gz\n")
    with pytest.raises(PgassayError, match=r"source\.tar\.gz has the SHA-256"):
        builder.installation(wanted)
    beside.unlink()
    builder.installation(wanted)
    assert builds_made(tmp_path) == 1
    with pytest.raises(UsageError, match=r"is PostgreSQL 16\.4, not 15"):
        builder.installation(replace(wanted, version="15"))


def test_the_same_source_may_be_noted_twice_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As two processes do that fetch or unpack it at the same time."""
    sources, tree, rename = make_builder(tmp_path).sources, make_tree(tmp_path), Path.rename
    tarball = tmp_path / "source.tar.gz"
    subprocess.run(["tar", "-C", str(tmp_path), "-czf", str(tarball), tree.name], check=True)
    wanted = parse_spec(f"tarball:{tarball}")

    def after_another(fresh: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "rename", rename)
        sources.identify(wanted, "")
        return fresh.rename(target)

    monkeypatch.setattr(Path, "rename", after_another)
    assert sources.identify(wanted, "").version == "16.4"
    assert len(sources.known()) == 1


def test_a_tree_built_in_place_and_one_that_is_none_are_refused(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    (tree / "config.status").touch()
    with pytest.raises(UsageError, match="configured and built in place"):
        builder.installation(_wanted(tree))
    with pytest.raises(UsageError, match="does not hold the source"):
        builder.installation(_wanted(tmp_path))


def test_a_disk_too_small_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    monkeypatch.setattr("pgassay.postgres.builds.cache.NEEDED_BYTES", 1 << 60)
    with pytest.raises(BuildError, match="a build needs about 1048576TB") as caught:
        builder.installation(_wanted(tree))
    assert caught.value.hint is not None
    assert "PGASSAY_CACHE" in caught.value.hint
    assert builds_made(tmp_path) == 0


def test_room_is_asked_for_all_builds_of_a_study_before_the_first(tmp_path: Path) -> None:
    cache = make_builder(tmp_path).cache
    cache.require_room(1)
    with pytest.raises(BuildError, match="free, 1000000000 builds need about") as caught:
        cache.require_room(1_000_000_000)
    assert "pgassay postgres list, remove" in str(caught.value.hint)


@pytest.mark.parametrize("kind", ["tarball", "official"])
def test_a_disk_too_small_is_said_before_a_source_is_fetched_or_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("pgassay.postgres.builds.cache.NEEDED_BYTES", 1 << 60)
    tarball = tmp_path / "source.tar"
    tarball.touch()
    spec = parse_spec(f"tarball:{tarball}" if kind == "tarball" else kind)
    with pytest.raises(BuildError, match="a build needs about"):
        make_builder(tmp_path).sources.identify(spec, "17.5")


def test_a_disk_that_fills_up_while_a_source_is_unpacked_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tarfile.open", full)
    (tmp_path / "source.tar").touch()
    with pytest.raises(BuildError, match=r"the disk of .* is full") as caught:
        make_builder(tmp_path).installation(BuildRequest(source=parse_spec(f"tarball:{tmp_path / 'source.tar'}")))
    assert "PGASSAY_CACHE" in str(caught.value.hint)


def test_what_would_be_built_is_told_without_building(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    both = [_wanted(tree), _wanted(tree, 2048), _wanted(tree)]
    first, other = missing_builds(builder, both)
    assert (first.name, other.name) == ("16.4, 8kB pages, 8kB WAL blocks", "16.4, 2kB pages, 8kB WAL blocks")
    assert first.seconds is None
    assert builds_made(tmp_path) == 0
    builder.installation(both[0])
    (left,) = missing_builds(builder, both)
    assert left.name == other.name
    assert left.seconds is not None


def test_a_source_that_would_be_fetched_is_not_fetched_to_tell_so(tmp_path: Path) -> None:
    (each,) = missing_builds(make_builder(tmp_path), [BuildRequest(block_bytes=4096, version="17")])
    assert each.name == "17, 4kB pages, 8kB WAL blocks"
    assert "would be fetched" in each.source


def test_a_program_changed_by_hand_is_not_run_although_its_size_is_right(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    program = builder.installation(_wanted(tree)).bindir / "postgres"
    program.write_text(program.read_text().replace("16.4", "16.5"))
    with pytest.raises(PgassayError, match="bin/postgres has other contents") as caught:
        builder.installation(_wanted(tree))
    assert "pgassay postgres remove" in str(caught.value.hint)


def test_what_is_no_tarball_or_no_checksum_is_named_in_one_line(tmp_path: Path) -> None:
    builder = make_builder(tmp_path)
    (tmp_path / "x.tar.gz").write_text("hello")
    with pytest.raises(PgassayError, match=r"x\.tar\.gz\" cannot be unpacked: [^\n]*$"):
        builder.installation(BuildRequest(source=parse_spec(f"tarball:{tmp_path / 'x.tar.gz'}")))
    (tmp_path / "x.tar.gz.sha256").write_text("junk")
    with pytest.raises(PgassayError, match="holds no checksum"):
        builder.installation(BuildRequest(source=parse_spec(f"tarball:{tmp_path / 'x.tar.gz'}")))


def test_what_is_built_runs_without_a_compiler(tmp_path: Path) -> None:
    builder, tree = make_builder(tmp_path), make_tree(tmp_path)
    built = builder.installation(_wanted(tree))
    bare = replace(builder, toolchain=Toolchain(builder.runner, {"CC": "no-such-compiler"}))
    assert bare.installation(_wanted(tree)).bindir == built.bindir
    with pytest.raises(BuildError, match="needs a C compiler"):
        bare.installation(_wanted(tree, 2048))
    assert builds_made(tmp_path) == 1


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("tarball", "none.tar", "there is no"),
        ("directory", "nowhere", "there is no"),
        ("git", "nowhere", "there is no"),
        ("git", "plain", "is not a git repository"),
        ("git", "empty", "has no commits"),
        ("git", "other", "does not hold the source of PostgreSQL"),
    ],
)
def test_what_is_no_source_is_named(tmp_path: Path, kind: str, name: str, words: str) -> None:
    (tmp_path / "plain").mkdir()
    other = tmp_path / "other"
    for repository in (other, tmp_path / "empty"):
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(other), *who, "commit", "-q", "--allow-empty", "-m", "none"], check=True)
    spec = f"{kind}:{tmp_path / name}{'@HEAD' if kind == 'git' else ''}"
    with pytest.raises(UsageError, match=words) as caught:
        make_builder(tmp_path).installation(BuildRequest(source=parse_spec(spec)))
    assert caught.value.hint


INSTALLED = "$(DESTDIR)$(prefix)"


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (f"\trm -rf {INSTALLED}; ln -s {{secret}} {INSTALLED}\n", "is a symbolic link"),
        (f"\tln -s {{secret}}/key {INSTALLED}/build.json\n", "leads out"),
        (f"\tln -s {{secret}}/key {INSTALLED}/bin/pg_config\n", "leads out"),
        (f"\tln -s ../../../../key {INSTALLED}/bin/pg_config\n", "leads out"),
    ],
)
def test_a_makefile_that_installs_links_changes_nothing_outside(tmp_path: Path, planted: str, words: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    (secret / "key").write_text("key")
    tree = make_tree(tmp_path, makefile=MAKEFILE + planted.format(secret=secret))
    with pytest.raises(BuildError, match=words):
        make_builder(tmp_path).installation(_wanted(tree))
    assert secret.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in secret.iterdir()] == ["key"]
    assert (secret / "key").read_text() == "key"


def test_a_makefile_that_installs_pipes_and_links_within_is_kept_without_the_pipes(tmp_path: Path) -> None:
    planted = f"\tmkfifo {INSTALLED}/pipe; ln -s postgres {INSTALLED}/bin/postmaster\n"
    found = make_builder(tmp_path).installation(_wanted(make_tree(tmp_path, makefile=MAKEFILE + planted)))
    assert (found.bindir / "postmaster").samefile(found.bindir / "postgres")
    assert not (found.bindir.parent / "pipe").exists()
