"""Published rows with one's own figures beside them, and dashes where there is no single treatment to set there."""

from dataclasses import replace

import pytest

from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.report.published import beside
from pgassay.report.words import MISSING
from pgassay.study.model import Published
from tests.report.made import make_run


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def _with(findings: Findings, *rows: Published) -> Findings:
    findings.study = replace(findings.study, published=rows)
    return findings


def test_ones_own_figures_stand_beside_the_row_of_their_treatment(findings: Findings) -> None:
    dense = Published({"fill": "100", "tps": "890"}, {"table.fillfactor": "100"})
    loose = Published({"fill": "75", "note": "one run"}, {"table.fillfactor": "75"})
    table = beside(_with(findings, dense, loose))
    assert table.columns == ("fill", "tps", "note")
    assert table.ours == ("here: avg ± stdev", "here: median", "here: against table.fillfactor=100")
    first, second = table.rows
    assert (first.cells, second.cells) == (("100", "890", ""), ("75", "", "one run"))
    (summary, *_) = findings.summaries(findings.primary)
    assert first.ours[0].startswith(f"{summary.avg:,.0f} ± " if summary.avg >= 1000 else f"{summary.avg:.1f} ± ")
    assert first.ours[2] == MISSING  # the baseline against itself
    assert second.ours[2].startswith(("+19.", "+20."))  # 20 % are planted
    assert f'<td class="ours">{second.ours[2]}' in page.html(findings, ())


def test_a_row_without_its_treatment_or_response_here_has_dashes(findings: Findings) -> None:
    here = Published({"fill": "100"}, {"table.fillfactor": "100"})
    others = (
        Published({"fill": "30"}, {"table.fillfactor": "30"}),
        Published({"fill": "75"}, {"table.fillfactor": "75"}, "not_measured_ms"),
        Published({"fill": "drive of theirs"}),
    )
    rows = beside(_with(findings, here, *others)).rows
    assert rows[0].ours[0] != MISSING
    assert {row.ours for row in rows[1:]} == {(MISSING,) * 3}


def test_a_table_that_names_no_treatment_has_no_columns_of_ours(findings: Findings) -> None:
    table = beside(_with(findings, Published({"drive": "SSD"})))
    assert (table.ours, table.rows[0].ours) == ((), ())
