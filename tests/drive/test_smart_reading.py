"""Which log a drive has is found by asking; units that a vendor keeps to himself come from the standard log."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pgassay.bench.drive_counters import SMART
from pgassay.bench.places import Mount
from pgassay.drive.smart import Media, SmartCounters, SmartOfMounts, unit_bytes_of
from pgassay.testing.fakes.runner import FakeRunner, Program
from tests.drive.test_smart_logs import LOGS, device_stats

DEVICE = Path("/dev/nvme7")


def standard(units: int) -> str:
    return f'{{"percent_used":1,"data_units_read":1,"data_units_written":{units}}}'


def nvme(logs: Mapping[tuple[str, ...], str]) -> Program:
    """An nvme-cli that knows these commands and refuses all others, as it does for another vendor's drive."""

    def run(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        *command, device, option, form = arguments
        assert (device, option, form) == (str(DEVICE), "-o", "json")
        text = logs.get(tuple(command))
        return (0, text, "") if text is not None else (1, "", "NVMe status: Invalid Log Page(0x109)\n")

    return run


def test_the_first_log_that_tells_is_kept() -> None:
    runner = FakeRunner(
        {"nvme": nvme({("smart-log",): standard(1000), ("micron", "vs-nand-stats"): LOGS["Micron, log 0xD0"][0]})}
    )
    counters = SmartCounters(runner, DEVICE)
    assert counters() == {
        "host_bytes_written": 512e6,
        "host_bytes_read": 512e3,
        "percentage_used": 1,
        "nand_bytes_written": 500,
    }
    assert counters.source == "nvme micron vs-nand-stats"
    asked = len(runner.calls)
    counters()
    assert len(runner.calls) == asked + 2


def test_a_drive_that_tells_no_nand_writes_is_asked_for_them_once() -> None:
    runner = FakeRunner({"nvme": nvme({("smart-log",): standard(2)})})
    counters = SmartCounters(runner, DEVICE)
    assert "nand_bytes_written" not in counters()
    asked = len(runner.calls)
    assert "nand_bytes_written" not in counters()
    assert len(runner.calls) == asked + 1
    assert counters.source == "this drive tells no NAND writes"


def test_without_the_program_nothing_is_known() -> None:
    assert SmartCounters(FakeRunner(), DEVICE)() == {}


def test_a_unit_once_found_is_held() -> None:
    """The standard log moves on between two readings; bytes must not jump with it."""
    logs = {
        ("smart-log",): standard(1_000_000),
        ("sfx", "smart-log-add"): device_stats("ScaleFlux Smart log", 300, 125_000_000),
    }
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs)}), DEVICE)
    assert counters()["nand_bytes_written"] == 300 * 4096
    logs["smart-log",] = standard(2_000_000)
    assert counters()["nand_bytes_written"] == 300 * 4096


def mounted(device: str) -> Mount:
    return Mount(Path("/x"), Path("/"), "ext4", device, "rw", 1 << 41, 1 << 40, False)


def test_the_drive_under_a_mount_is_found_and_asked_for_once() -> None:
    runner = FakeRunner({"nvme": nvme({("smart-log",): standard(2)})})
    under = SmartOfMounts(runner)
    (counters,) = under(mounted("/dev/nvme7n1p3")).values()
    asked = len(runner.calls)
    assert under(mounted("/dev/nvme7n1")) == {SMART: counters}
    assert len(runner.calls) == asked


@pytest.mark.parametrize("device", ["/dev/sda1", "/dev/loop7", "tmpfs", "/dev/nvme-fabrics", "/dev/mapper/nvme7n1"])
def test_other_devices_are_not_asked(device: str) -> None:
    runner = FakeRunner({"nvme": nvme({("smart-log",): standard(2)})})
    assert SmartOfMounts(runner)(mounted(device)) == {}
    assert runner.calls == []


def test_a_drive_that_does_not_answer_has_no_counters() -> None:
    assert SmartOfMounts(FakeRunner())(mounted("/dev/nvme7n1")) == {}


@pytest.mark.parametrize(
    ("host", "host_bytes", "unit"),
    [(1000, 512_000, 512), (1000, 540_000, 512), (1000, 600_000, None), (1000, 4_096_000, 4096), (0, 512, None)],
)
def test_units_are_powers_of_two_or_unknown(host: int, host_bytes: float, unit: float | None) -> None:
    assert unit_bytes_of(Media(1, host), host_bytes) == unit
