"""Intel's log as nvme-cli prints it: `nan` for a share of nothing, and zeros where the drive is of another maker."""

from pathlib import Path

import pytest

from pgassay.drive.smart import INTEL_UNIT_BYTES, Media, parse_media, unit_bytes_of

CASE = Path(__file__).parent / "21-nvme"
INTEL = ("intel", "smart-log-add")


def media(name: str) -> Media:
    found = parse_media(INTEL, (CASE / name).read_text(encoding="utf-8"))
    assert found is not None
    return found


def test_nand_writes_are_read_beside_a_value_that_is_nan() -> None:
    found = media("nan.json")
    assert (found.nand, found.host) == (40262.0, 45197.0)
    assert unit_bytes_of(found, found.host * INTEL_UNIT_BYTES if found.host else 0.0) == INTEL_UNIT_BYTES


@pytest.mark.parametrize("host_bytes", [100e6, 1e12])
def test_a_log_of_zeros_is_none_however_little_was_written(host_bytes: float) -> None:
    assert unit_bytes_of(media("zero.json"), host_bytes) is None


def test_a_log_without_host_writes_that_counts_nothing_is_none() -> None:
    assert unit_bytes_of(Media(0.0, unit_bytes=1), 1e9) is None
    assert unit_bytes_of(Media(2e9, unit_bytes=1), 1e9) == 1
