"""What real drives cannot tell is named before a run; a drive that tells is not mentioned."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.drive.directory import CountersOf
from pgassay.drive.options import DriveOptions
from pgassay.drive.smart import SmartOfMounts
from pgassay.interfaces.drive_counters import Counted
from pgassay.interfaces.places import Mount
from pgassay.lab.drives import not_reported, real_drives
from tests.fakes.runner import FakeRunner

WANTED = ("tps", "physical_bytes", "write_amplification", "wal_write_amplification")


def untold(options: DriveOptions, device: str, directory: Path, smart: CountersOf, wanted: Sequence[str]) -> str:
    mount = Mount(directory, directory, "ext4", device, "rw", 1, 1, False)
    return not_reported(real_drives(options, mount, directory, smart), wanted)


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
    smart = SmartOfMounts(FakeRunner({"smartctl": smartctl})).of
    found = untold(DriveOptions.from_levels(levels), device, tmp_path, smart, WANTED)
    assert found == "" if not said else found.startswith(f"the drive of {said}")
    assert "tps" not in found
    on_sata = levels.get("data") != "image" and "/dev/sd" in found
    assert not (on_sata and "write_amplification" in found), "a drive that counts NAND writes tells it"


def test_nobody_is_asked_for_what_no_study_wants(tmp_path: Path) -> None:
    smart = SmartOfMounts(FakeRunner()).of
    assert untold(DriveOptions(), "/dev/vda1", tmp_path, smart, ("tps", "latency_p99_ms")) == ""


PARTS = {"data": "device:/dev/sda1", "wal": "device:/dev/sda2"}


@pytest.mark.parametrize(
    ("wal", "wanted", "said"),
    [
        ("/dev/sda2", WANTED[3:], "the drive of the WAL (device on /dev/sda2) is one drive with the data"),
        ("/dev/sda2", ("write_amplification", "data_write_amplification"), ""),
        ("/dev/sdb1", WANTED[3:], ""),
    ],
)
def test_the_wal_on_the_drive_of_the_data_has_no_figure_of_its_own(
    tmp_path: Path, wal: str, wanted: tuple[str, ...], said: str
) -> None:
    options = DriveOptions.from_levels({"data": "device:/dev/sda1", "wal": f"device:{wal}"})
    smart = SmartOfMounts(FakeRunner({"smartctl": smartctl})).of
    found = untold(options, "/dev/sda1", tmp_path, smart, wanted)
    assert found == "" if not said else found.startswith(said) and found.endswith("so no wal_write_amplification")


def test_what_one_drive_of_both_does_not_count_is_said_once(tmp_path: Path) -> None:
    smart = SmartOfMounts(FakeRunner({"smartctl": smartctl})).of
    found = untold(DriveOptions.from_levels(PARTS), "/dev/sda1", tmp_path, smart, WANTED)
    assert found.count("physical_bytes") == 1


def fixed(*names: str) -> CountersOf:
    """Any device is one drive, which counts just this."""

    def read() -> Counted:
        return dict.fromkeys(names, 1.0)

    return lambda device: read


@pytest.mark.parametrize(
    ("counted", "wanted", "missing"),
    [
        (("physical_bytes",), "compression_ratio", True),  # `sfx query-cap` tells no ratio
        (("physical_bytes", "logical_bytes"), "compression_ratio", False),
        (("physical_bytes",), "physical_bytes", False),
        (("nand_bytes_written",), "write_amplification", True),
        (("capacity_bytes",), "drive_writes", True),
    ],
)
def test_all_that_a_response_is_computed_from_is_needed(
    tmp_path: Path, counted: tuple[str, ...], wanted: str, missing: bool
) -> None:
    smart = fixed(*counted)
    assert (wanted in untold(DriveOptions(), "/dev/nvme0n1", tmp_path, smart, (wanted,))) is missing
