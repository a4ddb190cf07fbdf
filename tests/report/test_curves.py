"""Curves in words: how well points are known, fits that describe nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.curves import Curve, Point
from pgassay.report import curves
from pgassay.report.curves import BAD_FIT, known
from pgassay.report.curves import fit_sentences as sentences
from pgassay.report.findings import Findings
from tests.report.scaled import READ, make_scaled


def curve(*points: tuple[int, float, float]) -> Curve:
    """Clients, throughput and the share that its interval reaches to both sides."""
    made = (Point(f"load.clients={n}", 5, x, x / (1 + reach), x * (1 + reach), ()) for n, x, reach in points)
    return Curve("", "", tuple(made), 0.95)


def test_points_known_worse_than_was_asked_are_counted() -> None:
    assert known(curve((1, 100.0, 0.05), (2, 200.0, 0.08)), 0.1) == "every point is known to ±10 %"
    mixed = known(curve((1, 100.0, 0.05), (2, 200.0, 0.4)), 0.1)
    assert mixed == "1 of 2 points is known to ±10 %, the least certain one to +40 %"
    assert known(curve((1, 100.0, 0.5)), 0.1) == "no point is known to ±10 %, the least certain one to +50 %"
    unbounded = Curve("", "", (Point("load.clients=1", 2, 100.0, 0.0, float("inf"), ()),), 0.95)
    assert known(unbounded, 0.1) == "no point has an interval yet"


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_scaled(tmp_path_factory.mktemp("scaled") / "run"))


def test_a_law_that_does_not_describe_the_points_tells_nothing(findings: Findings) -> None:
    found = next(each for each in findings.scalings if each.condition == READ)
    assert found.kink is not None
    assert found.law is not None
    bad = 2 * BAD_FIT
    scaling = replace(found, kink=replace(found.kink, misfit=bad), law=replace(found.law, misfit=bad))
    bend, peak = sentences(scaling, findings.processors, findings.primary)
    assert bend.endswith("two lines fit badly (points lie 50 % off them), so they locate no kink")
    assert peak.endswith("so its peak says nothing")


def test_a_bend_without_a_place_is_no_place(findings: Findings) -> None:
    found = next(each for each in findings.scalings if each.condition == READ)
    assert found.kink is not None
    lost = replace(found, kink=replace(found.kink, searched=(found.kink.at.value, 8.0)))
    bend, _ = sentences(lost, findings.processors, findings.primary)
    assert "the points do not show where" in bend
    assert "physical cores" not in bend


def test_the_verdict_of_a_curve_begins_with_how_well_it_is_known(findings: Findings, tmp_path: Path) -> None:
    said = list(curves.sentences(findings))
    assert said[0].startswith("load.script=tpcb-like: no point is known to ±2 %")
    assert said[1].startswith(f"{READ}: 2 of 8 points are known to ±2 %")
    assert "known to ±2 %" in said[0]
