"""The command's words before anything is measured: what it explains, what it refuses."""

import json
from pathlib import Path

import pytest

from benchmarks.advise import Server, space_with
from pgassay.advise import search
from pgassay.advise.folder import SavedTask, begin
from pgassay.advise.task import Question
from pgassay.cli import main
from pgassay.plugins import install_command
from tests.advise.test_walk import task

Captured = pytest.CaptureFixture[str]


def refused(capsys: Captured, *words: str) -> str:
    assert main(["advise", *words]) == 2
    return capsys.readouterr().err


def test_a_setting_is_explained_to_a_script(capsys: Captured) -> None:
    assert main(["advise", "--explain", "work_mem", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["default"], told["risk"]) == ("work_mem", "4MB", "safe")


def test_a_setting_is_explained_without_a_server(capsys: Captured) -> None:
    assert main(["advise", "--explain", "synchronous_commit"]) == 0
    shown = capsys.readouterr().out
    assert "risk (durability): a crash loses commits" in shown
    assert "#GUC-SYNCHRONOUS-COMMIT" in shown


def test_an_unknown_setting_names_the_nearest(capsys: Captured) -> None:
    assert 'did you mean "shared_buffers"?' in refused(capsys, "--explain", "share_buffers")


@pytest.mark.parametrize("others", [(), ("latency_p99_ms",)])
def test_an_unknown_setting_is_refused_before_an_advice_is_walked_again(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]
) -> None:
    wanted = task(Server(space_with(6), 0.1, 1))
    begin(tmp_path / "run", SavedTask(wanted, Question({"driver": "pgbench"}, "tps", others=others)))
    monkeypatch.setattr("pgassay.cli.advise._walk", lambda *given: pytest.fail("it is walked"))
    said = refused(capsys, "--resume", str(tmp_path / "run"), "--explain", "wrok_mem")
    assert said.startswith('pgassay: error: pgassay advise knows no setting "wrok_mem"')
    assert 'did you mean "work_mem"?' in said


def test_what_is_no_advice_is_not_gone_on_with(capsys: Captured, tmp_path: Path) -> None:
    assert "is not an advice" in refused(capsys, "--resume", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "work_mem"], "work_mem"),
        (["--margin", "200%"], "--margin"),
        (["--budget", "soon"], "soon"),
        (["-T", "5", "-t", "9"], "-T and -t"),
    ],
)
def test_a_wrong_option_is_refused(capsys: Captured, words: list[str], said: str) -> None:
    assert said in refused(capsys, *words)


def test_without_the_optimiser_it_says_what_to_install(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    assert install_command("advise") in refused(capsys, "--quick")
