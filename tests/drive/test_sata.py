"""smartctl's JSON of SATA drives. No such drive stood by: the texts were written after smartmontools 7.3's printing
code, the attributes' names are asked of the installed program's drive database.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.drive.smart import (
    _NO_ANSWER,
    FLASH_PAGES,
    HOST_PAGES,
    NAND_BYTES,
    SMARTCTL,
    SMARTCTL_OPTIONS,
    SataCounters,
    SmartOfMounts,
    parse_sata,
    unit_bytes,
)
from tests.fakes.runner import FakeRunner

GIB = 1 << 30


def answer(
    attributes: Mapping[str, int] | None = None,
    sectors: int | None = 4096,
    *,
    valid: bool = True,
    sector_bytes: int = 512,
) -> str:
    general = [
        {"offset": 24, "name": "Logical Sectors Written", "size": 6, "value": sectors, "flags": {"valid": valid}}
    ]
    wear = [{"offset": 8, "name": "Percentage Used Endurance Indicator", "size": 1, "value": 7}]
    document: dict[str, Any] = {
        "logical_block_size": sector_bytes,
        "user_capacity": {"blocks": 1_000_000, "bytes": 512_000_000},
        "ata_device_statistics": {"pages": [{"number": 1, "table": general}, {"number": 7, "table": wear}]},
        "ata_smart_attributes": {
            "table": [{"id": 200, "name": name, "raw": {"value": raw}} for name, raw in (attributes or {}).items()]
        },
    }
    return json.dumps(document)


@pytest.mark.parametrize(
    ("attributes", "nand_bytes"),
    [
        ({}, None),
        ({"NAND_Writes_1GiB": 3}, 3 * GIB),
        ({"NAND_Writes_32MiB": 3}, 96 << 20),
        ({"Flash_Writes_GiB": 5}, 5 * GIB),
        ({"Total_NAND_Prog_Ct_GiB": 2, "Total_NAND_Read_Ct_GiB": 9}, 2 * GIB),
        ({"Lifetime_NAND_Prg_GiB": 4}, 4 * GIB),
        ({"TLC_Writes_32MiB": 2, "SLC_Writes_32MiB": 1}, 96 << 20),
        ({"SLC_Writes_32MiB": 1}, None),  # a part of the whole
        ({"NAND_Writes_1GiB": 3, "Total_NAND_Writes_GiB": 3}, 3 * GIB),
        ({"Total_LBAs_Written": 7, "Host_Writes_32MiB": 7, "NAND_Writes": 7}, None),  # of no unit, or not of the flash
    ],
)
def test_the_name_of_an_attribute_tells_its_unit(attributes: dict[str, int], nand_bytes: float | None) -> None:
    found = SataCounters(
        FakeRunner({SMARTCTL: lambda arguments, given: (0, answer(attributes), "")}), Path("/dev/sdx")
    )()
    assert found.get("nand_bytes_written") == nand_bytes
    assert found["host_bytes_written"] == 4096 * 512
    assert (found["percentage_used"], found["capacity_bytes"]) == (7, 512_000_000)


def test_pages_get_their_size_from_the_hosts_bytes_and_keep_it() -> None:
    said = {"text": answer({HOST_PAGES[0]: 128, FLASH_PAGES[0]: 64})}  # 2 MiB, so pages of 16 KiB
    counters = SataCounters(FakeRunner({SMARTCTL: lambda arguments, given: (0, said["text"], "")}), Path("/dev/sdx"))
    assert counters()["nand_bytes_written"] == 192 * 16384
    said["text"] = answer({HOST_PAGES[0]: 128, FLASH_PAGES[0]: 128}, sectors=8192)
    assert counters()["nand_bytes_written"] == 256 * 16384


def test_pages_of_no_sensible_size_are_not_used() -> None:
    text = answer({HOST_PAGES[0]: 90, FLASH_PAGES[0]: 64})
    counters = SataCounters(FakeRunner({SMARTCTL: lambda arguments, given: (0, text, "")}), Path("/dev/sdx"))
    assert "nand_bytes_written" not in counters()


@pytest.mark.parametrize(("status", "answers"), [(0, True), (64, True), (1, False), (2, False), (4, False)])
def test_the_status_tells_whether_the_drive_was_asked(status: int, answers: bool) -> None:
    counters = SataCounters(FakeRunner({SMARTCTL: lambda arguments, given: (status, answer(), "")}), Path("/dev/sdx"))
    assert bool(counters()) == answers


def test_sectors_have_the_size_that_the_drive_tells() -> None:
    found, _ = parse_sata(answer(sector_bytes=4096))
    assert found["host_bytes_written"] == 4096 * 4096


@pytest.mark.parametrize("text", ["", "[]", "{}", "smartctl 7.3", answer(sectors=None), answer(valid=False)])
def test_what_is_no_such_answer_tells_nothing(text: str) -> None:
    assert parse_sata(text) == ({}, None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_document_makes_it_fall_over(found: Any) -> None:
    document = {
        "logical_block_size": 512,
        "ata_device_statistics": {"pages": found},
        "ata_smart_attributes": {"table": found},
    }
    assert parse_sata(json.dumps(document)) == ({}, None)
    assert parse_sata(json.dumps(found)) == ({}, None)


def test_the_drive_under_a_partition_is_asked() -> None:
    asked = []

    def smartctl(arguments: Any, given: str) -> tuple[int, str, str]:
        asked.append(arguments[-1])
        return 0, answer(), ""

    under = SmartOfMounts(FakeRunner({SMARTCTL: smartctl}))
    assert under.of("/dev/sdb2") is under.of("/dev/sdb")
    assert asked == ["/dev/sdb"]
    assert SmartOfMounts(FakeRunner()).of("/dev/sdb") is None, "without the program"


@pytest.mark.parametrize(("counted", "true_bytes"), [(0.0, 1.0), (1.0, 0.0), (10.0, 13.0)])
def test_no_unit_where_none_comes_near(counted: float, true_bytes: float) -> None:
    assert unit_bytes(counted, true_bytes) is None


@pytest.mark.skipif(shutil.which(SMARTCTL) is None, reason="smartmontools are not installed")
def test_the_installed_program_takes_the_options_and_knows_the_names() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([SMARTCTL, *arguments], capture_output=True, text=True, check=False)

    refused, asked = run("-j", "--no-such-option", "/dev/null"), run(*SMARTCTL_OPTIONS, "/dev/null")
    assert "UNRECOGNIZED OPTION" in refused.stdout
    assert "UNRECOGNIZED OPTION" not in asked.stdout
    assert json.loads(asked.stdout)["smartctl"]["exit_status"] & _NO_ANSWER
    names = {word for line in run("-P", "showall").stdout.splitlines() for word in line.split()}
    assert {*HOST_PAGES, *FLASH_PAGES} <= names
    by_unit = {name for name in names if NAND_BYTES.match(name)}
    assert {"NAND_Writes_1GiB", "NAND_Writes_32MiB", "Flash_Writes_GiB", "TLC_Writes_32MiB"} <= by_unit
