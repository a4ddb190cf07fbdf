"""`pgassay doctor` names the plug-ins of other packages, and which of them are broken."""

import json

import pytest

from pgassay.cli import main
from tests.packages import Install


def plugins_told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    """The findings about plug-ins."""
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    return [finding for finding in findings if finding["check"] == "plugins"]


def test_doctor_names_every_plugin_and_its_package(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(
        "pg-sample",
        "[pgassay.commands]\nours = doctor_a\nrun = doctor_a\ntheirs = doctor_a:NOTHING\n"
        "[pgassay.loads]\nseven = doctor_a:LOAD\n",
        "LOAD = 7\ndef add_arguments(parser): ...\ndef run(arguments): ...",
        "doctor_a",
    )
    wrong, good, taken, broken = plugins_told(capsys)
    assert (good["severity"], good["text"]) == ("ok", 'command "ours" of package pg-sample 1.2')
    assert '"doctor_a:LOAD" is of type int' in wrong["text"]
    assert taken["text"].endswith("pgassay has a command of this name")
    assert (broken["severity"], broken["remedy"]) == (
        "error",
        "update or remove the package: pip install --upgrade pg-sample, or pip uninstall pg-sample",
    )
    assert broken["text"].startswith('command "theirs" of package pg-sample 1.2 cannot be used: AttributeError')


def test_doctor_says_that_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert [finding["text"] for finding in plugins_told(capsys)] == ["no plug-ins are installed"]
