"""How long does a flushed write take? 8 kB written over and over in a file of our own, fdatasync(2) after each."""

import os
import statistics
import tempfile
import time
from pathlib import Path

BLOCK_BYTES = 8192
FILE_BYTES = 16 * 1024**2
"""What pg_test_fsync uses: written once before, so that no block is allocated while we measure."""
ROUNDS_MAX = 200
PATIENCE_S = 1.0


def median_us(folder: Path) -> float | None:
    """The median of up to 200 flushes within a second, in µs; None where we may not write."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            descriptor = file.fileno()
            file.write(b"\0" * FILE_BYTES)
            file.flush()
            os.fsync(descriptor)
            return _measure(descriptor)
    except OSError:
        return None


def _measure(descriptor: int) -> float:
    block = os.urandom(BLOCK_BYTES)
    times_us: list[float] = []
    deadline_ns = time.perf_counter_ns() + int(PATIENCE_S * 1e9)
    while len(times_us) < ROUNDS_MAX and (not times_us or time.perf_counter_ns() < deadline_ns):
        offset = len(times_us) * BLOCK_BYTES % FILE_BYTES
        started_ns = time.perf_counter_ns()
        os.pwrite(descriptor, block, offset)
        os.fdatasync(descriptor)
        times_us.append((time.perf_counter_ns() - started_ns) / 1e3)
    return statistics.median(times_us)
