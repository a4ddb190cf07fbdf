"""Manual pages: one for the program and each command, clean for man(1), and saying what the parsers say."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pgassay.cli import COMMANDS, main, man
from tests.packages import Install


def test_there_is_a_page_for_the_program_and_each_command() -> None:
    assert list(man.pages()) == ["pgassay", *(f"pgassay-{name}" for name in COMMANDS)]


def test_a_page_has_every_option_with_its_help() -> None:
    page = man.pages()["pgassay-report"]
    assert ".SH NAME\npgassay\\-report \\- write a run\\(aqs HTML report and figures\n" in page
    assert (
        ".TP\n\\fB\\-\\-out\\fR \\fIDIR\\fR\nwhere to write (default: RUN/report); of several runs DIR/NAME\n" in page
    )
    assert ".TP\n\\fB\\-?\\fR, \\fB\\-\\-help\\fR\n" in page
    assert "+30 %" in page, "argparse's %% is one"


def test_a_page_has_the_headings_of_the_help() -> None:
    page = man.pages()["pgassay-run"]
    assert page.index(".SH OPTIONS") < page.index("\\fB\\-\\-live\\fR") < page.index(".SS Verdicts\n")
    assert page.index(".SS Verdicts\n") < page.index("\\fB\\-\\-weigh\\fR") < page.index(".SS Order of trials\n")


def test_a_command_with_actions_shows_the_options_of_each() -> None:
    page = man.pages()["pgassay-drive"]
    assert ".SS \\fBcreate\\fR\n" in page
    assert page.index(".SS \\fBsnapshots\\fR") < page.index("\\fB\\-\\-keep\\fR") < page.index(".SS \\fBfsck\\fR")


def test_no_line_of_text_is_taken_for_a_request() -> None:
    known = {".TH", ".SH", ".SS", ".TP", ".br", ".nh", ".ad"}
    lines = [line for page in man.pages().values() for line in page.splitlines()]
    assert {line.split()[0] for line in lines if line[:1] in (".", "'")} == known


def test_a_hostile_text_stays_text(install: Install) -> None:
    code = (
        "def add_arguments(parser):\n"
        "    parser.add_argument('--file', metavar='.so', help='.so /etc/passwd')\n"
        "    parser.add_argument('name', metavar='\\\\*[x]', help=\"'quoted \\\\fBbold 5%%\")\n\n"
        "def run(arguments):\n    return 0\n"
    )
    install("pg-hello", "[pgassay.commands]\nhello = sample_hostile\n", code, "sample_hostile")
    page = man.pages()["pgassay-hello"]
    assert "\n\\&.so /etc/passwd\n" in page
    assert "\n\\(aqquoted \\efBbold 5%\n" in page
    assert "\\fI\\e*[x]\\fR" in page


def test_man_finds_no_fault_in_any_page(tmp_path: Path) -> None:
    program = shutil.which("man")
    if program is None:
        pytest.skip("man is not installed")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    assert main(["man", "--out", str(tmp_path / "pages")]) == 0
    paths = sorted((tmp_path / "pages").iterdir())
    assert len(paths) == len(COMMANDS) + 1
    for path in paths:
        done = subprocess.run(
            [program, "--warnings", "-E", "UTF-8", "-l", str(path)],
            env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), path.name
        assert "EXIT STATUS" in done.stdout


def test_the_page_of_a_command_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "check"]) == 0
    assert capsys.readouterr().out == man.pages()["pgassay-check"]
    assert main(["man"]) == 0
    assert re.search(r"^\.TH PGASSAY 1 ", capsys.readouterr().out)


def test_an_unknown_command_and_two_wishes_at_once_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["man", "chekc"]) == 2
    assert 'did you mean "check"?' in capsys.readouterr().err
    assert main(["man", "check", "--out", str(tmp_path)]) == 2
    assert "cannot be used together" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["man", "--out", str(tmp_path / "file")]) == 2
