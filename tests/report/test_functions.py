"""Which functions make the difference: the largest first, with intervals, and whether they are called more often."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main
from pgassay.record.counts import FILE, CountsRecord, counts, encode
from pgassay.report.contents import CSV_HEAD
from pgassay.report.findings import Findings
from pgassay.report.functions import NAME, SECTION, Function, largest
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables

BEFORE = {"compress": (0.0, 0.0), "hash_search": (1000.0, 50.0), "checksum": (400.0, 2.0), "same": (9000.0, 3.0)}
AFTER = {"compress": (5000.0, 1.0), "hash_search": (2000.0, 100.0), "checksum": (500.0, 2.0), "same": (9000.0, 3.0)}


def record(functions: dict[str, tuple[float, float]]) -> CountsRecord:
    made = {"pwrite64": functions.get("compress", (0.0, 0.0))[1] + 1.0, "lseek": 0.0001}
    return CountsRecord("a fake", 900, {"backend": sum(own for own, _ in functions.values())}, functions, made)


def with_counts(place: Path) -> Findings:
    """The planted run, in which rows that leave room in their pages compress, and nothing else differs."""
    run = make_run(place / "run")
    for trial in run.trials:
        wander = 1 + trial.block / 1000
        mine = AFTER if trial.treatment == "table.fillfactor=75" else BEFORE
        found = record({name: (own * wander, calls) for name, (own, calls) in mine.items()})
        (run.trial_directory(trial.number) / FILE).write_bytes(encode(found))
    return Findings(run)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ((0.0, 0.0), (50.0, 1.0), "new"),
        ((50.0, 1.0), (0.0, 0.0), "gone"),
        ((50.0, 1.0), (100.0, 2.0), "called 2 times as often"),
        ((50.0, 1.0), (90.0, 1.0), "dearer per call"),
        ((50.0, 1.0), (10.0, 1.0), "cheaper per call"),
        ((50.0, 1.0), (200.0, 2.0), "called 2 times as often, dearer per call"),
        ((50.0, 0.0), (60.0, 0.0), ""),
        ((50.0, 1.0), (50.0, 1.0), ""),
    ],
)
def test_more_calls_are_told_from_dearer_calls(
    before: tuple[float, float], after: tuple[float, float], why: str
) -> None:
    assert Function("f", before, after).why == why


def test_the_largest_difference_comes_first_and_what_one_side_lacks_counts_as_nothing() -> None:
    found = largest([{"gone": (70.0, 1.0), "less": (9.0, 1.0)}], [{"less": (1.0, 1.0)}])
    assert [(each.name, each.after[0] - each.before[0]) for each in found] == [("gone", -70.0), ("less", -8.0)]


def test_a_run_that_counted_says_where(tmp_path: Path) -> None:
    findings = with_counts(tmp_path)
    table, *_ = tables(SECTION, findings)
    assert [row[0] for row in table.rows[:3]] == ["compress", "hash_search", "checksum"]
    assert [row[-1] for row in table.rows[:3]] == ["new", "called 2 times as often", "dearer per call"]
    first: dict[str, Any] = plain(findings)["functions"][0]
    assert (first["treatment"], first["function"]) == ("table.fillfactor=75", "compress")
    assert first["low"] < first["difference"] < first["high"]
    assert first["low"] < 5000 * 1.0045 < first["high"]
    assert first["share"] == pytest.approx(5000 / 6100, abs=0.01)


def test_system_calls_are_named_with_their_difference(tmp_path: Path) -> None:
    findings = with_counts(tmp_path)
    _, table, *_ = tables(SECTION, findings)
    assert [row[0] for row in table.rows] == ["pwrite64"], "one that hardly a transaction makes is no part of it"
    assert [str(cell) for cell in table.rows[0][1:]] == ["1.00", "2.00", "+1.00 [+1.00, +1.00]"]
    first: dict[str, Any] = plain(findings)["system_calls"][0]
    assert (first["system_call"], first["baseline_calls"], first["calls"], first["difference"]) == ("pwrite64", 1, 2, 1)


def test_a_run_without_counts_has_no_such_section(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    assert counts(run, 1) is None
    assert SECTION.blocks(Findings(run)) == ()


def test_counts_that_are_damaged_are_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", kept={FILE: b'{"format": 1}'})
    with pytest.raises(Exception, match=FILE):
        counts(run, 2)


def test_show_prints_the_functions_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(with_counts(tmp_path).run.path)
    assert main(["show", path, "--functions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].startswith(SECTION.title)
    assert "compress" in lines[5 if "function" in lines[4] else 6]
    assert main(["show", path, "--functions", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"format", NAME, "system_calls"}
    assert found[NAME][0]["function"] == "compress"
    assert main(["show", path, "--functions", "--csv"]) == 0
    head, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert tuple(head) == CSV_HEAD
    assert {row[0] for row in rows} == {NAME}  # the section
    assert main(["show", path, "--functions", "--quiet"]) == 2


def test_functions_of_a_run_that_counted_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(make_run(tmp_path / "run").path), "--functions"]) == 2
    assert "has no counts" in capsys.readouterr().err


def test_a_difference_that_is_not_told_from_none_has_no_reason(tmp_path: Path) -> None:
    findings = with_counts(tmp_path)
    whys = {(each["function"], each["treatment"]): each["why"] for each in plain(findings)[NAME]}
    assert whys["compress", "table.fillfactor=75"] == "new"
    assert whys["hash_search", "table.fillfactor=50"] == ""


def test_a_count_without_functions_says_why_there_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = with_counts(tmp_path)
    for trial in found.run.trials:
        (found.run.trial_directory(trial.number) / FILE).write_bytes(
            encode(CountsRecord("it", 9, {"backend": 7.0}, {}, {}))
        )
    assert main(["show", str(found.run.path), "--functions"]) == 0
    assert "it knows no functions: load.count = on" in capsys.readouterr().out
