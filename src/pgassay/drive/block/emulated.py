"""A disk that is a program: capacity, garbage collection and compression of a drive that the user does not have.

Snapshots are the daemon's own, copy-on-write by block with the flash model's state; in a memory store they end with the
session. The loop device lies over the one file of the daemon's FUSE mount.
"""

import contextlib
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pgassay.bench.crash_states import CrashReport, CrashWish
from pgassay.bench.drive_counters import Counted
from pgassay.bench.errors import DriveError
from pgassay.bench.store import Trait
from pgassay.bench.write_signature import of_trace
from pgassay.drive import messages
from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.answers import AgeingResult, crash_report, neutral, state_of, traits
from pgassay.drive.block.daemon import AGEING_PATIENCE_S, Control, SocketControl
from pgassay.drive.block.description import Description
from pgassay.drive.block.kernel import Kernel
from pgassay.files import Directory
from pgassay.study.drives import STATE_BEFORE

_BLANK = "blank"
_CUT = "cut-"
_POLL_S = 0.05
_SETTLE_S = 5.0
_UNMOUNT_S = 3.0
_STATS_PATIENCE_S = 5.0


class Daemon(Protocol):
    """Starts and ends the program behind a disk."""

    def require(self) -> None:
        """Raise `DriveError` unless such drives can run here."""

    def check(self, description: Description) -> None:
        """Raise `UsageError` unless there can be such a drive (its capacity is known); nothing is made."""

    def start(self, directory: Path, configuration: Mapping[str, Any]) -> Control:
        """Returns when it is ready; raises `DriveError`."""

    def end(self, directory: Path) -> None:
        """Harmless when it has ended."""

    def disk(self, directory: Path) -> Path:
        """The file that is the disk."""


class EmulatedVolume:
    """A volume that the emulated drive's daemon keeps; it starts at the first use."""

    counts = True

    def __init__(
        self,
        home: Path,
        description: Description,
        kernel: Kernel,
        program: Daemon,
        persistence: Mapping[str, Any] | None = None,
        dilation: int = 1,
    ) -> None:
        """`persistence` says what survives a loss of power, None or nothing for all that was acknowledged; `dilation`
        how many times slower than the machine's the clock of its service times is.
        """
        assert description.capacity_bytes is not None
        self._slowed = {} if dilation == 1 else {"dilation": dilation}
        self._persistence = dict(persistence or {})
        self._cuts: dict[int, Path | None] = {}
        """Crash states by number, each with the loop device over it."""
        self.description = description
        self.capacity_bytes = description.capacity_bytes
        self._home = home
        self._kernel = kernel
        self._program = program
        self._control: Control | None = None
        self._device: Path | None = None
        self._kept: dict[str, str] = {}
        self._worn: dict[str, AgeingResult] = {}
        self._present: str | None = None
        self._states: dict[str, str] = {}
        """Of each snapshot what the drive had counted when it was taken."""
        self._restored = ""
        """The same as it is after the last restoration; nothing was written since."""

    @property
    def kind(self) -> str:
        """`ssd`, `csd` or the name of the description."""
        return self.description.kind

    @property
    def how_restored(self) -> str:
        """`copy-on-write`, and for an aged drive how ageing ended."""
        worn = self._worn.get(self._present or "")
        return "copy-on-write" if worn is None else f"copy-on-write; {worn.sentence}"

    def facts(self) -> Mapping[str, str]:
        """Every value of the description as text, and the capacity in bytes."""
        survives = {f"persistence_{name}": str(value) for name, value in self._persistence.items()}
        slowed = {name: str(value) for name, value in self._slowed.items()}
        return {**self.description.facts(), **slowed, **survives, "capacity_bytes": str(self.capacity_bytes)}

    def attach(self) -> Path:
        """The loop device over the disk, by path; starts the daemon at the first call. Raises `DriveError`."""
        if self._device is None:
            self._open()
            self._device = self._kernel.attach(self._program.disk(self._home))
        return self._device

    def detach(self) -> None:
        """Free the loop device; the daemon stays. Harmless without one."""
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
        self._at_rest("restore", self._name(key))
        self._present = key
        self._restored = state_of(self.stats())

    def has(self, key: str) -> bool:
        """See `Volume`: as long as the daemon lives."""
        return key in self._kept

    def forget(self, key: str) -> None:
        """Have the daemon drop the snapshot; harmless for an unknown key."""
        self._worn.pop(key, None)
        if key in self._kept:
            self._at_rest("drop", self._kept.pop(key))

    def counters(self) -> Counted:
        """See `Volume`; empty from a drive that does not answer."""
        try:
            stats = self._open().ask("stats", patience_s=_STATS_PATIENCE_S)
        except DriveError:
            return {}
        return neutral(stats, compressing=self.description.core.kind == "compressing")

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
        """All of the daemon's statistics, under its own names."""
        return self._open().ask("stats")

    def age(self, **values: Any) -> Mapping[str, Any]:
        """Bring the flash model to its steady state; contents stay. Returns the daemon's answer."""
        return self._open().ask("age", patience_s=AGEING_PATIENCE_S, **values)

    def age_kept(self, key: str, signature: str, **values: Any) -> None:
        """Age what was kept under `key` by a load of this signature, and keep that instead."""
        self.restore(key)
        aged = self.age(**values)
        fresh = self._kept.pop(key)
        self.keep(key)
        self._at_rest("drop", fresh)
        self._worn[key] = AgeingResult.of(aged, signature)

    def cut(self, wish: CrashWish) -> CrashReport:
        """Have the daemon make a crash state; raises `DriveError`."""
        values: dict[str, Any] = {"draw": wish.draw, "seed": wish.seed}
        patience_s = daemon.PATIENCE_S
        if wish.page_within_s is not None:
            values["page_within_ms"] = int(wish.page_within_s * 1e3)
            patience_s += wish.page_within_s
        report = crash_report(self._open().ask("cut", patience_s=patience_s, **values))
        self._cuts[report.number] = None
        return report

    def has_cut(self, number: int) -> bool:
        """Is there a crash state of this number?"""
        return number in self._cuts

    def attach_cut(self, number: int) -> Path:
        """A loop device over the crash state; raises `DriveError`."""
        device = self._kernel.attach(self._program.disk(self._home).with_name(f"{_CUT}{number}"))
        self._cuts[number] = device
        return device

    def discard_cut(self, number: int) -> None:
        """Free the loop device and have the daemon drop the crash state; harmless when it is gone."""
        if number in self._cuts:
            self._detach_cut(number)
            del self._cuts[number]
            self._open().ask("discard", number=number)

    def _detach_cut(self, number: int) -> None:
        device = self._cuts[number]
        if device is not None:
            self._kernel.detach(device)
            self._cuts[number] = None

    def check(self) -> None:
        """See `Volume`: map, store, model and counts against each other, every stored block read."""
        found = self._open().ask("fsck", patience_s=AGEING_PATIENCE_S)
        if found.get("damaged"):
            raise messages.drive_damaged(self._home, [str(each) for each in found.get("problems", ())])

    def record(self, path: Path | None) -> None:
        """Begin to record the write trace, or end it."""
        self._open().ask("record", path=None if path is None else str(path))

    def close(self) -> None:
        """End the daemon; all snapshots go with it."""
        self.detach()
        for number in tuple(self._cuts):
            self._detach_cut(number)
            del self._cuts[number]
        if self._control is not None:
            self._control = None
            self._program.end(self._home)
        self._kept.clear()

    def _open(self) -> Control:
        if self._control is None:
            configuration = {**self.description.configuration("drive", self._home), **self._slowed}
            if self._persistence:
                configuration["persistence"] = self._persistence
            control = self._program.start(self._home, configuration)
            self._control = control
            control.ask("snapshot", name=_BLANK)
        return self._control

    def _name(self, key: str) -> str:
        if key not in self._kept:
            raise messages.no_snapshot(key)
        return self._kept[key]

    def _at_rest(self, do: str, name: str) -> None:
        """Snapshots are taken and restored while the disk is not in use; its last user may need a moment."""
        self.detach()
        control = self._open()
        deadline = time.monotonic() + _SETTLE_S
        while True:
            try:
                control.ask(do, name=name)
            except DriveError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)
            else:
                return


class RealDaemon:
    """The program on this machine, a process for each drive's directory."""

    def __init__(self) -> None:
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}

    def require(self) -> None:
        """Raise `DriveError` without root, FUSE or the program, or where memory is limited."""
        daemon.require()

    def check(self, description: Description) -> None:
        """Ask the program itself whether it accepts the description; raises `UsageError` with its complaint."""
        daemon.check(description.configuration(description.kind, Path("/")), description.kind)

    def start(self, directory: Path, configuration: Mapping[str, Any]) -> Control:
        """Run the program until it answers; raises `DriveError` with the end of its log."""
        self._processes[directory] = daemon.start(directory, configuration)
        return SocketControl(directory)

    def end(self, directory: Path) -> None:
        """Ask it to end, wait for the process, and unmount its FUSE file system.

        Of a program that was killed something may still hold the disk. Its contents are gone, so the file system is
        detached all the same: an error here would hide the one that matters.
        """
        daemon.end(directory)
        process = self._processes.pop(directory, None)
        if process is not None:
            process.wait()
        kernel.unmount(directory / daemon.FUSE, patience_s=_UNMOUNT_S, lazily=True)

    def disk(self, directory: Path) -> Path:
        """The one file of its FUSE file system."""
        return directory / daemon.FUSE / daemon.DISK


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
        """Have the daemon record its write trace into `home`."""
        self.volume.record(self.home / TRACE)

    def abandon(self) -> None:
        """End the record and delete it, also when the daemon no longer answers."""
        with contextlib.suppress(DriveError):  # it may be the drive that has failed
            self.volume.record(None)
        self._delete_trace()

    def finish(self, key: str) -> None:
        """See `Ageing`; raises `DriveError`, too, where the record is not complete."""
        try:
            self.volume.record(None)
            self.volume.age_kept(
                key,
                _signature(self.home / TRACE),
                mode="trace",
                trace=str(self.home / TRACE),
                live_share=self.live_share,
                compressibility=self.compressed_to,
                until=TOLERANCE,
            )
        finally:
            self._delete_trace()

    def _delete_trace(self) -> None:
        with Directory.open(self.home) as home:
            home.unlink(TRACE)


def _signature(trace: Path) -> str:
    """Of what was recorded; empty where nothing was written, of which the daemon says what it makes."""
    try:
        return of_trace(trace).to_text()
    except ValueError:
        return ""
