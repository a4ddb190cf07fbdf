"""What a recorded load becomes on a larger drive, or on one with other spare flash: its write signature, simulated.

The classes of the signature get more blocks and keep their shares of the writes; blocks that were not written but lie
among them stay among them, and the rest of what is live is cold. Writes are drawn independently, a ring's in order, as
where an emulated drive is aged by the same recording (docs/emulated-drive.md). What the recording did not see written
stays cold. Write amplification does not depend on how many blocks there are once superblocks are many and large
(docs/flash-model.md), so a drive of terabytes is simulated by a smaller one with the same shares.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgassay import _core
from pgassay.bench.write_signature import QUANTILES, HeatClass, WriteSignature
from pgassay.flash import messages
from pgassay.flash.simulation import difference
from pgassay.flash.steady_state import Estimate, estimate

SIMULATED_BYTES = 1 << 30
TOLERANCE, ACCURACY = 0.01, 0.01
LIMIT = 100.0
"""Drive writes after which ageing gives up, and after that measuring."""
_WINDOW = 0.1
_NEXT_LOOK = 1.2
_COLDEST = 0.1
_BLOCK_BYTES = 4096
_SUPERBLOCKS, _PAGES_MIN = 1024, 16
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
    """Of a superblock, where the drive is simulated whole; None: a thousandth of what is simulated."""
    rated_cycles: int = 3000


@dataclass(frozen=True)
class Prediction:
    """Simulated: write amplification (None where the drive ran out of space), its 95 % interval, the drive's life."""

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
    """Simulate the load on a drive like the target, on one of `simulated_bytes` where the target is larger.

    Takes seconds to a minute for a gigabyte. Raises `UsageError` where the data do not fit the drive.
    """
    if target.live_bytes > target.capacity_bytes:
        raise messages.data_beyond_drive(target.live_bytes, target.capacity_bytes)
    blocks = min(target.capacity_bytes, simulated_bytes) // _BLOCK_BYTES
    load = _Load(signature, target, blocks, seed)
    drive = _core.FlashDrive(
        {
            "kind": "compressing" if target.kind == COMPRESSING else "page-mapped",
            "user_bytes": blocks * _BLOCK_BYTES,
            "over_provisioning": target.over_provisioning,
            "pages_per_block": target.pages_per_block or _pages(blocks),
        }
    )
    try:
        settled, found = _run(drive, load)
    except _core.FlashOutOfSpaceError:
        return Prediction(target, None, None, settled=False)
    return Prediction(target, found.mean, (found.low, found.high), settled)


def _pages(blocks: int) -> int:
    """Pages of a superblock that leave about a thousand of them, a power of two."""
    return max(_PAGES_MIN, 1 << max(0, blocks // _SUPERBLOCKS - 1).bit_length())


class _Load:
    """The blocks of a simulated drive: rings first, then everything that was written at random with what lies beside
    it, shuffled; cold data last."""

    def __init__(self, signature: WriteSignature, target: Target, blocks: int, seed: int) -> None:
        times = target.times * blocks * _BLOCK_BYTES / target.capacity_bytes
        self.live = min(blocks, round(blocks * target.live_bytes / target.capacity_bytes))
        self._random = np.random.default_rng(seed)
        self._classes = signature.classes
        counts = [max(1, round(each.blocks * times)) for each in self._classes]
        rings = sum(count for count, each in zip(counts, self._classes, strict=True) if each.ring)
        scattered = sum(counts) - rings
        if rings + scattered > self.live:
            raise messages.writes_beyond_data()
        among = min(self.live - rings, scattered + round(signature.beside * times))
        shuffled = rings + self._random.permutation(among)
        self._blocks: list[NDArray[np.int64]] = []
        ring_from = place = 0
        for count, each in zip(counts, self._classes, strict=True):
            if each.ring:
                self._blocks.append(np.arange(ring_from, ring_from + count))
                ring_from += count
            else:
                self._blocks.append(shuffled[place : place + count])
                place += count
        self._turns = [0] * len(counts)
        self._shares = np.cumsum([each.writes for each in self._classes]) / signature.writes
        self._cold_bytes = round(target.cold_share * _BLOCK_BYTES)

    @property
    def coldest_turn(self) -> float:
        """Block writes in which the coldest tenth of what is written at random is written once over."""
        random = sorted(
            (each.writes / each.blocks, number) for number, each in enumerate(self._classes) if not each.ring
        )
        left = cold = _COLDEST * sum(len(self._blocks[number]) for _, number in random)
        writes, total = 0.0, sum(each.writes for each in self._classes)
        for _, number in random:
            taken = min(left, float(len(self._blocks[number])))
            writes += taken / len(self._blocks[number]) * self._classes[number].writes / total
            left -= taken
        return cold / writes if writes else 0.0

    def fill(self) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Everything that is live, once and in order."""
        sizes = np.full(self.live, self._cold_bytes, np.uint16)
        for each, blocks in zip(self._classes, self._blocks, strict=True):
            sizes[blocks] = self._stored(each, len(blocks))
        return np.arange(self.live, dtype=np.uint32), sizes

    def draw(self, writes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """The next writes: blocks and stored bytes."""
        chosen = np.searchsorted(self._shares, self._random.random(writes), side="right")
        found, sizes = np.empty(writes, np.uint32), np.empty(writes, np.uint16)
        for number, (each, blocks) in enumerate(zip(self._classes, self._blocks, strict=True)):
            mine = np.flatnonzero(chosen == number)
            if each.ring:
                places = (self._turns[number] + np.arange(len(mine))) % len(blocks)
                self._turns[number] = (self._turns[number] + len(mine)) % len(blocks)
            else:
                places = self._random.integers(0, len(blocks), len(mine))
            found[mine], sizes[mine] = blocks[places], self._stored(each, len(mine))
        return found, sizes

    def _stored(self, each: HeatClass, count: int) -> NDArray[np.uint16]:
        return np.interp(self._random.random(count), QUANTILES, each.stored_bytes).astype(np.uint16)


def _run(drive: _core.FlashDrive, load: _Load) -> tuple[bool, Estimate]:
    """Fill, write until write amplification has settled, then until its mean is known; at most to the limit."""
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
