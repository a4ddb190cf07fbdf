"""Series in long form: what is written is read, null stays null, and the file says its format."""

import math
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from pgassay.record.errors import DamagedError
from pgassay.record.reading import Run
from pgassay.record.series import FORMAT_KEY, SCHEMA, frame, parquet, scan
from pgassay.testing.planted import Row
from tests.record.runs import RUN, commit, create, fake_disk, series


def test_rows_keep_their_order_and_their_nulls() -> None:
    table = frame(7, series(7, rows=2))
    assert table.schema == SCHEMA
    assert table["trial"].to_list() == [7] * 4
    assert table["value"].to_list() == [700.0, None, 701.0, None]
    assert table["name"].to_list() == ["transactions", "nand_bytes"] * 2
    assert table["monotonic_ns"].to_list() == [0, 0, 10**9, 10**9]


def test_what_is_not_a_number_is_missing() -> None:
    assert frame(1, [Row(1, 2, "a", "b", "c", math.nan)])["value"].to_list() == [None]


def test_large_counters_and_times_are_exact() -> None:
    row = Row(2**62 + 1, 2**62 + 3, "diskstats", "written_bytes", "B", float(2**53))
    table = pl.read_parquet(BytesIO(parquet(frame(1, [row]))))
    assert table.row(0) == (1, 2**62 + 1, 2**62 + 3, "diskstats", "written_bytes", "B", float(2**53))


def test_a_trial_without_series_has_an_empty_file() -> None:
    table = pl.read_parquet(BytesIO(parquet(frame(1, []))))
    assert (table.height, table.schema) == (0, SCHEMA)


def test_the_file_says_its_format() -> None:
    assert pl.read_parquet_metadata(BytesIO(parquet(frame(1, []))))[FORMAT_KEY] == "1"


def test_a_run_gives_the_series_of_all_its_trials() -> None:
    disk = fake_disk()
    with create(disk) as run:
        for number in (1, 2, 3):
            commit(disk, run, number)
    assert (
        Run.open(RUN, disk)
        .series()
        .collect()
        .equals(pl.concat([frame(number, series(number)) for number in (1, 2, 3)]))
    )


def test_a_run_without_trials_has_no_rows() -> None:
    disk = fake_disk()
    create(disk).close()
    assert Run.open(RUN, disk).series().collect().schema == SCHEMA


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DamagedError, match=r"trials/000001/series.parquet is missing"):
        scan(fake_disk(), [RUN / "trials" / "000001" / "series.parquet"], Path(RUN))
