"""What the drive below a folder can do: how long a flush takes, and what it flushes, writes and reads in a second.

One stream each, as a single committing session, a checkpoint and an index scan see the drive; several at once may get
more, so a bound from these is a low one for a load that waits in parallel. `pgassay run disk` asks in depth. All of it
takes about five seconds.
"""

import mmap
import os
import random
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

BLOCK_BYTES = 8192
FILE_BYTES = 256 * 1024**2
CHUNK_BYTES = 1024**2
PATIENCE_S = 1.5
_SEED = 1


def measure(folder: Path) -> Mapping[str, float]:
    """`flushes`, `written_bytes` and `reads` a second; without what cannot be measured there (no room, no O_DIRECT)."""
    found: dict[str, float] = {}
    with suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:  # without a name, so a kill leaves nothing
        found["written_bytes"] = _written_bytes(file.fileno())
        found["flushes"] = _flushes(file.fileno())
        with suppress(OSError):
            found["reads"] = _reads(Path(f"/proc/self/fd/{file.fileno()}"))
    return found


def _written_bytes(descriptor: int) -> float:
    """To a file that exists already, as recycled WAL does; the time of the last flush counts."""
    chunk = os.urandom(CHUNK_BYTES)
    _fill(descriptor, chunk, None)
    started_ns = time.perf_counter_ns()
    written = _fill(descriptor, chunk, started_ns + int(PATIENCE_S * 1e9))
    return written / ((time.perf_counter_ns() - started_ns) / 1e9)


def _fill(descriptor: int, chunk: bytes, deadline_ns: int | None) -> int:
    written = 0
    for offset in range(0, FILE_BYTES, CHUNK_BYTES):
        os.pwrite(descriptor, chunk, offset)
        written += CHUNK_BYTES
        if deadline_ns is not None and time.perf_counter_ns() > deadline_ns:
            break
    os.fdatasync(descriptor)
    return written


def _flushes(descriptor: int) -> float:
    block = os.urandom(BLOCK_BYTES)
    count, started_ns = 0, time.perf_counter_ns()
    while not count or time.perf_counter_ns() - started_ns < PATIENCE_S * 1e9:
        os.pwrite(descriptor, block, count * BLOCK_BYTES % FILE_BYTES)
        os.fdatasync(descriptor)
        count += 1
    return count / ((time.perf_counter_ns() - started_ns) / 1e9)


def _reads(file: Path) -> float:
    """Past the page cache; raises OSError where the file system has no O_DIRECT."""
    descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, BLOCK_BYTES) as aligned:
            chance = random.Random(_SEED)
            count, started_ns = 0, time.perf_counter_ns()
            while not count or time.perf_counter_ns() - started_ns < PATIENCE_S * 1e9:
                os.preadv(descriptor, [aligned], chance.randrange(FILE_BYTES // BLOCK_BYTES) * BLOCK_BYTES)
                count += 1
            return count / ((time.perf_counter_ns() - started_ns) / 1e9)
    finally:
        os.close(descriptor)


FLUSH_FILE_BYTES = 16 * 1024**2
"""What pg_test_fsync uses: written once before, so that no block is allocated while we measure."""
FLUSHES_MAX = 200
FLUSH_PATIENCE_S = 1.0


def flush_median_us(folder: Path) -> float | None:
    """The median of up to 200 flushes within a second, in µs; None where we may not write."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            descriptor = file.fileno()
            file.write(b"\0" * FLUSH_FILE_BYTES)
            file.flush()
            os.fsync(descriptor)
            block = os.urandom(BLOCK_BYTES)
            times_us: list[float] = []
            deadline_ns = time.perf_counter_ns() + int(FLUSH_PATIENCE_S * 1e9)
            while len(times_us) < FLUSHES_MAX and (not times_us or time.perf_counter_ns() < deadline_ns):
                offset = len(times_us) * BLOCK_BYTES % FLUSH_FILE_BYTES
                started_ns = time.perf_counter_ns()
                os.pwrite(descriptor, block, offset)
                os.fdatasync(descriptor)
                times_us.append((time.perf_counter_ns() - started_ns) / 1e3)
            return statistics.median(times_us)
    except OSError:
        return None
