"""An interval that the text calls "not known" is drawn and printed nowhere."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from pgassay.analysis.claims import Mark, judge
from pgassay.analysis.curves import Curve, Point
from pgassay.analysis.effects import Effect
from pgassay.report import curves, formatting, verdict
from pgassay.report.charts import forest_row
from pgassay.report.findings import Findings
from pgassay.study.model import Claim
from pgassay.study.responses import Better, Response
from pgassay.testing.planted import make_run
from tests.report.blocks import drawing, tables

WAL = "wal_bytes_per_transaction"
TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    """All but one cost as planted; of WAL at 75 nothing is known."""
    found = Findings(make_run(tmp_path / "run"))
    found.__dict__["costs"] = tuple(
        wide(each) if (each.response, each.treatment) == (WAL, "table.fillfactor=75") else each for each in found.costs
    )
    return found


def wide(effect: Effect) -> Effect:
    return replace(effect, estimate=9.45, low=0.001, high=104513.77)


def test_a_forest_leaves_it_out(findings: Findings) -> None:
    effect = next(each for each in findings.costs if 1e5 < each.high < inf)
    assert formatting.UNKNOWN in formatting.effect(effect, findings.responses[WAL])
    assert forest_row(effect, "WAL", findings.responses[WAL], 0.02) is None
    assert forest_row(replace(effect, low=4.0), "WAL", findings.responses[WAL], 0.02) is not None, "certainly more"
    drawn = drawing(verdict.SECTION, findings, "responses")
    assert "104513" not in str(drawn.chart.to_dict())
    assert "10451" not in str(drawn.chart.to_dict())


def test_a_table_of_costs_leaves_it_out(findings: Findings) -> None:
    (table,) = tables(verdict.WHY, findings)
    row = next(row for row in table.rows if str(row[0]).startswith("WAL, "))
    assert "945" not in str(row[2])
    assert formatting.UNKNOWN not in str(row[2])


def test_a_claim_tells_no_such_numbers(findings: Findings) -> None:
    effect = wide(findings.verdicts[0].effect)
    found = judge(Claim("a claim", "here", effect.response, {}, {}, low=1.2, high=1.4), effect)
    assert found.mark is Mark.NOT_TESTABLE
    assert "104513" not in found.text
    assert "too wide" in found.text


def test_points_of_a_curve_neither(findings: Findings) -> None:
    points = (Point("load.clients=1", 5, 100.0, 91.0, 109.0, ()), Point("load.clients=2", 5, 200.0, 0.2, 2e5, ()))
    curve = Curve("", "", points, 0.95)
    assert [row["high"] for row in curves.rows_of([curve], TPS)] == [109.0, None]
    assert curves._table(curve, TPS).rows[1][2:] == (formatting.UNKNOWN, formatting.UNKNOWN)
    assert curves.known(curve, 0.1) == "1 of 2 points is known to ±10 %; of 1 point nothing is known"
