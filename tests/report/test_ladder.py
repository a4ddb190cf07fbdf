"""The write ladder of a run: every rung in its order, means by treatment, and "not available" where nothing tells."""

from pathlib import Path

from pgassay.probe.registry import Probes
from pgassay.report import costs
from pgassay.report.findings import Findings
from pgassay.report.section import NOT_AVAILABLE, Surface
from pgassay.testing.planted import WAL, make_run
from tests.report.blocks import tables


def test_rungs_stand_in_order_with_the_planted_bytes(tmp_path: Path) -> None:
    (found,) = costs.ladders_of(Findings(make_run(tmp_path / "run")))
    assert [rung.title for rung in found.rungs] == [step.title for step in costs.STEPS]
    assert found.treatments == tuple(f"table.fillfactor={level}" for level in WAL)
    (wal,) = (rung for rung in found.rungs if rung.response == "wal_bytes_per_transaction")
    for value, planted in zip(wal.bytes_per_transaction, WAL.values(), strict=True):
        assert value is not None
        assert abs(value / planted - 1) < 0.01


def test_a_rung_that_nothing_tells_says_so(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    (shown,) = tables(costs.LADDER, findings, Surface.TERMINAL)
    nand = next(row for row in shown.rows if row[0] == "NAND writes")
    assert nand[1:] == (NOT_AVAILABLE,) * len(findings.study.treatments)
    (page,) = tables(costs.LADDER, findings)
    assert page.head[-1] == "source"
    assert [row[-1] for row in page.rows] == [step.source for step in costs.STEPS]


def test_what_the_server_tells_is_declared_by_the_probes() -> None:
    """A rung whose response nobody declares would always be empty."""
    declared = {response.name for response in Probes().responses}
    own = {step.response for step in costs.STEPS if not step.title.endswith(("to the drive", "NAND writes"))}
    assert own <= declared


def test_no_rung_is_a_bound_that_may_exceed_the_whole(tmp_path: Path) -> None:
    """A count of images times the block size is no measurement: with holes it comes to more than all of the WAL."""
    whole = {"full_page_bytes_per_transaction": dict.fromkeys(WAL, 10_600.0)}
    findings = Findings(make_run(tmp_path / "run", more=whole))
    (found,) = costs.ladders_of(findings)
    assert not [rung.title for rung in found.rungs if "at most" in rung.title]
    for section in (costs.LADDER, costs.SECTION):
        shown = [str(cell) for table in tables(section, findings) for row in table.rows for cell in row]
        assert not [cell for cell in shown if "10.4 kB" in cell or "whole size" in cell]
