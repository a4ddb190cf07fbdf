"""What real drives cannot tell is named before a run; a drive that tells is not mentioned."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.bench.drive_counters import Trust
from pgassay.drive.options import DriveOptions
from pgassay.drive.smart import SmartOfMounts
from pgassay.drive.trust import BelievedMounts
from pgassay.lab.drives import not_told
from pgassay.testing.fakes.runner import FakeRunner

WANTED = ("tps", "physical_bytes", "write_amplification", "wal_write_amplification")


def smartctl(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
    """A SATA drive that counts NAND writes, and no contents."""
    statistics = [{"name": "Logical Sectors Written", "value": 9}]
    return 0, json.dumps({
        "logical_block_size": 512,
        "user_capacity": {"bytes": 1 << 30},
        "ata_device_statistics": {"pages": [{"table": statistics}]},
        "ata_smart_attributes": {"table": [{"name": "NAND_Writes_1GiB", "raw": {"value": 1}}]},
    }), ""  # fmt: skip


@pytest.mark.parametrize(
    ("levels", "device", "said"),
    [
        ({"data": "csd", "wal": "ssd"}, "/dev/loop7", ""),
        ({}, "/dev/vda1", "the data (directory on /dev/vda1) does not report what is needed for physical_bytes, write"),
        ({}, "/dev/sda1", "the data (directory on /dev/sda1) does not report what is needed for physical_bytes"),
        ({"data": "csd", "wal": "device:/dev/sdb"}, "/dev/loop7", "the WAL (device on /dev/sdb) does not report what"),
        ({"data": "image"}, "/dev/sda1", "the data (image on /dev/sda1) does not report what is needed for physical_"),
    ],
)
def test_each_drive_that_is_silent_is_named(tmp_path: Path, levels: dict[str, str], device: str, said: str) -> None:
    smart = BelievedMounts(SmartOfMounts(FakeRunner({"smartctl": smartctl})))
    found = not_told(DriveOptions.from_levels(levels), device, tmp_path, smart, WANTED)
    assert found == "" if not said else found.startswith(f"the drive of {said}")
    assert "tps" not in found
    on_sata = levels.get("data") != "image" and "/dev/sd" in found
    assert not (on_sata and "write_amplification" in found), "a drive that counts NAND writes tells it"


def test_nobody_is_asked_for_what_no_study_wants(tmp_path: Path) -> None:
    smart = BelievedMounts(SmartOfMounts(FakeRunner()))
    assert not_told(DriveOptions(), "/dev/vda1", tmp_path, smart, ("tps", "latency_p99_ms")) == ""


def test_a_drive_whose_counters_are_not_trusted_is_named_with_the_reason(tmp_path: Path) -> None:
    failed = Trust(16 << 30, "2026-01-02", "nand_bytes_written moved by 0B while 8GB of random data were written")
    smart = BelievedMounts(SmartOfMounts(FakeRunner({"smartctl": smartctl})), lambda drive: failed)
    assert not_told(DriveOptions(), "/dev/sda1", tmp_path, smart, ("write_amplification",)) == (
        "the drive of the data (directory on /dev/sda1) does not report what is needed for write_amplification"
        " (its counters are not trusted, because nand_bytes_written moved by 0B while 8GB of random data were written"
        " (proof of 2026-01-02))"
    )
    assert "trusted" not in not_told(DriveOptions(), "/dev/sda1", tmp_path, smart, ("physical_bytes",))
