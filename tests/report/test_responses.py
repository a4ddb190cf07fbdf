"""Effects on every response that the study names: found, in one family, the same wherever the page shows them."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.report import published, text, verdict
from pgassay.report.findings import Findings
from pgassay.report.section import Table
from pgassay.testing.planted import make_run
from tests.report.blocks import drawing, plain, tables


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def test_a_latency_that_fell_is_told_with_the_verdicts(findings: Findings) -> None:
    (table,) = tables(verdict.SECTION, findings)
    rows = {str(row[0]): row[1:] for row in table.rows}
    latency = rows["99th percentile of latency"][0]
    assert str(latency).startswith("-16."), "1 / 1.2 was planted"
    assert getattr(latency, "small", "") == "better"
    assert "99th percentile of latency" in text.render(findings).partition("Measurements")[0]


def test_all_secondary_comparisons_share_one_error_rate(findings: Findings) -> None:
    found = plain(findings)["secondary"]
    assert {each["response"] for each in found} == {"latency_p99_ms", "table_bytes", "database_bytes"}
    assert {each["comparisons"] for each in found} == {6}, "three responses of two treatments"
    assert {(each["response"], each["treatment"]): each["verdict"] for each in found} == {
        ("latency_p99_ms", "table.fillfactor=75"): "better",
        ("latency_p99_ms", "table.fillfactor=50"): "equivalent",
        ("table_bytes", "table.fillfactor=75"): "worse",
        ("table_bytes", "table.fillfactor=50"): "worse",
        ("database_bytes", "table.fillfactor=75"): "worse",
        ("database_bytes", "table.fillfactor=50"): "worse",
    }


def test_a_claim_is_judged_by_the_interval_that_the_page_shows(findings: Findings) -> None:
    (found,) = [each.claim for each in findings.claims if each.claim.response == "database_bytes"]
    claim = published.judged(findings, replace(found, data_of_memory=None, window_s=None))
    shown = next(each for each in findings.effects(findings.responses["database_bytes"]) if each.treatment[-2:] == "75")
    assert f"[{shown.low:.3f}, {shown.high:.3f}]" in claim.text
    hot = findings.responses["hot_share"]
    costs = {each.place: each for each in findings.costs if each.response == "hot_share"}
    assert [(each.low, each.high) for each in findings.effects(hot)] == [
        (costs[each.place].low, costs[each.place].high) for each in findings.effects(hot)
    ]


def test_the_forest_has_every_response_and_the_primary_first(findings: Findings) -> None:
    found = drawing(verdict.SECTION, findings, "responses").chart.to_dict()
    names = [row["label"] for row in found["data"]["values"]]
    assert names[0] == "Throughput"
    assert set(names[1:]) >= {"P99 latency", "Database size", "Table size"}


def test_nothing_is_shown_of_responses_before_five_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.testing.planted.BLOCKS", 4)
    early = Findings(make_run(tmp_path / "run"))
    assert list(verdict.response_blocks(early)) == []
    assert not [each for each in verdict.SECTION.blocks(early) if isinstance(each, Table)]
    assert {each["low"] for each in plain(early)["secondary"]} == {None}
