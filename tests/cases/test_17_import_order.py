"""Outputs without times: nothing is said of order, for files and for their import (docs/report.md)."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.lint import lint
from pgassay.importing.imported_run import Judged, Question, import_files, of_files, of_run
from pgassay.importing.reader import Options, parse_given, parse_pattern
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.study.findings import Finding

CASE = Path(__file__).parent / "17-import-order"
BY_FILE = Options(given=(parse_given("path=direct:direct*"), parse_given("path=proxy:proxy*")))


def findings(judged: Judged) -> dict[str, Finding]:
    return {each.code: each for each in lint(judged.benchmark)}


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    return import_files([CASE], BY_FILE, Question(), tmp_path / "run", ()).path


def test_files_and_their_import_have_the_same_reasons(imported: Path) -> None:
    files, run = of_files([CASE], BY_FILE, "", ""), of_run(imported, "")
    files = replace(files, benchmark=replace(files.benchmark, resolution=0.02))
    assert findings(files).keys() == findings(run).keys()
    assert "monotone" not in findings(run)
    assert not run.benchmark.in_order
    for judged in (files, run):
        assert "the order in which the runs ran is not known, so it is not judged" in judged.remarks


def test_no_verdict_fails_for_an_order_that_nobody_knows(imported: Path) -> None:
    shown = Findings(Run.open(imported))
    assert not [each for each in shown.objections(shown.primary) if each.startswith(("monotone", "first-run"))]


def test_numbered_repetitions_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    options = Options(pattern=parse_pattern("{path}-{run}.log"))
    run = import_files([CASE], options, Question(), tmp_path / "run", ()).path
    assert of_run(run, "").benchmark.in_order
    assert "monotone" in findings(of_run(run, ""))
    assert "monotone" in findings(of_files([CASE], options, "", ""))


def test_a_rate_and_zero_throughput_to_the_end_are_reasons(imported: Path) -> None:
    for judged in (of_files([CASE], BY_FILE, "", ""), of_run(imported, "")):
        found = findings(judged)
        assert found["stalled"].evidence.startswith("5 of 10 runs; path=proxy")
        assert found["stalled"].evidence.endswith("made no transaction from 5 s to 60 s")
        assert found["rate-limited"].evidence == (
            "5 of 10 runs; path=direct: 90 transactions per second in each of 10 reports in a row"
        )
