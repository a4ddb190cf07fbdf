"""Write signatures of planted loads: rings differ from random writes, heat and company of each block are counted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pgassay._core import FlashTrace, write_flash_trace
from pgassay.bench.write_signature import REGION_BLOCKS, WriteSignature, of_requests, of_trace

DRIVE_BLOCKS = 8192


def stored(counts: NDArray[Any], size: int = 4096) -> NDArray[np.uint16]:
    return np.full(int(counts.sum()), size, np.uint16)


def test_wal_is_a_ring_and_pages_are_classes_by_heat() -> None:
    """A ring of 100 blocks, twice round, with pages in between: one hot, some written once."""
    requests = [(4 * at % 100, 4) for at in range(50)]
    pages = [(1000, 2) if at % 2 else (2000 + 4 * at, 2) for at in range(50)]
    both = np.array([each for pair in zip(requests, pages, strict=True) for each in pair])
    found = of_requests(DRIVE_BLOCKS, both[:, 0], both[:, 1], stored(both[:, 1]))
    (ring,) = (each for each in found.classes if each.ring)
    assert (ring.blocks, ring.writes) == (100, 200)
    assert [(each.blocks, each.writes) for each in found.classes if not each.ring] == [(50, 50), (2, 50)]
    assert (found.written, found.writes) == (152, 300)


def test_what_lies_among_written_blocks_is_counted_and_what_lies_alone_is_not() -> None:
    """One page in the second region, two in the last, which ends with the drive."""
    firsts = np.array([REGION_BLOCKS, 3 * REGION_BLOCKS, 3 * REGION_BLOCKS + 10])
    counts = np.array([2, 2, 2])
    found = of_requests(3 * REGION_BLOCKS + 20, firsts, counts, stored(counts))
    assert found.beside == (REGION_BLOCKS - 2) + (20 - 4)


def test_stored_bytes_are_those_of_each_class() -> None:
    firsts, counts = np.array([10, 500, 500, 500, 500]), np.ones(5, np.int64)
    found = of_requests(DRIVE_BLOCKS, firsts, counts, np.array([4096, 100, 200, 300, 400], np.uint16))
    cold, hot = found.classes
    assert set(cold.stored_bytes) == {4096}
    assert (hot.stored_bytes[0], hot.stored_bytes[-1]) == (100, 400)


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
    assert (found.drive_blocks, found.written, found.writes) == (DRIVE_BLOCKS, 6, 6)
    (only,) = found.classes
    assert (only.stored_bytes[0], only.stored_bytes[-1]) == (0, 3000)


def test_nothing_written_is_no_signature() -> None:
    none = np.zeros(0, np.int64)
    with pytest.raises(ValueError, match="nothing was written"):
        of_requests(DRIVE_BLOCKS, none, none, none)


def test_a_record_keeps_it_as_text() -> None:
    firsts, counts = np.array([10, 500, 500]), np.array([1, 2, 2])
    found = of_requests(DRIVE_BLOCKS, firsts, counts, stored(counts, 77))
    assert WriteSignature.from_text(found.to_text()) == found
    for text in ("", "{}", '{"drive_blocks": 1, "beside": 0, "classes": [1]}'):
        with pytest.raises(ValueError, match=r"no write signature|Expecting"):
            WriteSignature.from_text(text)
