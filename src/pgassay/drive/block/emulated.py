"""A disk that is a program: capacity, garbage collection and compression of a drive that the user does not have.

Snapshots are the daemon's own, copy-on-write by block with the flash model's state; in a memory store they end with the
session. The loop device lies over the one file of the daemon's FUSE mount. What the daemon's answers mean stands here
too: neutral counters, traits against what was asked, how ageing ended.
"""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from pgassay._core import DriveDescription
from pgassay.drive.block import daemon
from pgassay.drive.block.daemon import AGEING_PATIENCE_S, Control, Daemon
from pgassay.drive.block.description import Description
from pgassay.drive.block.kernel import Kernel
from pgassay.files import Directory
from pgassay.interfaces.drive_counters import UNITS, Counted
from pgassay.interfaces.errors import DamagedError, DriveError
from pgassay.interfaces.store import CrashReport, CrashRequest, Trait
from pgassay.interfaces.write_signature import SIGNATURE, of_trace
from pgassay.study.drives import STATE_BEFORE

_BLANK = "blank"
_CUT = "cut-"
_POLL_S = 0.05
_SETTLE_S = 5.0


FRESH = "fresh"


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
        amplification = answer.get("write_amplification")
        settled = bool(answer.get("settled"))
        writes = float(answer.get("drive_writes") or 0)
        return cls(writes, settled, None if amplification is None else float(amplification), signature)

    @property
    def words(self) -> str:
        """`aged` or `aged, not settled`, as the record has it."""
        return "aged" if self.settled else "aged, not settled"


@dataclass(eq=False)
class EmulatedVolume:
    """A volume that the emulated drive's daemon keeps; it starts at the first use."""

    counts: ClassVar[bool] = True
    _home: Path
    description: Description
    _kernel: Kernel
    _program: Daemon
    _persistence: Mapping[str, Any] = field(default_factory=dict)
    """What survives a loss of power; nothing for all that was acknowledged."""
    _dilation: int = 1
    """How many times slower than the machine's the clock of its service times is."""
    _control: Control | None = field(default=None, init=False)
    _device: Path | None = field(default=None, init=False)
    cuts: dict[int, Path | None] = field(default_factory=dict, init=False)
    """Crash states by number, each with the loop device over it."""
    _kept: dict[str, str] = field(default_factory=dict, init=False)
    _worn: dict[str, AgeingResult] = field(default_factory=dict, init=False)
    _present: str | None = field(default=None, init=False)
    _states: dict[str, str] = field(default_factory=dict, init=False)
    """Of each snapshot what the drive had counted when it was taken."""
    _restored: str = field(default="", init=False)
    """The same as it is after the last restoration; nothing was written since."""

    @property
    def capacity_bytes(self) -> int:
        """What the file system sees; the description's is known by now."""
        assert self.description.core.capacity_bytes is not None
        return self.description.core.capacity_bytes

    @property
    def kind(self) -> str:
        """`ssd`, `csd` or the name of the description."""
        return self.description.kind

    @property
    def how_restored(self) -> str:
        """`copy-on-write`, and for an aged drive how ageing ended."""
        worn = self._worn.get(self._present or "")
        if worn is None:
            return "copy-on-write"
        settled_at = worn.write_amplification if worn.settled else None
        at = "" if settled_at is None else f" to a write amplification of {settled_at:.2f}"
        return f"copy-on-write; {worn.words}{at}"

    def attach(self) -> Path:
        """The loop device over the disk, by path; starts the daemon at the first call. Raises `DriveError`."""
        if self._device is None:
            self._open()
            self._device = self._kernel.attach(self._program.disk(self._home))
        return self._device

    def detach(self) -> None:
        if self._device is not None:
            self._kernel.detach(self._device)
            self._device = None

    def blank(self) -> None:
        """See `Volume`: the snapshot taken before the first write."""
        self._at_rest("restore", _BLANK)
        self._present = None

    def keep(self, key: str, what: str = "") -> None:
        """Have the daemon take a snapshot, copy-on-write; a second one of a key is not taken."""
        if key not in self._kept:
            name = f"s{len(self._kept) + 1}-{time.monotonic_ns()}"
            self._at_rest("snapshot", name)
            self._kept[key] = name
            self._states[key] = state_of(self.stats())

    def restore(self, key: str) -> None:
        """See `Volume`; the flash model's state comes back with the contents."""
        self._at_rest("restore", self._kept[key])
        self._present = key
        self._restored = state_of(self.stats())

    def has(self, key: str) -> bool:
        """See `Volume`: as long as the daemon lives."""
        return key in self._kept

    def forget(self, key: str) -> None:
        self._worn.pop(key, None)
        if key in self._kept:
            self._at_rest("drop", self._kept.pop(key))

    def counters(self) -> Counted:
        """See `Volume`; empty from a drive that does not answer."""
        found = {} if self._control is None else daemon.statistics(self._control)
        return neutral(found, compressing=self.description.core.kind == "compressing")

    def traits(self) -> Mapping[str, Trait]:
        """What the daemon says of its model, codec, capacity and age, each with what was asked; raises `DriveError`.

        And what it had counted when the snapshot came back, against what it had when that was taken.
        """
        found = traits(self.description.core, self.stats(), self._worn.get(self._present or ""))
        kept = self._states.get(self._present or "")
        if kept:
            found[STATE_BEFORE] = Trait(self._restored, kept, self._restored == kept, of_state=True)
        return found

    def stats(self) -> Mapping[str, Any]:
        return self._open().ask("stats")

    def age_kept(self, key: str, signature: str, **values: Any) -> None:
        """Age what was kept under `key` by a load of this signature, and keep that instead."""
        self.restore(key)
        aged = self._open().ask("age", patience_s=AGEING_PATIENCE_S, **values)
        fresh = self._kept.pop(key)
        self.keep(key)
        self._at_rest("drop", fresh)
        self._worn[key] = AgeingResult.of(aged, signature)

    def cut(self, request: CrashRequest) -> CrashReport:
        values: dict[str, Any] = {"draw": request.draw, "seed": request.seed}
        patience_s = daemon.PATIENCE_S
        if request.page_within_s is not None:
            values["page_within_ms"] = int(request.page_within_s * 1e3)
            patience_s += request.page_within_s
        report = msgspec.convert(self._open().ask("cut", patience_s=patience_s, **values), CrashReport)
        self.cuts[report.number] = None
        return report

    def attach_cut(self, number: int) -> Path:
        device = self._kernel.attach(self._program.disk(self._home).with_name(f"{_CUT}{number}"))
        self.cuts[number] = device
        return device

    def discard_cut(self, number: int) -> None:
        if number in self.cuts:
            device = self.cuts[number]
            if device is not None:
                self._kernel.detach(device)
            del self.cuts[number]
            self._open().ask("discard", number=number)

    def check(self) -> None:
        """See `Volume`: map, store, model and counts against each other, every stored block read."""
        answer = self._open().ask("fsck", patience_s=AGEING_PATIENCE_S)
        if answer.get("damaged"):
            problems = "; ".join(str(each) for each in answer.get("problems", ()))
            raise DamagedError(f'the emulated drive in "{self._home}" is damaged: {problems}')

    def record(self, path: Path | None) -> None:
        self._open().ask("record", path=None if path is None else str(path))

    def close(self) -> None:
        """End the daemon; all snapshots go with it."""
        self.detach()
        for number, device in tuple(self.cuts.items()):
            if device is not None:
                self._kernel.detach(device)
            del self.cuts[number]
        if self._control is not None:
            self._control = None
            self._program.end(self._home)
        self._kept.clear()

    def _open(self) -> Control:
        if self._control is None:
            configuration = self.description.core.configuration("drive", self._home)
            if self._dilation != 1:
                configuration["dilation"] = self._dilation
            if self._persistence:
                configuration["persistence"] = dict(self._persistence)
            control = self._program.start(self._home, configuration)
            self._control = control
            control.ask("snapshot", name=_BLANK)
        return self._control

    def _at_rest(self, do: str, name: str) -> None:
        """Snapshots are taken and restored while the disk is not in use; its last user may need a moment."""
        self.detach()
        control = self._open()
        deadline = time.monotonic() + _SETTLE_S
        while True:
            try:
                control.ask(do, name=name)
                return
            except DriveError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)


TOLERANCE = 0.01
"""Settled when write amplification over one drive write changes by less than this share."""
TRACE = "ageing.trace"


@dataclass
class EmulatedAgeing:
    """Ages an emulated drive by the write trace of a recorded run; `live_share` and `compressed_to` are shares."""

    volume: EmulatedVolume
    home: Path
    live_share: float
    compressed_to: float

    def begin(self) -> None:
        self.volume.record(self.home / TRACE)

    def abandon(self) -> None:
        """End the record and delete it, also when the daemon no longer answers."""
        with contextlib.suppress(DriveError):  # it may be the drive that has failed
            self.volume.record(None)
        with Directory.open(self.home) as home:
            home.unlink(TRACE)

    def finish(self, key: str) -> None:
        """See `Ageing`; raises `DriveError`, too, where the record is not complete."""
        trace, signature = self.home / TRACE, ""
        try:
            self.volume.record(None)
            with contextlib.suppress(ValueError):  # nothing was written, of which the daemon says what it makes
                signature = of_trace(trace).to_text()
            shares = {"live_share": self.live_share, "compressibility": self.compressed_to}
            self.volume.age_kept(key, signature, mode="trace", trace=str(trace), **shares, until=TOLERANCE)
        finally:
            with Directory.open(self.home) as home:
                home.unlink(TRACE)


_BLOCK_BYTES = 4096


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
    "volume_ns": ("volume_us", 1e-3),
    "ios_limited_ns": ("ios_limited_us", 1e-3),
    "bytes_limited_ns": ("bytes_limited_us", 1e-3),
    "without_credits_ns": ("without_credits_us", 1e-3),
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
"""What distinguishes states of a drive: all that its flash has been through, how full it and its store are."""


def state_of(stats: Mapping[str, Any]) -> str:
    """A drive's counters and how full it is, in the daemon's words; empty where it says none of them."""
    return ", ".join(f"{name} {stats[name]}" for name in _STATE if name in stats)


def traits(asked: DriveDescription, stats: Mapping[str, Any], worn: AgeingResult | None) -> dict[str, Trait]:
    spare, pages = stats.get("over_provisioning"), asked.pages_per_block
    near = spare is not None and abs(float(spare) - asked.over_provisioning) <= rounding(stats)
    found = {
        "model": _same(stats.get("kind"), asked.kind),
        "codec": _same(stats.get("codec"), asked.codec),
        "policy": _same(stats.get("policy"), asked.policy),
        "store": _same(stats.get("store"), asked.store),
        "capacity_bytes": _same(stats.get("capacity_bytes"), asked.capacity_bytes),
        "over_provisioning": Trait(spare, asked.over_provisioning, spare is None or near),
        "superblock_bytes": _same(stats.get("superblock_bytes"), None if pages is None else pages * _BLOCK_BYTES),
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


def _same(found: Any, asked: Any) -> Trait:
    if isinstance(found, str):
        found = found.replace("_", "-")
    if isinstance(asked, str):
        asked = asked.replace("_", "-")
    return Trait(found, asked, found is None or asked is None or found == asked)
