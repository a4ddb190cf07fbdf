"""Which block device lies under a directory: a partition's disk, btrfs' anonymous device, loop and device-mapper.

The device that is counted is the one the file system sits on; flushes are counted by whole disks only, so a partition
names its disk too. Read from /proc/self/mountinfo and /sys/dev/block.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from pgassay.probe.procfs import read_text


@dataclass(frozen=True)
class Device:
    """A block device: `number` as `MAJ:MIN`, its name, and the whole disk's number when it is a partition."""

    number: str
    name: str
    disk: str


def device_under(
    path: Path, *, sys: Path = Path("/sys"), mountinfo: Path = Path("/proc/self/mountinfo")
) -> Device | None:
    """The device under `path`; None where there is none to count (tmpfs, overlay, network)."""
    number = path.stat().st_dev
    found = _device(f"{os.major(number)}:{os.minor(number)}", sys)
    if found is not None:
        return found
    source = mount_source(read_text(mountinfo) or "", f"{os.major(number)}:{os.minor(number)}", path.resolve())
    if source is None or not Path(source).is_block_device():
        return None
    number = Path(source).stat().st_rdev
    return _device(f"{os.major(number)}:{os.minor(number)}", sys)


def mount_source(mountinfo: str, number: str, path: Path) -> str | None:
    """The source (`/dev/sda2`) of the innermost mount that holds `path`; `number` decides where it is listed."""
    best: tuple[bool, int, str] | None = None
    for line in mountinfo.splitlines():
        head, dash, tail = line.partition(" - ")
        fields = head.split()
        if not dash or len(fields) < 5 or len(tail.split()) < 2:
            continue
        point = Path(fields[4].replace("\\040", " "))
        if path == point or point in path.parents:
            candidate = (fields[2] == number, len(point.parts), tail.split()[1])
            best = max(best, candidate) if best else candidate
    return best[2] if best else None


def _device(number: str, sys: Path) -> Device | None:
    folder = sys / "dev" / "block" / number
    if not folder.exists():
        return None
    resolved = folder.resolve()
    disk = number
    if (resolved / "partition").exists():
        disk = (read_text(resolved.parent / "dev") or number).strip()
    return Device(number, resolved.name, disk)
