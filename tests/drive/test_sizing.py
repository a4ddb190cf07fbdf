"""Capacities that nobody gave: ample, or close to the data, with enough superblocks."""

from hypothesis import given
from hypothesis import strategies as st

from pgassay.bench.store import Needs
from pgassay.drive.sizing import SNAPSHOT_BYTES, closely, scaled_flash, sized, tables_bytes

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
    assert capacity <= max(64 * MIB, 1.3 * data + 1.1 * wal + 65 * MIB)


@given(st.integers(4, 1 << 18).map(lambda steps: steps * 16 * MIB))
def test_superblocks_are_many_and_powers_of_two(capacity: int) -> None:
    pages = scaled_flash({"kind": "compressing"}, capacity)["pages_per_block"]
    assert pages & (pages - 1) == 0
    assert 16 <= pages <= 16384
    assert pages in (16, 16384) or 1024 <= capacity / 4096 / pages <= 2048


def test_a_shape_that_was_given_stays() -> None:
    given_shape = {"channels": 4, "kind": "page-mapped"}
    assert scaled_flash(given_shape, 1 << 30) == given_shape


def test_tables_count_the_blank_drive_as_a_snapshot() -> None:
    assert tables_bytes(4096 * 1000, 2) == 1000 * (32 + 3 * SNAPSHOT_BYTES)
