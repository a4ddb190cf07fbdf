"""Per-second series in long form on Parquet: trial, monotonic_ns, wall_ns, source, name, unit, value.

Cumulative counters stay raw; null is a missing value, never 0. Rows are made into bytes in memory and handed to the
record's disk, so that a crash leaves no half-written Parquet file behind a good name. Imports polars: import it late.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Protocol

import polars as pl

from pgassay.record.disk import Disk
from pgassay.record.errors import damaged
from pgassay.record.values import AMOUNT_MAX, FORMAT

FORMAT_KEY = "pgassay.format"
SCHEMA = pl.Schema(
    {
        "trial": pl.Int32(),
        "monotonic_ns": pl.Int64(),
        "wall_ns": pl.Int64(),
        "source": pl.String(),
        "name": pl.String(),
        "unit": pl.String(),
        "value": pl.Float64(),
    }
)


class Sampled(Protocol):
    """One row of a trial's series, as probes and loads give it; the trial's number is added here."""

    @property
    def monotonic_ns(self) -> int:
        """The moment of the reading by the monotonic clock (ns), from which lengths are taken."""

    @property
    def wall_ns(self) -> int:
        """The moment of the reading since the epoch (ns)."""

    @property
    def source(self) -> str:
        """What it was read from: `pg_stat_wal`, `diskstats`, `pgbench` …"""

    @property
    def name(self) -> str:
        """The meter's name, such as `wal_bytes`."""

    @property
    def unit(self) -> str:
        """The meter's unit, such as `bytes`."""

    @property
    def value(self) -> float | None:
        """The value as read, cumulative counters raw; None where it is missing."""


def frame(trial: int, rows: Iterable[Sampled]) -> pl.DataFrame:
    """The rows of one trial as a table of `SCHEMA`, in the order given; NaN becomes null."""
    kept = list(rows)
    return pl.DataFrame(
        {
            "trial": [trial] * len(kept),
            "monotonic_ns": [row.monotonic_ns for row in kept],
            "wall_ns": [row.wall_ns for row in kept],
            "source": [row.source for row in kept],
            "name": [row.name for row in kept],
            "unit": [row.unit for row in kept],
            "value": [row.value for row in kept],
        },
        schema=SCHEMA,
    ).with_columns(pl.col("value").fill_nan(None))


def parquet(table: pl.DataFrame) -> bytes:
    """A table as a Parquet file that says its format."""
    buffer = BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=3, metadata={FORMAT_KEY: str(FORMAT)})
    return buffer.getvalue()


_STANDARD_ERROR = RLock()
"""It is the whole process's."""


@contextmanager
def unpanicked() -> Iterator[None]:
    """For Parquet that anyone may have written: a panic of polars becomes its `ComputeError`.

    What Rust prints of a panic, with a backtrace, reaches nobody: it cannot be turned off, so standard error leads
    nowhere meanwhile.
    """
    with _STANDARD_ERROR, ExitStack() as stack:
        with suppress(OSError):  # it is closed
            kept = os.dup(2)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, 2)
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            stack.callback(os.close, nowhere)
            os.dup2(nowhere, 2)
        try:
            yield
        except pl.exceptions.PanicException as failure:
            raise pl.exceptions.ComputeError(str(failure).partition("\n")[0]) from None


def scan(disk: Disk, paths: Sequence[Path], run: Path) -> pl.LazyFrame:
    """All rows of these Parquet files, lazily; raises `DamagedError` when one is missing.

    A value that cannot be squared and summed was not measured: it is null.
    """
    if not paths:
        return pl.LazyFrame(schema=SCHEMA)
    for path in paths:
        if not disk.exists(path):
            raise damaged(run, f"{path.relative_to(run)} is missing")
    sources = [disk.source(path) for path in paths]
    real = [source for source in sources if isinstance(source, Path)]
    if len(real) == len(sources):
        rows = pl.scan_parquet(real)
    else:
        rows = pl.scan_parquet([source for source in sources if isinstance(source, bytes)])
    measured = pl.col("value").is_nan() | (pl.col("value").abs() <= AMOUNT_MAX)
    return rows.with_columns(pl.when(measured).then(pl.col("value")).alias("value"))


def collected(
    disk: Disk, paths: Sequence[Path], run: Path, query: Callable[[pl.LazyFrame], pl.LazyFrame]
) -> pl.DataFrame:
    """What `query` gives on these files; raises `DamagedError` when one of them is not a series of ours."""
    what = str(paths[0].relative_to(run)) if len(paths) == 1 else "a series"
    try:
        with unpanicked():
            found = scan(disk, paths, run)
            if not SCHEMA.items() <= found.collect_schema().items():
                raise damaged(run, f"{what} has other columns than a series has")
            return query(found).collect()
    except pl.exceptions.PolarsError as failure:
        raise damaged(run, f"{what} cannot be read: {str(failure).splitlines()[0]}") from failure
