"""Conditions and covariate points keep the study's order and have their own costs."""

from pathlib import Path

import pytest

from pgassay.report import formatting
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.blocks import body, specification
from tests.report.crossed import make_crossed


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    path: Path = tmp_path_factory.mktemp("crossed") / "run"
    return Findings(make_crossed(path))


def test_summaries_come_in_the_studys_order(findings: Findings) -> None:
    rows = findings.summaries(findings.primary)
    assert [row.covariate for row in rows] == ["load.clients=1"] * 4 + ["load.clients=8"] * 4
    assert rows[0].treatment == findings.baseline


def test_every_covariate_point_has_its_own_costs(findings: Findings) -> None:
    text = body(findings)
    costs = text[text.index('id="why"') : text.index('id="bottleneck"')]
    for place in ("load.clients=1", "load.clients=8"):
        said = f"{place}: the same with every treatment: server CPU, per transaction 300 µs"
        assert formatting.sentence(said) in costs, "the planted costs do not depend on the treatment"


def test_each_panel_of_the_forest_draws_its_own_arm_only(tmp_path: Path) -> None:
    """A layer with data of its own would show every arm in every panel."""
    shown = specification(Findings(make_run(tmp_path / "run")), "responses")
    assert shown is not None
    assert "data" in shown
    inside = shown["spec"]
    assert "data" not in inside
    assert all("data" not in layer for layer in inside["layer"])
    panels = {row["panel"] for row in shown["data"]["values"]}
    assert panels == {"table.fillfactor=75", "table.fillfactor=50"}
    marks = [(row["panel"], row["label"]) for row in shown["data"]["values"]]
    assert len(marks) == len(set(marks))


def test_of_one_response_each_arm_is_a_row_in_its_colour(findings: Findings) -> None:
    shown = specification(findings, "responses")
    assert shown is not None
    rows = shown["data"]["values"]
    assert len(rows) == len({row["label"] for row in rows}) == 6, "three treatments beside the baseline, at two points"
    assert len({row["treatment"] for row in rows}) == 3


def test_a_treatment_is_applied_once(findings: Findings) -> None:
    text = body(findings)
    applying = text[text.index('id="apply"') : text.index('id="trials"')]
    names = [judged.effect.treatment for judged in findings.verdicts if judged.verdict.kind == "better"]
    assert len(names) > len(set(names))
    assert all(applying.count(f"<b>{name}</b>") == 1 for name in set(names))
