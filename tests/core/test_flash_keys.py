"""Every key that the flash model takes stands in the stub, which types it, and in the manual, which explains it."""

import ast
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pgassay._core import FlashDrive, FlashInput
from pgassay.flash.simulation import Life, Requests, Run

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "drives.md").read_text(encoding="utf-8")
STUB = ast.parse((ROOT / "src" / "pgassay" / "_core.pyi").read_text(encoding="utf-8"))
WRONG: Any = {"wrong": 1}
WRONG_SIZES: Any = [{"sizes": [{"bytes": 1, **WRONG}]}]


def make(**description: Any) -> FlashDrive:
    drive: Any = {"user_bytes": 1 << 24, "over_provisioning": 0.28, "pages_per_block": 16, **description}
    return FlashDrive(drive)


def known(call: Callable[[], object]) -> set[str]:
    """The keys that the model names when it is given another."""
    with pytest.raises(ValueError, match="has no key wrong") as caught:
        call()
    return set(str(caught.value).partition("its keys are ")[2].split(", "))


def typed(name: str) -> set[str]:
    """The keys of a table in the stub."""
    (table,) = (node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == name)
    targets = [node.target for node in table.body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


TABLES = {
    "FlashDriveDescription": lambda: known(lambda: make(**WRONG)) | known(lambda: make(kind="compressing", **WRONG)),
    "FlashComponent": lambda: known(lambda: FlashInput(64, [WRONG])),
    "FlashSizes": lambda: known(lambda: FlashInput(64, WRONG_SIZES)),
    "FlashServiceTimes": lambda: known(lambda: make().time(FlashInput(64, [{}]), 0, service=WRONG)),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_stub_and_the_manual_have_the_keys_that_the_model_takes(name: str) -> None:
    keys = TABLES[name]()
    assert keys == typed(name)
    assert {key for key in keys if not re.search(rf"`{key}\b", MANUAL)} == set()


@pytest.mark.parametrize("table", [Run, Requests, Life])
def test_the_manual_has_the_keys_of_a_run(table: Any) -> None:
    names = {field.name for field in fields(table)}
    assert {name for name in names if not re.search(rf"`{name}\b", MANUAL)} == set()
