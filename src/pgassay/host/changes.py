"""Changes of this machine that must be undone: kernel values and control groups, listed on disk before they are made.

`LocalHost` is the real `interfaces.hosting.HostChanges`. What it changes is listed first, which survives SIGKILL,
not a reboot. One ledger a machine, since what it guards (huge pages, control groups) is the machine's: a lab locks it
before its first change. Entries of another boot need nothing: a reboot undoes all. Only control groups that carry our
name are ever emptied or removed, see `groups`.
"""

import contextlib
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay.files import Directory
from pgassay.host.storage import chosen
from pgassay.interfaces.errors import BenchError, HostError
from pgassay.locks import LockedList
from pgassay.untrusted import json_lines

FILE = "host-changes.jsonl"
LOCK = "host-changes.lock"


@dataclass(frozen=True)
class Change:
    """A value that stood in `path` (`kind` value), or a control group that we made there (`kind` group)."""

    kind: str
    path: str
    before: str
    boot: str


class Ledger(LockedList):
    """The changes that this lab owes."""

    def __init__(self, directory: Path, boot: str) -> None:
        super().__init__(directory / FILE, directory / LOCK)
        self._boot = boot

    def owed(self) -> tuple[Change, ...]:
        """What is to be given back, in the order of the changes; a line that a crash cut short was not acted upon.

        Raises `UntrustedError` where root finds a list that another account may have written.
        """
        if os.geteuid() == 0 and self.path.exists():
            with Directory.open(self.path.parent) as state:
                state.require_ours()
        found = []
        for line in json_lines(self.path):
            with contextlib.suppress(TypeError):
                found.append(Change(**line))
        return tuple(change for change in found if change.boot == self._boot)

    def add(self, kind: str, path: Path, before: str = "") -> None:
        """Owe one more; on disk when this returns."""
        self.append(asdict(Change(kind, str(path), before, self._boot)))


VALUE = "value"
GROUP = "group"
GROUP_PREFIX = "pgassay-"
_PATIENCE_S = 10.0
_POLL_S = 0.02


class LocalHost:
    """Changes this machine; the ledger is locked from the first change until `close`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        """Write a kernel value; raises `HostError` when the kernel refuses, `BenchError` while another lab has them."""
        self._open()
        try:
            self._ledger.add(VALUE, path, current(path) if back is None else back)
            path.write_text(value, encoding="ascii")  # ours: a file of the kernel
        except OSError as error:
            raise host_refused(path, value, error) from error

    def make_group(self, path: Path) -> None:
        if not path.name.startswith(GROUP_PREFIX):
            raise ValueError(path)
        self._open()
        try:
            self._ledger.add(GROUP, path)
            path.mkdir()
        except OSError as error:
            raise host_refused(path, "a control group", error) from error

    def give_back(self) -> None:
        """Undo, the latest change first; raises `HostError` for what could not be undone, which stays owed."""
        if self._ledger.lock.held:  # else what is owed is another lab's
            self._settle()

    def repair(self) -> tuple[str, ...]:
        """Give back what a killed lab owes, unless a living one does; the paths that were put back."""
        if not self._ledger.path.exists() or not self._ledger.lock.take():
            return ()
        try:
            return self._settle()
        finally:
            self._ledger.lock.release()

    def close(self) -> None:
        try:
            self.give_back()
        finally:
            self._ledger.lock.release()

    def _settle(self) -> tuple[str, ...]:
        owed = self._ledger.owed()
        failed = [(change, error) for change in reversed(owed) if (error := _undo(change)) is not None]
        if failed:
            change, failure = failed[0]
            raise HostError(
                f'could not restore "{Path(change.path)}": {(failure.strerror or str(failure)).lower()}',
                "it stays on the list of changes: pgassay doctor --repair tries again",
            )
        self._ledger.clear()
        return tuple(change.path for change in owed)

    def _open(self) -> None:
        if self._ledger.lock.held:
            return
        try:
            if not self._ledger.lock.take():
                raise BenchError(
                    "another pgassay is changing this machine's settings",
                    "wait for it to end, then: pgassay resume; only one pgassay at a time may use host.* factors",
                )
        except OSError as error:
            raise host_refused(self._ledger.path, "the list of changes", error) from error
        self._settle()  # a killed lab's


def current(path: Path) -> str:
    """What stands in a kernel's file; of `always [madvise] never` the word that is chosen."""
    text = path.read_text(encoding="utf-8").strip()
    return chosen(text) or text


def _undo(change: Change) -> OSError | None:
    path = Path(change.path)
    try:
        if change.kind == GROUP:
            _remove_group(path)
        else:
            path.write_text(change.before, encoding="ascii")  # ours: a file of the kernel
    except FileNotFoundError:
        return None
    except OSError as error:
        return error
    return None


def _remove_group(path: Path) -> None:
    """End whatever still runs in it and remove it; a killed process leaves its group a little later."""
    if not path.name.startswith(GROUP_PREFIX):
        return
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        with contextlib.suppress(FileNotFoundError):
            for pid in (path / "cgroup.procs").read_text(encoding="ascii").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)
        else:
            return


def host_refused(path: Path, value: str, error: OSError) -> HostError:
    return HostError(f'could not write {value} to "{path}": {(error.strerror or str(error)).lower()}')
