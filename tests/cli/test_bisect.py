"""`pgassay bisect`: what it prints and keeps, with a fake of builds and blocks; what it refuses; a block."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.lab import commits
from pgassay.lab.commits import Pair, Subject, SubjectKind, called, pair_document, pairs_of, shows
from pgassay.lab.run import write_study
from pgassay.postgres.builds.commits import Commit
from pgassay.record.reading import Run
from pgassay.study import builtin, document
from pgassay.study.document import Overrides
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run
from tests.fakes.commits import FakeBlocks

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")


def git(folder: Path, *words: str, given: str = "") -> str:
    """With the same hashes at every run: the fake draws its noise by the names of steps, and those have them."""
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    when = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
    environment = {**os.environ, **who, **when, "GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, check=True, capture_output=True, env=environment, input=given.encode())
    return done.stdout.decode().strip()


def commit(folder: Path, numbers: range) -> None:
    """Empty commits on main, each with its tag, by one process."""
    lines: list[str] = []
    for number in numbers:
        lines += ["commit refs/heads/main", "committer a <a@b> 1767323045 +0000", f"data {len(f'change {number}') + 1}"]
        lines += [f"change {number}", *(["from refs/heads/main^0"] if number and number == numbers[0] else []), ""]
        lines += [f"reset refs/tags/v{number}", "from refs/heads/main", ""]
    git(folder, "fast-import", "--quiet", given="\n".join(lines))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pg"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, range(5))
    return folder


@pytest.fixture
def blocks(repository: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBlocks:
    """Slower from change 3 on."""
    source = FakeBlocks({git(repository, "rev-parse", name): -0.05 for name in ("v3", "v4")})
    monkeypatch.setattr(commits, "CommitBlocks", lambda *given: source)
    return source


ASKED = ("bisect", "fillfactor", "--quick", "--good", "v0", "--bad", "v4", "--git", "pg", "--out", "b")


def test_it_names_the_commit_and_keeps_the_answer(
    blocks: FakeBlocks, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["commit"] == git(repository, "rev-parse", "v3")
    assert found["effect"]["estimate"] == pytest.approx(0.9512, abs=0.015)
    assert json.loads(Path("b/answer.json").read_text(encoding="utf-8")) == found
    assert printed.err == ""
    measured = blocks.measured
    assert main([*ASKED, "-q"]) == 0
    again = capsys.readouterr().out
    assert "change 3: " in again
    assert again.count("\n") == 1
    assert blocks.measured == measured, "begun again, nothing is left to do"


def test_a_dry_run_lists_the_commits(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("good: ")
    assert [line[-8:] for line in lines] == [f"change {number}" for number in range(5)]
    assert not Path("b").exists()


def test_ctrl_c_says_how_to_go_on(blocks: FakeBlocks, capsys: pytest.CaptureFixture[str]) -> None:
    blocks.kill_at = 5
    assert main([*ASKED, "-q"]) == 130
    assert "go on with the same command and --out " in capsys.readouterr().err
    blocks.kill_at = None
    assert main([*ASKED, "-q"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--good", "v9"], 'has no commit "v9"'),
        (["--git", "."], "is not a git repository"),
        (["--set", "build.source=git:pg"], "no git repository is named, or more than one"),
        (["--good", "v4"], "are the same commit"),
        (["--schema", "../schema.sql"], "is not a path inside the repository"),
        (["--schema", "/etc/passwd"], "is not a path inside the repository"),
        (["--live"], 'unrecognized argument "--live"'),
    ],
)
def test_what_cannot_be_asked_is_refused(
    repository: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pgassay: error: ")
    assert said in error
    assert not Path("b").exists()


def test_a_block_is_a_study_of_two_commits_with_all_else_as_in_the_baseline() -> None:
    name, text = builtin.find("fillfactor")
    written = write_study(name, document.read(name, text), Overrides("quick"))
    two = [f"git:/pg@{letter * 40}" for letter in "ab"]
    made = pair_document(written.document, written.study, "build.source", two, 3)
    pair = write_study("commits", made).study
    assert [arm.treatment.name.rpartition("@")[2] for arm in pair.arms] == ["a" * 40, "b" * 40]
    assert (pair.design.blocks_min, pair.design.blocks_max) == (3, 3)
    held = {key: level.canonical for key, level in pair.levels_of(pair.arms[0]).items() if key != "build.source"}
    baseline = next(arm for arm in written.study.arms if arm.treatment == written.study.design.baseline)
    theirs = {key: level.canonical for key, level in written.study.levels_of(baseline).items()}
    assert held == theirs


def test_treatments_of_a_schema_are_called_by_its_path_and_commit_and_found_again_by_either() -> None:
    name, text = builtin.find("fillfactor")
    written = write_study(name, document.read(name, text), Overrides("quick"))
    subject = Subject(SubjectKind.SCHEMA, "/shop", "db/a=b, schema.sql")
    commits = [Commit(letter * 40, "") for letter in "ab"]
    paths = [f"/runs/track-shop/trees/{each.sha}/pgassay-init.sql" for each in commits]
    made = pair_document(written.document, written.study, subject.factor, paths, 3, called(subject, commits))
    pair = write_study("commits", made).study
    names = [arm.treatment.name for arm in pair.arms]
    assert names == [f"db/a b schema.sql@{letter * 12}" for letter in "ab"]
    assert [arm.levels["load.init"].typed for arm in pair.arms] == paths
    assert pair.design.baseline.name == names[0]
    for treatments in (names, [f"load.init={each}" for each in paths]):
        assert [[shows(each, one) for one in commits] for each in treatments] == [[True, False], [False, True]]


def test_only_blocks_with_valid_trials_of_both_count(tmp_path: Path) -> None:
    good, other = Commit("aa", "good"), Commit("bb", "bad")
    names = {"table.fillfactor=100": "git:/pg@aa", "table.fillfactor=75": "git:/pg@bb"}
    made = Run.open(make_run(tmp_path / "r").path).trials
    trials = [replace(each, treatment=names[each.treatment]) for each in made if each.treatment in names]
    found = pairs_of(trials, good, other)
    assert len(found) == len({each.block for each in trials})
    first = {each.treatment: each.responses for each in trials if each.block == 1 and each.status is Status.VALID}
    assert found[0] == Pair(first["git:/pg@aa"], first["git:/pg@bb"])
    lost = [each if each.block > 1 else replace(each, status=Status.OUTCOME) for each in trials]
    assert pairs_of(lost, good, other) == found[1:]
    assert pairs_of(trials, good, Commit("cc", "none")) == ()
