"""One description means the same to the core, to `pgassay drive simulate`, to the program that emulates, and in a file.

`drive_descriptions.json` has documents and what is said of them; `crates/drive/tests/descriptions.rs` reads it, too.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pgassay import _core, flash
from pgassay._core import DescriptionError, DriveDescription
from pgassay.errors import UsageError
from pgassay.flash.simulation import describe
from pgassay.study.units import parse_memory
from tests.drive.test_daemon import PROGRAM

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "drive_descriptions.json").read_text("utf-8"))
CAPACITY = 64 << 20
built = pytest.mark.skipif(not PROGRAM.exists(), reason="pgassay-drive is not built; make setup builds it")
each = pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))


def judged(case: dict[str, Any], by: str, said: str) -> None:
    """`said` is empty or a refusal."""
    expected = case.get(by, case.get("refused", ""))
    assert expected in said, said
    assert bool(expected) == bool(said), said


def described(document: dict[str, Any]) -> DriveDescription:
    found = DriveDescription(document)
    return found if found.capacity_bytes is not None else found.with_capacity(CAPACITY)


@each
def test_the_core(case: dict[str, Any]) -> None:
    said = ""
    try:
        described(case["document"]).check_emulated()
    except DescriptionError as refused:
        said = str(refused)
    judged(case, "emulated", said)


@each
def test_simulate(case: dict[str, Any]) -> None:
    tables = {**case["document"], "run": {"ageing": "none", "drive_writes": 0.01, "window": 0.01}}
    tables["drive"] = {} | case["document"].get("drive", {})
    if not {"user_bytes", "logical_bytes"} & set(tables["drive"]):
        tables["drive"]["user_bytes"] = CAPACITY
    if "timing" in tables:
        tables["timing"] = {**tables["timing"], "requests": 1}
    said = ""
    try:
        flash.simulate(tables)
    except UsageError as refused:
        said = refused.message
    judged(case, "simulated", said)


@built
@each
def test_the_program_that_emulates(case: dict[str, Any], tmp_path: Path) -> None:
    document = case["document"]
    configuration = {**document.get("drive", {}), **document.get("emulation", {})}
    drive = document.get("drive", {})
    seen: Any = drive.get("logical_bytes", drive.get("user_bytes", CAPACITY))
    if isinstance(seen, str) and seen.endswith("B"):
        try:
            seen = parse_memory(seen)
        except UsageError:
            seen = CAPACITY
    configuration["capacity_bytes"] = seen if isinstance(seen, int) and seen > 0 else CAPACITY
    if "timing" in document:
        configuration["timing"] = document["timing"]
    text = json.dumps({"name": "d", "directory": str(tmp_path), **configuration})
    done = subprocess.run([PROGRAM, "check"], input=text, capture_output=True, text=True, check=False)
    judged(case, "emulated", done.stderr)


@pytest.mark.parametrize("document", [{"flash": {}}, {"drive": 3}, {"timing": "sata-ssd"}, {"emulation": []}])
def test_what_is_no_table_is_named(document: dict[str, Any]) -> None:
    (name,) = document
    with pytest.raises(DescriptionError, match=f'"{name}"'):
        DriveDescription(document)
    with pytest.raises(UsageError, match=f'"{name}"'):
        describe(document)


def test_values_are_laid_over_a_description() -> None:
    csd = DriveDescription.preset("csd").with_capacity(1 << 30)
    assert csd.replace({"drive.policy": "fifo", "emulation.codec": "lz4"}).tables() == {
        "drive": {"kind": "compressing", "over_provisioning": 0.07, "policy": "fifo", "user_bytes": 1 << 30},
        "emulation": {"codec": "lz4"},
    }
    spare = DriveDescription({"drive": {"spare_of_physical": 0.2}})
    assert spare.over_provisioning == pytest.approx(0.25)
    assert spare.replace({"drive.over_provisioning": 0.07}).over_provisioning == 0.07
    timed = csd.replace({"timing": {"profile": "sata-ssd"}})
    assert (timed.profile, timed.replace({"timing": None}) == csd, csd.profile) == ("sata-ssd", True, None)
    with pytest.raises(DescriptionError, match=r"no key size; its keys are drive\.…") as caught:
        csd.replace({"size": 1})
    assert caught.value.hint == ""
    with pytest.raises(DescriptionError, match="there is no drive hdd") as caught:
        DriveDescription.preset("hdd")
    assert caught.value.hint == "one of ssd, csd"


def test_more_may_be_promised_than_there_is() -> None:
    thin = DriveDescription({"drive": {"kind": "compressing", "user_bytes": "1GB", "logical_bytes": "4GB"}})
    larger = thin.with_capacity(8 << 30)
    assert (thin.capacity_bytes, larger.capacity_bytes, larger.user_bytes) == (4 << 30, 8 << 30, 1 << 30)
    told = larger.configuration("d", "/x")
    assert (told["capacity_bytes"], told["user_bytes"], told["codec"]) == (8 << 30, 1 << 30, "zstd-1")


def test_the_names_are_those_that_messages_list() -> None:
    for names, key in ((_core.GC_POLICIES, "policy"), (_core.GC_STREAMS, "gc_stream"), (_core.FLASH_KINDS, "kind")):
        with pytest.raises(DescriptionError, match=f"must be one of {', '.join(names)}$"):
            DriveDescription({"drive": {key: "?"}})
    assert set(_core.FLASH_PROFILES) < set(_core.TIMING_PROFILES)
    assert _core.DRIVE_PRESETS == ("ssd", "csd")
