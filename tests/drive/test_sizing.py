"""Capacities that nobody gave: ample, or close to the data, with enough superblocks."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import DriveDescription
from pgassay.drive.options import closely, memory_bytes, scaled_pages, sized
from pgassay.interfaces.store import Needs

MIB = 1 << 20


def test_drives_are_sized_by_the_data_in_steps() -> None:
    assert sized(1) == 1 << 30
    assert sized(1 << 30) == 5 << 28
    assert sized(10 << 30) % (256 << 20) == 0


@given(st.integers(1, 1 << 42), st.integers(0, 1 << 34))
def test_a_close_drive_holds_its_data_and_little_more(data: int, wal: int) -> None:
    capacity = closely(Needs(data, 1 << 34, wal_least_bytes=wal), 64 * MIB)
    assert capacity % (16 * MIB) == 0
    assert data + wal < capacity * 0.92
    assert capacity <= max(64 * MIB, 1.3 * data + 1.1 * wal + 140 * MIB)


def test_a_close_drive_of_small_tables_has_room_for_what_updates_add() -> None:
    capacity = closely(Needs(47 * MIB, 1 << 34, wal_least_bytes=0), 0)
    ext4 = 48 * MIB + 0.08 * capacity
    assert capacity - ext4 >= 94 * MIB, "47 MB became 94 in 20 s of unlimited updates, and the WAL lay elsewhere"


@given(st.integers(4, 1 << 18).map(lambda steps: steps * 16 * MIB))
def test_superblocks_are_many_and_powers_of_two(capacity: int) -> None:
    pages = scaled_pages(capacity)
    assert pages & (pages - 1) == 0
    assert 16 <= pages <= 16384
    superblocks = capacity / 4096 / pages
    assert superblocks >= 1024
    if capacity <= 128 << 30:  # larger drives have more of the largest superblocks
        assert superblocks <= 2048
    else:
        assert pages == 16384


def taken(flash: dict[str, Any], capacity_bytes: int, snapshots: int, *share: float) -> int:
    """Memory of an emulated drive of such a flash."""
    return memory_bytes(DriveDescription({"drive": {"user_bytes": capacity_bytes, **flash}}), snapshots, *share)


def test_memory_grows_by_snapshots_and_by_what_flash_holds() -> None:
    normal, compressing = {"kind": "page-mapped"}, {"kind": "compressing", "over_provisioning": 0.28}
    blocks = 1 << 20
    for flash, snapshot in ((normal, 12), (compressing, 16)):
        sizes = [taken(flash, blocks * 4096, snapshots) for snapshots in range(3)]
        assert [after - before for before, after in itertools.pairwise(sizes)] == [snapshot * blocks] * 2
    assert taken(normal, blocks * 4096, 0, 0.1) == taken(normal, blocks * 4096, 0, 0.9)
    half, tenth = (taken(compressing, blocks * 4096, 0, share) for share in (0.5, 0.1))
    assert (tenth - half) / blocks == pytest.approx(6.5 * 1.28 * (10 - 2))


def test_data_that_shrink_well_are_forecast() -> None:
    """pgbench_accounts shrinks to a 14th, half empty to a 28th; no block takes less than a granule."""
    compressing, capacity = {"kind": "compressing", "over_provisioning": 0.28}, 1 << 32
    usual = taken(compressing, capacity, 1)
    assert usual >= taken(compressing, capacity, 1, 192 / 4096) > taken(compressing, capacity, 1, 0.1)
    assert taken(compressing, capacity, 1, 1e-9) == taken(compressing, capacity, 1, 64 / 4096)
    coarse = {**compressing, "granularity_bytes": 512}
    assert taken(coarse, capacity, 1, 1e-9) == taken(coarse, capacity, 1, 0.125) < usual
    for wrong in (0, 1 << 20):
        assert taken({**compressing, "granularity_bytes": wrong}, capacity, 1) <= usual


@given(st.lists(st.integers(0, 1 << 24), min_size=1, max_size=200), st.booleans())
def test_a_snapshot_takes_no_more_than_what_its_gaps_add_up_to(gaps: list[int], wide: bool) -> None:
    """With granules of a byte and so much flash, the mean gap is what the forecast takes it to be."""
    mean = sum(gaps) / len(gaps)
    blocks = (1 << 24) + 1 if wide else 1 << 20
    drive = {"kind": "compressing", "granularity_bytes": 1, "over_provisioning": max(1.0, mean) / 4096 - 1}
    _, packed = DriveDescription({"drive": drive}).table_bytes_per_block(blocks * 4096, 1.0)
    # As the program packs an extent: size, dead granules in bytes of seven bits, logical block.
    taken = sum(2 + -(-gap.bit_length() // 7) + (4 if wide else 3) for gap in gaps) / len(gaps)
    assert taken <= packed + 1e-9
    assert packed >= 8


def test_spare_flash_is_said_in_either_way() -> None:
    of_user, of_physical = {"over_provisioning": 0.25}, {"spare_of_physical": 0.2}
    assert taken(of_user, 1 << 30, 1) == taken(of_physical, 1 << 30, 1)
    for wrong in ({"spare_of_physical": 1}, {"over_provisioning": -3.0}):
        assert taken(wrong, 1 << 30, 1) == taken({"over_provisioning": 0.07}, 1 << 30, 1)
