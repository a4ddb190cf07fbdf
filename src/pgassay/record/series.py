"""Per-second series in long form on Parquet: trial, monotonic_ns, wall_ns, source, name, unit, value.

Cumulative counters stay raw; null is a missing value, never 0. Rows are made into bytes in memory and handed to the
record's disk, so that a crash leaves no half-written Parquet file behind a good name. Imports polars: import it late.

Compacted copies serve large runs: `index.parquet`, a row a trial, and `series-NNN.parquet` for 500 trials each. They
are rebuildable and never the truth: a row of the index counts only while its hash is the journal's, and a reader adds
from the trials' own files what is not compacted. Without them a run of 13 554 trials would mean opening as many small
files. Compacted series are in order of name, so that one meter of all trials is one stretch of a file and Parquet's
statistics pass the others over: what a report wants of them is a hundredth.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Protocol

import polars as pl

from pgassay.record import formats, trials
from pgassay.record.disk import Disk, replace_file
from pgassay.record.errors import damaged
from pgassay.record.values import AMOUNT_MAX, CHUNK_TRIALS, FORMAT

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
    """One row of a trial's series, as probes and loads give it; the trial's number is added here.

    Both moments are of the reading, in ns; `value` is as it was read, cumulative counters raw, None where missing.
    """

    @property
    def monotonic_ns(self) -> int: ...
    @property
    def wall_ns(self) -> int: ...
    @property
    def source(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def value(self) -> float | None: ...


def frame(trial: int, rows: Iterable[Sampled]) -> pl.DataFrame:
    """The rows of one trial as a table of `SCHEMA`, in the order given; NaN becomes null."""
    kept = list(rows)
    columns = {name: [getattr(row, name) for row in kept] for name in SCHEMA if name != "trial"}
    table = pl.DataFrame({"trial": [trial] * len(kept), **columns}, schema=SCHEMA)
    return table.with_columns(pl.col("value").fill_nan(None))


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
                raise damaged(run, f"{what} does not have the columns of a series")
            return query(found).collect()
    except pl.exceptions.PolarsError as failure:
        raise damaged(run, f"{what} cannot be read: {str(failure).splitlines()[0]}") from failure


INDEX_FILE = "index.parquet"
_READ = {"number": pl.Int32, "sha256": pl.String, "trial_json": pl.Binary, "series_file": pl.String}
"""What a reader takes of it; all else is for queries by hand."""


@dataclass(frozen=True)
class Indexed:
    """What the index knows of one trial: its hash, its whole `trial.json`, and the compacted series that hold it."""

    sha256: str
    trial_json: bytes
    series_file: str | None


def series_file(chunk: int) -> str:
    """The name of the compacted series of trials `500 * chunk` to `500 * chunk + 499`."""
    return f"series-{chunk:03d}.parquet"


def read_index(disk: Disk, run: Path, journalled: Mapping[int, str]) -> dict[int, Indexed]:
    """The index's rows that the journal confirms; empty when there is no index or it cannot be read."""
    path = run / INDEX_FILE
    if not disk.exists(path):
        return {}
    try:
        table = _read(disk, path).select(pl.col(name).cast(kind) for name, kind in _READ.items())
    except (pl.exceptions.PolarsError, OSError):
        return {}
    # A run may come from anyone: only names that we give are followed.
    names = table["series_file"].unique()
    usable = {name for name in names if name is None or re.fullmatch(r"series-[0-9]{3,}\.parquet", name)}
    columns = (table[name].to_list() for name in table.columns)  # a column at a time: quicker than row by row
    return {
        number: Indexed(digest, text, series)
        for number, digest, text, series in zip(*columns, strict=True)
        if journalled.get(number) == digest == hashlib.sha256(text).hexdigest() and series in usable
    }


def compact(disk: Disk, run: Path, journalled: Mapping[int, str]) -> None:
    """Bring the compacted files up to date: whole chunks of series that are not compacted yet, then the index."""
    index = read_index(disk, run, journalled)
    by_chunk: dict[int, list[int]] = {}
    for number in sorted(journalled):
        by_chunk.setdefault(number // CHUNK_TRIALS, []).append(number)
    last = max(by_chunk, default=0)
    for chunk, numbers in by_chunk.items():
        name = series_file(chunk)
        done = all(number in index and index[number].series_file == name for number in numbers)
        whole = chunk < last or numbers[-1] % CHUNK_TRIALS == CHUNK_TRIALS - 1
        if not whole or (done and disk.exists(run / name)):
            continue
        tables = [_read(disk, trials.trial_path(run, number) / trials.SERIES_FILE) for number in numbers]
        replace_file(disk, run / name, parquet(_by_name(pl.concat(tables))))
        for number in numbers:
            index[number] = Indexed(journalled[number], _trial_json(disk, run, number), name)
    for number in journalled.keys() - index.keys():
        index[number] = Indexed(journalled[number], _trial_json(disk, run, number), None)
    replace_file(disk, run / INDEX_FILE, parquet(_index_table(run, index)))


def disagreements(disk: Disk, run: Path, journalled: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Where the compacted files do not say what the trials' own files say: the place, and how."""
    index = read_index(disk, run, journalled)
    if journalled and not index:
        yield INDEX_FILE, "cannot be read; delete it, it is rebuilt"
    by_file: dict[str, list[int]] = {}
    for number, known in index.items():
        if known.trial_json != _trial_json(disk, run, number):
            yield INDEX_FILE, f"the row of trial {number} is not its trial.json; delete the file, it is rebuilt"
        if known.series_file is not None:
            by_file.setdefault(known.series_file, []).append(number)
    for name, numbers in by_file.items():
        if disk.exists(run / name):
            yield from ((name, what) for what in _wrong_rows(disk, run, name, numbers))


def _wrong_rows(disk: Disk, run: Path, name: str, numbers: Iterable[int]) -> Iterator[str]:
    try:
        whole = _by_name(_read(disk, run / name)).partition_by("trial", as_dict=True)
    except pl.exceptions.PolarsError:
        yield "cannot be read; delete it, it is rebuilt"
        return
    for (number,) in whole.keys() - {(each,) for each in numbers}:  # whoever reads it all would count them twice
        yield f"it has rows of trial {number}, which the index does not say; delete it, it is rebuilt"
    for number in numbers:
        try:
            own = _by_name(_read(disk, trials.trial_path(run, number) / trials.SERIES_FILE))
        except pl.exceptions.PolarsError:
            continue  # its checksum shows that already
        if not whole.get((number,), own.clear()).equals(own):
            yield f"the rows of trial {number} are not those of its {trials.SERIES_FILE}"


def _by_name(table: pl.DataFrame) -> pl.DataFrame:
    names = pl.Enum(table["name"].drop_nulls().unique().sort())  # numbers are sorted much sooner than texts
    return table.sort(pl.col("name").cast(names), maintain_order=True)


def _trial_json(disk: Disk, run: Path, number: int) -> bytes:
    return disk.read(trials.trial_path(run, number) / trials.TRIAL_FILE)


def _read(disk: Disk, path: Path) -> pl.DataFrame:
    source = disk.source(path)
    with unpanicked():
        return pl.read_parquet(source if isinstance(source, Path) else BytesIO(source))


_INDEXED = {
    "block": pl.Int32, "attempt": pl.Int32, "treatment": pl.String, "condition": pl.String, "covariate": pl.String,
    "status": pl.String, "started_wall_ns": pl.Int64, "finished_wall_ns": pl.Int64,
}  # fmt: skip
"""What identifies a trial."""


def _index_table(run: Path, index: Mapping[int, Indexed]) -> pl.DataFrame:
    """A row a trial: what identifies it, every level and response as a column of its own, and the whole JSON."""
    numbers = sorted(index)
    records = [formats.decode_trial(index[number].trial_json, run, f"trial {number}") for number in numbers]
    plain = {"number": pl.Series(numbers, dtype=pl.Int32)}
    for name, kind in _INDEXED.items():
        plain[name] = pl.Series([getattr(record, name) for record in records], dtype=kind)
    for name in dict.fromkeys(name for record in records for name in record.levels):
        levels = (record.levels.get(name) for record in records)
        plain[f"level.{name}"] = pl.Series([level and level.typed for level in levels], dtype=pl.String)
    for name in dict.fromkeys(name for record in records for name in record.responses):
        plain[f"response.{name}"] = pl.Series([record.responses.get(name) for record in records], dtype=pl.Float64)
    plain["sha256"] = pl.Series([index[number].sha256 for number in numbers], dtype=pl.String)
    plain["series_file"] = pl.Series([index[number].series_file for number in numbers], dtype=pl.String)
    plain["trial_json"] = pl.Series([index[number].trial_json for number in numbers], dtype=pl.Binary)
    return pl.DataFrame(plain)
