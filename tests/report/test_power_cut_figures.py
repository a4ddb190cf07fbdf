"""What is said and drawn of a cut: the ranges of a torn page, and recovery."""

from dataclasses import replace
from pathlib import Path

from pgassay.report.findings import Findings
from pgassay.report.power_cuts import lsn, range_rows
from tests.report.blocks import figures
from tests.report.cut_runs import SOUND, TORN, make_cuts


def test_a_page_is_told_range_by_range() -> None:
    """Its first sectors arrived; of all sectors the first and the last differ between old and new."""
    assert [*range_rows(TORN)] == [
        ("0 to 511", "as written"),
        ("512 to 7679", "the same in both"),
        ("7680 to 8191", "as before the write"),
    ]
    assert (lsn(1 << 32), lsn(255)) == ("1/0", "0/FF")


def test_the_page_draws_recovery_where_its_wal_is_known(tmp_path: Path) -> None:
    assert "cut-recovery" not in {each.name for each in figures(Findings(make_cuts(tmp_path / "run")))}
    known = make_cuts(tmp_path / "known", lambda arm: [replace(SOUND, redo_bytes=each * 2.0**20) for each in (1, 2)])
    (recovery,) = (each for each in figures(Findings(known)) if each.name == "cut-recovery")
    assert recovery.title == "What recovery takes"
