"""Wearing a real device in before its file system is made: whole drive writes, on request.

As SNIA's Performance Test Specification does before it measures: first sequentially over the whole device, then at
random, with contents that neither compress nor repeat. A drive with fresh flash has nothing to collect. What then
counts as steady is the load's own write amplification over time, which the report shows.
"""

import mmap
import os
import random
from pathlib import Path

from pgassay.drive.block import messages

SEQUENTIAL_BYTES = 1 << 20
RANDOM_BYTES = 64 << 10
_NOISE_BYTES = 16 << 20
_ALIGNED_BYTES = 4096


def precondition(device: Path, drive_writes: int, seed: int = 1) -> int:
    """Write the device over so many times; returns bytes written. Raises `DriveError`. All that was on it is gone."""
    if drive_writes <= 0:
        return 0
    chance = random.Random(seed)
    with mmap.mmap(-1, _NOISE_BYTES) as noise:
        noise.write(os.urandom(_NOISE_BYTES))
        try:
            descriptor = os.open(device, os.O_WRONLY | os.O_DIRECT | os.O_EXCL | os.O_CLOEXEC)
        except OSError as failure:
            raise messages.system_failed("open", device, failure) from failure
        try:
            size = os.lseek(descriptor, 0, os.SEEK_END) // _ALIGNED_BYTES * _ALIGNED_BYTES
            written = sum(_write(descriptor, noise, place, SEQUENTIAL_BYTES, size, chance)
                          for place in range(0, size, SEQUENTIAL_BYTES))  # fmt: skip
            places = size // RANDOM_BYTES
            for _ in range((drive_writes - 1) * places):
                written += _write(
                    descriptor, noise, chance.randrange(places) * RANDOM_BYTES, RANDOM_BYTES, size, chance
                )
            os.fsync(descriptor)
        except OSError as failure:
            raise messages.system_failed("write over", device, failure) from failure
        finally:
            os.close(descriptor)
    return written


def _write(descriptor: int, noise: mmap.mmap, place: int, length: int, size: int, chance: random.Random) -> int:
    """Some stretch of the noise, another each time: drives may find what repeats."""
    length = min(length, size - place)
    start = chance.randrange((_NOISE_BYTES - length) // _ALIGNED_BYTES + 1) * _ALIGNED_BYTES
    with memoryview(noise) as view, view[start : start + length] as part:
        return os.pwrite(descriptor, part, place)
