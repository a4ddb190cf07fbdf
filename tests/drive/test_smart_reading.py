"""Which log a drive has is found by asking; units that a vendor keeps to himself come from the standard log."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pgassay.drive.smart import (
    CAPACITY,
    INTEL_UNIT_BYTES,
    MEDIA_LOGS,
    PROGRAM,
    SCALEFLUX,
    STATUS,
    Media,
    SmartCounters,
    SmartOfMounts,
    json_options,
    parse_namespace,
    unit_bytes_of,
)
from tests.drive.test_smart_logs import CAPACITY as QUERIED
from tests.drive.test_smart_logs import LOGS, USED_BYTES, device_stats
from tests.fakes.runner import FakeRunner, Program

DEVICE = Path("/dev/nvme7")
HELPS: Mapping[str, Mapping[str, str]] = json.loads(
    (Path(__file__).parents[1] / "samples" / "nvme_help.json").read_text(encoding="utf-8")
)
"""What nvme-cli of each version lists as the options of each command (built from its source, run without a drive;
but for 2.3, those of identify and `sfx query-cap` were read in its source)."""


def standard(units: int) -> str:
    return f'{{"percent_used":1,"data_units_read":1,"data_units_written":{units}}}'


def nvme(logs: Mapping[tuple[str, ...], str], version: str = "2.3", helps: Mapping[str, str] | None = None) -> Program:
    """An nvme-cli of this version that knows these commands and refuses all others, as for another vendor's drive."""
    helps = HELPS[version] if helps is None else helps

    def run(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        if arguments[-1] == "--help":
            said = helps.get(" ".join(arguments[:-1]), "")
            return 1, "", said
        place = next(number for number, each in enumerate(arguments) if each.startswith(str(DEVICE)))
        command, options = arguments[:place], arguments[place + 1 :]
        said = helps.get(" ".join(command), "Invalid sub-command")
        refused = [each for each in options if each.startswith("-") and f", {each}" not in said]
        if refused or "Invalid sub-command" in said:
            return 22, "", f"nvme: unrecognized option '{refused}'\n"
        text = logs.get(tuple(command))
        return (0, text, "") if text is not None else (1, "", "NVMe status: Invalid Log Page(0x109)\n")

    return run


def test_the_first_log_that_tells_is_kept() -> None:
    runner = FakeRunner(
        {"nvme": nvme({("smart-log",): standard(1000), ("micron", "vs-nand-stats"): LOGS["Micron, log 0xD0"][1]})}
    )
    counters = SmartCounters(runner, DEVICE)
    assert counters() == {
        "host_bytes_written": 512e6,
        "host_bytes_read": 512e3,
        "percentage_used": 1,
        "nand_bytes_written": 500,
    }
    assert counters.command == ("micron", "vs-nand-stats")
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
    assert counters.command is None


@pytest.mark.parametrize("version", HELPS)
@pytest.mark.parametrize(
    ("command", "log"),
    [
        (("sfx", "smart-log-add"), device_stats("Intel Smart log", 300, 125_000_000) + "/n"),
        (("intel", "smart-log-add"), device_stats("Intel Smart log", 20_000, 512_000_000_000 // INTEL_UNIT_BYTES)),
        (("micron", "vs-nand-stats"), LOGS["Micron, log 0xD0"][1]),
        (("wdc", "vs-nand-stats"), LOGS["WD, two kinds of cell"][1]),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_each_version_is_asked_for_json_by_the_options_that_it_has(
    version: str, command: tuple[str, ...], log: str
) -> None:
    logs = {("smart-log",): standard(1_000_000), command: log}
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, version)}), DEVICE)
    assert counters()["nand_bytes_written"] > 0
    assert counters.command == command


@pytest.mark.parametrize("version", HELPS)
def test_the_units_of_a_scaleflux_drive_come_from_the_standard_log_whatever_the_title(version: str) -> None:
    """Until 2.11 its plugin titles the log as Intel's, whose units have 32 MiB."""
    log = device_stats("Intel Smart log", 300, 125_000_000) + "/n"
    logs = {("smart-log",): standard(1_000_000), ("sfx", "smart-log-add"): log}
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, version)}), DEVICE)
    assert counters()["nand_bytes_written"] == 300 * 4096


STATUS_TEXT = json.dumps(
    {
        "ScaleFlux Status": "nvme7",
        "Device stats": {
            "Provisioned Capacity [GB]": 3200,
            "Free Physical Space [GB]": 3000,
            "Compression Ratio": 250,
        },
    }
)


def compressing(vendor: int = SCALEFLUX) -> dict[tuple[str, ...], str]:
    """What a drive of ScaleFlux answers."""
    return {
        ("smart-log",): standard(1_000_000),
        ("id-ctrl",): json.dumps({"vid": vendor, "ssvid": vendor}),
        ("sfx", "smart-log-add"): device_stats("ScaleFlux Smart log", 300, 125_000_000),
        STATUS: STATUS_TEXT,
        CAPACITY: QUERIED,
    }


@pytest.mark.parametrize("version", HELPS)
def test_what_data_take_on_a_drive_that_compresses(version: str) -> None:
    """`sfx status` is there from 2.12 on; before, `sfx query-cap` tells what is used, and no ratio."""
    found = SmartCounters(FakeRunner({"nvme": nvme(compressing(), version)}), DEVICE)()
    if version in ("2.16", "3.0-rc1"):
        assert (found["physical_bytes"], found["logical_bytes"]) == (200e9, 500e9)
    else:
        assert found["physical_bytes"] == USED_BYTES
        assert "logical_bytes" not in found
    assert found["nand_bytes_written"] == 300 * 4096


def test_a_drive_whose_status_fails_is_asked_for_its_capacity_and_the_choice_is_kept() -> None:
    """Two sources differ by what each rounds: a window that begins by one must not end by the other."""
    logs = compressing()
    del logs[STATUS]
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, "2.16")}), DEVICE)
    assert counters()["physical_bytes"] == USED_BYTES
    logs[STATUS] = STATUS_TEXT
    assert counters()["physical_bytes"] == USED_BYTES


def test_only_drives_of_scaleflux_get_its_vendors_commands() -> None:
    """Intel's log has the same number and layout, and the plugin of ScaleFlux asks every drive for it."""
    runner = FakeRunner({"nvme": nvme(compressing(vendor=0x8086), "2.3")})
    found = SmartCounters(runner, DEVICE)()
    assert found["nand_bytes_written"] == 300 * 4096
    assert "physical_bytes" not in found
    assert not any("query-cap" in call or "status" in call for call in runner.calls)


def test_a_drive_that_counts_by_another_log_still_tells_what_data_take() -> None:
    logs = compressing() | {("ocp", "smart-add-log"): LOGS["OCP, second names"][1]}
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, "2.3")}), DEVICE)
    assert counters()["physical_bytes"] == USED_BYTES
    assert counters.command == ("ocp", "smart-add-log")


FDP = '{"hbmw":1024000,"mbmw":2048000,"mbe":0}'


@pytest.mark.parametrize("version", HELPS)
@pytest.mark.parametrize("group", [0, 1, 7])
def test_flexible_data_placement_is_asked_by_the_endurance_group_of_the_namespace(version: str, group: int) -> None:
    logs = {("smart-log",): standard(2), ("id-ns",): json.dumps({"endgid": group}), ("fdp", "stats"): FDP}
    runner = FakeRunner({"nvme": nvme(logs, version)})
    counters = SmartCounters(runner, DEVICE, DEVICE)
    there = group > 0 and "Invalid" not in HELPS[version]["fdp stats"]
    assert counters().get("nand_bytes_written") == (2_048_000 if there else None)
    asked = [list(call) for call in runner.calls if "stats" in call and "--help" not in call]
    assert [call[call.index("-e") + 1] for call in asked] == [str(group)] * there


def test_one_of_several_endurance_groups_is_not_taken_for_the_whole_drive() -> None:
    """The host's writes are those of the drive: set against one group's, they have no write amplification."""
    logs = {
        ("smart-log",): standard(1_000_000),
        ("id-ns",): '{"endgid":1}',
        ("fdp", "stats"): '{"hbmw":100000000000,"mbmw":150000000000,"mbe":0}',
    }
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, "3.0-rc1")}), DEVICE, DEVICE)
    assert "nand_bytes_written" not in counters()
    logs[("micron", "vs-nand-stats")] = LOGS["Micron, log 0xD0"][1]
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, "3.0-rc1")}), DEVICE, DEVICE)
    assert counters()["nand_bytes_written"] > 0
    assert counters.command == ("micron", "vs-nand-stats")


@pytest.mark.parametrize("form", LOGS)
def test_every_form_is_reached_by_asking(form: str) -> None:
    """Each command that the code knows, by the newest version that has it: a parser that none reaches is dead."""
    command, text, media = LOGS[form]
    written = 1_000_000 if media.host is None else media.host * (media.unit_bytes or 1 << 20) / 512_000
    logs = {
        ("smart-log",): f'{{"percent_used":1,"data_units_read":1,"data_units_written":"{max(1, round(written))}"}}',
        ("id-ns",): '{"endgid":1}',
        command: text,
    }
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs, "3.0-rc1")}), DEVICE, DEVICE)
    found = counters()
    assert counters.command == command
    assert found["nand_bytes_written"] >= media.nand


def test_a_log_whose_unit_cannot_be_told_does_not_hide_the_next() -> None:
    """Several vendors' logs have one number; a plugin reads another vendor's by its own layout."""
    logs = {
        ("smart-log",): standard(1_000_000),
        ("sfx", "smart-log-add"): device_stats("ScaleFlux Smart log", 5, 7),
        ("intel", "smart-log-add"): device_stats("Intel Smart log", 5, 7),
        ("micron", "vs-nand-stats"): LOGS["Micron, log 0xD0"][1],
    }
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs)}), DEVICE)
    assert counters()["nand_bytes_written"] == 500
    assert counters.command == ("micron", "vs-nand-stats")


def test_a_log_whose_unit_cannot_be_told_yet_is_asked_again() -> None:
    logs = {("smart-log",): standard(0), ("sfx", "smart-log-add"): device_stats("ScaleFlux Smart log", 1, 0)}
    counters = SmartCounters(FakeRunner({"nvme": nvme(logs)}), DEVICE)
    assert "nand_bytes_written" not in counters()
    logs["smart-log",] = standard(1_000_000)
    logs["sfx", "smart-log-add"] = device_stats("ScaleFlux Smart log", 300, 125_000_000)
    assert counters()["nand_bytes_written"] == 300 * 4096


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="nvme-cli is not installed")
@pytest.mark.parametrize(
    "command", [("smart-log",), ("id-ns",), ("id-ctrl",), STATUS, CAPACITY, *MEDIA_LOGS], ids=" ".join
)
def test_the_installed_program_takes_the_options_that_it_is_given(command: tuple[str, ...]) -> None:
    """Without a drive: an option that it refuses is named before the device is opened."""
    helped = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=False)
    options = json_options(helped.stdout + helped.stderr)
    if command == CAPACITY:
        options = ()  # text, whatever it could be asked for
    if options is None:
        assert "-j" not in helped.stdout + helped.stderr
        return
    if command == ("fdp", "stats"):
        options = ("-e", "1", *options)
    done = subprocess.run([PROGRAM, *command, "/dev/null", *options], capture_output=True, text=True, check=False)
    refused = subprocess.run([PROGRAM, *command, "/dev/null", "-Y"], capture_output=True, text=True, check=False)
    assert "unrecognized option" in (refused.stdout + refused.stderr).lower()
    assert "unrecognized option" not in (done.stdout + done.stderr).lower()
    if not options:
        assert "invalid sub-command" not in (done.stdout + done.stderr).lower()


OPTION = re.compile(r"\[  --[^\]]*\]")


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="nvme-cli is not installed")
def test_the_samples_are_what_the_installed_program_lists() -> None:
    said = subprocess.run([PROGRAM, "version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"nvme version (\S+)", said)
    if version is None or version[1] not in HELPS:
        pytest.skip(f"no samples of {said.strip()}")
    for command, listed in HELPS[version[1]].items():
        helped = subprocess.run([PROGRAM, *command.split(), "--help"], capture_output=True, text=True, check=False)
        assert OPTION.findall(helped.stdout + helped.stderr) == OPTION.findall(listed), command


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


def test_the_drive_under_a_mount_is_found_and_asked_for_once() -> None:
    runner = FakeRunner({"nvme": nvme({("smart-log",): standard(2)})})
    under = SmartOfMounts(runner)
    counters = under.of("/dev/nvme7n1p3")
    asked = len(runner.calls)
    assert counters is not None
    assert under.of("/dev/nvme7n1") is counters
    assert under.of("/dev/nvme7n2") is counters, "one drive, whatever its namespace"
    assert len(runner.calls) == asked


def test_a_drive_is_found_by_a_stable_name_too(tmp_path: Path) -> None:
    """A mount keeps the name that was given, so a device by /dev/disk/by-id/… once counted nothing."""
    runner = FakeRunner({"nvme": nvme({("smart-log",): standard(2)})})
    under = SmartOfMounts(runner)
    stable = tmp_path / "nvme-MODEL_SERIAL-part3"
    stable.symlink_to("/dev/nvme7n1p3")
    counters = under.of(str(stable))
    assert counters is not None
    assert under.of("/dev/nvme7n1") is counters, "one drive, whatever it is called"


@pytest.mark.parametrize("device", ["/dev/loop7", "/dev/vda", "tmpfs", "/dev/nvme-fabrics", "/dev/mapper/nvme7n1"])
def test_other_devices_are_not_asked(device: str) -> None:
    runner = FakeRunner({"nvme": nvme({("smart-log",): standard(2)})})
    assert SmartOfMounts(runner).of(device) is None
    assert runner.calls == []


def test_a_drive_that_does_not_answer_has_no_counters() -> None:
    assert SmartOfMounts(FakeRunner()).of("/dev/nvme7n1") is None


@pytest.mark.parametrize(
    ("host", "host_bytes", "unit"),
    [
        (1000, 512_000, 512),
        (1000, 540_000, 512),
        (1000, 600_000, None),
        (1000, 4_096_000, 4096),
        (0, 512, None),
        (4000, 1000, None),
        (1, 1 << 40, None),
        (1000, 1000, 1),
    ],
)
def test_units_are_powers_of_two_or_unknown(host: int, host_bytes: float, unit: float | None) -> None:
    assert unit_bytes_of(Media(1, host), host_bytes) == unit


@pytest.mark.parametrize(("host", "unit"), [(1000, 32 << 20), (500, None), (7, None)])
def test_a_vendors_unit_that_the_standard_log_contradicts_is_not_believed(host: int, unit: int | None) -> None:
    assert unit_bytes_of(Media(1, host, 32 << 20), 1000 * (32 << 20)) == unit
    assert unit_bytes_of(Media(1, host, 32 << 20), 32 << 20) == 32 << 20, "too little was written to tell"


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
    answering = nvme(logs)

    def on_namespace(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        told = [each.replace("/dev/nvme7n1", "/dev/nvme7") for each in arguments]
        assert ("id-ns" in told) == ("/dev/nvme7n1" in arguments) or "--help" in told
        return answering(told, given)

    counters = SmartOfMounts(FakeRunner({"nvme": on_namespace})).of("/dev/nvme7n1p3")
    assert counters is not None
    assert counters()["capacity_bytes"] == 4_096_000
    assert counters()["logical_bytes"] == 1_638_400
