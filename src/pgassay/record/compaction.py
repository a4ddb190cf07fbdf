"""Compacted copies for large runs: `index.parquet`, a row a trial, and `series-NNN.parquet` for 500 trials each.

Rebuildable and never the truth: a row of the index counts only while its hash is the journal's, and a reader adds from
the trials' own files what is not compacted. Without them a run of 13 554 trials would mean opening as many small files.
Compacted series are in order of name, so that one meter of all trials is one stretch of a file and Parquet's statistics
pass the others over: what a report wants of them is a hundredth.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl

from pgassay.record import formats, trials
from pgassay.record.disk import Disk, replace_file
from pgassay.record.series import parquet, unpanicked
from pgassay.record.values import CHUNK_TRIALS, TrialRecord

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
    usable = {name for name in table["series_file"].unique() if _names_series(name)}
    columns = (table[name].to_list() for name in table.columns)  # a column at a time: quicker than row by row
    return {
        number: Indexed(digest, text, series)
        for number, digest, text, series in zip(*columns, strict=True)
        if journalled.get(number) == digest == hashlib.sha256(text).hexdigest() and series in usable
    }


def _names_series(name: str | None) -> bool:
    """A run may come from anyone: only names that we give are followed."""
    return name is None or re.fullmatch(r"series-[0-9]{3,}\.parquet", name) is not None


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
        tables = [_trial_series(disk, run, number) for number in numbers]
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
    """How a compacted file of series is not what the trials' own files are."""
    try:
        whole = _by_name(_read(disk, run / name)).partition_by("trial", as_dict=True)
    except pl.exceptions.PolarsError:
        yield "cannot be read; delete it, it is rebuilt"
        return
    for (number,) in whole.keys() - {(each,) for each in numbers}:  # whoever reads it all would count them twice
        yield f"it has rows of trial {number}, which the index does not say; delete it, it is rebuilt"
    for number in numbers:
        try:
            own = _by_name(_trial_series(disk, run, number))
        except pl.exceptions.PolarsError:
            continue  # its checksum shows that already
        if not whole.get((number,), own.clear()).equals(own):
            yield f"the rows of trial {number} are not those of its {trials.SERIES_FILE}"


def _by_name(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of one name together, otherwise in the order that they had."""
    names = pl.Enum(table["name"].drop_nulls().unique().sort())  # numbers are sorted much sooner than texts
    return table.sort(pl.col("name").cast(names), maintain_order=True)


def _trial_json(disk: Disk, run: Path, number: int) -> bytes:
    return disk.read(trials.trial_path(run, number) / trials.TRIAL_FILE)


def _trial_series(disk: Disk, run: Path, number: int) -> pl.DataFrame:
    return _read(disk, trials.trial_path(run, number) / trials.SERIES_FILE)


def _read(disk: Disk, path: Path) -> pl.DataFrame:
    source = disk.source(path)
    with unpanicked():
        return pl.read_parquet(source if isinstance(source, Path) else BytesIO(source))


def _index_table(run: Path, index: Mapping[int, Indexed]) -> pl.DataFrame:
    """A row a trial: what identifies it, every level and response as a column of its own, and the whole JSON."""
    numbers = sorted(index)
    records = [formats.decode_trial(index[number].trial_json, run, f"trial {number}") for number in numbers]
    responses = _names(record.responses for record in records)
    levels = _names(record.levels for record in records)
    plain: dict[str, pl.Series] = {
        "number": pl.Series(numbers, dtype=pl.Int32),
        "block": pl.Series([record.block for record in records], dtype=pl.Int32),
        "attempt": pl.Series([record.attempt for record in records], dtype=pl.Int32),
        "treatment": pl.Series([record.treatment for record in records], dtype=pl.String),
        "condition": pl.Series([record.condition for record in records], dtype=pl.String),
        "covariate": pl.Series([record.covariate for record in records], dtype=pl.String),
        "status": pl.Series([record.status.value for record in records], dtype=pl.String),
        "started_wall_ns": pl.Series([record.started_wall_ns for record in records], dtype=pl.Int64),
        "finished_wall_ns": pl.Series([record.finished_wall_ns for record in records], dtype=pl.Int64),
    }
    for name in levels:
        plain[f"level.{name}"] = pl.Series([_typed(record, name) for record in records], dtype=pl.String)
    for name in responses:
        plain[f"response.{name}"] = pl.Series([record.responses.get(name) for record in records], dtype=pl.Float64)
    plain["sha256"] = pl.Series([index[number].sha256 for number in numbers], dtype=pl.String)
    plain["series_file"] = pl.Series([index[number].series_file for number in numbers], dtype=pl.String)
    plain["trial_json"] = pl.Series([index[number].trial_json for number in numbers], dtype=pl.Binary)
    return pl.DataFrame(plain)


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    """Every key in order of first appearance."""
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _typed(record: TrialRecord, name: str) -> str | None:
    level = record.levels.get(name)
    return None if level is None else level.typed
