"""The file system that holds a path, with its room and whether files share blocks in it, and the block device beneath.

From /proc/self/mountinfo (proc(5)) and /sys/dev/block (the kernel's "Queue sysfs files"). Sharing is tried on two
files of our own, because the type of the file system does not say (XFS may be made without it). A partition's queue is
that of its whole disk; a device-mapper or loop device names what lies under it.

The page cache is dropped or filled file by file, of our own files only: `posix_fadvise(POSIX_FADV_DONTNEED)` after an
fsync drops a file's clean pages and needs no privilege; see posix_fadvise(2).
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pgassay import copying
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Mount, MountEntry, holding, mounts

UNKNOWN = "unknown"
"""A file system or device that the kernel does not list."""

IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
LAYERED = ("overlay", "aufs", "fuse-overlayfs", "fuse.fuse-overlayfs")
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "virtiofs", "fuse.sshfs")


def mount_of(path: Path) -> Mount:
    """The file system of `path` (or, while it does not exist, of the nearest directory that does) as it is now.

    `free_bytes` is what an unprivileged account may use; `reflink` is False where we may not write.
    """
    existing = existing_ancestor(path)
    try:
        room = os.statvfs(existing)
        table = mounts()
    except OSError:
        raise BenchError(f'could not find out which file system holds "{path}"') from None
    try:
        reflink = copying.supported(existing if existing.is_dir() else existing.parent)
    except OSError:  # we may not write there
        reflink = False
    # In a change-rooted system whose root is no mount point the kernel lists no mount above us: the room is known all
    # the same, and what is not known is called so.
    entry = holding(existing, table) or MountEntry(existing, UNKNOWN, UNKNOWN, (), "")
    return Mount(
        path=path,
        mount_point=entry.point,
        filesystem=entry.filesystem,
        device=entry.source,
        options=",".join(entry.options),
        size_bytes=room.f_blocks * room.f_frsize,
        free_bytes=room.f_bavail * room.f_frsize,
        reflink=reflink,
    )


def existing_ancestor(path: Path) -> Path:
    """The path itself if it exists, else the nearest directory above that does."""
    resolved = path.resolve()
    return next(each for each in (resolved, *resolved.parents) if each.exists())


def unsuitable(mount: Mount) -> str | None:
    """Why this is no place to measure storage on, in a phrase; None if it is fine."""
    if mount.filesystem in IN_MEMORY:
        return f"{mount.filesystem} keeps its files in memory, so that no write reaches a drive"
    if mount.filesystem in LAYERED:
        return f"{mount.filesystem} is a container's layered file system, which is not what a server runs on"
    if mount.filesystem in NETWORK:
        return f"{mount.filesystem} is a file system on the network, whose noise is not this machine's"
    return None


@dataclass(frozen=True)
class BlockDevice:
    """A block device. None where the kernel does not say; `model` is the maker's text; sizes in bytes."""

    name: str
    disk: str
    model: str | None
    rotational: bool | None
    scheduler: str | None
    write_cache: str | None
    logical_block_bytes: int | None
    physical_block_bytes: int | None
    beneath: tuple[str, ...] = field(default=())


def device_of(mount: Mount, sys: Path = Path("/sys")) -> BlockDevice | None:
    """The block device of a mount; None for a file system without one (tmpfs, overlay, NFS)."""
    try:
        status = (Path(mount.device) if mount.device.startswith("/dev/") else mount.mount_point).stat()
    except OSError:
        return None
    number = status.st_rdev if mount.device.startswith("/dev/") else status.st_dev
    return read_device(f"{os.major(number)}:{os.minor(number)}", sys)


def read_device(number: str, sys: Path = Path("/sys")) -> BlockDevice | None:
    """The device `major:minor`; None if the kernel has no such block device, or does not show it to a container."""
    folder = sys / "dev" / "block" / number
    try:
        folder.stat()
    except OSError:
        return None
    folder = folder.resolve()
    disk = folder.parent if (folder / "partition").exists() else folder
    queue = disk / "queue"
    rotational = read_text(queue / "rotational")
    return BlockDevice(
        name=folder.name,
        disk=disk.name,
        model=read_text(disk / "device" / "model"),
        rotational=None if rotational is None else rotational == "1",
        scheduler=chosen(read_text(queue / "scheduler")),
        write_cache=read_text(queue / "write_cache"),
        logical_block_bytes=_number(queue / "logical_block_size"),
        physical_block_bytes=_number(queue / "physical_block_size"),
        beneath=tuple(sorted(each.name for each in (disk / "slaves").iterdir())) if (disk / "slaves").exists() else (),
    )


def chosen(text: str | None) -> str | None:
    """The word in brackets of `none [mq-deadline] kyber`; the whole text if there are none."""
    if text is None or "[" not in text:
        return text
    return text.partition("[")[2].partition("]")[0]


def read_text(path: Path) -> str | None:
    """Without blanks at its ends; None for an empty file, and one that cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = read_text(path)
    return int(text) if text and text.isdecimal() else None


_CHUNK_BYTES = 1 << 20


class PageCache:
    """Makes the files under a directory cold or warm in the page cache."""

    def make_cold(self, directory: Path) -> str:
        for path in _cached_files(directory):
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue  # A running server removes files while we look.
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
        return "posix_fadvise dropped our files' pages"

    def make_warm(self, directory: Path) -> str:
        """Read every relation file once, so that the page cache holds what it can."""
        buffer = bytearray(_CHUNK_BYTES)
        for path in _cached_files(directory / "base"):
            with contextlib.suppress(FileNotFoundError), path.open("rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass
        return "files read through once"


def _cached_files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path
