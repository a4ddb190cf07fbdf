"""`pgassay track`: what it measures, prints and keeps, with a fake of builds and blocks; what it refuses."""

import json
import shutil
from datetime import UTC, datetime
from math import log
from pathlib import Path

import pytest

from pgassay.cli import main, track
from pgassay.lab import commits
from pgassay.record.reading import Run
from pgassay.testing.planted import make_run
from tests.cli.test_bisect import commit, git
from tests.fakes.commits import FakeBlocks

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")

ASKED = ("track", "fillfactor", "--quick", "--git", "pg", "--reference", "v0", "--out", "t")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pg"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, range(13))
    return folder


@pytest.fixture
def blocks(repository: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBlocks:
    """Slower by a tenth from change 8 on."""
    source = FakeBlocks({git(repository, "rev-parse", f"v{number}"): -0.1 for number in range(8, 13)})
    monkeypatch.setattr(commits, "CommitBlocks", lambda *given: source)
    monkeypatch.setattr(commits, "machine_of", lambda path: "this machine")
    return source


def plain(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_it_names_the_regression_and_checks_it(
    blocks: FakeBlocks, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, "--since", "v0", "--check", "-q"]) == 1
    printed = capsys.readouterr()
    assert "change 8: transactions per second -" in printed.out
    assert printed.out.count("\n") == 1
    measured = blocks.measured
    assert measured == 12 * 5
    assert main([*ASKED, "--json"]) == 0
    found = plain(capsys)
    regressions = found["regressions"]
    assert isinstance(regressions, list)
    (regression,) = regressions
    assert regression["commit"] == git(repository, "rev-parse", "v8")
    assert regression["direct"]
    assert blocks.measured == measured, "called again, nothing is due"


@pytest.mark.parametrize(("share", "status"), [(-0.003, 1), (-0.001, 0)])
def test_a_count_fails_the_check_from_three_tenths_of_a_per_cent_on(
    blocks: FakeBlocks, capsys: pytest.CaptureFixture[str], share: float, status: int
) -> None:
    blocks.log_speeds, blocks.noise = dict.fromkeys(blocks.log_speeds, log(1.0 + share)), 0.0001
    asked = (*ASKED, "--since", "v0", "--count")
    assert main([*asked, "--check", "-q"]) == status
    said = capsys.readouterr().out
    assert "change 8: transactions per second -0.3" in said if status else "no step in" in said
    assert main([*ASKED, "--check", "-q"]) == 2, "a history is of counts or of times"


def test_what_is_accepted_passes_the_check(blocks: FakeBlocks, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--since", "v0", "--check", "-q"]) == 1
    measured = blocks.measured
    assert main([*ASKED, "--accept", "v8", "--check", "-q"]) == 0
    assert blocks.measured == measured
    assert main([*ASKED, "--check", "-q"]) == 0
    capsys.readouterr()
    assert main([*ASKED, "--accept", "v0", "-q"]) == 2
    assert "is not a measured commit of this history" in capsys.readouterr().err


def test_a_history_begins_with_the_newest_and_follows_each_commit(
    blocks: FakeBlocks, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, "-q"]) == 0
    assert "1 commit measured" in capsys.readouterr().out
    assert main([*ASKED, "--dry-run"]) == 0
    assert capsys.readouterr().out == "no commit is due\n"
    commit(repository, range(13, 16))
    assert main([*ASKED, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:5] + line[-9:] for line in lines] == [f"due: change {number}" for number in (13, 14, 15)]
    assert main([*ASKED, "--points", "2", "--json"]) == 0
    found = plain(capsys)
    assert [each["subject"] for each in found["points"]] == ["change 12", "change 13", "change 14"]  # type: ignore[attr-defined]
    assert found["waiting"] == 1


def test_a_night_measures_the_newest_once_a_day(
    blocks: FakeBlocks, repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monday, later, tuesday = (datetime(2026, 1, *when, tzinfo=UTC) for when in ((5, 0, 1), (5, 23, 59), (6, 0, 1)))
    measured = ["change 12"]
    for now, new in ((monday, range(0)), (later, range(13, 15)), (tuesday, range(0))):
        monkeypatch.setattr(track, "_now", lambda now=now: now)
        commit(repository, new)
        measured += ["change 14"] if now is tuesday else []
        assert main([*ASKED, "--since", "v0", "--every", "night", "--json"]) == 0
        found = plain(capsys)
        assert [each["subject"] for each in found["points"]] == measured  # type: ignore[attr-defined]
        assert found["waiting"] == 0


def test_no_time_measures_nothing(blocks: FakeBlocks, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--since", "v0", "--budget", "0s", "-q"]) == 0
    assert capsys.readouterr().out == "nothing is measured yet\n"
    assert blocks.measured == 0


def test_a_branch_that_was_rewritten_goes_on_with_its_newest(
    blocks: FakeBlocks, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, "-q"]) == 0
    git(repository, "commit", "-q", "--amend", "--allow-empty", "-m", "change 12, again")
    capsys.readouterr()
    assert main([*ASKED]) == 0
    printed = capsys.readouterr()
    assert '"HEAD" no longer has ' in printed.err
    assert "2 commits measured" in printed.out


def test_ctrl_c_says_how_to_go_on(blocks: FakeBlocks, capsys: pytest.CaptureFixture[str]) -> None:
    blocks.kill_at = 12
    assert main([*ASKED, "--since", "v0", "-q"]) == 130
    assert "interrupted; the same command goes on" in capsys.readouterr().err
    blocks.kill_at = None
    assert main([*ASKED, "-q"]) == 0
    assert blocks.measured == 12 * 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reference", "v99"], 'has no commit "v99"'),
        (["--branch", "nowhere"], 'has no commit "nowhere"'),
        (["--git", "."], "is not a git repository"),
        (["--set", "build.source=git:pg"], "no git repository is named, or more than one"),
        (["--live"], 'unrecognized argument "--live"'),
        (["--budget", "soon"], "soon"),
        (["--points", "0"], "wants a whole number from 1 on"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    repository: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pgassay: error: ")
    assert said in error
    assert not Path("t").exists()


def test_a_start_beside_the_branch_is_refused(
    blocks: FakeBlocks, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "checkout", "-q", "-b", "aside", "v3")
    git(repository, "commit", "-q", "--allow-empty", "-m", "aside")
    assert main([*ASKED, "--branch", "main", "--since", "aside"]) == 2
    assert '"aside" is not on the line of first parents of "main"' in capsys.readouterr().err


def test_another_study_is_another_history(blocks: FakeBlocks, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "-q"]) == 0
    assert main([*ASKED, "--reference", "v1", "-q"]) == 2
    assert "holds a history of fillfactor on HEAD against " in capsys.readouterr().err


def test_a_machine_is_told_by_its_parts_without_its_name(tmp_path: Path) -> None:
    path = make_run(tmp_path / "r").path
    facts = Run.open(path).host
    said = commits.machine_of(path)
    assert str(facts.get("cpu", {}).get("model") or "an unknown CPU") in said
    assert str(facts.get("kernel", {}).get("release") or "an unknown kernel") in said
