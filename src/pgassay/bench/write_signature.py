"""The write signature of a load: how its writes spread over a drive's blocks, and what the blocks compress to.

It is made of a recorded trace. Requests that continue one another over many blocks are a ring, written round and round
(WAL, a table that grows). All others are classes of blocks of about equal heat, by how often each was written. The
independent reference model of the theory needs no more (Desnoyers, ACM TOS 10(2), 2014), but for one thing: blocks that
lie among these and were not written. They fill superblocks together with hot ones, so collection moves them again and
again; cold data that lie alone it never touches.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgassay._core import FlashTrace

SIGNATURE = "write_signature"
"""By this name a drive says it, behind the source: `drive.write_signature`."""
NEAR = 256
"""Requests after which a run that was not continued has ended, as where emulated drives are aged."""
RING_BLOCKS_MIN = 64
"""A shorter run (256 kB) is a large write that was cut up."""
REGION_BLOCKS = 256
"""What is filled together: blocks within 1 MB of each other share a superblock."""
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
_WRITE, _ZEROES = "write", "write-zeroes"


@dataclass(frozen=True)
class HeatClass:
    """Blocks of 4 KiB that are written alike: their number, how many writes they had, what a block was stored in.

    `stored_bytes` are the quantiles 0, 25, 50, 75 and 100 % over the writes. A `ring` is written in order.
    """

    blocks: int
    writes: int
    stored_bytes: tuple[int, ...]
    ring: bool = False


@dataclass(frozen=True)
class WriteSignature:
    """The classes of a load on a drive of so many blocks; what is in none of them was not written.

    `beside` of those lie among blocks that were.
    """

    drive_blocks: int
    beside: int
    classes: tuple[HeatClass, ...]

    @property
    def written(self) -> int:
        """Blocks that were written at least once."""
        return sum(each.blocks for each in self.classes)

    @property
    def writes(self) -> int:
        """Block writes in all."""
        return sum(each.writes for each in self.classes)

    def to_text(self) -> str:
        """One line of JSON, as a trial's record keeps it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> "WriteSignature":
        """What `to_text` made; raises `ValueError` for any other text."""
        try:
            plain: dict[str, Any] = json.loads(text)
            classes = tuple(
                HeatClass(each["blocks"], each["writes"], tuple(each["stored_bytes"]), each["ring"])
                for each in plain["classes"]
            )
            return cls(int(plain["drive_blocks"]), int(plain["beside"]), classes)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no write signature: {error}") from None


def of_trace(path: Path) -> WriteSignature:
    """The signature of a recorded trace; takes seconds for a million blocks. Raises `ValueError` for a damaged one."""
    trace = FlashTrace(path)
    arrays = trace.arrays()
    write, zeroes = (FlashTrace.OPERATIONS.index(name) for name in (_WRITE, _ZEROES))
    operation, blocks = arrays["operation"], arrays["blocks"].astype(np.int64)
    kept = (operation == write) | (operation == zeroes)
    stored = np.zeros(int(blocks[kept].sum()), np.uint16)  # zeros that were asked for take nothing
    stored[np.repeat(operation[kept] == write, blocks[kept])] = arrays["compressed_bytes"]
    return of_requests(trace.drive_blocks, arrays["first_block"][kept], blocks[kept], stored)


def of_requests(
    drive_blocks: int, firsts: NDArray[Any], counts: NDArray[Any], stored_bytes: NDArray[Any]
) -> WriteSignature:
    """Of writes in their order: first blocks and numbers of blocks, and the stored bytes of each block in turn.

    Raises `ValueError` for a recording without writes.
    """
    if not len(firsts):
        raise ValueError("nothing was written")
    starts = np.cumsum(counts) - counts
    written = np.repeat(firsts.astype(np.int64) - starts, counts) + np.arange(int(counts.sum()))
    runs = np.repeat(_runs(firsts.tolist(), counts.tolist()), counts)
    names, lengths = np.unique(np.unique(np.stack([runs, written]), axis=1)[0], return_counts=True)
    in_ring = np.isin(runs, names[lengths >= RING_BLOCKS_MIN])
    classes = []
    ring_blocks = np.unique(written[in_ring])
    if len(ring_blocks):
        classes.append(_class(len(ring_blocks), stored_bytes[in_ring], ring=True))
    blocks, place, times = np.unique(written[~in_ring], return_inverse=True, return_counts=True)
    octave = np.ceil(np.log2(times))
    for heat in np.unique(octave):
        mine = octave == heat
        classes.append(_class(int(mine.sum()), stored_bytes[~in_ring][mine[place]]))
    regions = np.unique(blocks // REGION_BLOCKS)
    inside = np.unique(np.concatenate([blocks, ring_blocks]))
    among = int(np.isin(inside // REGION_BLOCKS, regions).sum())
    room = int(np.minimum((regions + 1) * REGION_BLOCKS, drive_blocks).sum() - (regions * REGION_BLOCKS).sum())
    return WriteSignature(drive_blocks, room - among, tuple(classes))


def _class(blocks: int, stored: NDArray[Any], *, ring: bool = False) -> HeatClass:
    sizes = tuple(int(each) for each in np.quantile(stored, QUANTILES, method="nearest"))
    return HeatClass(blocks, len(stored), sizes, ring)


def _runs(firsts: Sequence[int], counts: Sequence[int]) -> NDArray[np.int64]:
    """The run of each request: it continues one of the latest that it starts in or right after, or begins where one
    began."""
    touched: dict[int, int] = {}
    heads: dict[int, int] = {}
    runs: list[int] = []
    continued: set[int] = set()
    for number, (first, count) in enumerate(zip(firsts, counts, strict=True)):
        before = touched.get(first, -NEAR - 1)
        if number - before <= NEAR and before not in continued:
            continued.add(before)
            run = runs[before]
        else:
            run = heads.setdefault(first, number)
        runs.append(run)
        for block in range(first, first + count + 1):
            touched[block] = number
    return np.array(runs, np.int64)
