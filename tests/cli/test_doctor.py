"""`pgassay doctor` names the plug-ins of other packages, and which of them are broken."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pgassay import children
from pgassay.cli import doctor, main
from pgassay.cli.doctor import fitness
from pgassay.errors import UsageError
from pgassay.hardware_counter import HardwareCounter
from pgassay.study.findings import Finding, Severity
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


def test_doctor_says_what_counts_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(counter: HardwareCounter) -> None:
        raise UsageError("the processor's counters cannot be used: this machine has none")

    monkeypatch.setattr(HardwareCounter, "require", lambda counter: None)
    monkeypatch.setattr(children, "which", lambda name: "/usr/bin/valgrind")
    found = doctor.counting()
    assert (found.severity, found.remedy) == (Severity.OK, "")
    assert found.text == "--count uses Valgrind; load.count = hardware uses the processor's own counters"
    monkeypatch.setattr(HardwareCounter, "require", none)
    monkeypatch.setattr(children, "which", lambda name: None)
    found = doctor.counting()
    assert found.severity is Severity.NOTE
    assert "apt-get install valgrind" in found.remedy
    assert found.text.endswith("this machine has none")


def left(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    findings = json.loads(capsys.readouterr().out)
    return [(each["severity"], each["text"]) for each in findings if each["check"] == "left_files"]


def test_what_killed_processes_left_is_named_by_kind_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGASSAY_STATE_DIR", str(tmp_path / "state"))
    script = (
        "import os, sys, pathlib; from pgassay import scratch\n"
        "held = [scratch.folder(kind, pathlib.Path(sys.argv[1])) for kind in sys.argv[2:]]\n"
        "for each in held: print(each.__enter__(), flush=True)\n"
        "os._exit(1)"
    )
    words = [sys.executable, "-c", script, str(tmp_path), "sockets", "capture", "sockets"]
    one, two, three = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
    bystander = tmp_path / "pgassay-sockets-000000000000"
    bystander.mkdir()
    where = ("--json", "--data-dir", str(tmp_path / "data"))
    assert main(["doctor", *where]) == 0
    assert left(capsys) == [
        ("warning", f'killed processes left these (capture): "{two}"'),
        ("warning", f'killed processes left these (sockets): "{min(one, three)}", "{max(one, three)}"'),
    ]
    assert main(["doctor", "--repair", *where]) == 0
    said = capsys.readouterr()
    assert sorted(line for line in said.err.splitlines() if "removed" in line) == sorted(
        f'pgassay: removed: {kind}: "{path}"' for kind, path in (("sockets", one), ("capture", two), ("sockets", three))
    )
    assert '"killed processes have left no temporary files"' in said.out
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("pgassay-")] == [bystander.name]


def test_the_last_line_says_whether_the_machine_is_fit_and_what_decides_it() -> None:
    fine = Finding("steal", Severity.OK, "none")
    busy, slow = (Finding(code, Severity.WARNING, "much") for code in ("other_work", "governor"))
    stolen = Finding("steal", Severity.ERROR, "most of it")
    aside = Finding("plugins", Severity.ERROR, "one is broken")
    assert fitness([fine, aside]).startswith("fit to measure on:")
    assert fitness([fine, busy, slow, busy]).startswith("fit for comparisons")
    assert fitness([fine, busy, slow, busy]).endswith("because of other_work, governor")
    assert fitness([busy, stolen]) == "not fit to measure on, because of steal"


def test_doctor_ends_with_that_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(("fit to", "fit for", "not fit"))
