"""The commits between two names, from real repositories; without git the tests are skipped."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.postgres.builds.commits import between

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")


def git(folder: Path, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for number in range(4):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", f"change {number}")
        git(tmp_path, "tag", f"v{number}")
    git(tmp_path, "checkout", "-q", "-b", "side", "v1")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "aside")
    git(tmp_path, "checkout", "-q", "main")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "merged", "side")
    return tmp_path


def test_good_comes_first_then_all_along_first_parents(repository: Path) -> None:
    found = between(LocalRunner(choose()), repository, "v1", "main")
    assert [each.subject for each in found] == ["change 1", "change 2", "change 3", "merged"]
    assert found[0].sha == git(repository, "rev-parse", "v1")
    assert found[0].name == f"{found[0].sha[:12]} change 1"


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("v1", "v1", "are the same commit"),
        ("v3", "v1", "not on the line of first parents"),
        ("side", "main", "not on the line of first parents"),
        ("v9", "main", 'has no commit "v9"'),
        ("--all", "main", 'has no commit "--all"'),
    ],
)
def test_what_leads_nowhere_is_refused(repository: Path, good: str, bad: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        between(LocalRunner(choose()), repository, good, bad)


def test_an_abbreviation_of_two_commits_is_not_called_missing(repository: Path) -> None:
    tree, known = git(repository, "rev-parse", "v1^{tree}"), dict[str, bytes]()
    for number in range(65_537):
        text = f"tree {tree}\nauthor a <a@b> {number} +0000\ncommitter a <a@b> {number} +0000\n\n".encode()
        name = hashlib.sha1(b"commit %d\0%s" % (len(text), text), usedforsecurity=False).hexdigest()[:4]
        if name in known:
            break
        known[name] = text
    for each in (known[name], text):
        (repository / "commit").write_bytes(each)
        git(repository, "hash-object", "-t", "commit", "-w", "commit")
    with pytest.raises(UsageError, match="is ambiguous"):
        between(LocalRunner(choose()), repository, name, "main")


def test_a_clone_without_tags_says_how_to_get_them(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(repository, "clone", "-q", "--no-tags", str(repository), str(clone))
    with pytest.raises(UsageError, match='has no commit "v1", and no tags') as refused:
        between(LocalRunner(choose()), clone, "v1", "main")
    assert refused.value.hint == f"git -C {clone} fetch --tags brings those of its origin"
    git(clone, "fetch", "-q", "--tags")
    assert len(between(LocalRunner(choose()), clone, "v1", "main")) == 4


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a git repository"):
        between(LocalRunner(choose()), tmp_path, "a", "b")
    with pytest.raises(UsageError, match="absent"):
        between(LocalRunner(choose()), tmp_path / "absent", "a", "b")
    git(tmp_path, "init", "-q")
    with pytest.raises(UsageError, match="has no commits") as caught:
        between(LocalRunner(choose()), tmp_path, "HEAD", "HEAD")
    assert "git log" not in str(caught.value.hint), "git log fails where nothing was committed"
