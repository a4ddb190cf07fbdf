"""The file system that holds a path, with its room and whether files share blocks in it, and the block device beneath.

From /proc/self/mountinfo (proc(5)) and /sys/dev/block (the kernel's "Queue sysfs files"). Sharing is tried with FICLONE
(ioctl_ficlonerange(2)) on two files of our own, because the type of the file system does not say (XFS may be made
without it). A partition's queue is that of its whole disk; a device-mapper or loop device names what lies under it.
"""

import fcntl
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.places import Mount, MountEntry, holding, mounts

FICLONE = 0x40049409
UNKNOWN = "unknown"
"""A file system or device that the kernel does not list."""

IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
LAYERED = ("overlay", "aufs", "fuse-overlayfs", "fuse.fuse-overlayfs")
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "virtiofs", "fuse.sshfs")
_PROBE_BYTES = 4096


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
        reflink=can_share_blocks(existing),
    )


def existing_ancestor(path: Path) -> Path:
    """The path itself if it exists, else the nearest directory above that does."""
    resolved = path.resolve()
    return next(each for each in (resolved, *resolved.parents) if each.exists())


def can_share_blocks(folder: Path) -> bool:
    """Try it with two nameless files in `folder`."""
    where = folder if folder.is_dir() else folder.parent
    try:
        with tempfile.TemporaryFile(dir=where) as original, tempfile.TemporaryFile(dir=where) as copy:
            original.write(b"\0" * _PROBE_BYTES)
            original.flush()
            fcntl.ioctl(copy.fileno(), FICLONE, original.fileno())
    except OSError:
        return False
    return True


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
    rotational = _text(queue / "rotational")
    return BlockDevice(
        name=folder.name,
        disk=disk.name,
        model=_text(disk / "device" / "model"),
        rotational=None if rotational is None else rotational == "1",
        scheduler=chosen(_text(queue / "scheduler")),
        write_cache=_text(queue / "write_cache"),
        logical_block_bytes=_number(queue / "logical_block_size"),
        physical_block_bytes=_number(queue / "physical_block_size"),
        beneath=tuple(sorted(each.name for each in (disk / "slaves").iterdir())) if (disk / "slaves").exists() else (),
    )


def chosen(text: str | None) -> str | None:
    """The word in brackets of `none [mq-deadline] kyber`; the whole text if there are none."""
    if text is None or "[" not in text:
        return text
    return text.partition("[")[2].partition("]")[0]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text and text.isdecimal() else None
