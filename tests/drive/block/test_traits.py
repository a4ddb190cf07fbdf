"""What an emulated drive says of itself against what was asked: every difference has a name."""

from typing import Any

import pytest

from pgassay._core import DriveDescription
from pgassay.drive.block.description import PRESETS
from pgassay.drive.block.emulated import AgeingResult, traits

ASKED = PRESETS["csd"].core.with_capacity(1 << 30)
TOLD: dict[str, Any] = {
    "kind": "compressing",
    "codec": "zstd-1",
    "policy": "greedy",
    "store": "memory",
    "capacity_bytes": 1 << 30,
    "user_bytes": 1 << 30,
    "over_provisioning": 0.0703,
    "superblock_bytes": 1 << 20,
}


def test_a_drive_that_is_what_was_asked_holds() -> None:
    found = traits(ASKED, TOLD, None)
    assert all(trait.holds for trait in found.values())
    assert (found["start"].found, found["policy"].found) == ("fresh", "greedy")
    assert "settled_write_amplification" not in found


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("model", "kind", "page-mapped"),
        ("codec", "codec", "lz4"),
        ("policy", "policy", "fifo"),
        ("store", "store", "file"),
        ("capacity_bytes", "capacity_bytes", 1 << 29),
        ("over_provisioning", "over_provisioning", 0.28),
    ],
)
def test_a_difference_is_named(name: str, key: str, value: Any) -> None:
    found = traits(ASKED, {**TOLD, key: value}, None)
    assert [each for each, trait in found.items() if not trait.holds] == [name]
    assert found[name].found == value


def test_what_is_not_told_is_unknown_and_spare_of_physical_is_the_same_thing() -> None:
    assert all(trait.holds for trait in traits(ASKED, {}, None).values())
    drive = {"kind": "compressing", "spare_of_physical": 0.07 / 1.07, "pages_per_block": 128, "user_bytes": "1GB"}
    found = traits(DriveDescription({"drive": drive}), TOLD, None)
    assert found["over_provisioning"].holds
    assert not found["superblock_bytes"].holds


def test_only_a_settled_drive_has_a_settled_write_amplification() -> None:
    settled = AgeingResult.of({"drive_writes": 4, "settled": True, "write_amplification": 1.5})
    unsettled = AgeingResult.of({"drive_writes": 30, "settled": False, "write_amplification": 1.5})
    assert traits(ASKED, TOLD, settled)["settled_write_amplification"].found == 1.5
    assert traits(ASKED, TOLD, unsettled)["settled_write_amplification"].found is None
    assert traits(ASKED, TOLD, unsettled)["start"].found == "aged, not settled"
    assert AgeingResult.of({"settled": False}).write_amplification is None
