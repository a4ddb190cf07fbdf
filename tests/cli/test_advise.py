"""The command's words before anything is measured: what it explains, what it refuses."""

from pathlib import Path

import pytest

from pgassay.cli import advise, main
from pgassay.plugins import install_command

Captured = pytest.CaptureFixture[str]


def refused(capsys: Captured, *words: str) -> str:
    assert main(["advise", *words]) == 2
    return capsys.readouterr().err


def test_what_is_no_advice_is_not_gone_on_with(capsys: Captured, tmp_path: Path) -> None:
    assert "is not a directory of pgassay advise" in refused(capsys, "--resume", str(tmp_path))


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
    monkeypatch.setattr(advise, "find_spec", lambda name: None)
    assert install_command("advise") in refused(capsys, "--quick")
