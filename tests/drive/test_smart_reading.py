"""Which log a drive has is found by asking; units that a vendor keeps to himself come from the standard log."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pgassay.bench.drive_counters import SMART
from pgassay.bench.places import Mount
from pgassay.drive.nvme_cli import PROGRAM, json_options
from pgassay.drive.smart import MEDIA_LOGS, Media, SmartCounters, SmartOfMounts, parse_namespace, unit_bytes_of
from pgassay.testing.fakes.runner import FakeRunner, Program
from tests.drive.test_smart_logs import LOGS, device_stats

DEVICE = Path("/dev/nvme7")
HELPS: Mapping[str, Mapping[str, str]] = json.loads(
    (Path(__file__).parents[1] / "samples" / "nvme_help.json").read_text(encoding="utf-8")
)
"""What nvme-cli of each version lists as the options of each command (built from its source, run without a drive)."""


def standard(units: int) -> str:
    return f'{{"percent_used":1,"data_units_read":1,"data_units_written":{units}}}'


def nvme(logs: Mapping[tuple[str, ...], str], version: str = "2.3", helps: Mapping[str, str] | None = None) -> Program:
    """An nvme-cli of this version that knows these commands and refuses all others, as for another vendor's drive."""
    helps = HELPS[version] if helps is None else helps

    def run(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        if arguments[-1] == "--help":
            said = helps.get(" ".join(arguments[:-1]), "")
            return 1, "", said
        place = arguments.index(str(DEVICE))
        command, options = arguments[:place], arguments[place + 1 :]
        if f", {options[0]}" not in helps.get(" ".join(command), ""):
            return 22, "", f"nvme: unrecognized option '{options[0]}'\n"
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
    assert counters.source == "this drive reports no NAND writes"


@pytest.mark.parametrize("version", HELPS)
@pytest.mark.parametrize(
    ("command", "log"),
    [
        (("sfx", "smart-log-add"), device_stats("Intel Smart log", 300, 125_000_000) + "/n"),
        (("intel", "smart-log-add"), device_stats("Intel Smart log", 1, 1)),
        (("micron", "vs-nand-stats"), LOGS["Micron, log 0xD0"][0]),
        (("wdc", "vs-nand-stats"), LOGS["WD, halves"][0]),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_each_version_is_asked_for_json_by_the_options_that_it_has(
    version: str, command: tuple[str, ...], log: str
) -> None:
    logs = {("smart-log",): standard(1_000_000), command: log}
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, version)}), DEVICE)
    assert counters()["nand_bytes_written"] > 0
    assert counters.source == f"nvme {' '.join(command)}"


@pytest.mark.parametrize("version", HELPS)
def test_the_units_of_a_scaleflux_drive_come_from_the_standard_log_whatever_the_title(version: str) -> None:
    """Until 2.11 its plugin titles the log as Intel's, whose units have 32 MiB."""
    log = device_stats("Intel Smart log", 300, 125_000_000) + "/n"
    logs = {("smart-log",): standard(1_000_000), ("sfx", "smart-log-add"): log}
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, version)}), DEVICE)
    assert counters()["nand_bytes_written"] == 300 * 4096


def test_what_data_take_on_a_drive_that_compresses() -> None:
    status = {"Provisioned Capacity [GB]": 3200, "Free Physical Space [GB]": 3000, "Compression Ratio": 250}
    logs = {
        ("smart-log",): standard(1_000_000),
        ("sfx", "smart-log-add"): device_stats("ScaleFlux Smart log", 300, 125_000_000),
        ("sfx", "status"): json.dumps({"ScaleFlux Status": "nvme7", "Device stats": status}),
    }
    found = SmartCounters(FakeRunner({"nvme": nvme(logs, "2.16")}), DEVICE)()
    assert (found["physical_bytes"], found["logical_bytes"]) == (200e9, 500e9)
    before = SmartCounters(FakeRunner({"nvme": nvme(logs, "2.3")}), DEVICE)()
    assert "physical_bytes" not in before
    assert before["nand_bytes_written"] == found["nand_bytes_written"]


def test_a_command_that_prints_no_json_is_not_asked() -> None:
    """The plugin of Memblaze printed text only; `-o json` would be refused, or its text read as a log."""
    logs = {("smart-log",): standard(2), ("memblaze", "smart-log-add"): "nand_bytes_written : 100% 5\n"}
    runner = FakeRunner({"nvme": nvme(logs, "2.3")})
    assert "nand_bytes_written" not in SmartCounters(runner, DEVICE)()
    assert not any("memblaze" in call and str(DEVICE) in call for call in runner.calls)


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="nvme-cli is not installed")
@pytest.mark.parametrize("command", [("smart-log",), ("id-ns",), *MEDIA_LOGS], ids=" ".join)
def test_the_installed_program_takes_the_options_that_it_is_given(command: tuple[str, ...]) -> None:
    """Without a drive: an option that it refuses is named before the device is opened."""
    helped = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=False)
    options = json_options(helped.stdout + helped.stderr)
    if options is None:
        assert "-j" not in helped.stdout + helped.stderr
        return
    done = subprocess.run([PROGRAM, *command, "/dev/null", *options], capture_output=True, text=True, check=False)
    refused = subprocess.run([PROGRAM, *command, "/dev/null", "-Y"], capture_output=True, text=True, check=False)
    assert "unrecognized option" in (refused.stdout + refused.stderr).lower()
    assert "unrecognized option" not in (done.stdout + done.stderr).lower()


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
    assert under.of("/dev/nvme7n2") is counters, "one drive, whatever its namespace"
    assert len(runner.calls) == asked


@pytest.mark.parametrize("device", ["/dev/loop7", "/dev/vda", "tmpfs", "/dev/nvme-fabrics", "/dev/mapper/nvme7n1"])
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


def namespace(size: int, used: int, features: int, shift: int = 12) -> str:
    return json.dumps(
        {"nsze": size, "ncap": size, "nuse": used, "nsfeat": features, "flbas": 1,
         "lbafs": [{"ms": 0, "ds": 9, "rp": 2}, {"ms": 0, "ds": shift, "rp": 0}]}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (namespace(1000, 400, 1), {"capacity_bytes": 4_096_000, "logical_bytes": 1_638_400}),
        (namespace(1000, 1000, 1), {"capacity_bytes": 4_096_000, "logical_bytes": 4_096_000}),
        (namespace(1000, 1000, 0), {"capacity_bytes": 4_096_000}),  # says nothing of what is used
        (namespace(1000, 2000, 1), {"capacity_bytes": 4_096_000}),  # more than there is
        (namespace(1000, 400, 1, shift=40), {}),
        ('{"nsze":1000,"ncap":1000,"nuse":1,"nsfeat":1,"flbas":15,"lbafs":[]}', {}),
        ("NVMe status: Invalid Namespace", {}),
    ],
)
def test_what_a_namespace_holds(text: str, found: dict[str, float]) -> None:
    assert parse_namespace(text) == found


def test_capacity_and_contents_come_from_the_namespace_under_the_mount() -> None:
    logs: dict[tuple[str, ...], str] = {("smart-log",): standard(2), ("id-ns",): namespace(1000, 400, 1)}
    helps = {**HELPS["2.3"], "id-ns": HELPS["2.3"]["smart-log"]}
    answering = nvme(logs, helps=helps)

    def on_namespace(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        told = [each.replace("/dev/nvme7n1", "/dev/nvme7") for each in arguments]
        assert ("id-ns" in told) == ("/dev/nvme7n1" in arguments) or "--help" in told
        return answering(told, given)

    counters = SmartOfMounts(FakeRunner({"nvme": on_namespace})).of("/dev/nvme7n1p3")
    assert counters is not None
    assert counters()["capacity_bytes"] == 4_096_000
    assert counters()["logical_bytes"] == 1_638_400
