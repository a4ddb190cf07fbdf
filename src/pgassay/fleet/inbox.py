"""Blocks that have come home and are not committed yet, kept on the head's disk.

The head commits blocks in the order of their numbers and trial by trial; killed in the middle, it must go on with the
rest of the very same block. So a block is kept whole and fsynced before its first trial is committed, and removed when
the design has gone on to the next one. `inbox/000007/` holds `block.json` and a file for each parcel.
"""

from pathlib import Path

import msgspec

from pgassay.fleet import parcels
from pgassay.fleet.parcels import Arrived, Parcel, damaged_parcel
from pgassay.record.disk import Disk

DIRECTORY = "inbox"
BLOCK_FILE = "block.json"
FORMAT = 1


class _Listed(msgspec.Struct, frozen=True):
    arm: str
    attempt: int
    sha256: str


class _Block(msgspec.Struct, frozen=True):
    block: int
    host: str
    parcels: tuple[_Listed, ...]
    format: int = FORMAT


def write(disk: Disk, folder: Path, arrived: Arrived) -> None:
    """Write a block into a new directory; durable when it returns, but for the directory's own name."""
    disk.mkdir(folder)
    for each in {parcel.sha256: parcel for parcel in arrived.parcels}.values():
        disk.write_file(folder / f"{each.sha256}.tar", each.data)
    listed = tuple(_Listed(each.arm, each.attempt, each.sha256) for each in arrived.parcels)
    disk.write_file(folder / BLOCK_FILE, msgspec.json.encode(_Block(arrived.block, arrived.host, listed)))
    disk.sync_tree(folder)


def read(disk: Disk, folder: Path, block: int) -> Arrived:
    """Read a block, every checksum looked at; raises `FleetError`."""
    try:
        found = msgspec.json.decode(disk.read(folder / BLOCK_FILE), type=_Block)
        contents = {
            each.sha256: disk.read(folder / f"{each.sha256}.tar")
            for each in found.parcels
            if (len(each.sha256) == 64 and set(each.sha256) <= set("0123456789abcdef"))
        }
        came = tuple(Parcel(each.arm, each.attempt, each.sha256, contents[each.sha256]) for each in found.parcels)
    except (OSError, KeyError, msgspec.MsgspecError) as error:
        raise damaged_parcel(block, str(error)) from None
    if found.block != block:
        raise damaged_parcel(block, f"it is block {found.block}")
    parcels.check(block, came)
    return Arrived(block, found.host, came)


class Inbox:
    """The inbox of a run directory."""

    def __init__(self, disk: Disk, run: Path) -> None:
        self._disk = disk
        self._path = run / DIRECTORY
        if not disk.exists(self._path):
            disk.mkdir(self._path)
            disk.sync_directory(run)
        for name in disk.list(self._path):
            if name.startswith("."):  # torn by a crash: the block counts as not arrived
                disk.remove_tree(self._path / name)

    def blocks(self) -> frozenset[int]:
        """Numbers of the blocks that are here."""
        return frozenset(int(name) for name in self._disk.list(self._path) if name.isdigit())

    def keep(self, arrived: Arrived) -> None:
        """Keep a block that came home; one that is here already stays, for a trial of it may be committed."""
        parcels.check(arrived.block, arrived.parcels)
        if arrived.block in self.blocks():
            return
        torn = self._path / f".{arrived.block:06d}"
        write(self._disk, torn, arrived)
        self._disk.rename(torn, self._path / f"{arrived.block:06d}")

    def take(self, block: int) -> Arrived:
        """A block that is here."""
        return read(self._disk, self._path / f"{block:06d}", block)

    def forget_before(self, block: int) -> None:
        """The design has gone on to `block`: what is before it is committed or not wanted."""
        for number in self.blocks():
            if number < block:
                self._disk.remove_tree(self._path / f"{number:06d}")

    def close(self) -> None:
        """The run is over: nothing waits any more."""
        self._disk.remove_tree(self._path)
