"""What an emulated drive is by its own answer, beside what was asked of it: a difference spoils a trial by name.

Over-provisioning is rounded to whole superblocks by the drive, and a store to whole segments, so that much may differ.
What is not told counts as unknown, not as different.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pgassay._core import DriveDescription
from pgassay.bench.store import Trait

FRESH = "fresh"
_PAGE_BYTES = 4096


@dataclass(frozen=True)
class Worn:
    """How a drive was aged: how many drive writes it took, what came of the last one, whether it had settled."""

    drive_writes: float
    settled: bool
    write_amplification: float | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Worn":
        """From a daemon's answer to `age`."""
        amplification = told.get("write_amplification")
        settled = bool(told.get("settled"))
        writes = float(told.get("drive_writes") or 0)
        return cls(writes, settled, None if amplification is None else float(amplification))

    @property
    def words(self) -> str:
        """For the record."""
        return "aged" if self.settled else "aged, not settled"

    @property
    def sentence(self) -> str:
        """The same with what came of it."""
        told = self.write_amplification if self.settled else None
        return self.words if told is None else f"{self.words} to a write amplification of {told:.2f}"


def traits(asked: DriveDescription, stats: Mapping[str, Any], worn: Worn | None) -> dict[str, Trait]:
    """Name to what was found and asked."""
    found = {
        "model": _same(stats.get("kind"), asked.kind),
        "codec": _same(stats.get("codec"), asked.codec),
        "policy": _same(stats.get("policy"), asked.policy),
        "store": _same(stats.get("store"), asked.store),
        "capacity_bytes": _same(stats.get("capacity_bytes"), asked.capacity_bytes),
        "over_provisioning": _spare(stats, asked),
        "superblock_bytes": _superblock(stats, asked),
        "start": Trait(FRESH if worn is None else worn.words),
    }
    if worn is not None:
        found["aged_drive_writes"] = Trait(worn.drive_writes)
        found["settled_write_amplification"] = Trait(worn.write_amplification if worn.settled else None)
    return found


def rounding(stats: Mapping[str, Any]) -> float:
    """What half a superblock more or less makes of over-provisioning, and a digit for what is printed."""
    superblock, user = stats.get("superblock_bytes"), stats.get("user_bytes")
    return 0.5 * superblock / user + 1e-6 if superblock and user else 1e-6


def _spare(stats: Mapping[str, Any], asked: DriveDescription) -> Trait:
    found, wanted = stats.get("over_provisioning"), asked.over_provisioning
    holds = found is None or abs(float(found) - wanted) <= rounding(stats)
    return Trait(found, wanted, holds)


def _superblock(stats: Mapping[str, Any], asked: DriveDescription) -> Trait:
    pages = asked.pages_per_block
    wanted = None if pages is None else pages * _PAGE_BYTES
    return _same(stats.get("superblock_bytes"), wanted)


def _same(found: Any, asked: Any) -> Trait:
    if isinstance(found, str):
        found = found.replace("_", "-")
    if isinstance(asked, str):
        asked = asked.replace("_", "-")
    return Trait(found, asked, found is None or asked is None or found == asked)
