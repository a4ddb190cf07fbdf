"""A repository of git whose own configuration names programs: we read it as root, and none of them runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.postgres.builds.cache import Cache
from pgassay.postgres.builds.commits import after, between, commit_of, first_parents, has_file
from pgassay.postgres.builds.recipe import BuildError, parse_spec
from pgassay.postgres.builds.sources import Sources, export
from tests.cli.test_bisect import git
from tests.security.attackers import as_root, nobody

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")

CONFIGURED = (
    "core.fsmonitor", "core.pager", "pager.log", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand",
    "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.smudge", "filter.evil.clean",
    "gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "uploadpack.packObjectsHook", "tar.tar.command",
    "remote.evil.uploadpack",
)  # fmt: skip
"""What git runs by a word of a repository's configuration, of which reading can reach some."""
SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n"


class Hostile:
    """A repository of two commits, and which of its programs ran."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._ran = folder / "pg", folder / "ran"
        self.folder.mkdir()
        git(self.folder, "init", "-q", "-b", "main")
        (self.folder / ".gitattributes").write_text("* filter=evil diff=evil\nsubst export-subst\n")
        (self.folder / "configure").write_text("PACKAGE_VERSION='17.5'\n")
        (self.folder / "subst").write_text("$Format:%G?$\n")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "-q", "-m", "one")
        signed = git(self.folder, "cat-file", "commit", "HEAD").replace("\n\n", f"\n{SIGNATURE}\n", 1)
        (folder / "signed").write_text(signed.replace("tree ", "tree ", 1) + "\n")
        first = git(self.folder, "hash-object", "-t", "commit", "-w", str(folder / "signed"))
        second = folder / "second"
        tree, _, rest = signed.partition("\n")
        second.write_text(f"{tree}\nparent {first}\n{rest}\n")
        git(self.folder, "reset", "-q", "--hard", git(self.folder, "hash-object", "-t", "commit", "-w", str(second)))
        program = folder / "program"
        program.write_text(f'#!/bin/sh\necho "$0 $*" >> {self._ran}\nexit 1\n')
        program.chmod(0o755)
        for name in CONFIGURED:
            git(self.folder, "config", name, str(program))
        for name, value in {
            "log.showSignature": "true", "core.hooksPath": str(folder / "hooks"), "remote.evil.promisor": "true",
            "remote.evil.url": str(self.folder), "extensions.partialClone": "evil", "core.repositoryFormatVersion": "1",
            "protocol.allow": "always",
        }.items():  # fmt: skip
            git(self.folder, "config", name, value)
        info = self.folder / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text("* filter=evil diff=evil\n")

    def ran(self) -> str:
        """The words of each program that ran."""
        return self._ran.read_text() if self._ran.exists() else ""


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def test_the_list_of_commits_runs_nothing(hostile: Hostile) -> None:
    runner = LocalRunner(choose())
    good, bad = between(runner, hostile.folder, "HEAD^", "main")
    assert after(runner, hostile.folder, good.sha, "main") == (bad,)
    assert first_parents(runner, hostile.folder, [bad]) == {bad.sha: good.sha}
    assert has_file(runner, hostile.folder, bad.sha, "configure")
    assert hostile.ran() == ""


def test_a_look_at_the_source_runs_nothing(hostile: Hostile, tmp_path: Path) -> None:
    found = Sources(Cache(tmp_path / "cache"), LocalRunner(choose())).identify(
        parse_spec(f"git:{hostile.folder}@main"), ""
    )
    assert (found.version, found.commit) == ("17.5", git(hostile.folder, "rev-parse", "main"))
    assert hostile.ran() == ""


def test_an_export_runs_nothing(hostile: Hostile, tmp_path: Path) -> None:
    export(LocalRunner(choose()), hostile.folder, "main", tmp_path / "tree")
    assert (tmp_path / "tree" / "configure").read_text() == "PACKAGE_VERSION='17.5'\n"
    assert hostile.ran() == ""


def test_a_missing_object_is_not_fetched(hostile: Hostile, tmp_path: Path) -> None:
    name = git(hostile.folder, "rev-parse", "main:configure")
    (hostile.folder / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(BuildError, match="cannot be exported"):
        export(LocalRunner(choose()), hostile.folder, "main", tmp_path / "tree")
    assert hostile.ran() == ""


@pytest.mark.parametrize("kind", ["bare", "worktree", "below", "sha256", "shallow"])
def test_every_kind_of_repository_is_read(hostile: Hostile, tmp_path: Path, kind: str) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    git(plain, "init", "-q", "-b", "main", *(("--object-format=sha256",) if kind == "sha256" else ()))
    (plain / "src").mkdir()
    (plain / "src" / "file").write_text("a\n")
    for number in range(3):
        git(plain, "add", ".")
        git(plain, "commit", "-q", "--allow-empty", "-m", f"change {number}")
    git(plain, "gc", "-q")
    folder = {"worktree": tmp_path / "tree", "below": plain / "src", "sha256": plain}.get(kind, tmp_path / "clone")
    if kind == "worktree":
        git(plain, "worktree", "add", "-q", "--detach", str(folder))
    elif kind in ("bare", "shallow"):
        how = ("--bare",) if kind == "bare" else ("--depth", "2")
        subprocess.run(["git", "clone", "-q", *how, plain.as_uri(), folder], check=True, env={**os.environ})
    assert [each.subject for each in between(LocalRunner(choose()), folder, "HEAD~1", "HEAD")] == [
        "change 1",
        "change 2",
    ]
    export(LocalRunner(choose()), folder, "HEAD", tmp_path / "exported", "src" if kind != "below" else ".")
    assert next((tmp_path / "exported").rglob("file")).read_text() == "a\n"


@pytest.mark.parametrize("end", ["\f", "\v", "\r", "\x1c", "\x85", "\u2028"])
def test_a_subject_adds_no_commit(tmp_path: Path, end: str) -> None:
    """It listed a commit of its own between the others, built and measured for a real one."""
    folder = tmp_path / "pg"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    (tmp_path / "subject").write_bytes(f"two{end}{'1' * 40}\n".encode())
    git(folder, "commit", "-q", "--allow-empty", "-F", str(tmp_path / "subject"))
    git(folder, "commit", "-q", "--allow-empty", "-m", "three")
    runner = LocalRunner(choose())
    found = between(runner, folder, "HEAD~2", "HEAD")
    assert [each.sha for each in found] == [git(folder, "rev-parse", name) for name in ("HEAD~2", "HEAD~1", "HEAD")]
    assert commit_of(runner, folder, "HEAD~1") == found[1]


def test_a_hash_is_what_it_says(hostile: Hostile, tmp_path: Path) -> None:
    """A replacement of git's had another tree measured under a commit's name."""
    real = git(hostile.folder, "rev-parse", "main")
    (hostile.folder / "configure").write_text("PACKAGE_VERSION='1.0'\n")
    other = git(hostile.folder, "-c", "filter.evil.clean=cat", "stash", "create")
    git(hostile.folder, "update-ref", f"refs/replace/{real}", other)
    export(LocalRunner(choose()), hostile.folder, real, tmp_path / "tree")
    assert (tmp_path / "tree" / "configure").read_text() == "PACKAGE_VERSION='17.5'\n"


def test_names_and_places_that_git_reads_otherwise_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "line\nfeed"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    with pytest.raises(UsageError, match="line feed"):
        commit_of(LocalRunner(choose()), folder, "main")
    with pytest.raises(UsageError, match="no commit"):
        commit_of(LocalRunner(choose()), folder.rename(tmp_path / "plain"), "^main")


@as_root
def test_another_accounts_repository_is_named_as_that(tmp_path: Path) -> None:
    folder = tmp_path / "pg"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    for each in (folder, *folder.rglob("*")):
        os.chown(each, nobody().uid, nobody().gid, follow_symlinks=False)
    with pytest.raises(UsageError, match="of another account"):
        commit_of(LocalRunner(choose()), folder, "main")
