"""Is a device blank? wipefs(8) finds signatures; data without one, as of a program that writes a raw volume, escape it.

Its first and last MiB are read, where nearly everything that lies on a whole device has something, and stretches evenly
spread between them: of a device full of data each is data, and of a very large one nobody waits for all of it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from pgassay.drive.block import messages

EDGE_BYTES = 1 << 20
STRETCHES = 256
STRETCH_BYTES = 64 << 10
"""16 MiB in all; a device up to 18 MiB is read whole."""


def first_data(device: Path) -> int | None:
    """Where something other than zeros lies, in bytes from the start; None where nothing was seen.

    Raises `DriveError` for a device that cannot be read.
    """
    try:
        with device.open("rb") as file:
            for place, length in _stretches(file.seek(0, os.SEEK_END)):
                file.seek(place)
                found = file.read(length)
                after_zeros = found.lstrip(b"\0")
                if after_zeros:
                    return place + len(found) - len(after_zeros)
    except OSError as failure:
        raise messages.system_failed("read", device, failure) from failure
    return None


def _stretches(size: int) -> Iterator[tuple[int, int]]:
    """Places and lengths, the ends first."""
    yield 0, EDGE_BYTES
    yield max(0, size - EDGE_BYTES), EDGE_BYTES
    step = -(-max(0, size - 2 * EDGE_BYTES) // STRETCHES)
    for number in range(STRETCHES if step else 0):
        yield EDGE_BYTES + number * step, min(step, STRETCH_BYTES)
