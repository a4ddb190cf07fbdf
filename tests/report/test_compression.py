"""What compression leaves of tables, indexes and WAL, from the trials' counters."""

from pathlib import Path

import pytest

from pgassay.report.findings import Findings
from pgassay.report.measurements import COMPRESSION as SECTION
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables
from tests.report.driven import HEAP_RATIO, make_driven


def test_each_kind_has_its_own_ratio(tmp_path: Path) -> None:
    findings = Findings(make_driven(tmp_path / "run"))
    updates, deletes = tables(SECTION, findings)
    assert "oltp_update_non_index" in updates.title
    assert "oltp_delete" in deletes.title
    rows = {row[0]: row[1:] for row in updates.rows}
    assert rows["tables"] == ("200 MB ÷ 90.9 MB = 2.20",) * 4
    assert rows["indexes"] == ("–",) * 4, "not told is no zero"
    first, *_ = plain(findings)["stored_kinds"]
    assert first["kinds"]["heap"]["ratio"] == pytest.approx(HEAP_RATIO)
    assert first["kinds"]["wal"]["ratio"] == pytest.approx(4.0)
    assert first["kinds"]["index"]["ratio"] is None


def test_a_run_that_was_not_asked_has_no_table(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    assert tables(SECTION, findings) == []
    assert plain(findings)["stored_kinds"] == []
