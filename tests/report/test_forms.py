"""The same findings as text, JSON and a page; the page fetches nothing and every figure becomes PNG and SVG."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.record.values import LevelRecord
from pgassay.report import page, text
from pgassay.report.contents import CSV_HEAD
from pgassay.report.findings import Findings
from pgassay.report.provenance import Row, levels_read_back, merged, side_by_side
from pgassay.testing.planted import make_run
from tests.report.blocks import body, figures, plain


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def test_the_text_gives_verdict_table_reason_and_doubts(findings: Findings) -> None:
    shown = text.render(findings)
    for wanted in ("better:", "equivalent within", "avg ± stdev", "reproduced", "steal: why", "aborted: why", "HOT"):
        assert wanted in shown, wanted
    assert not re.search(r"\bnan\b", shown)  # NAND is no missing number


def test_json_has_no_nan_and_the_same_verdicts(findings: Findings) -> None:
    found = json.loads(json.dumps(plain(findings), allow_nan=False))
    assert [each["verdict"] for each in found["verdicts"]] == ["better", "equivalent"]
    assert found["trials"] == {"all": 26, "invalid": 1, "outcome": 1}


def test_show_prints_every_table_as_csv(findings: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(findings.run.path), "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert tuple(rows[0]) == CSV_HEAD
    assert ["measurements", "Transactions per second, 1/s", "table.fillfactor=75", "trials", "8"] in rows
    assert {row[0] for row in rows[1:]} >= {"measurements", "why", "published", "configured"}
    assert main(["show", str(findings.run.path), "--csv", "--json"]) == 2


def test_the_page_is_whole_and_fetches_nothing(findings: Findings, tmp_path: Path) -> None:
    path = page.write(findings, tmp_path)
    html = path.read_text(encoding="utf-8")
    body = html[: html.index('<script type="module">')]
    assert not re.search(r'(src|href)="(?!#|data/|figures/|https://www\.postgresql\.org/docs/)', body)
    beside = re.findall(r'(?:src|href)="((?:data|figures)/[^"]*)"', body)
    assert len(beside) > 20
    assert [name for name in beside if not (tmp_path / name).is_file()] == []
    assert "<link" not in html
    for wanted in ("FILLFACTOR and small updates", "What to distrust", "CSD2000", "ALTER TABLE", "work_mem", "planted"):
        assert wanted in body, wanted
    for figure in figures(findings):
        assert f'id="{figure.name}"' in body
        png = (tmp_path / "figures" / f"{figure.name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        assert len(png) > 5000
        assert "<svg" in (tmp_path / "figures" / f"{figure.name}.svg").read_text(encoding="utf-8")


def test_costs_are_headed_as_people_write_units(findings: Findings) -> None:
    shown = body(findings)
    assert "except what keeps the server private" in shown
    for raw in (">us<", ">share<", ">count<"):
        assert f'<span class="small"{raw}' not in shown


def test_what_differs_beyond_the_factors_is_marked(findings: Findings) -> None:
    rows = {row.name: row for row in side_by_side(findings.trials, ["table.fillfactor"])}
    assert rows["work_mem"].unexpected
    assert not rows["shared_buffers"].differs


def test_levels_say_whether_the_system_confirmed_them(findings: Findings) -> None:
    said = levels_read_back(findings.trials)
    assert said["table.fillfactor"]["table.fillfactor=75"] == "75 (confirmed)"
    assert "cannot be read back" in said["load.cache"]["table.fillfactor=75"]


@pytest.mark.parametrize(
    ("typed", "canonical", "shown"),
    [("46MB", "647MB", "46MB, with the server's processes 647MB (confirmed)"), ("0.5GB", "512MB", "0.5GB (confirmed)"),
     ("all", "all", "all (confirmed)")],
)  # fmt: skip
def test_a_models_memory_is_said_with_what_was_set(findings: Findings, typed: str, canonical: str, shown: str) -> None:
    """A limit of 647 MB read as `46MB (confirmed)`."""
    trial = findings.trials[0]
    limited = replace(trial, levels={"host.memory": LevelRecord(typed, canonical, canonical)})
    assert levels_read_back([limited])["host.memory"] == {trial.treatment: shown}


def test_treatments_configured_alike_share_a_column() -> None:
    rows = (Row("wal_buffers", ("4MB", "4MB", "8MB"), False, True), Row("fsync", ("on", "on", "on"), False, False))
    heads, kept = merged(("page=8kB, wal=8kB", "page=8kB, wal=64kB", "page=2kB, wal=8kB"), rows)
    assert heads == ("page=8kB,\nwal=8kB or 64kB", "page=2kB,\nwal=8kB")
    assert merged(("page=8kB, wal=8kB", "x", "page=2kB, wal=64kB"), rows)[0][0] == "page=8kB, wal=8kB\nor x"
    diagonal = Row("fsync", ("on", "on"), False, False)
    assert merged(("a=1, b=1", "a=2, b=2"), (diagonal,))[0] == ("a=1, b=1\nor a=2, b=2",)
    assert [row.values for row in kept] == [("4MB", "8MB"), ("on", "on")]
    assert kept[0].unexpected
    assert merged(("only",), ()) == (("only",), ())


def test_a_page_size_that_is_varied_is_no_surprise(findings: Findings) -> None:
    first, *others = [trial for trial in findings.trials if trial.status == "valid"]
    trials = [
        replace(first, treatment="a", settings={"block_size": "2048", "bgwriter_lru_maxpages": "400"}),
        replace(others[0], treatment="b", settings={"block_size": "8192", "bgwriter_lru_maxpages": "100"}),
    ]
    page_size = {row.name: row.unexpected for row in side_by_side(trials, ["build.block_size"])}
    assert page_size == {"block_size": False, "bgwriter_lru_maxpages": True}
    assert all(row.unexpected for row in side_by_side(trials, ["build.wal_block_size"]))


def test_panels_below_each_other_count_for_the_height_of_a_figure() -> None:
    panel = {"height": 200, "mark": "point"}
    rows = {"facet": {"row": {"field": "arm"}}, "spec": panel, "data": {"values": [{"arm": "a"}, {"arm": "b"}]}}
    assert page.height_of(panel) == 200
    assert page.height_of({"vconcat": [panel, panel, panel]}) == 600
    assert page.height_of(rows) > 2 * page.height_of(panel)
    assert page.height_of({"mark": "point"}) > 0
