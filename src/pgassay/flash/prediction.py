"""What a recorded load becomes on a larger drive, or on one with other spare flash: its write signature, simulated.

Write amplification does not depend on how many blocks there are once superblocks are many and large
(docs/drives.md). So `times` more data on a drive are what the recorded data are on a drive `times` smaller, and a
drive of terabytes is simulated by one that holds the recorded load, or several of it side by side. Requests are drawn
independently, those of a run in order, as where an emulated drive is aged by the same recording
(docs/drives.md), and what is live lies in the order of its addresses at first. What the recording did not see
written stays cold.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgassay import _core
from pgassay.errors import UsageError
from pgassay.flash.simulation import MEMORY_SHARE_MAX, Estimate, difference, estimate, too_large
from pgassay.interfaces.places import available_memory_bytes
from pgassay.interfaces.write_signature import WriteSignature
from pgassay.study.units import format_at_most, format_size

SIMULATED_BYTES = 1 << 30
SIMULATED_MOST_BYTES = 64 << 30
"""Of a drive that was not recorded: about an hour, and a gigabyte of memory where it is a normal one."""
TOLERANCE, ACCURACY = 0.01, 0.01
LIMIT = 100.0
"""Drive writes after which ageing gives up, and after that measuring."""
_WINDOW = 0.1
_NEXT_LOOK = 1.2
_COLDEST = 0.1
_BLOCK_BYTES = 4096
_LAYOUT_BYTES = 44
"""For each block of the drive, in addition to the model's tables, while its load is laid out; measured."""
_SHARE_MIN = 0.01
_SUPERBLOCKS, _PAGES_MIN = 1024, 16
_BLOCKS_MIN = _SUPERBLOCKS * _PAGES_MIN
LEAST_SUPERBLOCK_BYTES = _PAGES_MIN * _BLOCK_BYTES
LEAST_SUPERBLOCKS = 64
"""Of a drive: with fewer, collection has no choice, and the model none of a drive's many."""
_REGION_BLOCKS = 256
"""What lies within 1 MB of a written block is live before what lies further off."""
_BATCH = 8192
_DAYS = 365.25
COMPRESSING = "compressing"


@dataclass(frozen=True)
class Target:
    """A drive, and how full it is.

    `kind` is the model's: `page-mapped` or `compressing`. `live_bytes` is all that the host has stored, cold data
    included; `times` is how many times more blocks the load writes than in the recording. `cold_share` is what
    compression leaves of a cold block.
    """

    kind: str
    capacity_bytes: int
    over_provisioning: float
    live_bytes: float
    times: float
    cold_share: float = 1.0
    pages_per_block: int | None = None
    """Of a superblock of the target; None: a thousandth of the drive.

    Blocks that a load writes side by side stay side by side on a larger drive, and its superblocks hold more or fewer
    of them: what collection moves goes by that.
    """
    rated_cycles: int = 3000
    wal_bytes: float | None = None
    """What WAL takes there; None: as much of the drive as in the recording.

    WAL cannot shrink below two segments, so in a small model its ring is too long and its blocks die too late. A ring
    that is shorter there is written as often; one that is longer is left as it was recorded.
    """

    @property
    def superblock_bytes(self) -> int | None:
        """Of the target; None where nothing was said of it."""
        return None if self.pages_per_block is None else self.pages_per_block * _BLOCK_BYTES


@dataclass(frozen=True)
class Prediction:
    """Simulated: write amplification (None where the drive ran out of space), its 95 % interval, the drive's life.

    The interval is None where too few turns of the flash were measured to know it.
    """

    target: Target
    write_amplification: float | None
    interval: tuple[float, float] | None
    settled: bool

    @property
    def endurance_bytes(self) -> float | None:
        """What the host may write before the rated erases are used up."""
        if not self.write_amplification:
            return None
        flash = self.target.capacity_bytes * (1 + self.target.over_provisioning)
        return flash * self.target.rated_cycles / self.write_amplification

    def years(self, bytes_per_day: float) -> float | None:
        """The drive's life at so many host bytes a day."""
        return None if self.endurance_bytes is None else self.endurance_bytes / bytes_per_day / _DAYS


def predict(
    signature: WriteSignature, target: Target, simulated_bytes: int = SIMULATED_BYTES, seed: int = 1
) -> Prediction:
    """Simulate the load on a drive like the target, on one of about `simulated_bytes` where the target is larger.

    A drive that holds the recorded load once is the least that is simulated.

    Takes seconds to a minute for a gigabyte. Raises `UsageError` for what `loads_side_by_side` refuses.
    """
    load = _Load(signature, target, loads_side_by_side(signature, target, simulated_bytes), seed)
    drive = _core.FlashDrive(_described(target, load.drive_blocks))
    try:
        settled, found = _run(drive, load)
    except _core.FlashOutOfSpaceError:
        return Prediction(target, None, None, settled=False)
    known = found.independent or found.low < found.high
    return Prediction(target, found.mean, (found.low, found.high) if known else None, settled)


def loads_side_by_side(signature: WriteSignature, target: Target, simulated_bytes: int) -> int:
    """How many times the recorded load lies on the drive that is simulated.

    Takes no memory. Raises `UsageError` where the data do not fit the target, or where more than
    `SIMULATED_MOST_BYTES`, the recorded drive, or what memory is available holds would have to be simulated.
    """
    if target.live_bytes > target.capacity_bytes:
        there, wanted_bytes = format_size(target.capacity_bytes), format_size(int(target.live_bytes))
        raise UsageError(
            f"the data need {wanted_bytes}, the drive has {there}", "give a larger --capacity, or fewer --data"
        )
    one = target.capacity_bytes / target.times / _BLOCK_BYTES
    wanted = min(target.capacity_bytes, simulated_bytes) / _BLOCK_BYTES
    least = math.ceil(max(1.0, _BLOCKS_MIN / one)) if target.times > 1 else 1
    times = max(least, round(wanted / one))
    blocks, most = round(one * times), max(SIMULATED_MOST_BYTES // _BLOCK_BYTES, signature.drive_blocks)
    hint = "give a smaller --simulated"
    if least >= times or round(one * least) > most:  # that option does not help
        hint = (
            "at least as much of the drive is simulated as falls to the data of the run: give a smaller --capacity,"
            " more --data, or a run with less data"
        )
    if blocks > most:
        size, limit = format_size(blocks * _BLOCK_BYTES), format_at_most(most * _BLOCK_BYTES)
        raise UsageError(f"{size} of the drive would have to be simulated, at most {limit} can be", hint)
    share = max(_SHARE_MIN, min(target.cold_share, float(signature.stored_bytes.mean()) / _BLOCK_BYTES))
    drive = _core.DriveDescription({"drive": _described(target, blocks)})
    tables, _ = drive.table_bytes_per_block(blocks * _BLOCK_BYTES, share)
    needed = round(blocks * tables + max(blocks, signature.drive_blocks) * _LAYOUT_BYTES)
    available = int(available_memory_bytes() * MEMORY_SHARE_MAX)
    if needed > available:
        raise too_large(needed, available, hint)
    return times


def _described(target: Target, blocks: int) -> "_core.FlashDriveDescription":
    """The drive of so many blocks that is simulated."""
    return {
        "kind": "compressing" if target.kind == COMPRESSING else "page-mapped",
        "user_bytes": blocks * _BLOCK_BYTES,
        "over_provisioning": target.over_provisioning,
        "pages_per_block": _pages(blocks, target),
    }


def _pages(blocks: int, target: Target) -> int:
    """Pages of a superblock: as large a part of the simulated drive as of the target's, else a thousandth of it.

    A power of two, except where the target is simulated as it is.
    """
    if target.pages_per_block is None:
        return max(_PAGES_MIN, 1 << max(0, blocks // _SUPERBLOCKS - 1).bit_length())
    wanted = target.pages_per_block * blocks * _BLOCK_BYTES / target.capacity_bytes
    if blocks == target.capacity_bytes // _BLOCK_BYTES:
        return target.pages_per_block
    return max(_PAGES_MIN, 1 << round(math.log2(max(1.0, wanted))))


class _Load:
    """The recorded load, so many times side by side, on the blocks of a simulated drive of `drive_blocks`."""

    def __init__(self, signature: WriteSignature, target: Target, tiles: int, seed: int) -> None:
        if target.wal_bytes is not None:
            signature = signature.with_wal_blocks(target.wal_bytes / target.times / _BLOCK_BYTES)
        one = target.capacity_bytes / target.times / _BLOCK_BYTES
        self._tiles = tiles
        self.drive_blocks = round(one * self._tiles)
        self._live = int(one * target.live_bytes / target.capacity_bytes)
        self._random = np.random.default_rng(seed)
        self._requests = signature
        self._sizes_cold = round(target.cold_share * _BLOCK_BYTES)
        self._written, writes = np.unique(signature.blocks, return_counts=True)
        if len(self._written) > self._live:
            raise UsageError("the recorded load writes more blocks than are live", "give a larger --live-share")
        # Which block of the recorded drive lies where: what is live, without the gaps, in the order of addresses.
        last = max(signature.drive_blocks, int(self._written[-1]) + 1, self._live)
        others = np.setdiff1d(np.arange(last), self._written, assume_unique=True)
        near = np.isin(others // _REGION_BLOCKS, np.unique(self._written // _REGION_BLOCKS))
        cold = np.concatenate([others[near], others[~near]])[: self._live - len(self._written)]
        live = np.sort(np.concatenate([self._written, cold]))
        self._place = np.zeros(last, np.int64)
        self._place[live] = np.arange(len(live))
        self._run = np.repeat(np.arange(len(signature.runs)), signature.runs)
        self._from = np.cumsum(signature.runs, dtype=np.int64) - signature.runs
        self._turns = np.zeros(self._tiles * len(signature.runs), np.int64)
        coldest = np.sort(writes)[: math.ceil(_COLDEST * len(writes))]
        # Block writes in which the coldest tenth of what is written is written once over.
        self.coldest_turn = self._tiles * len(coldest) / float(coldest.sum()) * signature.writes

    def fill(self) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Everything that is live, once and in order."""
        sizes = np.full(self._live, self._sizes_cold, np.uint16)
        sizes[self._place[self._requests.blocks]] = np.repeat(self._requests.stored_bytes, self._requests.counts)
        return np.arange(self._live * self._tiles, dtype=np.uint32), np.tile(sizes, self._tiles)

    def draw(self, writes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """The next requests of about so many blocks: blocks and stored bytes."""
        asked = self._requests
        number = max(1, round(writes * len(asked.firsts) / asked.writes))
        tile = self._random.integers(0, self._tiles, number)
        run = self._run[self._random.integers(0, len(asked.firsts), number)]
        drawn = self._next(tile * len(asked.runs) + run, run)
        counts = asked.counts[drawn].astype(np.int64)
        ends = np.cumsum(counts)
        inside = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        places = self._place[np.repeat(asked.firsts[drawn].astype(np.int64), counts) + inside]
        blocks = places + np.repeat(tile, counts) * self._live
        return blocks.astype(np.uint32), np.repeat(asked.stored_bytes[drawn], counts)

    def _next(self, turning: NDArray[np.int64], run: NDArray[np.int64]) -> NDArray[np.int64]:
        """The request whose turn it is in each of these runs, which may come several times."""
        order = np.argsort(turning, kind="stable")
        which, starts, times = np.unique(turning[order], return_index=True, return_counts=True)
        earlier = np.empty(len(turning), np.int64)
        earlier[order] = np.arange(len(turning)) - np.repeat(starts, times)
        found = self._from[run] + (self._turns[turning] + earlier) % self._requests.runs[run]
        self._turns[which] += times
        return found


def _run(drive: _core.FlashDrive, load: _Load) -> tuple[bool, Estimate]:
    """Fill, write until write amplification has settled, then until its mean is known; at most to the limit.

    Without an interval at the limit, its ends are the mean and depend on each other.
    """
    drive.write(*load.fill())
    per_window = max(1, round(_WINDOW * drive.logical_blocks))
    stretch = max(1.0, load.coldest_turn / drive.logical_blocks) / _WINDOW
    ageing: list[float] = []
    settled = False
    due = 1
    while not settled and len(ageing) * _WINDOW < LIMIT:
        ageing.append(_written(drive, load, per_window))
        if len(ageing) >= due:
            settled = _core.flash_is_steady(np.array(ageing), _wave(drive, ageing, per_window), stretch, TOLERANCE)
            due = math.ceil(_NEXT_LOOK * len(ageing))
    measured: list[float] = []
    known: Estimate | None = None
    while known is None or not known.reaches(ACCURACY):
        measured.append(_written(drive, load, per_window))
        if len(measured) * _WINDOW >= LIMIT:
            mean = float(np.mean(measured))
            return settled, known or Estimate(mean, mean, mean, independent=False)
        known = estimate(np.array(measured), _wave(drive, measured, per_window))
    return settled, known


def _written(drive: _core.FlashDrive, load: _Load, writes: int) -> float:
    """Write amplification of so many writes."""
    before = drive.counters()
    for begin in range(0, writes, _BATCH):
        drive.write(*load.draw(min(_BATCH, writes - begin)))
    counted = difference(drive.counters(), before)
    return counted["nand_bytes_written"] / counted["host_bytes_written"]


def _wave(drive: _core.FlashDrive, amplifications: list[float], per_window: int) -> float:
    """Windows that a turn of the flash takes."""
    programmed = float(np.mean(amplifications)) * per_window * _BLOCK_BYTES
    return drive.usable_bytes / programmed if programmed else math.inf
