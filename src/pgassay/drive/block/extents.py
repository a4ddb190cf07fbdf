"""Which file of a cluster lies at a place of its drive: by the extents that the file system tells (FS_IOC_FIEMAP).

So a page that was in flight when the power failed has a name. ext4, xfs and btrfs tell extents; btrfs tells addresses
that are not the drive's own, and is not asked.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

FS_IOC_FIEMAP = 0xC020660B
_HEAD = struct.Struct("=QQ4I")
"""fiemap of linux/fiemap.h: start, length, flags, extents found, extents that there is room for, nothing."""
_EXTENT = struct.Struct("=3Q2Q4I")
"""fiemap_extent: place in the file, place on the drive, length, two numbers of nothing, flags, three more."""
_ROOM = 256
_ALL = (1 << 64) - 1


def file_at(directory: Path, place: int) -> tuple[str, int] | None:
    """The file of the cluster in `directory` that has this byte of the drive, and which of its bytes it is.

    The name is relative to the directory. None where no table, index or other relation has it.
    """
    for pattern in ("base/*/*", "global/*"):
        for path in sorted(directory.glob(pattern)):
            if path.is_file():
                for logical, physical, length in extents(path):
                    if physical <= place < physical + length:
                        return str(path.relative_to(directory)), logical + place - physical
    return None


def extents(path: Path) -> Iterator[tuple[int, int, int]]:
    """Place in the file, place on the drive and length of each extent, in bytes; none where they are not told."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        start = 0
        while True:
            answer = bytearray(_HEAD.pack(start, _ALL - start, 0, 0, _ROOM, 0) + bytes(_ROOM * _EXTENT.size))
            try:
                fcntl.ioctl(descriptor, FS_IOC_FIEMAP, answer, True)
            except OSError:
                return
            count = _HEAD.unpack_from(answer)[3]
            for number in range(count):
                logical, physical, length, *_ = _EXTENT.unpack_from(answer, _HEAD.size + number * _EXTENT.size)
                yield logical, physical, length
                start = logical + length
            if count < _ROOM:
                return
    finally:
        os.close(descriptor)
