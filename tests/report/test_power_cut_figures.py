"""What is said of a torn page: its ranges."""

from pgassay.report.power_cuts import lsn, range_rows
from tests.report.cut_runs import TORN


def test_a_page_is_told_range_by_range() -> None:
    """Its first sectors arrived; of all sectors the first and the last differ between old and new."""
    assert [*range_rows(TORN)] == [
        ("0 to 511", "as written"),
        ("512 to 7679", "the same in both"),
        ("7680 to 8191", "as before the write"),
    ]
    assert (lsn(1 << 32), lsn(255)) == ("1/0", "0/FF")
