"""Two hosts side by side: planted differences and facts are found; what cannot be compared is refused."""

import json
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.cli.show import text
from pgassay.errors import UsageError
from pgassay.record.reading import Run
from pgassay.report.environments import drawing, side_by_side
from pgassay.report.findings import Findings
from tests.report.crossed import make_crossed
from tests.report.scaled import make_scaled


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("environments")
    make_scaled(folder / "metal")
    make_scaled(folder / "guest", cores=8, speed=0.8)
    make_crossed(folder / "crossed")
    return folder / "metal", folder / "guest", folder / "crossed"


def test_the_slower_guest_is_found_with_the_fact_that_differs(
    runs: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(runs[0]), str(runs[1]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    primary = [row for row in found["rows"] if row["primary"]]
    assert len(primary) == 16 == found["comparisons"]
    assert all(len(row["differences"]) == 1 for row in primary)
    assert all(row["differences"][0]["low"] < 0.8 < row["differences"][0]["high"] for row in primary)
    assert found["hosts"] == [{"name": "cpu.cores", "values": [4, 8]}]
    assert main(["show", str(runs[0]), str(runs[1])]) == 0
    said = capsys.readouterr().out
    assert "cpu.cores: 4 | 8" in said
    assert "guest against metal" in said


def test_a_run_against_itself_cannot_be_told_apart(runs: tuple[Path, Path, Path]) -> None:
    found = side_by_side([_open(runs[0]), _open(runs[0])])
    differences = [each for row in found.rows for each in row.differences if each is not None]
    assert len(differences) == len(found.rows) == 16
    assert not any(each.told_apart for each in differences)
    assert found.hosts == ()


def test_differences_are_drawn_with_the_intervals_of_the_text(runs: tuple[Path, Path, Path]) -> None:
    found = side_by_side([_open(runs[0]), _open(runs[1]), _open(runs[0])])
    made = drawing(found)
    assert made is not None
    assert made.title == "Transactions per second: guest, metal against metal"
    rows = made.chart.to_dict()["data"]["values"]
    assert {row["panel"] for row in rows} == {"guest", "metal"}
    said = text(found, everything=False)
    slower = [row for row in rows if row["panel"] == "guest"]
    assert len(slower) == 16
    for row in slower:
        assert row["low"] < -20.0 < row["high"], "planted: a fifth slower"
        assert f"{row['label']}: {row['text']}" in said
    assert all(row["low"] < 0.0 < row["high"] for row in rows if row["panel"] == "metal"), "a run against itself"
    every = drawing(found, everything=True)
    assert every is not None
    assert len(every.chart.to_dict()["data"]["values"]) >= len(rows)


def test_the_figure_is_written_where_asked_and_not_without_an_interval(
    runs: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["show", str(runs[0]), str(runs[1]), "--out"]
    assert main([*asked, str(tmp_path / "drawn")]) == 0
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {
        f"hosts.{end}" for end in ("svg", "png", "csv", "json")
    }
    monkeypatch.setattr("pgassay.report.environments.drawing", lambda found, *, everything: None)
    assert main([*asked, str(tmp_path / "none")]) == 0
    assert capsys.readouterr().err == "note: no difference has an interval, so no figure was written\n"
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_compared_is_refused(runs: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="one run"):
        side_by_side([_open(runs[0])])
    assert main(["show", str(runs[0]), str(runs[2])]) == 2
    assert 'is a run of the study "crossed"' in capsys.readouterr().err


def _open(path: Path) -> Findings:
    return Findings(Run.open(path))
