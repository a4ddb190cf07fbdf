"""From block events to a write trace in the flash model's format, with what each block compresses to.

Events tell where and when, not what. So after the recording the blocks that were written are read from the device and
compressed: all of them, or a sample from which the others draw. A block that was written several times counts each
time as it was left in the end; that is what recording a device can know (an emulated drive records each write itself).
"""

import mmap
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pgassay._core import FlashTrace, stored_bytes, write_flash_trace
from pgassay.drive import messages

BLOCK_BYTES = 4096
_SECTOR_BYTES = 512
SAMPLE_BLOCKS = 1 << 18
"""Read at most: 1 GiB."""
_READ_BLOCKS = 256
_LINE = re.compile(r"\s(\d+)\.(\d{6}): block_rq_issue: \d+,\d+ (\w+) \d+ \(.*?\) (\d+) \+ (\d+) ")
_OPERATIONS = {"W": "write", "D": "trim", "N": "write-zeroes", "R": "read"}
"""By the letter of `rwbs` (blktrace(8)): N is any other operation with a length, which a disk gets as write-zeroes."""
_FLUSH = "F"


@dataclass(frozen=True)
class Request:
    """What a device was sent: microseconds of any clock, an operation of the trace format, blocks of 4 KiB."""

    time_us: int
    operation: str
    first_block: int
    blocks: int


def requests(lines: Iterable[str]) -> Iterator[Request]:
    """Events to requests; lines of another kind (comments, lost events) are passed over."""
    for line in lines:
        found = _LINE.search(line)
        if found is None:
            continue
        time_us = int(found[1]) * 1_000_000 + int(found[2])
        letters, sector, sectors = found[3], int(found[4]), int(found[5])
        if letters.startswith(_FLUSH):
            yield Request(time_us, "flush", 0, 0)
            letters = letters[1:]
        operation = _OPERATIONS.get(letters[:1])
        if operation is None or sectors == 0:
            continue
        start, end = sector * _SECTOR_BYTES, (sector + sectors) * _SECTOR_BYTES
        first = start // BLOCK_BYTES
        yield Request(time_us, operation, first, -(-end // BLOCK_BYTES) - first)


def write(
    path: Path, found: list[Request], device: Path, codec: str, *, sample_blocks: int = SAMPLE_BLOCKS, seed: int = 1
) -> int:
    """Write the trace of these requests; returns the blocks written. Raises `UsageError` where there is nothing."""
    operations = list(FlashTrace.OPERATIONS)
    kept = [each for each in found if each.operation in operations]
    writes = [each for each in kept if each.operation == "write"]
    if not writes:
        raise messages.nothing_recorded(device)
    touched = np.concatenate([np.arange(each.first_block, each.first_block + each.blocks) for each in writes])
    blocks, places = np.unique(touched, return_inverse=True)
    sizes = sizes_of(device, blocks, codec, sample_blocks, seed)
    name, _, level = codec.partition("-")
    started_us = kept[0].time_us
    write_flash_trace(
        path,
        drive_blocks=_size_bytes(device) // BLOCK_BYTES,
        time_ns=np.maximum.accumulate(np.array([(each.time_us - started_us) * 1000 for each in kept], np.int64)).astype(
            np.uint64
        ),
        operation=np.array([operations.index(each.operation) for each in kept], np.uint8),
        first_block=np.array([each.first_block for each in kept], np.uint32),
        blocks=np.array([each.blocks for each in kept], np.uint32),
        compressed_bytes=sizes[places],
        codec=name,
        codec_level=int(level or 0),
    )
    return len(touched)


def sizes_of(device: Path, blocks: NDArray[np.int64], codec: str, sample_blocks: int, seed: int) -> NDArray[np.uint16]:
    """What each of these blocks (ascending) compresses to; beyond the sample, as a block of the sample does."""
    random = np.random.default_rng(seed)
    chosen = np.arange(len(blocks))
    if len(blocks) > sample_blocks:
        chosen = np.sort(random.choice(len(blocks), sample_blocks, replace=False))
    sampled = np.concatenate([stored_bytes(data, codec) for data in _contents(device, blocks[chosen])])
    if len(chosen) == len(blocks):
        return sampled
    sizes = random.choice(sampled, len(blocks))
    sizes[chosen] = sampled
    return sizes


def _contents(device: Path, blocks: NDArray[np.int64]) -> Iterator[bytes]:
    """As they lie on the device, past its page cache, which knows nothing of what a file system has written."""
    descriptor = os.open(device, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    buffer = mmap.mmap(-1, _READ_BLOCKS * BLOCK_BYTES)  # page-aligned, as O_DIRECT wants it
    view = memoryview(buffer)
    try:
        ends = np.flatnonzero(np.diff(blocks) != 1) + 1
        for run in np.split(blocks, ends):
            for start in range(0, len(run), _READ_BLOCKS):
                length = len(run[start : start + _READ_BLOCKS]) * BLOCK_BYTES
                got = os.preadv(descriptor, [view[:length]], int(run[start]) * BLOCK_BYTES)
                yield bytes(view[:got]) + bytes(length - got)
    finally:
        view.release()
        buffer.close()
        os.close(descriptor)


def _size_bytes(device: Path) -> int:
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)
