"""Compacted files: never the truth, rebuilt from the trials, passed over when they disagree."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import committed_in
from pgassay.record.reading import Run
from pgassay.record.series import frame, parquet, read_index
from pgassay.study.responses import Status
from tests.fakes.disk import Crashed, FakeDisk, Fault, Survival
from tests.record.runs import RUN, commit, create, fake_disk, series, trial

CHUNK = 4


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of four trials, so that a test run has several."""
    monkeypatch.setattr("pgassay.record.series.CHUNK_TRIALS", CHUNK)
    monkeypatch.setattr("pgassay.record.directory.CHUNK_TRIALS", CHUNK)


def written(trials: int, finish: bool = True) -> FakeDisk:
    """A fake disk with a run of so many trials."""
    disk = fake_disk()
    run = create(disk)
    for number in range(1, trials + 1):
        commit(disk, run, number)
    if finish:
        run.finish("all blocks done")
    run.close()
    return disk


def compacted(disk: FakeDisk) -> list[str]:
    return [name for name in disk.list(RUN) if name.endswith(".parquet")]


def require_true(disk: FakeDisk, trials: int) -> None:
    """What is read is what the trials' own files say."""
    run = Run.open(RUN, disk)
    assert run.trials == tuple(trial(number) for number in range(1, trials + 1))
    require_series(run, trials)


def require_series(run: Run, trials: int) -> None:
    """Every row of every trial, and of one name in the order of the trials' own files."""
    expected = pl.concat([frame(number, series(number)) for number in range(1, trials + 1)])
    found = run.series().collect()
    assert found.height == expected.height
    for name in expected["name"].unique():
        assert found.filter(pl.col("name") == name).equals(expected.filter(pl.col("name") == name)), name


def test_whole_chunks_are_compacted_as_the_run_goes() -> None:
    disk = written(9, finish=False)
    assert compacted(disk) == ["index.parquet", "series-000.parquet", "series-001.parquet"]
    require_true(disk, 9)


def test_a_small_run_has_an_index_when_it_is_finished() -> None:
    assert compacted(written(2, finish=False)) == []
    disk = written(2)
    assert compacted(disk) == ["index.parquet"]
    require_true(disk, 2)


def test_the_compacted_files_are_read_instead_of_the_trials() -> None:
    """Shown by taking the trials' own files away, which no reader would notice otherwise."""
    disk = written(8, finish=False)
    for number in range(1, 8):
        for name in ("trial.json", "series.parquet"):
            disk.remove(RUN / "trials" / f"{number:06d}" / name)
    require_true(disk, 8)


@pytest.mark.parametrize("file", ["index.parquet", "series-000.parquet", "series-001.parquet"])
def test_a_compacted_file_that_is_gone_is_not_missed_and_comes_back(file: str) -> None:
    disk = written(9)
    whole = {name: disk.read(RUN / name) for name in compacted(disk)}
    disk.remove(RUN / file)
    require_true(disk, 9)
    with RunDirectory.open(RUN, disk) as run:
        run.compact()
    assert {name: disk.read(RUN / name) for name in compacted(disk)} == whole


@pytest.mark.parametrize("contents", [b"", b"PAR1 nonsense", b"x" * 100])
def test_a_damaged_index_is_passed_over_and_reported(contents: bytes) -> None:
    disk = written(9)
    disk.truncate(RUN / "index.parquet", 0)
    disk.append(RUN / "index.parquet", contents)
    require_true(disk, 9)
    assert [finding.where for finding in check(RUN, disk)] == ["index.parquet"]


def test_a_row_that_the_journal_does_not_confirm_does_not_count() -> None:
    disk = written(9)
    index = read_index(disk, RUN, committed_in(Run.open(RUN, disk).journal, RUN))
    assert sorted(index) == list(range(1, 10))
    assert read_index(disk, RUN, {1: index[1].sha256, 2: "other"}).keys() == {1}


@pytest.mark.parametrize(
    "change",
    [
        pl.col("trial_json").cast(pl.String).str.replace("1000.0", "2000.0").cast(pl.Binary).alias("trial_json"),
        pl.lit("../../elsewhere.parquet").alias("series_file"),
    ],
)
def test_a_forged_index_is_passed_over(change: pl.Expr) -> None:
    disk = written(9)
    table = pl.read_parquet(disk.read(RUN / "index.parquet"))
    disk.truncate(RUN / "index.parquet", 0)
    disk.append(RUN / "index.parquet", parquet(table.with_columns(change)))
    require_true(disk, 9)
    assert [finding.where for finding in check(RUN, disk)] == ["index.parquet"]


def test_check_finds_compacted_rows_that_are_not_the_trials() -> None:
    disk = written(9)
    table = pl.read_parquet(disk.read(RUN / "series-000.parquet"))
    false = table.with_columns(pl.when(pl.col("trial") == 2).then(pl.col("value") + 1).otherwise(pl.col("value")))
    disk.truncate(RUN / "series-000.parquet", 0)
    disk.append(RUN / "series-000.parquet", parquet(false))
    assert [(finding.where, "trial 2" in finding.text) for finding in check(RUN, disk)] == [
        ("series-000.parquet", True)
    ]


def test_a_crash_at_every_step_of_compacting_leaves_a_readable_run() -> None:
    whole = written(7, finish=False)
    expected = {name: whole.read(RUN / name) for name in compacted(whole)}
    assert "series-001.parquet" in expected
    steps = len(whole.steps) - len(written(6, finish=False).steps)
    for step in range(1, steps + 1):
        for survival in Survival:
            disk = written(6, finish=False)
            run = RunDirectory.open(RUN, disk)
            disk.faults = {len(disk.steps) + step: Fault.CRASH}
            with pytest.raises(Crashed):
                commit(disk, run, 7)
            disk.reboot(survival, step)
            with RunDirectory.open(RUN, disk) as again:
                require_true(disk, len(again.committed))
                if again.next_number == 7:
                    commit(disk, again, 7)
                again.compact()
            assert {name: disk.read(RUN / name) for name in compacted(disk)} == expected


def test_the_index_has_a_column_for_every_level_and_response() -> None:
    disk = fake_disk()
    with create(disk) as run:
        for number in (1, 2):
            record = replace(
                trial(number, Status.OUTCOME if number == 2 else Status.VALID), responses={f"r{number}": 1.5}
            )
            run.commit_trial(run.begin_trial(number), record, [])
        run.finish("done")
    table = pl.read_parquet(disk.read(RUN / "index.parquet"))
    assert table.select("number", "status", "level.build.block_size", "response.r1", "response.r2").rows() == [
        (1, "valid", "8kB", 1.5, None),
        (2, "outcome", "4kB", None, 1.5),
    ]


def test_the_real_disk_gives_the_same(tmp_path: Path) -> None:
    from pgassay.record.disk import RealDisk

    path = tmp_path / "run"
    with create(RealDisk(), path) as run:
        for number in range(1, 10):
            commit(RealDisk(), run, number)
        run.finish("done")
    require_series(Run.open(path), 9)
    assert check(path) == []
