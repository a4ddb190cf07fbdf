"""A disk in memory that forgets like a real one: for crashing the record at every step in a test.

Names and contents live twice: as the running system sees them, and as they are on the platter (fsync(2), rename(2) and
the POSIX words about them). Every create, write, fsync, rename and unlink is one numbered step, at which a crash, a
full disk (with a part written) or an I/O error can be planned.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from pgassay.record.disk import BLOCK_BYTES, HeldError, Lock
from pgassay.testing.fakes._disk_tree import Change, Directory, File, Node, Survival, crash

__all__ = ["Crashed", "FakeDisk", "Fault", "Survival"]


class Crashed(BaseException):
    """The process is gone at this step; no `except Exception` may go on after it."""


class Fault(StrEnum):
    """What happens at a step."""

    CRASH = "crash"
    FULL = "full"
    """ENOSPC at this step (a write leaves half of its data)."""
    BROKEN = "broken"
    """EIO at this step; after a failed fsync the data never reach the platter, as on Linux."""


class FakeDisk:
    """See `record.disk.Disk`. `faults` maps a step's number (from 1) to what happens there; `steps` is the log.

    After a crash every call raises `Crashed` until `reboot`. `full_from` makes every write from that step on fail with
    ENOSPC until it is set to None.
    """

    def __init__(self, faults: Mapping[int, Fault] | None = None, full_from: int | None = None) -> None:
        self.steps: list[str] = []
        self.faults = dict(faults or {})
        self.full_from = full_from
        self._root = Directory()
        self._changes: list[Change] = []
        self._held: set[File] = set()
        self._crashed = False

    def make_root(self, path: Path) -> None:
        """Make a durable directory and its parents, before anything is counted."""
        directory = self._root
        for part in path.parts[1:]:
            node = directory.cached.setdefault(part, Directory())
            directory.durable[part] = node
            assert isinstance(node, Directory)
            directory = node

    def tool_writes(self, path: Path, data: bytes) -> None:
        """Write a file as a tool does: no fsync of anything."""
        self._alive()
        node = File(cached=data)
        self._link(path, node)

    def reboot(self, survival: Survival, seed: int = 0) -> None:
        """Start the machine again after a crash (or now, as if it had crashed); planned faults are forgotten."""
        crash(self._root, self._changes, survival, seed)
        self._changes = []
        self._held = set()
        self.faults = {}
        self.full_from = None
        self._crashed = False

    # The interface of `Disk`.

    def mkdir(self, path: Path) -> None:
        """One step; the name lasts after an fsync of its directory."""
        self._step("mkdir", path)
        self._link(path, Directory())

    def write_file(self, path: Path, data: bytes) -> None:
        """See `Disk`: three steps, create, write and fsync."""
        self._step("create", path)
        node = File()
        self._link(path, node)
        self._write(path, node, b"", data)
        self._sync_file(path, node)

    def append(self, path: Path, data: bytes) -> None:
        """See `Disk`: two steps, write and fsync."""
        self._alive()
        node = self._file(path)
        self._write(path, node, node.cached, data)
        self._sync_file(path, node)

    def truncate(self, path: Path, size: int) -> None:
        """See `Disk`: two steps, truncate and fsync."""
        self._step("truncate", path)
        node = self._file(path)
        node.cached = node.cached[:size].ljust(size, b"\0")
        self._sync_file(path, node)

    def rename(self, old: Path, new: Path) -> None:
        """See `Disk`: the rename, then an fsync of each directory concerned."""
        self._step("rename", new)
        source, target = self._directory(old.parent), self._directory(new.parent)
        node = source.cached.get(old.name)
        if node is None:
            raise _error(errno.ENOENT, old)
        there = target.cached.get(new.name)
        if isinstance(there, Directory) and isinstance(node, Directory) and there.cached:
            raise _error(errno.ENOTEMPTY, new)
        if there is not None and isinstance(there, Directory) != isinstance(node, Directory):
            raise _error(errno.EISDIR if isinstance(there, Directory) else errno.ENOTDIR, new)
        del source.cached[old.name]
        target.cached[new.name] = node
        self._changes.append(Change(node, (source, old.name), (target, new.name)))
        self.sync_directory(new.parent)
        if old.parent != new.parent:
            self.sync_directory(old.parent)

    def sync_tree(self, path: Path) -> None:
        """See `Disk`: a step for each file and directory."""
        self._alive()
        for name, node in sorted(self._directory(path).cached.items()):
            if isinstance(node, Directory):
                self.sync_tree(path / name)
            else:
                self._sync_file(path / name, node)
        self.sync_directory(path)

    def sync_directory(self, path: Path) -> None:
        """One step; afterwards the names in it outlast a crash."""
        self._step("fsync directory", path)
        directory = self._directory(path)
        for change in self._changes:
            if change.touches(directory):
                change.store()
        self._changes = [change for change in self._changes if not change.touches(directory)]

    def remove(self, path: Path) -> None:
        """One step; raises `FileNotFoundError` where there is no such file."""
        self._step("unlink", path)
        self._file(path)
        self._unlink(path)

    def remove_tree(self, path: Path) -> None:
        """See `Disk`: a step for each file and directory."""
        self._alive()
        for name, node in sorted(self._directory(path).cached.items()):
            if isinstance(node, Directory):
                self.remove_tree(path / name)
            else:
                self.remove(path / name)
        self._step("rmdir", path)
        self._unlink(path)

    def read(self, path: Path) -> bytes:
        """What a running program sees, synced or not; raises `FileNotFoundError`."""
        self._alive()
        return self._file(path).cached

    def blocks(self, path: Path) -> Iterator[bytes]:
        """The same in pieces of `BLOCK_BYTES`."""
        data = self.read(path)
        for start in range(0, len(data), BLOCK_BYTES):
            yield data[start : start + BLOCK_BYTES]

    def list(self, path: Path) -> tuple[str, ...]:
        """The names in a directory, in alphabetical order."""
        self._alive()
        return tuple(sorted(self._directory(path).cached))

    def exists(self, path: Path) -> bool:
        """Whether a running program sees a file or directory there."""
        self._alive()
        return self._find(path) is not None

    def is_directory(self, path: Path) -> bool:
        """Whether a running program sees a directory there."""
        self._alive()
        return isinstance(self._find(path), Directory)

    def source(self, path: Path) -> Path | bytes:
        """The contents: polars cannot open a file of this disk."""
        return self.read(path)

    def lock(self, path: Path, owner: str) -> Lock:
        """See `Disk`; the lock belongs to the file, wherever it is renamed to."""
        self._alive()
        node = self._find(path)
        if node is None:
            node = File()
            self._link(path, node)
        if not isinstance(node, File):
            raise _error(errno.EISDIR, path)
        if node in self._held:
            raise HeldError(node.cached.decode())
        former, node.cached = node.cached.decode(errors="replace").strip("\0"), owner.encode()
        self._held.add(node)
        return _FakeLock(self, node, former)

    def let_go(self, node: File) -> None:
        """End a lock; a crashed process cannot, so what it wrote into the file stays."""
        if not self._crashed and node in self._held:
            self._held.discard(node)
            node.cached = b""

    # What stands behind it.

    def _alive(self) -> None:
        if self._crashed:
            raise Crashed

    def _step(self, doing: str, path: Path) -> bool:
        """Count a step and let its fault happen; True for a write that finds the disk full half-way."""
        self._alive()
        self.steps.append(f"{doing} {path}")
        fault = self.faults.get(len(self.steps))
        full = self.full_from is not None and len(self.steps) >= self.full_from
        if fault is Fault.CRASH:
            self._crashed = True
        elif fault is Fault.BROKEN:
            raise _error(errno.EIO, path)
        elif (fault is Fault.FULL or full) and doing in ("create", "mkdir"):
            raise _error(errno.ENOSPC, path)
        if self._crashed and doing != "write":
            raise Crashed
        return fault is Fault.FULL or full

    def _write(self, path: Path, node: File, before: bytes, data: bytes) -> None:
        full = self._step("write", path)
        if self._crashed or full:
            node.cached = before + data[: len(data) // 2]
            raise Crashed if self._crashed else _error(errno.ENOSPC, path)
        node.cached = before + data

    def _sync_file(self, path: Path, node: File) -> None:
        try:
            self._step("fsync", path)
        except OSError:
            node.poisoned = True
            raise
        if not node.poisoned:
            node.durable = node.cached

    def _link(self, path: Path, node: Node) -> None:
        parent = self._directory(path.parent)
        if path.name in parent.cached:
            raise _error(errno.EEXIST, path)
        parent.cached[path.name] = node
        self._changes.append(Change(node, None, (parent, path.name)))

    def _unlink(self, path: Path) -> None:
        parent = self._directory(path.parent)
        node = parent.cached.pop(path.name)
        self._changes.append(Change(node, (parent, path.name), None))

    def _find(self, path: Path) -> Node | None:
        node: Node | None = self._root
        for part in path.parts[1:]:
            if not isinstance(node, Directory):
                return None
            node = node.cached.get(part)
        return node

    def _directory(self, path: Path) -> Directory:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        return node

    def _file(self, path: Path) -> File:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(node, File):
            raise _error(errno.EISDIR, path)
        return node


class _FakeLock:
    """Held until released or until the machine is rebooted; a dead process releases nothing."""

    def __init__(self, disk: FakeDisk, node: File, former: str) -> None:
        self._disk = disk
        self._node = node
        self.former = former

    def release(self) -> None:
        self._disk.let_go(self._node)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
