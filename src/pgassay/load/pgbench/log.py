"""pgbench's per-transaction log: quantiles and a series per second by the Rust core, in one pass and constant memory.

The log itself is large (35 bytes a transaction) and is dropped once read, unless `load.keep_log` asks for it; what
stays is a latency sketch of every second, script and of the whole, from which any quantile can be taken again within
0.4 % (`LatencySketch.from_bytes`).
"""

import gzip
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgassay._core import LatencySketch, PgbenchLog, read_pgbench_logs
from pgassay.bench.counters import Sample
from pgassay.bench.load import Moment
from pgassay.load import sketches
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.output import Progress
from pgassay.load.responses import IMPOSSIBLE, IMPOSSIBLE_US, QUANTILES

_SERIES = (
    ("tps", "1/s", "transactions", 1.0),
    ("latency_ms", "ms", "latency_mean_us", 1e-3),
    ("latency_p50_ms", "ms", "latency_p50_us", 1e-3),
    ("latency_p99_ms", "ms", "latency_p99_us", 1e-3),
    ("latency_max_ms", "ms", "latency_max_us", 1e-3),
    ("failed", "count", "failed", 1.0),
    ("skipped", "count", "skipped", 1.0),
)
_GZIP_LEVEL = 1
"""A third of the size of the text in a fifth of the time of level 6."""


@dataclass(frozen=True)
class Logged:
    """What the log holds: `count` transactions that succeeded; `log` is None when it could not be read."""

    count: int = 0
    latencies: Mapping[str, float | None] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    log: PgbenchLog | None = None


def log_files(prefix: Path) -> list[Path]:
    """`prefix.PID` of the first thread and `prefix.PID.N` of the others."""
    return sorted(each for each in prefix.parent.glob(f"{prefix.name}.*") if each.suffix[1:].isdigit())


def read_log(prefix: Path, options: PgbenchOptions, began_wall_ns: int) -> Logged:
    """Read all threads' files; seconds count from the start of the run."""
    files = log_files(prefix)
    if not files:
        return Logged()
    try:
        log = read_pgbench_logs(
            [str(each) for each in files],
            start_us=began_wall_ns // 1000,
            has_lag=options.rate_tps is not None,
            has_retries=options.max_tries != 1,
        )
    except (OSError, ValueError) as error:
        return Logged(problems={"unreadable_log": str(error)})
    return Logged(log.totals.transactions, latencies(log.totals.latency), {}, log)


def latencies(sketch: LatencySketch) -> dict[str, float | None]:
    """Quantiles and the greatest latency in ms, the share that no answer can have; None without a transaction."""
    found_us = {name: sketch.quantile(share) for name, share in QUANTILES.items()} | {"latency_max_ms": sketch.max_us}
    found_ms = {name: None if latency_us is None else latency_us / 1000 for name, latency_us in found_us.items()}
    return {**found_ms, IMPOSSIBLE.name: share_within(sketch, IMPOSSIBLE_US)}


def share_within(sketch: LatencySketch, limit_us: int) -> float | None:
    """The share of latencies up to a limit; None when empty.

    pgbench takes one statement's end for the next one's beginning, and reads the clock only when it must: an answer
    that is there at once has a latency of nothing (`pg_time_now_lazy` in pgbench.c).
    """
    if sketch.count == 0:
        return None
    # The greatest rank whose latency is within the limit, by bisection.
    least, most = 0, sketch.count
    while least < most:
        rank = (least + most + 1) // 2
        latency_us = sketch.quantile(rank / sketch.count)
        if latency_us is not None and latency_us <= limit_us:
            least = rank
        else:
            most = rank - 1
    return least / sketch.count


def put_away(prefix: Path, sketch_file: Path, logged: Logged, keep: bool) -> None:
    """Write the sketches to `sketch_file`; keep the log compressed, or remove it. An unreadable log stays as it is."""
    if logged.log is None:
        return
    log = logged.log
    more = {  # what is needed to place each second in time, and the latencies of each script
        "start_us": log.start_us,
        "lines": log.lines,
        "first_wall_ns": log.series["wall_ns"][0] if len(log.series) else None,
        "scripts": {str(number): sketches.text(totals.latency) for number, totals in log.scripts.items()},
    }
    seconds = (log.window(row, row + 1).latency for row in range(len(log.series)))
    sketch_file.write_bytes(sketches.encode(log.totals.latency, seconds, log.interval_us, more))
    for path in log_files(prefix):
        if keep:
            with path.open("rb") as text, gzip.open(f"{path}.gz", "wb", _GZIP_LEVEL) as packed:
                shutil.copyfileobj(text, packed)
        path.unlink()


def series(logged: Logged, progress: tuple[Progress, ...], source: str, began: Moment) -> tuple[Sample, ...]:
    """Samples at the end of each whole second; from the progress report when there is no log."""
    if logged.log is None:
        return _of_progress(progress, source, began)
    columns = logged.log.series.columns()
    samples = []
    for row in range(len(logged.log.series)):
        end_ns = round((columns["offset_s"][row] + logged.log.interval_us / 1e6) * 1e9)
        if logged.log.last_us is None or began[1] + end_ns > logged.log.last_us * 1000:
            break  # The last second is cut short, so its rate would be wrong.
        for name, unit, column, factor in _SERIES:
            value = columns[column][row] * factor
            moment = began[0] + end_ns, began[1] + end_ns
            samples.append(Sample(*moment, source, name, unit, value if math.isfinite(value) else None))
    return tuple(samples)


def _of_progress(progress: tuple[Progress, ...], source: str, began: Moment) -> tuple[Sample, ...]:
    samples = []
    for second in progress:
        moment = began[0] + round(second.elapsed_s * 1e9), began[1] + round(second.elapsed_s * 1e9)
        samples += [
            Sample(*moment, source, "tps", "1/s", second.tps),
            Sample(*moment, source, "latency_ms", "ms", second.latency_ms),
            Sample(*moment, source, "failed", "count", second.failed),
        ]
    return tuple(samples)
