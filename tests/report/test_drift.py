"""Effects over days on the page, and by show over several runs; nothing where all is of one day."""

import json
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.record.reading import Run
from pgassay.report import drift, page
from pgassay.report.findings import Findings
from pgassay.report.section import Figure, Sentences, Table
from pgassay.testing.planted import make_run

HOSTS = {"alpha": 1.0, "beta": 1.1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Eight blocks in turn on two hosts, half a day apart; 75 gets 5 % better each day."""
    place = tmp_path_factory.mktemp("drift") / "run"
    return make_run(place, hosts=HOSTS, days=0.5, drift=1.05, discarded=False)


def test_a_planted_drift_is_told_and_what_does_not_change_is_not(run: Run) -> None:
    findings = Findings(run)
    sentences, figure, table = drift.SECTION.blocks(findings)
    assert isinstance(sentences, Sentences)
    by_name = {text.partition(":")[0]: text for text in sentences.texts}
    assert "over 3.5 days the effect changed by +" in by_name["table.fillfactor=75"]
    assert "over 3.5 days no change of the effect is shown" in by_name["table.fillfactor=50"]
    assert isinstance(figure, Figure)
    assert isinstance(table, Table)
    assert table.head == ["host", "day", "table.fillfactor=75", "table.fillfactor=50"]
    assert {str(row[0]) for row in table.rows} == set(HOSTS)
    assert sum(str(row[2]).count("block") for row in table.rows) == len(table.rows) >= 6
    (found,) = (each for each in drift.SECTION.plain(findings)["drift"] if each["treatment"].endswith("=75"))  # type: ignore[attr-defined]
    assert found["low"] < 1.05 < found["high"]
    assert found["per_day"] == pytest.approx(1.05, rel=0.01)


def test_the_figure_has_a_point_for_each_host_and_day(run: Run) -> None:
    found = drift.drifts([Findings(run)])
    drawn = drift.drawing(found, Findings(run).primary)
    assert drawn is not None
    rows = drawn.chart.to_dict()["data"]["values"]
    layers = drawn.chart.to_dict()["spec"]["layer"]
    used = {
        each["field"]
        for layer in layers
        for each in layer["encoding"].values()
        if isinstance(each, dict) and "field" in each
    }
    assert used <= set(rows[0]), "a mark by a field that no row has is not drawn"
    assert {row["treatment"] for row in rows} == set(HOSTS)
    assert len({(row["panel"], row["treatment"], row["day"]) for row in rows}) == sum(
        len(each.drift.days) for each in found
    )
    assert len({row["day"].partition("T")[2] for row in rows}) == 2, "no bar hides another"


def test_it_is_on_the_page_of_a_run_over_days_and_on_no_other(run: Run, tmp_path: Path) -> None:
    assert "drift" in [each.section.name for each in page.chapters(Findings(run), drawn=False)]
    short = Findings(make_run(tmp_path / "short", hosts=HOSTS))
    assert "drift" not in [each.section.name for each in page.chapters(short, drawn=False)]
    assert drift.SECTION.plain(short) == {}


def test_runs_over_days_are_put_together_by_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "monday", tmp_path / "thursday"
    make_run(first, discarded=False)
    make_run(second, discarded=False, first_day=3.0, drift=1.1)
    assert main(["show", str(first), str(second)]) == 0
    said = capsys.readouterr().out
    assert "Over days\n  table.fillfactor=75: over 3.0 days the effect changed by +10 % a day" in said
    assert "  table.fillfactor=75\n    monday: +20" in said
    assert "by that of monday: +33" in said
    assert main(["show", str(first), str(second), "--json", "--out", str(tmp_path / "drawn")]) == 0
    found = json.loads(capsys.readouterr().out)
    (changed,) = (each for each in found["drift"] if each["treatment"].endswith("=75"))
    assert [day["day"] for day in changed["days"]] == ["2023-11-14", "2023-11-17"]
    effects = {row["place"]: row for row in found["effects"]}
    (difference,) = effects["table.fillfactor=75"]["differences"]
    assert difference["low"] < 1.1**3 < difference["high"]
    assert (tmp_path / "drawn" / "days.svg").is_file()


def test_the_hosts_of_one_fleet_are_compared(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
