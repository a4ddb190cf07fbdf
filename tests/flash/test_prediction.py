"""A load's signature predicts what its own requests make of drives that the signature has not seen, within 5 %."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pgassay._core import FlashDrive, flash_theory
from pgassay.errors import UsageError
from pgassay.flash.prediction import SIMULATED_BYTES, Target, loads_side_by_side, predict
from pgassay.interfaces.write_signature import WriteSignature, of_requests

BLOCKS = 1 << 16
RING, TABLE = 2048, 36_000
LIVE = 0.95
WITHIN = 0.05

Requests = tuple[NDArray[np.int64], NDArray[np.int64]]


def recorded(seed: int, requests: int = 80_000) -> Requests:
    """A ring in requests of 8 blocks; pages of a table, of which a fifth takes four fifths of the writes."""
    random = np.random.default_rng(seed)
    ring = random.random(requests) < 0.1
    hot = random.random(requests) < 0.8
    hot_pages = 2 * random.permutation(TABLE // 2)[: TABLE // 10]
    pages = np.where(hot, random.choice(hot_pages, requests), 2 * random.integers(0, TABLE // 2, requests))
    turns = 8 * np.cumsum(ring) % RING
    return np.where(ring, turns, RING + pages), np.where(ring, 8, 2)


def written(requests: Requests, over_provisioning: float, tiles: int) -> float:
    """Write amplification of the requests themselves, drawn independently (the ring in order), on so many tiles."""
    random = np.random.default_rng(99)
    firsts, counts = requests
    room = BLOCKS * tiles
    pages = max(16, 1 << max(0, room // 1024 - 1).bit_length())
    drive = FlashDrive(
        {
            "kind": "page-mapped",
            "user_bytes": room * 4096,
            "over_provisioning": over_provisioning,
            "pages_per_block": pages,
        }
    )
    drive.write(np.arange(int(room * LIVE), dtype=np.uint32))
    in_ring, table = counts == 8, firsts[counts == 2]
    share = float(counts[in_ring].sum() / counts.sum())
    turns, used = np.zeros(tiles, np.int64), RING + TABLE
    marks = []
    for _ in range(20):
        for _ in range(room // 4096):
            tile = random.integers(0, tiles, 2048)
            first = table[random.integers(0, len(table), 2048)] + tile * used
            is_ring = random.random(2048) < share
            for each in np.unique(tile):
                mine = np.flatnonzero(is_ring & (tile == each))
                first[mine] = each * used + (turns[each] + 2 * np.arange(len(mine))) % RING
                turns[each] += 2 * len(mine)
            drive.write(np.stack([first, first + 1], 1).ravel().astype(np.uint32))
        counters = drive.counters()
        marks.append((int(counters["nand_bytes_written"]), int(counters["host_bytes_written"])))
    (nand, host), (nand_end, host_end) = marks[9], marks[-1]
    return (nand_end - nand) / (host_end - host)


WAL, WAL_BEGINS, AT_ONCE = 8192, 40_000, 3
REGIONS, REGION, HOT_REGIONS = 150, 256, 100


def committed(seed: int, requests: int = 60_000, times: int = 1) -> Requests:
    """As PostgreSQL writes a table that is mostly left alone: commits write the tail of WAL, each block several times
    at once; pages are written in some megabytes of the table, few of each. WAL has one size, however large the table.
    """
    random = np.random.default_rng(seed)
    is_wal = random.random(requests * times) < 0.6
    wal = times * WAL_BEGINS + np.cumsum(is_wal) // AT_ONCE % WAL
    regions = np.random.default_rng(7).permutation(REGIONS * times)[: HOT_REGIONS * times]
    pages = 16 * random.integers(0, REGION // 16, len(is_wal))
    return np.where(is_wal, wal, REGION * random.choice(regions, len(is_wal)) + pages), np.where(is_wal, 1, 2)


def aged_by(requests: Requests, over_provisioning: float, times: int = 1) -> float:
    """Where a drive filled in order of its addresses settles: a page is drawn from all requests, WAL goes on."""
    random = np.random.default_rng(98)
    room = BLOCKS * times
    drive = FlashDrive(
        {
            "kind": "page-mapped",
            "user_bytes": room * 4096,
            "over_provisioning": over_provisioning,
            "pages_per_block": 64 * times,
        }
    )
    drive.write(np.arange(int(room * LIVE), dtype=np.uint32))
    firsts, counts = requests
    table, share = firsts[counts == 2], float((counts == 1).mean())
    turn, marks = 0, []
    for _ in range(30):
        for _ in range(room // 1024):
            is_wal = random.random(1024) < share
            first = random.choice(table, 1024)
            first[is_wal] = times * WAL_BEGINS + (turn + np.arange(is_wal.sum())) // AT_ONCE % WAL
            turn += int(is_wal.sum())
            both = np.stack([first, np.where(is_wal, -1, first + 1)], 1).ravel()
            drive.write(both[both >= 0].astype(np.uint32))
        counters = drive.counters()
        marks.append((int(counters["nand_bytes_written"]), int(counters["host_bytes_written"])))
    (nand, host), (nand_end, host_end) = marks[14], marks[-1]
    return (nand_end - nand) / (host_end - host)


def test_wal_that_does_not_grow_with_the_data_takes_its_true_share_of_a_larger_drive() -> None:
    """Four times the table and the same WAL, as of a model whose WAL could not shrink below two segments."""
    settled = aged_by(committed(2, times=4), 0.07, times=4)
    signature = signature_of(committed(1))
    assert signature.wal_blocks == WAL
    as_recorded = replace(target(0.07, 4), pages_per_block=256)
    unsaid, said = (
        predict(signature, replace(as_recorded, wal_bytes=size)).write_amplification for size in (None, WAL * 4096.0)
    )
    assert said == pytest.approx(settled, rel=WITHIN)
    assert unsaid is not None
    assert said is not None
    assert abs(unsaid - settled) > abs(said - settled)


@pytest.mark.parametrize("over_provisioning", [0.07, 0.10])
def test_a_nearly_full_drive_dies_as_its_runs_do_and_moves_what_lies_among_what_is_written(
    over_provisioning: float,
) -> None:
    """All runs as one ring, and company spread evenly, told an eighth too little here, and 45 % in a real run."""
    found = predict(signature_of(committed(1)), target(over_provisioning, 1))
    assert found.settled
    assert found.write_amplification == pytest.approx(aged_by(committed(2), over_provisioning), rel=WITHIN)


def signature_of(requests: Requests) -> WriteSignature:
    firsts, counts = requests
    return of_requests(BLOCKS, firsts, counts, np.full(int(counts.sum()), 4096, np.uint16))


def target(over_provisioning: float, times: float) -> Target:
    capacity = int(BLOCKS * 4096 * times)
    return Target("page-mapped", capacity, over_provisioning, LIVE * capacity, times)


@pytest.mark.parametrize(("over_provisioning", "tiles"), [(0.07, 1), (0.07, 2), (0.28, 1)])
def test_it_predicts_requests_that_it_has_not_seen_on_drives_that_it_has_not_seen(
    over_provisioning: float, tiles: int
) -> None:
    found = predict(signature_of(recorded(1)), target(over_provisioning, tiles))
    assert found.settled
    assert found.write_amplification == pytest.approx(written(recorded(2), over_provisioning, tiles), rel=WITHIN)


def test_superblocks_are_as_large_beside_what_lies_together_as_on_the_drive_asked_about() -> None:
    """Four times the data with superblocks as small as before is another drive than with four times larger ones."""
    signature = signature_of(committed(1))
    same, larger, unsaid = (
        predict(signature, replace(target(0.07, 4), pages_per_block=pages)).write_amplification
        for pages in (64, 256, None)
    )
    assert same is not None
    assert larger is not None
    assert larger > 1.02 * same
    assert unsaid == larger, "by default a thousandth of the drive"


def test_a_drive_of_terabytes_is_as_a_small_one_with_the_same_shares() -> None:
    signature = signature_of(recorded(3))
    small, large = (predict(signature, target(0.07, times), 256 << 20) for times in (4, 10_000))
    assert small.write_amplification == pytest.approx(large.write_amplification, rel=0.02)
    assert large.endurance_bytes is not None
    assert small.endurance_bytes is not None
    assert large.endurance_bytes > 1000 * small.endurance_bytes
    assert large.years(large.target.capacity_bytes) == pytest.approx(small.years(small.target.capacity_bytes), rel=0.02)


def test_uniform_writes_to_all_that_is_live_are_as_theory_has_them() -> None:
    """Greedy with 28 % of spare flash on a full drive."""
    uniform = signature_of((np.random.default_rng(6).permutation(BLOCKS), np.ones(BLOCKS, np.int64)))
    found = predict(uniform, Target("page-mapped", BLOCKS * 4096, 0.28, BLOCKS * 4096, 1.0))
    theory = flash_theory("greedy", 1.28, 64, [(BLOCKS, 1.0, 4096)])
    assert found.write_amplification == pytest.approx(theory, rel=0.02)


def test_a_ring_alone_costs_nothing_to_collect() -> None:
    ring = signature_of((4 * np.arange(10_000) % 4000, np.full(10_000, 4)))
    found = predict(ring, Target("page-mapped", BLOCKS * 4096, 0.07, 0.9 * BLOCKS * 4096, 1.0))
    assert found.write_amplification == pytest.approx(1.0, abs=0.01)


def test_what_compresses_is_amplified_by_less() -> None:
    signature = signature_of(recorded(4))
    halves = replace(signature, stored_bytes=np.full_like(signature.stored_bytes, 2048))
    capacity = BLOCKS * 4096
    found = predict(halves, Target("compressing", capacity, 0.07, LIVE * capacity, 1.0, cold_share=0.5))
    assert found.write_amplification is not None
    assert 0.5 <= found.write_amplification < 0.7, "half of the bytes, and flash that is half empty"


def test_data_beyond_the_drive_and_writes_beyond_the_data_are_refused() -> None:
    signature = signature_of(recorded(5))
    with pytest.raises(UsageError, match="the data need"):
        predict(signature, Target("page-mapped", 1 << 20, 0.07, 2 << 20, 1.0))
    with pytest.raises(UsageError, match="more blocks than are live"):
        predict(signature, Target("page-mapped", BLOCKS * 4096, 0.07, 0.1 * BLOCKS * 4096, 1.0))


def test_a_drive_beyond_the_memory_that_is_available_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What compresses well has many extents: 64 GB take a gigabyte of a normal drive, and five of one at a 25th."""
    signature = signature_of(recorded(5))
    small = replace(signature, stored_bytes=np.full_like(signature.stored_bytes, 164))
    monkeypatch.setattr("pgassay.flash.prediction.available_memory_bytes", lambda: 2 << 30)
    normal = Target("page-mapped", 64 << 30, 0.07, 32 << 30, 2.0)
    assert loads_side_by_side(signature, normal, 64 << 30) == 2
    packed = replace(normal, kind="compressing", cold_share=0.04)
    with pytest.raises(UsageError, match=r"about [345]\.?\d?GB of memory, 1\.8GB are available") as refused:
        loads_side_by_side(small, packed, 64 << 30)
    assert "smaller --simulated" in str(refused.value.hint)
    assert loads_side_by_side(small, packed, SIMULATED_BYTES) == 1


def test_a_recorded_drive_is_simulated_however_large_it_was() -> None:
    large = replace(signature_of(recorded(5)), drive_blocks=(96 << 30) // 4096)
    assert loads_side_by_side(large, Target("page-mapped", 96 << 30, 0.07, 32 << 30, 1.0), 96 << 30) == 1
    with pytest.raises(UsageError, match=r"128GB of the drive would have to be simulated, at most 96GB"):
        loads_side_by_side(large, Target("page-mapped", 256 << 30, 0.07, 32 << 30, 2.0), SIMULATED_BYTES)
