"""The JUnit file says what `--check` says, and holds any text."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from pgassay.cli import main
from pgassay.report import decide
from pgassay.report.findings import Findings
from pgassay.study.thresholds import parse, split
from pgassay.testing import planted
from pgassay.testing.planted import make_run

HOLDS, FAILS = "wal_bytes_per_transaction < +5 %", "space < +30 %"


def parsed(findings: Findings) -> ElementTree.Element:
    return ElementTree.fromstring(decide.junit(findings))


def weighed(path: Path, *texts: str) -> Findings:
    return Findings(make_run(path), weigh=[parse(*split(each)) for each in texts])


def test_a_case_for_each_threshold_and_treatment(tmp_path: Path) -> None:
    found = weighed(tmp_path / "run", HOLDS, FAILS)
    whole = parsed(found)
    cases = {(each.attrib["classname"], each.attrib["name"]): each for each in whole.iter("testcase")}
    assert list(cases) == [
        ("fillfactor.table.fillfactor=75", HOLDS), ("fillfactor.table.fillfactor=50", HOLDS),
        ("fillfactor.table.fillfactor=75", FAILS), ("fillfactor.table.fillfactor=50", FAILS),
    ]  # fmt: skip
    failed = [name for name, case in cases.items() if case.find("failure") is not None]
    assert failed == [("fillfactor.table.fillfactor=50", FAILS)]
    (failure,) = whole.iter("failure")
    assert failure.attrib["type"] == "fail"
    assert "measured: +100" in (failure.text or "")
    for each in (whole, whole[0]):
        assert (each.attrib["tests"], each.attrib["failures"], each.attrib["errors"]) == ("4", "1", "0")
    assert whole[0].attrib["timestamp"] == "2026-01-02T03:04:05"


@pytest.mark.parametrize("threshold", [HOLDS, FAILS])
def test_file_and_exit_status_agree(tmp_path: Path, threshold: str) -> None:
    found = weighed(tmp_path / "run", threshold)
    assert (parsed(found).attrib["failures"] == "0") == decide.holds(found)


def test_what_is_not_known_yet_is_a_failure_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "BLOCKS", 4)
    assert {each.attrib["type"] for each in parsed(weighed(tmp_path / "run", HOLDS)).iter("failure")} == {"not known"}


def test_characters_that_xml_cannot_hold_have_a_form_that_is_seen(tmp_path: Path) -> None:
    found = weighed(tmp_path / "run", HOLDS)
    object.__setattr__(found.run.header, "study", 'a<b>&"\x00\x1b\ud800')
    suite = parsed(found)[0]
    assert suite.attrib["name"] == r'a<b>&"\u0000\u001b\ud800'


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    run = str(make_run(tmp_path / "run").path)
    files = ["--junit", str(tmp_path / "x.xml"), "--markdown", str(tmp_path / "x.md")]
    assert main(["report", run, "--no-figures", "--weigh", HOLDS, "--check", *files]) == 0
    assert ElementTree.parse(tmp_path / "x.xml").getroot().attrib["tests"] == "2"
    assert (tmp_path / "x.md").read_text().startswith("## FILLFACTOR")
    assert main(["report", run, "--no-figures", "--weigh", FAILS, "--check", *files]) == 1
    assert ElementTree.parse(tmp_path / "x.xml").getroot().attrib["failures"] == "1", "written over"


def test_without_a_threshold_there_is_no_junit_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(make_run(tmp_path / "run").path)
    assert main(["report", run, "--junit", str(tmp_path / "x.xml")]) == 2
    assert "--junit has no threshold to check" in capsys.readouterr().err
    assert not (tmp_path / "x.xml").exists()
    nowhere = str(tmp_path / "absent" / "x.xml")
    assert main(["report", run, "--no-figures", "--weigh", HOLDS, "--junit", nowhere]) == 2
    assert "no such file or directory" in capsys.readouterr().err
