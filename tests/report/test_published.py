"""Published rows with one's own figures beside them, and dashes where there is no single treatment to set there."""

from dataclasses import replace

import pytest

from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.report.published import SECTION
from pgassay.report.words import MISSING
from pgassay.study.model import Published
from pgassay.testing.planted import make_run
from tests.report.blocks import tables


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def _with(findings: Findings, *rows: Published) -> Findings:
    findings.study = replace(findings.study, published=rows)
    return findings


def test_ones_own_figures_stand_beside_the_row_of_their_treatment(findings: Findings) -> None:
    dense = Published({"fill": "100", "tps": "890"}, {"table.fillfactor": "100"})
    loose = Published({"fill": "75", "note": "one run"}, {"table.fillfactor": "75"})
    table, *_ = tables(SECTION, _with(findings, dense, loose))
    ours = ("here: avg ± stdev", "here: median", "here: against table.fillfactor=100")
    assert table.head == ("fill", "tps", "note", *ours)
    assert list(table.shaded) == [3, 4, 5]
    first, second = ([str(cell) for cell in row] for row in table.rows)
    assert (first[:3], second[:3]) == (["100", "890", ""], ["75", "", "one run"])
    (summary, *_) = findings.summaries(findings.primary)
    assert first[3].startswith(f"{summary.avg:,.0f} ± " if summary.avg >= 1000 else f"{summary.avg:.1f} ± ")
    assert first[5] == MISSING  # the baseline against itself
    assert second[5].startswith(("+19.", "+20."))  # 20 % are planted
    assert f' ours">{second[5]}' in page.html(findings, page.chapters(findings, drawn=False))


def test_a_row_without_its_treatment_or_response_here_has_dashes(findings: Findings) -> None:
    here = Published({"fill": "100"}, {"table.fillfactor": "100"})
    others = (
        Published({"fill": "30"}, {"table.fillfactor": "30"}),
        Published({"fill": "75"}, {"table.fillfactor": "75"}, "not_measured_ms"),
        Published({"fill": "drive of theirs"}),
    )
    table, *_ = tables(SECTION, _with(findings, here, *others))
    assert table.rows[0][1] != MISSING
    assert {tuple(row[1:]) for row in table.rows[1:]} == {(MISSING,) * 3}


def test_a_table_that_names_no_treatment_has_no_columns_of_ours(findings: Findings) -> None:
    table, *_ = tables(SECTION, _with(findings, Published({"drive": "SSD"})))
    assert (table.head, table.rows, list(table.shaded)) == (("drive",), [("SSD",)], [])
