"""Planted curves: kink, gain, peak and claims are found, said in every form, and not claimed where they cannot be."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from pgassay.analysis.claims import Mark
from pgassay.analysis.curves import Estimate
from pgassay.report import formatting, page, text
from pgassay.report.curves import BAD_FIT, scaling_of
from pgassay.report.curves import FITS as SECTION
from pgassay.report.curves import fit_sentences as sentences
from pgassay.report.findings import Findings
from tests.report.blocks import plain, specification, tables
from tests.report.crossed import make_crossed
from tests.report.scaled import CORES, GAIN, READ, WRITE, make_scaled


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_scaled(tmp_path_factory.mktemp("scaled") / "run"))


def test_the_planted_kink_and_gain_are_found(findings: Findings) -> None:
    found = {each.condition: each for each in findings.scalings}
    kink = found[READ].kink
    assert kink is not None
    assert kink.located
    assert kink.at.low <= CORES <= kink.at.high
    assert kink.gain.low <= GAIN <= kink.gain.high
    law = found[WRITE].law
    assert law is not None
    assert law.peak_seen
    assert law.peak_clients.low <= (0.95 / 0.02) ** 0.5 <= law.peak_clients.high


@pytest.mark.parametrize(
    ("value", "high", "said"),
    [
        (7.0, 7.2, "throughput peaks at about 7 clients and falls beyond"),
        (7.9, 9.4, "peaks at about 8 clients by the fit, but a peak beyond the 8 that were measured is not excluded"),
        (8.2, inf, "8 clients by the fit, but a peak beyond the 8 that were measured, or none at all, is not excluded"),
        (7.8, 8.0, "throughput grows up to the 8 clients that were measured, where the fit has its peak"),
        (9.0, 10.4, "peaks at about 9 clients, which is an extrapolation: no more than 8 were measured"),
        (inf, inf, "no sign of a peak up to 8 clients"),
    ],
)
def test_an_extrapolation_lies_beyond_what_was_measured(
    findings: Findings, value: float, high: float, said: str
) -> None:
    curve = next(each for each in findings.scalings if each.condition == WRITE)
    assert curve.law is not None
    law = replace(curve.law, peak_clients=Estimate(value, 6.0, high))
    *_, told = sentences(replace(curve, law=law), findings.processors, findings.primary)
    assert told.endswith(said)


def test_claims_on_fits_are_judged_by_their_intervals(findings: Findings) -> None:
    assert [judged.mark for judged in findings.claims] == [Mark.REPRODUCED, Mark.CONTRADICTED, Mark.REPRODUCED]


def test_a_machine_without_hyper_threads_cannot_speak_to_them(tmp_path: Path) -> None:
    claims = Findings(make_scaled(tmp_path / "run", cores=8)).claims
    assert [judged.mark for judged in claims] == [Mark.CONTRADICTED, Mark.NOT_TESTABLE, Mark.NOT_TESTABLE]
    assert "one hardware thread a core" in claims[1].text


def test_lines_are_fitted_up_to_the_processors_where_that_is_enough(findings: Findings) -> None:
    seen = findings.observations("tps")
    assert scaling_of(seen, "", READ, 6).upto == 6.0
    assert scaling_of(seen, "", READ, 3).upto == 8.0, "too few points up to three"
    assert scaling_of(seen, "", READ, None).upto == 8.0
    assert scaling_of((), "", READ, 8).kink is None


def test_every_form_says_it(findings: Findings, tmp_path: Path) -> None:
    said = text.render(findings)
    assert "Transactions per second along load.clients" in said
    assert "the curve bends at 4.0 clients" in said
    assert "what a second hardware thread adds" in said
    assert "throughput peaks at about 7 clients" in said
    assert "CPU yardstick" in said
    assert "load.script=tpcb-like: bottleneck: WAL flush (1 to 8)" in said
    assert "load.script=select-only: bottleneck: undecided (1 to 3), then CPU (4 to 8)" in said
    found = json.loads(json.dumps(plain(findings), allow_nan=False))
    assert found["beside"]["scalings"][1]["kink"]["located"] is True
    assert found["beside"]["scalings"][0]["universal_scalability_law"]["peak_seen"] is True
    html = page.write(findings, tmp_path, pictures=False).read_text(encoding="utf-8")
    body = html[: html.index('<script type="module">')]
    assert "one treatment, so there is a curve" in body
    assert body.count('id="scaling"') == 1
    assert body.index('id="scaling"') < body.index("Measurements</h2>")


def test_the_figure_has_every_line(findings: Findings) -> None:
    drawn = json.dumps(specification(findings, "scaling"))
    for name in ("measured", "two lines with a kink", "Universal Scalability Law", "sysbench cpu, scaled"):
        assert name in drawn


@pytest.mark.parametrize("bad", [("kink",), ("law",), ("kink", "law")])
def test_a_fit_that_is_not_told_is_not_drawn_either(findings: Findings, bad: tuple[str, ...]) -> None:
    badly = Findings(findings.run)
    fits = badly.scalings
    misfits = [{name: replace(getattr(each, name), misfit=2 * BAD_FIT) for name in bad} for each in fits]
    vars(badly)["scalings"] = tuple(replace(each, **misfit) for each, misfit in zip(fits, misfits, strict=True))
    drawn = json.dumps(specification(badly, "scaling"))
    assert "measured" in drawn
    assert "sysbench cpu, scaled" in drawn
    assert ('"two lines with a kink"' in drawn) == ("kink" not in bad)
    assert ('"Universal Scalability Law"' in drawn) == ("law" not in bad)
    table, *_ = tables(SECTION, badly)
    for _, kink, gain, contention, coherency, clients, peak, misfit in (map(str, row) for row in table.rows):
        assert ({kink, gain} == {formatting.MISSING}) == ("kink" in bad)
        assert ({contention, coherency, clients, peak} == {formatting.MISSING}) == ("law" in bad)
        assert "50.0 %" in misfit


def test_two_points_and_other_covariates_have_no_fit(tmp_path: Path) -> None:
    crossed = Findings(make_crossed(tmp_path / "run"))
    assert all(each.kink is None and each.law is None for each in crossed.scalings)
    assert specification(crossed, "scaling") is None


def test_a_missing_yardstick_is_said(tmp_path: Path) -> None:
    missing = Findings(make_scaled(tmp_path / "run", sysbench=False))
    assert "sysbench is not installed" in text.render(missing)
    assert "sysbench cpu, scaled" not in json.dumps(specification(missing, "scaling"))
    assert missing.claims[2].mark is Mark.NOT_TESTABLE
