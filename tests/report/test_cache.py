"""What the cache study adds to a report: recovery, recommendation, residency, box plots and claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.claims import Mark
from pgassay.record.reading import Run
from pgassay.report import page, text
from pgassay.report.cache import SECTION, CacheFindings, box_of
from pgassay.report.findings import Findings
from pgassay.report.section import Surface
from pgassay.testing import planted
from tests.report.blocks import plain
from tests.report.cacherun import make_run

MB = 1 << 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("cache") / "run")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return planted.make_run(tmp_path_factory.mktemp("other") / "run")


def test_the_recovery_is_where_it_was_planted(run: Run) -> None:
    cache = CacheFindings(Findings(run))
    assert cache.series == ("host.huge_pages=2MB", "host.huge_pages=none")
    for found in cache.recoveries.values():
        assert (found.slow_to, found.recovered_from) == (64 * MB, 256 * MB)
    for each in cache.advice:
        assert (each.recommendation.size, each.recommendation.alike) == (256 * MB, (256 * MB,))


def test_terminal_and_json_say_the_same(run: Run) -> None:
    said = text.render(Findings(run))
    assert "host.huge_pages=none: slow up to 64MB; recovered (below 1.25) from 256MB on" in said
    assert "Recommended shared_buffers for this pattern" in said
    assert "100 % → 0 %" in said, "the scan washes the index out of the page cache"
    assert "too short" not in said, "a load without seconds is not blamed for them"
    cache = plain(Findings(run))["cache"]
    assert cache["recovery"]["host.huge_pages=none"]["recovered_from"] == 256 * MB
    assert cache["recommended"][0]["recommendation"]["size"] == 256 * MB


def test_the_claims_are_tested_one_by_one(run: Run) -> None:
    """Planted: huge pages make every probe quicker, the scan is alike everywhere, idx2 recovers at 256 MB."""
    marks = {judged.claim.text: judged.mark for judged in Findings(run).claims}
    assert len(marks) == 10
    reproduced = {text for text, mark in marks.items() if mark is Mark.REPRODUCED}
    assert reproduced == {
        "idx1: with huge pages PostgreSQL's cache slightly beats the page cache",
        "idx2: after the scan index probes are slow while the index lives in the page cache",
        "idx2: they recover once shared_buffers can hold the index (without huge pages)",
        "idx2: they recover once shared_buffers can hold the index (with huge pages)",
        "idx2: once recovered, probes are a third quicker with huge pages",
    }
    assert marks["a quarter of the memory for shared_buffers is an unsupported ancient rule"] is Mark.NOT_TESTABLE


def test_the_order_that_was_kept_and_what_the_costs_are_of_is_said(run: Run) -> None:
    findings = Findings(run)
    said = text.render(findings)
    body = page.html(findings, page.chapters(findings, drawn=False))
    for form in (said, body):
        assert "host.huge_pages keeps its order inside every block" in form
        assert "in random order" not in form
        assert "the same probes and one scan in every trial" in form
        assert "the burst after a checkpoint" not in form
    assert "what a query costs" in body
    assert "then pg_prewarm of the table and its index" in body
    assert "as those who ran it did it" not in body
    assert "settled from" not in body, "a load that tells no seconds has no course"
    assert "Host.huge_pages" not in body


def test_the_page_has_its_figures(run: Run) -> None:
    findings = Findings(run)
    written = page.html(findings, page.chapters(findings))
    for name in ("cache-idx1", "cache-seq", "cache-idx2"):
        assert f'id="{name}"' in written


def test_other_runs_have_none_of_it(other: Run) -> None:
    findings = Findings(other)
    assert SECTION.shown(findings, Surface.PAGE) == ()
    assert plain(findings)["cache"] is None


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60))
def test_a_box_is_in_order_and_loses_nothing_near(values: list[float]) -> None:
    box, outside = box_of(values)
    assert box["low"] <= box["q1"] <= box["median"] <= box["q3"] <= box["high"]
    assert box["trials"] == len(values)
    assert all(value < box["low"] or value > box["high"] for value in outside)


def test_times_of_zero_give_no_advice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a forged or rounded record has them: there is no ratio of them."""
    values = CacheFindings.values
    zeros = {spot: [0.0] * len(each) for spot, each in values(CacheFindings(Findings(run)), "probes_ms").items()}
    monkeypatch.setattr(CacheFindings, "values", lambda self, response: zeros)
    assert CacheFindings(Findings(run)).advice == ()
