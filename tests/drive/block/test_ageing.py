"""Ageing an emulated drive by a recorded load keeps the write signature of that load, and gives the recording back."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from pgassay._core import FlashTrace, write_flash_trace
from pgassay.drive.block.description import PRESETS
from pgassay.drive.block.emulated import TRACE, AgeingResult, EmulatedAgeing, EmulatedVolume, traits
from pgassay.interfaces.write_signature import SIGNATURE, WriteSignature


class Volume:
    """A drive whose daemon records a load of these operations, and is aged by nothing but being told."""

    def __init__(self, operations: tuple[str, ...]) -> None:
        self.operations = operations
        self.aged: dict[str, str] = {}

    def record(self, path: Path | None) -> None:
        if path is None:
            return
        kinds = np.array([FlashTrace.OPERATIONS.index(name) for name in self.operations], np.uint8)
        count = len(kinds)
        write_flash_trace(
            path,
            drive_blocks=1024,
            time_ns=np.arange(count, dtype=np.uint64),
            operation=kinds,
            first_block=np.arange(count, dtype=np.uint32) * 8,
            blocks=np.full(count, 2, np.uint32),
            compressed_bytes=np.full(2 * self.operations.count("write"), 700, np.uint16),
        )

    def age_kept(self, key: str, signature: str, **values: Any) -> None:
        assert Path(values["trace"]).is_file(), "it is aged by what was recorded"
        self.aged[key] = signature


def aged(operations: tuple[str, ...], home: Path) -> str:
    """The signature that a snapshot aged by this load has."""
    volume = Volume(operations)
    ageing = EmulatedAgeing(cast("EmulatedVolume", volume), home, 0.8, 0.5)
    ageing.begin()
    ageing.finish("key")
    assert not (home / TRACE).exists()
    return volume.aged["key"]


def test_a_snapshot_keeps_the_signature_of_the_load_that_aged_it(tmp_path: Path) -> None:
    found = WriteSignature.from_text(aged(("write", "write", "trim", "write-zeroes"), tmp_path))
    assert (found.drive_blocks, len(set(found.blocks)), found.writes) == (1024, 6, 6)


def test_a_load_that_wrote_nothing_has_none(tmp_path: Path) -> None:
    assert aged(("trim",), tmp_path) == ""


@pytest.mark.parametrize("signature", ["", '{"drive_blocks":1}'])
def test_the_drive_says_its_signature_where_there_is_one(signature: str) -> None:
    worn = AgeingResult.of({"drive_writes": 4, "settled": True, "write_amplification": 1.5}, signature)
    found = traits(PRESETS["ssd"].core, {}, worn)
    assert (found[SIGNATURE].found if SIGNATURE in found else "") == signature
