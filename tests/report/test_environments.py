"""Two hosts side by side: planted differences and facts are found; what cannot be compared is refused."""

import json
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.errors import UsageError
from pgassay.record.reading import Run
from pgassay.report.environments import side_by_side
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
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
    assert found.hosts == {}


def test_the_hosts_of_one_fleet_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "fleet", hosts={"alpha": 1.0, "beta": 1.1}, days=0.5, drift=1.05, discarded=False)
    assert main(["show", str(run.path), "--by-host", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == ["alpha", "beta"]
    assert found["hosts"] == [{"name": "kernel.release", "values": ["alpha", "beta"]}]
    (row,) = (each for each in found["effects"] if each["place"].endswith("=75"))
    assert [each["blocks"] for each in row["effects"]] == [4, 4]
    assert row["differences"][0]["estimate"] == pytest.approx(1.1, rel=0.05)
    make_run(tmp_path / "alone")
    assert main(["show", str(tmp_path / "alone"), "--by-host"]) == 2
    assert "one run alone cannot be compared" in capsys.readouterr().err


def test_what_cannot_be_compared_is_refused(runs: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="one run"):
        side_by_side([_open(runs[0])])
    assert main(["show", str(runs[0]), str(runs[2])]) == 2
    assert 'is a run of the study "crossed"' in capsys.readouterr().err


def _open(path: Path) -> Findings:
    return Findings(Run.open(path))
