"""Figures of several models, set side by side: do they agree, and where do they lead?"""

from dataclasses import replace
from itertools import chain
from math import log
from pathlib import Path

import pytest

from benchmarks.scale_model import KINDS, by_kind, figures_of, main, table
from pgassay.analysis.scale_law import Point
from pgassay.report.findings import Findings
from pgassay.study.scale_model import ScaleModel
from pgassay.testing.planted import make_run


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


def test_two_models_that_differ_are_told_from_three_whose_law_was_tested() -> None:
    name = ("physical_bytes", "table.fillfactor=75", "0")
    models = [{name: (Point(by, 0.1 + 1e-3 * by, 1e-3, 5), True)} for by in (1000.0, 250.0, 60.0)]
    ((line, holds),) = table(models)
    assert "limit + c * N leads to 1.11 [" in line
    assert holds
    ((line, holds),) = table(models[:2])
    assert "two models cannot test it" in line
    assert not holds


def test_each_of_the_five_kinds_of_figure_is_judged_by_lines_of_its_own() -> None:
    """Of two models whose fixed costs weigh differently: a line says that they agree, or the law and what it lacks."""
    models = [
        {
            (response, f"drive.data={drive}", "0"): (Point(by, value + drift * by, 1e-3, 2), True)
            for response in chain.from_iterable(KINDS.values())
            for drive, value, drift in (("ssd", 0.1, 0.0), ("csd", -0.7, 2e-5))
        }
        for by in (7000.0, 3500.0)
    ]
    found = by_kind([line for line, _ in table(models)])
    assert found.keys() == KINDS.keys()
    for kind, lines in found.items():
        assert len(lines) == 2 * len(KINDS[kind])
        assert all(
            ("they agree: " in line) != (" at 1:1, if that law holds: two models cannot test it" in line)
            for line in lines
        )
        assert {"they agree" in line for line in lines} == {True, False}
    assert by_kind([]) == {kind: [] for kind in KINDS}


def test_a_kind_of_figure_that_no_model_has_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_hot = [{("hot_share", "baseline", "0"): (Point(by, 0.5, 0.01, 2), False)} for by in (100.0, 50.0)]
    runs = [str(make_run(tmp_path / str(number)).path) for number in range(2)]
    monkeypatch.setattr("benchmarks.scale_model.figures_of", lambda _: of_hot.pop())
    monkeypatch.setattr("sys.argv", ["scale_model", "--runs", *runs])
    assert main() == 0
    said = capsys.readouterr().out
    assert "no figure in common of: space, compression, write amplification, WAL of a transaction" in said
