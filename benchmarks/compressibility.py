"""Scanning a cluster's files: its speed ÷ the codec's own on the same blocks in memory, on one core and on all.

usage: python -m benchmarks.compressibility [--mb N] [--rounds N] [--codec NAME]

The codec's own speed is that of `stored_bytes` over the files' contents, already read, on as many threads as the scan
has; the scan reads the files from the page cache and adds up. Rounds are interleaved, the ratio is the median of the
rounds' ratios. The project's goal is at least 0.8.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import cpu_count
from pathlib import Path

import numpy as np

from pgassay._core import scan_blocks, stored_bytes

CHUNK_BYTES = 1 << 20


def content(megabytes: int) -> bytes:
    """Rows of digits and words with gaps of zeros: zstd-1 makes about a half of it."""
    random = np.random.default_rng(5)
    digits = random.integers(48, 58, megabytes << 20, dtype=np.uint8)
    zeros = random.random(len(digits) // 64) < 0.2
    digits.reshape(-1, 64)[zeros] = 0
    return digits.tobytes()


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Elapsed, and of all processors."""
    elapsed, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - elapsed, time.process_time() - busy


def compress(parts: list[bytes], codec: str, threads: int) -> None:
    """Every chunk, from memory."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: stored_bytes(part, codec), parts))


def scan(path: Path, chunks: int, codec: str, threads: int) -> None:
    """Every chunk, from the file."""
    scan_blocks(
        [path],
        np.zeros(chunks, np.uint32),
        np.arange(chunks, dtype=np.uint64) * CHUNK_BYTES,
        np.full(chunks, CHUNK_BYTES, np.uint32),
        codecs=[codec],
        granularities=[1, 512],
        threads=threads,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--codec", default="zstd-1")
    arguments = parser.parse_args()
    data = content(arguments.mb)
    parts = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "relation"
        path.write_bytes(data)
        for threads in sorted({1, cpu_count() or 1}):
            ratios, speeds = [], []
            for _ in range(arguments.rounds):
                own = seconds(partial(compress, parts, arguments.codec, threads))
                scanned = seconds(partial(scan, path, len(parts), arguments.codec, threads))
                ratios.append([mine / theirs for mine, theirs in zip(own, scanned, strict=True)])
                speeds.append(arguments.mb / scanned[1])
            elapsed, busy = (statistics.median(each) for each in zip(*ratios, strict=True))
            print(
                f"{arguments.codec}, {threads} thread{'s' * (threads > 1)}: scan ÷ codec's own speed {elapsed:.2f},"
                f" by processor time {busy:.2f}; {statistics.median(speeds):.0f} MB a processor's second here"
            )


if __name__ == "__main__":
    main()
