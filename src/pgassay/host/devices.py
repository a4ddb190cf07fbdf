"""The block device under a file system: what it is and how the kernel treats it, from /sys/dev/block.

See the kernel's documentation, "Queue sysfs files". A partition's queue is that of its whole disk; a device-mapper or
loop device names what lies under it.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.places import Mount


@dataclass(frozen=True)
class BlockDevice:
    """A block device. None where the kernel does not tell; `model` is the maker's text; sizes in bytes."""

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
    """The device `major:minor`; None if the kernel has no such block device."""
    folder = sys / "dev" / "block" / number
    if not folder.exists():
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
