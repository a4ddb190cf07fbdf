"""The kinds of drive that a study can name, and what a kind alone says about a drive.

A level of `drive.data` or `drive.wal` comes in two forms, both of which are read here: as typed (`csd`,
`directory:/srv/pg`, `device:/dev/nvme1n1`, `plugin:thick`, `mine.toml`) and in canonical form
(`description:/etc/mine.toml#DIGEST`). Real drives, described ones and those of packages may be declared to be what
published studies speak of: `compressing=device:/dev/nvme1n1`. A description's role is not found from its file: a record
has the level as typed, and is read where the file may be another or gone.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

DATA, WAL = "drive.data", "drive.wal"
STATE_BEFORE = "state_before"
"""By this name a drive that is put back says what it had counted and how full it was before a trial."""
HOST_BEFORE = "host_bytes_before"
"""By this name a real drive says how much it had been sent before a trial."""
KERNEL: Mapping[str, str] = {"smart": "diskstats", "smart_wal": "diskstats_wal"}
"""The sources of real drives in a record, and what the kernel counts of each."""
_STILL_BYTES = 64 << 20
"""So much from the kernel moves every counter of host writes that moves at all; the coarsest count 32 MiB (Intel)."""
AS_FOUND = "as it was found"
"""The state that trials on a real drive start from: nothing puts it back."""
TIMING = "drive.timing"
UNTIMED = "off"
DILATION = "drive.dilation"


class Role(StrEnum):
    """What a drive is to a published study, whoever made it. The value is the word that declares it."""

    NORMAL = "normal"
    """Stores what it is sent."""
    COMPRESSING = "compressing"
    """Stores fewer bytes than it is sent."""


class DriveKind(StrEnum):
    """What PostgreSQL's files lie on. The value is the word in a study file and in a record."""

    DIRECTORY = "directory"
    """A directory of the host, with the host's own file system and drive."""
    IMAGE = "image"
    """A file of the host behind a loop device, with a file system of its own."""
    DEVICE = "device"
    """A real block device."""
    SSD = "ssd"
    """An emulated drive: flash without compression."""
    CSD = "csd"
    """An emulated drive that compresses what it stores."""
    DESCRIPTION = "description"
    """An emulated drive as a file describes it."""
    PLUGIN = "plugin"
    """A disk in a file of the host, made as an installed package says."""
    BESIDE = "beside"
    """Of the WAL alone: no drive of its own, it lies with the data. For studies that vary `drive.wal`."""

    @property
    def emulated(self) -> bool:
        """Is the drive a program of ours, whose flash is a model?"""
        return self in (DriveKind.SSD, DriveKind.CSD, DriveKind.DESCRIPTION)

    @property
    def real(self) -> bool:
        """Is it a drive of the machine, which has counters of its own?"""
        return self in (DriveKind.DIRECTORY, DriveKind.DEVICE)

    @property
    def compresses(self) -> bool | None:
        """Does the drive store fewer bytes than it gets? None where the kind alone does not say."""
        if self in (*DECLARABLE, DriveKind.BESIDE):
            return None
        return self is DriveKind.CSD

    @property
    def holds_one_cluster(self) -> bool:
        """Is the drive as large as one cluster, with its snapshots kept elsewhere?"""
        return self in (DriveKind.IMAGE, DriveKind.PLUGIN) or self.emulated


DECLARABLE = (DriveKind.DIRECTORY, DriveKind.DEVICE, DriveKind.DESCRIPTION, DriveKind.PLUGIN)
"""Kinds that are followed by a colon and what they are on, a path or a plug-in, so that a role may be declared."""
CLAIMED = (DriveKind.SSD, DriveKind.CSD)
"""The kinds by which published claims name a normal drive and a compressing one."""


class Canonical(Protocol):
    """A level, of a study or of a record."""

    @property
    def canonical(self) -> str:
        """The one form that agrees exactly where meanings do."""


def declared(level: str) -> tuple[Role | None, str]:
    """A level's declared role, None without one, and the level without it."""
    word, equals, rest = level.strip().partition("=")
    return (Role(word.strip()), rest.strip()) if equals and word.strip() in list(Role) else (None, level.strip())


def kind_of(level: str) -> DriveKind | None:
    """The kind that a level names, typed or canonical; None for any other text."""
    _, bare = declared(level)
    word, colon, _ = bare.partition(":")
    if word in list(DriveKind) and (not colon or DriveKind(word) in DECLARABLE):
        return DriveKind(word)
    return DriveKind.DESCRIPTION if bare.endswith(".toml") else None


def role_of(level: str) -> Role | None:
    """What a level is to a published study: as declared, else by its kind; None where neither says."""
    role, bare = declared(level)
    kind = kind_of(bare)
    if role is not None or kind is None or kind.compresses is None:
        return role
    return Role.COMPRESSING if kind.compresses else Role.NORMAL


def emulated(levels: Mapping[str, Canonical]) -> bool:
    """Is any drive of these levels (by factor) an emulated one?"""
    kinds = (kind_of(levels[name].canonical) for name in (DATA, WAL) if name in levels)
    return any(kind is not None and kind.emulated for kind in kinds)


def timed(levels: Mapping[str, Canonical]) -> bool:
    """Do the emulated drives of these levels answer in modelled service times?"""
    timing = levels.get(TIMING)
    return emulated(levels) and timing is not None and timing.canonical not in ("", UNTIMED)


def dilation(levels: Mapping[str, Canonical]) -> int:
    """How many times more slowly than the machine's the time of these levels' drives passes; 1 for real ones."""
    level = levels.get(DILATION)
    return int(level.canonical) if level is not None and timed(levels) else 1


def host_stands_still(counted: Mapping[str, float | None], source: str) -> bool:
    """Did a real drive count no host writes in a window, although the kernel wrote to it?"""
    if source not in KERNEL or counted.get(f"{source}.host_bytes_written") != 0.0:
        return False
    return (counted.get(f"{KERNEL[source]}.written_bytes") or 0.0) > _STILL_BYTES
