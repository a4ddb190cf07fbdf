"""The doctor on this machine: it looks at everything, changes nothing, and finds the place it is asked about."""

from pathlib import Path

from pgassay.host import capacity, doctor
from pgassay.study.findings import Severity


def test_every_part_is_looked_at(tmp_path: Path) -> None:
    findings = doctor.examine([tmp_path], look_s=0.1)
    checks = [finding.code for finding in findings]
    assert {"governor", "steal", "other_work", "busy_neighbour", "swap", "dirty", "space", "filesystem"} <= set(checks)
    assert len(checks) == len(set(checks))
    assert [each for each in checks if not each.isidentifier()] == []
    assert all(finding.remedy for finding in findings if finding.severity in (Severity.WARNING, Severity.ERROR))
    assert list(tmp_path.iterdir()) == []


def test_quota() -> None:
    assert [doctor.quota(each) for each in ("200000 100000", "max 100000", "50000 100000", None)] == [
        2.0,
        None,
        0.5,
        None,
    ]


def test_a_flush_is_timed_where_we_may_write_only(tmp_path: Path) -> None:
    measured = capacity.flush_median_us(tmp_path)
    assert measured is not None
    assert measured > 0
    assert capacity.flush_median_us(tmp_path / "absent") is None
