"""The real `bench.hosting.HostChanges`: kernel values and control groups, each owed in the ledger before it is changed.

Only control groups that carry our name are ever emptied or removed, see `groups`.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

from pgassay.host import messages
from pgassay.host.devices import chosen
from pgassay.host.ledger import Change, Ledger

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
        """Write a kernel value; raises `HostError` when the kernel refuses, or another lab is changing this machine."""
        self._open()
        try:
            self._ledger.add(VALUE, path, current(path) if back is None else back)
            path.write_text(value, encoding="ascii")
        except OSError as error:
            raise messages.host_refused(path, value, error) from error

    def make_group(self, path: Path) -> None:
        """Make a control group with our prefix."""
        if not path.name.startswith(GROUP_PREFIX):
            raise ValueError(path)
        self._open()
        try:
            self._ledger.add(GROUP, path)
            path.mkdir()
        except OSError as error:
            raise messages.host_refused(path, "a control group", error) from error

    def give_back(self) -> None:
        """Undo, the latest change first; raises `HostError` for what could not be undone, which stays owed."""
        if self._ledger.held:  # else what is owed is another lab's
            self._settle()

    def repair(self) -> tuple[str, ...]:
        """Give back what a killed lab owes, unless a living one does; the paths that were put back."""
        if not self._ledger.path.exists() or not self._ledger.take():
            return ()
        try:
            return self._settle()
        finally:
            self._ledger.release()

    def close(self) -> None:
        """Give everything back and let other labs have the machine."""
        try:
            self.give_back()
        finally:
            self._ledger.release()

    def _settle(self) -> tuple[str, ...]:
        owed = self._ledger.owed()
        failed = [(change, error) for change in reversed(owed) if (error := _undo(change)) is not None]
        if failed:
            change, failure = failed[0]
            raise messages.not_given_back(Path(change.path), failure)
        self._ledger.clear()
        return tuple(change.path for change in owed)

    def _open(self) -> None:
        if self._ledger.held:
            return
        try:
            if not self._ledger.take():
                raise messages.machine_in_use()
        except OSError as error:
            raise messages.host_refused(self._ledger.path, "the list of changes", error) from error
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
            path.write_text(change.before, encoding="ascii")
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
