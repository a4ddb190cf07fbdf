"""Reading a pgbench log: lines per second ÷ polars' on the same file, and the memory both need as the file grows.

usage: python -m benchmarks.log_reader [--lines N] [--rounds N]

Both sides give the same: a second's count, mean, max, p50, p95, p99, and the whole's p50, p95, p99, p99.9, max and
deviation. The log has no failed transactions, so that polars may read plain integers; its columns are narrow, it parses
only those that it needs, and it is measured by its quickest way of several. Rounds are interleaved; the file is in the
page cache. The project's goal is a ratio of at least 3.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from pgassay._core import LatencySketch, read_pgbench_logs

TPS = 25_000
CLIENTS = 8
COLUMNS = ("client", "transaction", "latency_us", "script", "epoch_s", "epoch_us")
QUANTILES = (0.5, 0.95, 0.99, 0.999)

Summary = dict[str, float]


def write_log(path: Path, lines: int) -> None:
    """A log as of a steady run: exponential gaps, log-normal latencies with a heavy tail."""
    random = np.random.default_rng(20260801)
    ended_us = 1_795_229_900_324_444 + np.cumsum(random.exponential(1e6 / TPS, lines)).astype(np.int64)
    latency_us = 150 + np.exp(random.normal(5.5, 0.6, lines)) + (random.random(lines) < 0.002) * 20_000
    values = {
        "client": random.integers(0, CLIENTS, lines),
        "transaction": 1 + np.arange(lines) // CLIENTS,
        "latency_us": latency_us.astype(np.int64),
        "script": np.zeros(lines, np.int64),
        "epoch_s": ended_us // 1_000_000,
        "epoch_us": ended_us % 1_000_000,
    }
    pl.DataFrame(values).write_csv(path, separator=" ", include_header=False)


def by_pgassay(path: Path) -> Summary:
    log = read_pgbench_logs([path])
    latency, series = log.totals.latency, log.series
    found = {f"p{q * 100:g}": latency.quantile(q) or 0.0 for q in QUANTILES}
    found |= {"max": float(latency.max_us or 0), "stddev": latency.stddev_us or 0.0}
    return found | {"seconds": float(len(series)), "second_5_p99": series["latency_p99_us"][5]}


def polars_queries(rows: pl.LazyFrame) -> list[pl.LazyFrame]:
    latency = pl.col("latency_us")

    def quantile(q: float) -> pl.Expr:
        return latency.quantile(q, "nearest").alias(f"p{q * 100:g}")

    moments = (latency.mean().alias("mean"), latency.max().alias("max"))
    seconds = rows.group_by("epoch_s").agg(pl.len(), *moments, *map(quantile, QUANTILES[:3])).sort("epoch_s")
    return [seconds, rows.select(*moments, latency.std(ddof=0).alias("stddev"), *map(quantile, QUANTILES))]


def polars_summary(seconds: pl.DataFrame, whole: pl.DataFrame) -> Summary:
    found = {name: float(whole[name][0]) for name in (*(f"p{q * 100:g}" for q in QUANTILES), "max", "stddev")}
    return found | {"seconds": float(len(seconds)), "second_5_p99": float(seconds["p99"][5])}


def scan(path: Path) -> pl.LazyFrame:
    schema = dict.fromkeys(COLUMNS, pl.UInt32())
    return pl.scan_csv(path, separator=" ", has_header=False, schema=schema, quote_char=None)


def by_polars_streaming(path: Path) -> Summary:
    return polars_summary(*pl.collect_all(polars_queries(scan(path)), engine="streaming"))


def by_polars_in_memory(path: Path) -> Summary:
    return polars_summary(*pl.collect_all(polars_queries(scan(path)), engine="in-memory"))


def by_polars_read_once(path: Path) -> Summary:
    rows = scan(path).select("latency_us", "epoch_s").collect()
    return polars_summary(*pl.collect_all(polars_queries(rows.lazy())))


POLARS = {"streaming": by_polars_streaming, "in memory": by_polars_in_memory, "read once": by_polars_read_once}
READERS = {"pgassay": by_pgassay, **POLARS}


def seconds_for(reader: Callable[[Path], Summary], path: Path) -> float:
    start = time.perf_counter()
    reader(path)
    return time.perf_counter() - start


def check_agreement(path: Path) -> None:
    """A quick reader of something else would be worth nothing."""
    ours = by_pgassay(path)
    for name, reader in POLARS.items():
        for key, theirs in reader(path).items():
            if abs(ours[key] - theirs) > LatencySketch.RELATIVE_ERROR * theirs + 1:
                sys.exit(f"pgassay and polars ({name}) disagree on {key}: {ours[key]} and {theirs}")


def peak_memory_mib(reader: str, path: Path) -> float:
    """Of a process of its own. VmHWM, not ru_maxrss: the latter is at least that of the process that started it."""
    command = [sys.executable, "-m", "benchmarks.log_reader", "--peak-of", reader, str(path.absolute())]
    root = Path(__file__).parents[1]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout)


def print_own_peak(reader: str, path: Path) -> None:
    if path.exists():
        READERS[reader](path)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(int(peak.split()[1]) / 1024)


def compare_speed(path: Path, lines: int, rounds: int) -> None:
    check_agreement(path)
    ways = {name: min(seconds_for(reader, path) for _ in range(2)) for name, reader in POLARS.items()}
    for name, seconds in ways.items():
        print(f"polars, {name}: {lines / seconds / 1e6:.1f} M lines/s")
    best = min(ways, key=ways.__getitem__)
    pairs = [(seconds_for(by_pgassay, path), seconds_for(POLARS[best], path)) for _ in range(rounds)]
    for name, times in zip(("pgassay", f"polars, {best}"), zip(*pairs, strict=True), strict=True):
        speed = lines / statistics.median(times) / 1e6
        print(f"{name}: {speed:.1f} M lines/s (median of {rounds} interleaved rounds)")
    ratios = sorted(theirs / ours for ours, theirs in pairs)
    print(f"ratio: {statistics.median(ratios):.1f} (min {ratios[0]:.1f}, max {ratios[-1]:.1f}; goal: at least 3)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peak-of", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of:
        return print_own_peak(arguments.peak_of[0], Path(arguments.peak_of[1]))
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        write_log(small, arguments.lines // 5)
        write_log(large, arguments.lines)
        sizes = [path.stat().st_size / 2**20 for path in (small, large)]
        threads, version = pl.thread_pool_size(), pl.__version__
        print(f"{arguments.lines} lines, {sizes[1]:.0f} MiB, {threads} threads each, polars {version}")
        compare_speed(large, arguments.lines, arguments.rounds)
        for reader in READERS:
            none, first, second = (peak_memory_mib(reader, path) for path in (Path(folder, "none"), small, large))
            growth = f"{first - none:.1f} MiB for {sizes[0]:.0f} MiB, {second - none:.1f} MiB for {sizes[1]:.0f} MiB"
            print(f"peak memory above the imports, {reader}: {growth}")
    return None


if __name__ == "__main__":
    main()
