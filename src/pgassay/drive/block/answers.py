"""What an emulated drive's answers mean: neutral counters, traits against what was asked, how ageing ended, a cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pgassay._core import DriveDescription
from pgassay.bench.crash_states import CrashReport, PageInFlight
from pgassay.bench.drive_counters import UNITS, Counted
from pgassay.bench.store import Trait
from pgassay.bench.write_signature import SIGNATURE

_BLOCK_BYTES = 4096


def crash_report(answer: Mapping[str, Any]) -> CrashReport:
    """A daemon's answer to `cut`."""
    found = answer.get("page")
    page = None
    if isinstance(found, Mapping):
        page = PageInFlight(
            block=int(found["block"]),
            bytes=int(found["bytes"]),
            old_lsn=int(found["old_lsn"]),
            new_lsn=int(found["new_lsn"]),
            sectors=tuple(found["sectors"]),
            changed=tuple(found["changed"]),
        )
    numbers = ("number", "wall_ns", "flushes", "requests", "pieces", "lost_pieces", "torn_requests")
    return CrashReport(
        **{name: int(answer[name]) for name in numbers},
        took_ms=float(answer["took_ms"]),
        memory_bytes=int(answer.get("memory_bytes", 0)),
        page=page,
        strip=tuple((int(first), int(blocks), int(arrived)) for first, blocks, arrived in answer["strip"]),
    )


_ALIASES: Mapping[str, tuple[str, float]] = {
    "read_bytes": ("host_bytes_read", 1.0),
    "gc_bytes": ("gc_bytes_written", 1.0),
    "wear_levelling_bytes": ("wear_levelling_bytes_written", 1.0),
    "padding_bytes": ("padding_bytes_written", 1.0),
    "flushes": ("host_flushes", 1.0),
    "codec_ns": ("codec_cpu_us", 1e-3),
    "daemon_cpu_ns": ("cpu_us", 1e-3),
    "live_blocks": ("logical_bytes", float(_BLOCK_BYTES)),
    "live_bytes": ("physical_bytes", 1.0),
    "free_superblocks": ("free_blocks", 1.0),
    "asked_ns": ("asked_us", 1e-3),
    "late_ns": ("late_us", 1e-3),
}
"""What the daemon calls by another name or in another unit."""


def neutral(stats: Mapping[str, Any], *, compressing: bool) -> Counted:
    """The neutral names out of what a daemon reports; `compressing` is the flash model's kind, not the codec."""
    found: dict[str, float] = {}
    for name, value in stats.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            known, scale = _ALIASES.get(name, (name, 1.0))
            if known in UNITS:
                found[known] = value * scale
    return {**found, **_contents(stats, compressing)}


def _contents(stats: Mapping[str, Any], compressing: bool) -> dict[str, float]:
    """What the host can read, without what ageing filled: a page-mapped drive takes a whole page for a block of zeros
    too, a compressing one takes nothing."""
    counts = [stats.get(name) for name in ("stored_blocks", "zero_blocks", "stored_bytes")]
    if not all(isinstance(each, int) for each in counts):
        return {}
    stored, zeros, stored_bytes = (float(each) for each in counts if each is not None)
    logical = (stored + zeros) * _BLOCK_BYTES
    return {
        "contents_logical_bytes": logical,
        "contents_physical_bytes": stored_bytes if compressing else logical,
    }


FRESH = "fresh"
_PAGE_BYTES = 4096


@dataclass(frozen=True)
class AgeingResult:
    """How a drive was aged: by how many drive writes, whether it settled, and at which write amplification."""

    drive_writes: float
    settled: bool
    write_amplification: float | None
    signature: str = ""
    """The write signature of the load that aged it, as text; empty where nothing was written."""

    @classmethod
    def of(cls, answer: Mapping[str, Any], signature: str = "") -> "AgeingResult":
        """From a daemon's answer to `age`."""
        amplification = answer.get("write_amplification")
        settled = bool(answer.get("settled"))
        writes = float(answer.get("drive_writes") or 0)
        return cls(writes, settled, None if amplification is None else float(amplification), signature)

    @property
    def words(self) -> str:
        """`aged` or `aged, not settled`, as the record has it."""
        return "aged" if self.settled else "aged, not settled"

    @property
    def sentence(self) -> str:
        """The same with the write amplification that it settled at."""
        settled_at = self.write_amplification if self.settled else None
        return self.words if settled_at is None else f"{self.words} to a write amplification of {settled_at:.2f}"


_STATE = (
    "host_bytes_written",
    "nand_bytes_written",
    "gc_bytes",
    "blocks_erased",
    "free_superblocks",
    "live_blocks",
    "live_bytes",
    "stored_blocks",
    "stored_bytes",
    "zero_blocks",
)
"""What tells one state of a drive from another: all that its flash has been through, how full it and its store are."""


def state_of(stats: Mapping[str, Any]) -> str:
    """A drive's counters and how full it is, in the daemon's words; empty where it says none of them."""
    return ", ".join(f"{name} {stats[name]}" for name in _STATE if name in stats)


def traits(asked: DriveDescription, stats: Mapping[str, Any], worn: AgeingResult | None) -> dict[str, Trait]:
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
        if worn.signature:
            found[SIGNATURE] = Trait(worn.signature)
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
