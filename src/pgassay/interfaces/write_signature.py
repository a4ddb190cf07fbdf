"""The write signature of a load: where its requests fall on a drive, which continue one another, how they compress.

It is a recorded trace without its times, flushes and trims, sorted by *runs*: requests that continue one another, as
WAL does, or a checkpoint that writes a table from end to end. Nothing is summed up any further. Classes of blocks by
heat, with all runs as one ring, were tried and were wrong by up to 45 % on nearly full drives: how soon a block dies
goes by the run that writes it (the tail of WAL is written again at once, and its ring comes round late), and what
collection has to move goes by how many blocks that are never written lie in the same megabyte.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgassay._core import FlashTrace

SIGNATURE = "write_signature"
"""By this name a drive says it, behind the source: `drive.write_signature`."""
SUFFIX = ".json"
"""Behind that name, the file of a trial's directory that keeps it; the record itself says what that hashes to."""
NEAR = 256
"""Requests after which a run that was not continued has ended, as where emulated drives are aged."""
TAIL_SHARE, RING_BLOCKS_MIN = 0.2, 64
"""WAL: at least this share of a run's requests write the end of the one before again, over at least so many blocks.

A commit writes the last page of WAL, which the next commit writes once more; no checkpoint does that to a table.
"""
REQUESTS_MAX = 1 << 18
"""Of a longer recording the latest are kept: half a megabyte as text, compressed."""
_WRITE, _ZEROES = "write", "write-zeroes"
_FIELDS = (("firsts", "<u4"), ("counts", "<u4"), ("stored_bytes", "<u2"), ("runs", "<u4"))


@dataclass(frozen=True, eq=False)
class WriteSignature:
    """Requests on a drive of so many blocks of 4 KiB, run by run, in each run in their order.

    `firsts` and `counts` are in blocks; `stored_bytes` is the mean over a request's blocks of what one was stored in.
    `runs` are the numbers of requests of the runs, one after the other.
    """

    drive_blocks: int
    firsts: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    stored_bytes: NDArray[np.uint16]
    runs: NDArray[np.uint32]

    @property
    def writes(self) -> int:
        return int(self.counts.sum())

    @property
    def blocks(self) -> NDArray[np.int64]:
        """The block of each write, request by request."""
        ends = np.cumsum(self.counts, dtype=np.int64)
        return np.repeat(self.firsts + self.counts - ends, self.counts) + np.arange(self.writes)

    @property
    def wal(self) -> NDArray[np.bool_]:
        starts = np.cumsum(self.runs, dtype=np.int64) - self.runs
        firsts, ends = self.firsts.astype(np.int64), self.firsts.astype(np.int64) + self.counts
        again = np.zeros(len(firsts), bool)
        again[1:] = (firsts[1:] >= firsts[:-1]) & (firsts[1:] < ends[:-1]) & (ends[1:] >= ends[:-1])
        again[starts] = False
        reach = np.maximum.reduceat(ends, starts) - np.minimum.reduceat(firsts, starts)
        return (np.add.reduceat(again, starts, dtype=np.int64) >= TAIL_SHARE * self.runs) & (reach >= RING_BLOCKS_MIN)

    @property
    def wal_blocks(self) -> int:
        return len(self._places(np.repeat(self.wal, self.runs)))

    def _places(self, requests: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The blocks that these requests write, each once, in the order of addresses."""
        return np.unique(self.blocks[np.repeat(requests, self.counts)])

    def with_wal_blocks(self, blocks: float) -> "WriteSignature":
        """The same with so many blocks of WAL, which are written as often in all; never more than were recorded.

        Each request keeps its length and its contents, and its place is taken round the smaller ring: what a run begins
        with is not what it goes on with, since PostgreSQL fills a new segment with zeros before it writes to it.
        """
        of_wal = np.repeat(self.wal, self.runs)
        there = self._places(of_wal)
        if blocks >= len(there):
            return self
        ring = there[: max(1, round(blocks))]
        ends = np.append(np.flatnonzero(np.diff(ring) != 1), len(ring) - 1)  # of its pieces that are one behind another
        lengths = np.diff(ends, prepend=-1)
        place = np.searchsorted(there, self.firsts[of_wal]) % len(ring)
        piece = np.searchsorted(ends, place)
        counts = np.minimum(self.counts[of_wal], lengths[piece])
        firsts, all_counts = self.firsts.copy(), self.counts.copy()
        firsts[of_wal] = ring[np.minimum(place, ends[piece] + 1 - counts)]
        all_counts[of_wal] = counts
        return replace(self, firsts=firsts, counts=all_counts)

    def to_text(self) -> str:
        """One line of JSON, as a trial's record keeps it: numbers as differences, compressed, in base 64."""
        packed = b"".join(
            np.diff(getattr(self, name).astype(kind), prepend=np.zeros(1, kind)).astype(kind).tobytes()
            for name, kind in _FIELDS
        )
        plain = {
            "drive_blocks": self.drive_blocks,
            "requests": len(self.firsts),
            "runs": len(self.runs),
            "packed": base64.b64encode(zlib.compress(packed, 9)).decode("ascii"),
        }
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> "WriteSignature":
        """What `to_text` made; raises `ValueError` for any other text."""
        try:
            plain: dict[str, Any] = json.loads(text)
            packed = zlib.decompress(base64.b64decode(plain["packed"]))
            found: dict[str, NDArray[Any]] = {}
            place = 0
            for name, kind in _FIELDS:
                length = int(plain["runs" if name == "runs" else "requests"])
                deltas = np.frombuffer(packed, kind, length, place)
                found[name] = np.cumsum(deltas, dtype=kind)
                place += deltas.nbytes
            signature = cls(int(plain["drive_blocks"]), **found)
        except (KeyError, TypeError, zlib.error) as error:
            raise ValueError(f"no write signature: {error}") from None
        if int(signature.runs.sum()) != len(signature.firsts):
            raise ValueError("no write signature: its runs are not its requests")
        return signature


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
    means = np.add.reduceat(stored_bytes.astype(np.int64), starts) / counts
    firsts, counts, means = (each[-REQUESTS_MAX:] for each in (firsts, counts, means))
    runs = _runs(firsts.tolist(), counts.tolist())
    order = np.argsort(runs, kind="stable")
    return WriteSignature(
        drive_blocks,
        firsts[order].astype(np.uint32),
        counts[order].astype(np.uint32),
        means[order].round().astype(np.uint16),
        np.unique(runs, return_counts=True)[1].astype(np.uint32),
    )


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
