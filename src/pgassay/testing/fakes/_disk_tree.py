"""Files and directories that live twice, as seen and as stored, for `disk.FakeDisk`.

A name is stored by an fsync of its directory, contents by an fsync of the file (fsync(2)); a crash chooses what else
reached the platter.
"""

import random
from dataclasses import dataclass, field
from enum import StrEnum


class Survival(StrEnum):
    """What a crash leaves of that which was not fsynced."""

    KILLED = "killed"
    """All of it: only the process died."""
    LOST = "lost"
    """Nothing of it."""
    TORN = "torn"
    """Some of it, by chance: any subset of the names, any beginning of the data, zeros for the rest."""


@dataclass(eq=False)
class File:
    """`cached` is what the running system reads, `durable` what is on the platter; `poisoned` after a failed fsync."""

    cached: bytes = b""
    durable: bytes = b""
    poisoned: bool = False


@dataclass(eq=False)
class Directory:
    """Names, as the running system sees them and as they are on the platter."""

    cached: "dict[str, File | Directory]" = field(default_factory=dict)
    durable: "dict[str, File | Directory]" = field(default_factory=dict)


Node = File | Directory
Place = tuple[Directory, str]


@dataclass(frozen=True)
class Change:
    """A name that came (no source), went (no target) or moved, and is not stored yet."""

    node: Node
    source: Place | None
    target: Place | None

    def touches(self, directory: Directory) -> bool:
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


def crash(root: Directory, changes: list[Change], survival: Survival, seed: int) -> None:
    """Leave in the tree what this kind of crash leaves; `changes` are the names not stored yet, oldest first."""
    chance = random.Random(seed)
    for change in changes:
        if survival is Survival.KILLED or (survival is Survival.TORN and chance.random() < 0.5):
            change.store()
    _reread(root, survival, chance)


def _reread(directory: Directory, survival: Survival, chance: random.Random) -> None:
    directory.cached = dict(directory.durable)
    for node in directory.cached.values():
        if isinstance(node, Directory):
            _reread(node, survival, chance)
        else:
            if survival is Survival.TORN:
                node.cached = _torn(node, chance)
            elif survival is Survival.LOST:
                node.cached = node.durable
            node.durable = node.cached
            node.poisoned = False


def _torn(file: File, chance: random.Random) -> bytes:
    """The stored contents, the new ones, or the old ones with a part of what was added."""
    if file.cached == file.durable:
        return file.durable
    if not file.cached.startswith(file.durable):
        return chance.choice((file.durable, file.cached))
    added = file.cached[len(file.durable) :]
    kept = added[: chance.randrange(len(added) + 1)]
    zeros = bytes(len(added) - len(kept)) if chance.random() < 0.3 else b""
    return file.durable + kept + zeros
