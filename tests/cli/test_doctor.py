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
        "[pgassay.loads]\nours = doctor_a:LOAD\n[pgassay.commands]\ntheirs = doctor_a:NOTHING\n",
        "LOAD = 7",
        "doctor_a",
    )
    good, broken = plugins_told(capsys)
    assert (good["severity"], good["text"]) == ("ok", 'load "ours" of package pg-sample 1.2')
    assert (broken["severity"], broken["remedy"]) == (
        "error",
        "update or remove the package: pip install --upgrade pg-sample, or pip uninstall pg-sample",
    )
    assert broken["text"].startswith('command "theirs" of package pg-sample 1.2 cannot be used: AttributeError')


def test_doctor_says_that_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert [finding["text"] for finding in plugins_told(capsys)] == ["no plug-ins are installed"]
