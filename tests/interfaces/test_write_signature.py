"""Write signatures of planted loads: what continues is one run in its order, and a record gives all of it back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pgassay._core import FlashTrace, write_flash_trace
from pgassay.interfaces import write_signature
from pgassay.interfaces.write_signature import WriteSignature, of_requests, of_trace

DRIVE_BLOCKS = 8192


def stored(counts: NDArray[Any], size: int = 4096) -> NDArray[np.uint16]:
    return np.full(int(counts.sum()), size, np.uint16)


def run_of(found: WriteSignature, number: int) -> list[tuple[int, int]]:
    """First blocks and numbers of blocks of one run, in its order."""
    begin = int(found.runs[:number].sum())
    mine = slice(begin, begin + int(found.runs[number]))
    return list(zip(found.firsts[mine].tolist(), found.counts[mine].tolist(), strict=True))


def test_wal_is_one_run_whoever_writes_in_between_and_each_page_another() -> None:
    """A ring of 100 blocks, twice round, with pages in between: one hot, some written once."""
    requests = [(4 * at % 100, 4) for at in range(50)]
    pages = [(1000, 2) if at % 2 else (2000 + 4 * at, 2) for at in range(50)]
    both = np.array([each for pair in zip(requests, pages, strict=True) for each in pair])
    found = of_requests(DRIVE_BLOCKS, both[:, 0], both[:, 1], stored(both[:, 1]))
    assert run_of(found, 0) == requests
    assert sorted(found.runs.tolist()) == [1] * 25 + [25, 50]
    assert (len(set(found.blocks)), found.writes) == (152, 300)


def test_the_tail_of_wal_is_written_again_in_its_own_run() -> None:
    """How often a block is written at once again, and when its ring comes round, are two things."""
    tail = np.array([(at // 3 % 10, 1) for at in range(60)])
    found = of_requests(DRIVE_BLOCKS, tail[:, 0], tail[:, 1], stored(tail[:, 1]))
    assert run_of(found, 0) == [(at // 3 % 10, 1) for at in range(60)]


def test_wal_is_told_by_its_tail_and_takes_as_much_as_is_asked_for() -> None:
    """Neither a page that is hot nor a table that a checkpoint writes from end to end is WAL."""
    wal = [(at // 2 % 200, 1) for at in range(800)]
    table = [(1000 + 2 * at % 1000, 2) for at in range(800)]
    both = np.array([each for three in zip(wal, table, [(4000, 2)] * 800, strict=True) for each in three])
    found = of_requests(DRIVE_BLOCKS, both[:, 0], both[:, 1], stored(both[:, 1]))
    (ring,) = np.flatnonzero(found.wal)
    assert run_of(found, int(ring)) == wal
    assert found.wal_blocks == 200
    less = found.with_wal_blocks(80)
    assert less.wal_blocks == 80
    assert (less.writes, len(set(less.blocks))) == (found.writes, len(set(found.blocks)) - 120)
    assert less.runs.tolist() == found.runs.tolist()
    assert found.with_wal_blocks(300) is found


def test_a_smaller_ring_of_wal_is_written_as_often_with_the_same_contents() -> None:
    """PostgreSQL fills a new segment with zeros first: cut off there, a ring was those zeros, over and over."""
    zeros = [(256 * at, 256) for at in range(8)]
    commits = [(at // 2, 1) for at in range(4000)]
    wanted = np.array([*zeros, *commits])
    sizes = np.concatenate([np.zeros(2048, np.uint16), np.full(4000, 1500, np.uint16)])
    found = of_requests(8 * DRIVE_BLOCKS, wanted[:, 0], wanted[:, 1], sizes)
    assert found.wal_blocks == 2048
    less = found.with_wal_blocks(300)
    assert less.wal_blocks == 300
    assert less.counts.tolist() == found.counts.tolist()
    assert less.stored_bytes.tolist() == found.stored_bytes.tolist()
    tiny = found.with_wal_blocks(100)
    assert tiny.wal_blocks == 100
    assert tiny.counts.max() == 100, "a request that is longer than the ring fills it once"


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 40)), min_size=1, max_size=60), st.floats(0.5, 400))
def test_no_ring_is_larger_than_asked_for_or_lies_where_no_wal_was(
    requests: list[tuple[int, int]], blocks: float
) -> None:
    tail = [(at // 2 % 100 + 950, 1) for at in range(400)]
    wanted = np.array([*requests, *tail])
    found = of_requests(DRIVE_BLOCKS, wanted[:, 0], wanted[:, 1], stored(wanted[:, 1]))
    less = found.with_wal_blocks(blocks)
    assert less.wal_blocks <= max(1, round(blocks)) or less is found
    assert set(less.blocks) <= set(found.blocks)
    assert less.writes <= found.writes


def test_stored_bytes_are_the_mean_of_each_request() -> None:
    firsts, counts = np.array([10, 500, 900]), np.array([1, 2, 1])
    found = of_requests(DRIVE_BLOCKS, firsts, counts, np.array([4096, 100, 300, 77], np.uint16))
    assert found.stored_bytes.tolist() == [4096, 200, 77]


def test_of_a_long_recording_the_latest_requests_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_signature, "REQUESTS_MAX", 3)
    firsts = np.array([10, 20, 30, 40, 50])
    found = of_requests(DRIVE_BLOCKS, firsts, np.full(5, 2), stored(np.full(5, 2)))
    assert found.firsts.tolist() == [30, 40, 50]


def test_a_trace_is_read_with_its_zeros_and_without_its_reads(tmp_path: Path) -> None:
    operations = [FlashTrace.OPERATIONS.index(name) for name in ("write", "read", "write-zeroes", "trim", "write")]
    write_flash_trace(
        tmp_path / "trace",
        drive_blocks=DRIVE_BLOCKS,
        time_ns=np.arange(5, dtype=np.uint64),
        operation=np.array(operations, np.uint8),
        first_block=np.array([1, 1, 50, 50, 900], np.uint32),
        blocks=np.array([2, 2, 3, 3, 1], np.uint32),
        compressed_bytes=np.array([1000, 2000, 3000], np.uint16),
    )
    found = of_trace(tmp_path / "trace")
    assert (found.drive_blocks, len(set(found.blocks)), found.writes) == (DRIVE_BLOCKS, 6, 6)
    assert sorted(found.stored_bytes.tolist()) == [0, 1500, 3000]


def test_nothing_written_is_no_signature() -> None:
    none = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="nothing was written"):
        of_requests(DRIVE_BLOCKS, none, none, none)


def test_a_record_keeps_it_as_text() -> None:
    firsts, counts = np.array([10, 500, 2**32 - 2, 502]), np.array([1, 2, 2, 70_000])
    found = of_requests(2**32, firsts, counts, stored(counts, 77))
    again = WriteSignature.from_text(found.to_text())
    assert again.drive_blocks == found.drive_blocks
    for name in ("firsts", "counts", "stored_bytes", "runs"):
        assert getattr(again, name).tolist() == getattr(found, name).tolist()


def test_what_is_no_signature_is_named() -> None:
    firsts, counts = np.array([10, 500]), np.array([1, 2])
    whole = of_requests(DRIVE_BLOCKS, firsts, counts, stored(counts)).to_text()
    other = whole.replace('"requests":2', '"requests":1')
    short = whole.replace('"requests":2', '"requests":9')
    for text in ("", "{}", '{"drive_blocks": 1, "beside": 0, "classes": [1]}', other, short):
        with pytest.raises(ValueError, match=r"no write signature|Expecting|buffer"):
            WriteSignature.from_text(text)
