"""Whether models of several sizes agree, and what their trend leads to: judged on planted figures."""

from dataclasses import replace
from math import inf, log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale_model import Point, figures_of, judge, table
from pgassay.report.findings import Findings
from pgassay.study.scale_model import ScaleModel
from pgassay.testing.planted import make_run


def points(limit: float, slope: float, error: float = 0.01) -> list[Point]:
    return [Point(by, limit + slope * by, error, 5) for by in (1000.0, 250.0, 60.0)]


def test_models_that_say_the_same_agree() -> None:
    found = judge(points(0.3, 0.0))
    assert found.agree
    assert found.value == pytest.approx(0.3)
    assert 0 < found.half < 0.02


def test_a_difference_that_matters_to_nobody_is_agreement_with_its_spread() -> None:
    found = judge([Point(100, 0.300, 1e-6, 5), Point(50, 0.310, 1e-6, 5)])
    assert found.agree
    assert found.half >= 0.005


@given(limit=st.floats(-1, 1), slope=st.floats(2e-4, 1e-2))
def test_a_trend_leads_to_its_limit(limit: float, slope: float) -> None:
    found = judge(points(limit, slope, error=1e-3))
    assert not found.agree
    assert found.value == pytest.approx(limit + slope, abs=1e-9)
    assert 0 < found.half < inf


def test_points_off_the_line_widen_the_error() -> None:
    straight = judge(points(0.1, 1e-3, error=1e-3))
    first, second, third = points(0.1, 1e-3, error=1e-3)
    bent = judge([first, replace(second, value=second.value + 0.1), third])
    assert bent.half > 10 * straight.half


def test_two_models_that_differ_give_a_trend_without_an_error() -> None:
    found = judge(points(0.1, 1e-3, error=1e-3)[:2])
    assert (found.agree, found.half) == (False, inf)


def test_the_models_of_a_study_are_set_side_by_side(tmp_path: Path) -> None:
    models = []
    for by in (100.0, 50.0):
        findings = Findings(make_run(tmp_path / str(by)))
        findings.study = replace(findings.study, model=ScaleModel(by))
        models.append(figures_of(findings))
    assert models[0], "planted runs have a response that a model must keep"
    lines = list(table(models))
    assert lines
    assert all(holds for _, holds in lines), "the same run twice agrees with itself"
    assert all("1:100 " in line and "1:50 " in line and "they agree" in line for line, _ in lines)


def test_a_run_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no scale model"):
        figures_of(Findings(make_run(tmp_path / "run")))


def test_a_ratio_is_compared_by_its_logarithm(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    findings.study = replace(findings.study, model=ScaleModel(100.0))
    for name, (point, logarithm) in figures_of(findings).items():
        if logarithm and name[1] != "baseline":
            assert abs(point.value) < log(10), name
