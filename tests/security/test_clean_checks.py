"""`pgassay check` calls no record whole that lost or gained what its answers hang on."""

import json
from pathlib import Path

import polars as pl
import pytest

from pgassay.record import ask, check, journal, series, slices, trials
from pgassay.record.disk import RealDisk
from pgassay.record.reading import Run
from pgassay.record.series import INDEX_FILE, series_file
from pgassay.study.findings import Severity
from pgassay.testing.planted import make_run
from tests.record.runs import create

KEPT = {
    slices.FILE: b"{}\n", "pgbench_latency.json": b"{}", "server.log": b"LOG:  row 1\n", "pgbench.err": b"row 1\n",
    "script_1_mine.sql": b"SELECT 1;\n",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(tmp_path / "run", discarded=False, kept=KEPT)


def errors(run: Run) -> list[tuple[str, str]]:
    return [(each.where, each.text) for each in check.check(run.path) if each.severity is Severity.ERROR]


def test_a_capsule_leaves_out_texts_and_no_results(run: Run) -> None:
    """A list of what is left out, written by hand, took a trial's slices away: fewer blocks, and a clean check."""
    trial = run.trial_directory(1)
    for name in KEPT:
        (trial / name).unlink()
    left = [str((trial / name).relative_to(run.path)) for name in KEPT]
    (run.path / trials.LEFT_OUT_FILE).write_text(json.dumps(left))
    assert errors(run) == [("trial 1", "pgbench_latency.json is missing"), ("trial 1", "slices.jsonl is missing")]


def test_how_like_a_load_was_is_neither_taken_away_nor_given(tmp_path: Path, run: Run) -> None:
    """Without it every verdict is for the load that was asked about."""
    (run.path / ask.LIKENESS_FILE).write_bytes(ask.encode_likeness(ask.Likeness(())))
    assert errors(run) == [(ask.LIKENESS_FILE, "was added since the run began")]
    create(RealDisk(), tmp_path / "whole", beside={ask.LIKENESS_FILE: b"{}"}).close()
    whole = Run.open(tmp_path / "whole")
    assert errors(whole) == []
    (whole.path / ask.LIKENESS_FILE).unlink()
    assert [where for where, _ in errors(whole)] == [ask.LIKENESS_FILE]


def test_rows_that_hide_in_compacted_series_are_found(run: Run) -> None:
    """The index says of trial 1 that it is compacted; the file has rows of trial 2, too, which reports then counted."""
    index, name = pl.read_parquet(run.path / INDEX_FILE), series_file(0)
    said = pl.when(pl.col("number") == 1).then(pl.lit(name)).otherwise(None)
    (run.path / INDEX_FILE).write_bytes(series.parquet(index.with_columns(said.alias("series_file"))))
    own, other = (pl.read_parquet(run.trial_directory(number) / trials.SERIES_FILE) for number in (1, 2))
    (run.path / name).write_bytes(series.parquet(own))
    assert errors(run) == []
    (run.path / name).write_bytes(series.parquet(pl.concat([own, other.with_columns(pl.col("value") * 1000)])))
    assert [(where, "rows of trial 2" in text) for where, text in errors(run)] == [(name, True)]


def test_a_journal_that_lost_its_last_lines_is_found(run: Run) -> None:
    """A crash leaves trials that are not journalled, but they have begun."""
    path = run.path / journal.FILE
    lines = path.read_bytes().splitlines(keepends=True)
    begun = next(place for place, line in enumerate(lines) if b'"trial_started"' in line)
    (run.path / INDEX_FILE).unlink()
    path.write_bytes(b"".join(lines[: begun + 1]))
    assert [where for where, text in errors(run) if "lines of it are lost" in text] == [
        f"trial {number}" for number in run.numbers[1:]
    ]
