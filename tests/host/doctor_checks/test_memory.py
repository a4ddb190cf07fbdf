"""Judgements on memory, by values on both sides of each limit."""

import pytest

from pgassay.host.doctor_checks import memory

GB = 1024**3


@pytest.mark.parametrize(
    ("total", "free", "swappiness", "severity"),
    [
        (0, 0, 60, "ok"),
        (GB, GB, 1, "ok"),
        (GB, GB, None, "ok"),
        (GB, GB, 60, "note"),
        (GB, GB // 2, 1, "warning"),
        (100 * GB, 100 * GB - 1, 1, "ok"),
    ],
)
def test_swap(total: int, free: int, swappiness: int | None, severity: str) -> None:
    assert memory.swap(total, free, swappiness).severity == severity


@pytest.mark.parametrize(("enabled", "severity"), [("always", "warning"), ("madvise", "ok"), ("never", "ok")])
def test_transparent_huge_pages(enabled: str, severity: str) -> None:
    finding = memory.transparent_huge_pages(enabled)
    assert finding is not None
    assert finding.severity == severity
    assert memory.transparent_huge_pages(None) is None


@pytest.mark.parametrize(("mode", "severity"), [(0, "note"), (1, "note"), (2, "ok")])
def test_overcommit(mode: int, severity: str) -> None:
    finding = memory.overcommit(mode)
    assert finding is not None
    assert finding.severity == severity
    assert memory.overcommit(None) is None


def test_bytes_outweigh_ratios_in_what_may_be_dirty() -> None:
    assert memory.dirty(16 * GB, 20, 0, 10, 0).severity == "ok"
    assert memory.dirty(256 * GB, 20, 0, 10, 0).severity == "warning"
    limited = memory.dirty(256 * GB, 20, GB, 10, GB // 4)
    assert limited.severity == "ok"
    assert "up to 1.0 GB" in limited.text
