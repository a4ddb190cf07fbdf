"""What a verdict on somebody else's runs may say: lint first, no more blocks, no treatment that nobody ran."""

import csv
import io
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.report.findings import Findings

OPTIONS = ("--columns", "treatment=t,value=tps")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def imported(rows: list[str], *options: str, header: str = "t,tps") -> Findings:
    Path("t.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    assert main(["import", "t.csv", *(options or OPTIONS), "--out", "run"]) == 0
    assert check(Path("run")) == []
    return Findings(Run.open(Path("run")))


A = (1000.0, 1003.0, 998.0, 1001.0, 999.0)
B = (1089.0, 1091.0, 1086.0, 1092.0, 1088.0)


def test_five_of_a_and_then_five_of_b_are_not_better() -> None:
    findings = imported([*(f"a,{tps}" for tps in A), *(f"b,{tps}" for tps in B)])
    (judged,) = findings.verdicts
    assert judged.verdict.kind == "unresolved"
    assert judged.verdict.text == (
        "unresolved: better by the numbers alone: transactions per second 8.90 % higher, but fixed-order: treatments "
        "were run in a fixed order, so drift in time looks like an effect"
    )


def test_the_same_runs_in_changing_order_are_better() -> None:
    rows = [f"a,{A[0]}", f"b,{B[0]}", f"b,{B[1]}", f"a,{A[1]}", f"b,{B[2]}", f"a,{A[2]}", f"a,{A[3]}", f"b,{B[3]}",
            f"b,{B[4]}", f"a,{A[4]}"]  # fmt: skip
    (judged,) = imported(rows).verdicts
    assert judged.verdict.text == "better: transactions per second 8.90 % higher"


@pytest.mark.parametrize("count", [2, 6])
def test_nobody_is_asked_for_more_blocks_of_others(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    noise = (1.0, 1.3, 0.8, 1.1, 0.9, 1.2)
    rows = [f"{t},{1000 * noise[(place * (1 + 4 * (t == 'b')) + 1) % 6]}" for place in range(count)
            for t in ("ab" if place % 3 else "ba")]  # fmt: skip
    (judged,) = imported(rows).verdicts
    assert judged.verdict.kind == "unresolved"
    assert (judged.verdict.more_blocks, judged.verdict.more_s) == (None, None)
    assert "more block" not in judged.verdict.text
    assert main(["show", "run", "--verbose"]) == 0
    assert main(["report", "run"]) == 0
    told = capsys.readouterr().out + Path("run/report/report.html").read_text(encoding="utf-8")
    assert "more block" not in told


def test_an_incomplete_grid_has_only_the_arms_that_were_run() -> None:
    """Two scales and two modes, of which large read-only was never run, and b only at the small scale."""
    places = [("a", "1", "ro"), ("a", "1", "rw"), ("a", "9", "rw"), ("b", "1", "ro"), ("b", "1", "rw")]
    rows = [f"{t},{scale},{mode},{100 + place}" for place in range(5) for t, scale, mode in places]
    columns = "treatment=t,condition=scale,condition=mode,value=tps"
    findings = imported(rows, "--columns", columns, header="t,scale,mode,tps")
    assert {(arm.name) for arm in findings.study.arms} == {
        f"t={t}, scale={scale}, mode={mode}" for t, scale, mode in places
    }
    assert {judged.effect.place.name for judged in findings.verdicts} == {
        "t=b, scale=1, mode=ro", "t=b, scale=1, mode=rw",
    }  # fmt: skip
    findings = Findings(Run.open(Path("run")))
    assert len(findings.study.linked_conditions) == 3, "the study file itself names no condition that nobody ran"


def test_an_incomplete_grid_along_a_covariate() -> None:
    places = [("a", "1"), ("a", "2"), ("b", "1")]
    rows = [f"{t},{clients},{100 + place}" for place in range(5) for t, clients in places]
    findings = imported(rows, "--columns", "treatment=t,covariate=clients,value=tps", header="t,clients,tps")
    assert [arm.name for arm in findings.study.arms] == ["t=a, clients=1", "t=b, clients=1", "t=a, clients=2"]


def test_unknown_times_are_exported_as_empty(capsys: pytest.CaptureFixture[str]) -> None:
    imported([*(f"a,{tps}" for tps in A), *(f"b,{tps}" for tps in B)])
    capsys.readouterr()
    assert main(["export", "run"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["started"], row["finished"]) for row in rows} == {("", "")}


def test_a_known_start_of_a_run_of_unknown_length(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{t},{tps},{1700000000 + place}" for place, (t, tps) in enumerate((("a", 1), ("b", 2)) * 2)]
    imported(rows, "--columns", "treatment=t,value=tps,started=at", header="t,tps,at")
    capsys.readouterr()
    assert main(["export", "run"]) == 0
    first = next(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert (first["started"], first["finished"]) == ("2023-11-14T22:13:20.000000Z", "")
