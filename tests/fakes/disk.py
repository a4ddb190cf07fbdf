"""A disk in memory that forgets like a real one: for crashing the record at every step in a test.

Names and contents live twice: as the running system sees them, and as they are on the platter (fsync(2), rename(2) and
the POSIX words about them). Every create, write, fsync, rename and unlink is one numbered step, at which a crash, a
full disk (with a part written) or an I/O error can be planned.
"""

import errno
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pgassay.record.disk import BLOCK_BYTES, HeldError, Lock


class Crashed(BaseException):
    """The process is gone at this step; no `except Exception` may go on after it."""


class Fault(StrEnum):
    """What happens at a step."""

    CRASH = "crash"
    FULL = "full"
    """ENOSPC at this step (a write leaves half of its data)."""
    BROKEN = "broken"
    """EIO at this step; after a failed fsync the data never reach the platter, as on Linux."""


class Survival(StrEnum):
    """What a crash leaves of that which was not fsynced."""

    KILLED = "killed"
    """All of it: only the process died."""
    LOST = "lost"
    """Nothing of it."""
    TORN = "torn"
    """Some of it, by chance: any subset of the names, any beginning of the data, zeros for the rest."""


@dataclass(eq=False)
class _File:
    """`cached` is what the running system reads, `durable` what is on the platter; `poisoned` after a failed fsync."""

    cached: bytes = b""
    durable: bytes = b""
    poisoned: bool = False


@dataclass(eq=False)
class _Directory:
    """Names, as the running system sees them and as they are on the platter."""

    cached: "dict[str, _File | _Directory]" = field(default_factory=dict)
    durable: "dict[str, _File | _Directory]" = field(default_factory=dict)


_Node = _File | _Directory
_Place = tuple[_Directory, str]


@dataclass(frozen=True)
class _Change:
    """A name that came (no source), went (no target) or moved, and is not stored yet."""

    node: _Node
    source: _Place | None
    target: _Place | None

    def touches(self, directory: _Directory) -> bool:
        """Would an fsync of this directory store it?"""
        return any(place is not None and place[0] is directory for place in (self.source, self.target))

    def store(self) -> None:
        """Put it on the platter; a move is stored whole."""
        if self.source is not None:
            directory, name = self.source
            if directory.durable.get(name) is self.node:
                del directory.durable[name]
        if self.target is not None:
            directory, name = self.target
            directory.durable[name] = self.node


class FakeDisk:
    """See `record.disk.Disk`. `faults` maps a step's number (from 1) to what happens there; `steps` is the log.

    After a crash every call raises `Crashed` until `reboot`. `full_from` makes every write from that step on fail with
    ENOSPC until it is set to None.
    """

    def __init__(self, faults: Mapping[int, Fault] | None = None, full_from: int | None = None) -> None:
        self.steps: list[str] = []
        self.faults = dict(faults or {})
        self.full_from = full_from
        self._root = _Directory()
        self._changes: list[_Change] = []
        self._held: set[_File] = set()
        self._crashed = False

    def make_root(self, path: Path) -> None:
        """Make a durable directory and its parents, before anything is counted."""
        directory = self._root
        for part in path.parts[1:]:
            node = directory.cached.setdefault(part, _Directory())
            directory.durable[part] = node
            assert isinstance(node, _Directory)
            directory = node

    def tool_writes(self, path: Path, data: bytes) -> None:
        """Write a file as a tool does: no fsync of anything."""
        self._alive()
        node = _File(cached=data)
        self._link(path, node)

    def reboot(self, survival: Survival, seed: int = 0) -> None:
        """Start the machine again after a crash (or now, as if it had crashed); planned faults are forgotten."""
        _crash(self._root, self._changes, survival, seed)
        self._changes = []
        self._held = set()
        self.faults = {}
        self.full_from = None
        self._crashed = False

    # The interface of `Disk`.

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        """One step; the name lasts after an fsync of its directory."""
        self._step("mkdir", path)
        self._link(path, _Directory())

    def write_file(self, path: Path, data: bytes, mode: int = 0o644) -> None:
        """See `Disk`: three steps, create, write and fsync."""
        self._step("create", path)
        node = _File()
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
        if isinstance(there, _Directory) and isinstance(node, _Directory) and there.cached:
            raise _error(errno.ENOTEMPTY, new)
        if there is not None and isinstance(there, _Directory) != isinstance(node, _Directory):
            raise _error(errno.EISDIR if isinstance(there, _Directory) else errno.ENOTDIR, new)
        del source.cached[old.name]
        target.cached[new.name] = node
        self._changes.append(_Change(node, (source, old.name), (target, new.name)))
        self.sync_directory(new.parent)
        if old.parent != new.parent:
            self.sync_directory(old.parent)

    def sync_tree(self, path: Path) -> None:
        """See `Disk`: a step for each file and directory."""
        self._alive()
        for name, node in sorted(self._directory(path).cached.items()):
            if isinstance(node, _Directory):
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
            if isinstance(node, _Directory):
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

    def is_link(self, path: Path) -> bool:
        """It has none."""
        return False

    def is_directory(self, path: Path) -> bool:
        """Whether a running program sees a directory there."""
        self._alive()
        return isinstance(self._find(path), _Directory)

    def source(self, path: Path) -> Path | bytes:
        """The contents: polars cannot open a file of this disk."""
        return self.read(path)

    def lock(self, path: Path, owner: str) -> Lock:
        """See `Disk`; the lock belongs to the file, wherever it is renamed to."""
        self._alive()
        node = self._find(path)
        if node is None:
            node = _File()
            self._link(path, node)
        if not isinstance(node, _File):
            raise _error(errno.EISDIR, path)
        if node in self._held:
            raise HeldError(node.cached.decode())
        former, node.cached = node.cached.decode(errors="replace").strip("\0"), owner.encode()
        self._held.add(node)
        return _FakeLock(self, node, former)

    def let_go(self, node: _File) -> None:
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

    def _write(self, path: Path, node: _File, before: bytes, data: bytes) -> None:
        full = self._step("write", path)
        if self._crashed or full:
            node.cached = before + data[: len(data) // 2]
            raise Crashed if self._crashed else _error(errno.ENOSPC, path)
        node.cached = before + data

    def _sync_file(self, path: Path, node: _File) -> None:
        try:
            self._step("fsync", path)
        except OSError:
            node.poisoned = True
            raise
        if not node.poisoned:
            node.durable = node.cached

    def _link(self, path: Path, node: _Node) -> None:
        parent = self._directory(path.parent)
        if path.name in parent.cached:
            raise _error(errno.EEXIST, path)
        parent.cached[path.name] = node
        self._changes.append(_Change(node, None, (parent, path.name)))

    def _unlink(self, path: Path) -> None:
        parent = self._directory(path.parent)
        node = parent.cached.pop(path.name)
        self._changes.append(_Change(node, (parent, path.name), None))

    def _find(self, path: Path) -> _Node | None:
        node: _Node | None = self._root
        for part in path.parts[1:]:
            if not isinstance(node, _Directory):
                return None
            node = node.cached.get(part)
        return node

    def _directory(self, path: Path) -> _Directory:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(node, _Directory):
            raise _error(errno.ENOTDIR, path)
        return node

    def _file(self, path: Path) -> _File:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if not isinstance(node, _File):
            raise _error(errno.EISDIR, path)
        return node


class _FakeLock:
    """Held until released or until the machine is rebooted; a dead process releases nothing."""

    def __init__(self, disk: FakeDisk, node: _File, former: str) -> None:
        self._disk = disk
        self._node = node
        self.former = former

    def release(self) -> None:
        self._disk.let_go(self._node)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _crash(root: _Directory, changes: list[_Change], survival: Survival, seed: int) -> None:
    """Leave in the tree what this kind of crash leaves; `changes` are the names not stored yet, oldest first."""
    chance = random.Random(seed)
    for change in changes:
        if survival is Survival.KILLED or (survival is Survival.TORN and chance.random() < 0.5):
            change.store()
    _reread(root, survival, chance)


def _reread(directory: _Directory, survival: Survival, chance: random.Random) -> None:
    directory.cached = dict(directory.durable)
    for node in directory.cached.values():
        if isinstance(node, _Directory):
            _reread(node, survival, chance)
        else:
            if survival is Survival.TORN:
                node.cached = _torn(node, chance)
            elif survival is Survival.LOST:
                node.cached = node.durable
            node.durable = node.cached
            node.poisoned = False


def _torn(file: _File, chance: random.Random) -> bytes:
    """The stored contents, the new ones, or the old ones with a part of what was added."""
    if file.cached == file.durable:
        return file.durable
    if not file.cached.startswith(file.durable):
        return chance.choice((file.durable, file.cached))
    added = file.cached[len(file.durable) :]
    kept = added[: chance.randrange(len(added) + 1)]
    zeros = bytes(len(added) - len(kept)) if chance.random() < 0.3 else b""
    return file.durable + kept + zeros
