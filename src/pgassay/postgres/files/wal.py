"""WAL segments that hold another segment's past: recycled ones, renamed to be written later.

Each page of WAL begins with its own address (xlog_internal.h, XLogPageHeaderData); in a recycled segment it is the old
one. They take space on a drive and tell nothing of the WAL to come.
"""

import struct
from pathlib import Path

_HEADER = struct.Struct("=HHIQ")


def is_recycled(path: Path, segment_bytes: int) -> bool:
    """Does the segment at `path` begin with a page of another one, or was it never written?"""
    try:
        with path.open("rb") as segment:
            head = segment.read(_HEADER.size)
    except FileNotFoundError:
        return True
    if len(head) < _HEADER.size or not segment_bytes:
        return True
    _, _, _, address = _HEADER.unpack(head)
    # A name is timeline, then the segment's number as two words: the upper 32 bits of its address, and the rest.
    high, low = int(path.name[8:16], 16), int(path.name[16:], 16)
    return bool(address != (high << 32) + low * segment_bytes)
