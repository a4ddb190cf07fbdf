"""Files that are not what they say: named and left out for a report, an error for the lab, never a silent number."""

from collections.abc import Callable

import polars as pl
import pytest

from pgassay.record.errors import DamagedError, RecordError
from pgassay.record.reading import Run
from pgassay.record.series import parquet
from tests.fakes.disk import FakeDisk
from tests.record.runs import RUN, commit, create, fake_disk, series, trial

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
TRIAL, SERIES = (RUN / "trials" / "000002" / name for name in ("trial.json", "series.parquet"))


def written() -> FakeDisk:
    """Three trials, nothing compacted."""
    disk = fake_disk()
    with create(disk) as run:
        for number in (1, 2, 3):
            commit(disk, run, number)
    return disk


def replaced(disk: FakeDisk, contents: bytes) -> None:
    disk.truncate(TRIAL, 0)
    disk.append(TRIAL, contents)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda disk: disk.truncate(TRIAL, len(disk.read(TRIAL)) // 2), "trial.json is not what was committed"),
        (lambda disk: replaced(disk, PNG), "trial.json is not what was committed"),
        (lambda disk: replaced(disk, disk.read(TRIAL).replace(b"1000.0", b"9000.0")), "is not what was committed"),
        (lambda disk: disk.remove(TRIAL), "trial.json"),
        (lambda disk: disk.remove_tree(TRIAL.parent), "in the journal but not under trials/"),
    ],
)
def test_a_trial_that_cannot_be_read_is_named_and_the_others_count(
    damage: Callable[[FakeDisk], None], reason: str
) -> None:
    disk = written()
    damage(disk)
    run = Run.open(RUN, disk, leave_out=True)
    assert run.trials == (trial(1), trial(3))
    ((number, told),) = run.left_out
    assert number == 2
    assert reason in told
    with pytest.raises(RecordError):
        _ = Run.open(RUN, disk).trials


def other_columns(value: str) -> bytes:
    """Without a value at all, or with a text for one."""
    row = {"trial": 2, "monotonic_ns": 0, "wall_ns": 0, "source": "pgbench", "name": "transactions", "unit": "1"}
    return parquet(pl.DataFrame([{**row, "value": value} if value else {"a": 1}]))


@pytest.mark.parametrize("contents", [b"", PNG, b"PAR1 and no more PAR1", other_columns(""), other_columns("much")])
def test_a_series_that_cannot_be_read_leaves_the_others_readable(contents: bytes) -> None:
    disk = written()
    disk.truncate(SERIES, 0)
    disk.append(SERIES, contents)
    run = Run.open(RUN, disk, leave_out=True)
    table, unread = run.gather(lambda rows: rows.filter(pl.col("name") == "transactions").select("trial", "value"))
    assert table.rows() == [
        (number, row.value) for number in (1, 3) for row in series(number) if row.name == "transactions"
    ]
    ((number, reason),) = unread
    assert number == 2
    assert reason.startswith("trials/000002/series.parquet")
    assert len(run.trials) == 3, "its result does not hang on its seconds"
    with pytest.raises(DamagedError):
        Run.open(RUN, disk).gather(lambda rows: rows)


def test_a_series_that_is_cut_or_gone_is_named() -> None:
    disk = written()
    disk.truncate(SERIES, len(disk.read(SERIES)) // 2)
    run = Run.open(RUN, disk, leave_out=True)
    assert [each.trial for each in run.gather(lambda rows: rows)[1]] == [2]
    disk.remove(SERIES)
    assert run.gather(lambda rows: rows)[1] == ((2, "trials/000002/series.parquet is missing"),)


def test_a_whole_run_leaves_nothing_out() -> None:
    run = Run.open(RUN, written(), leave_out=True)
    assert run.left_out == ()
    table, unread = run.gather(lambda rows: rows)
    assert (table.height, unread) == (18, ())


def test_a_compacted_file_that_is_cut_is_made_up_for_by_the_trials_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.record.series.CHUNK_TRIALS", 2)
    disk = fake_disk()
    with create(disk) as run:
        for number in range(1, 6):
            commit(disk, run, number)
        run.compact()
    whole = Run.open(RUN, disk).gather(lambda rows: rows.filter(pl.col("name") == "transactions"))[0]
    disk.truncate(RUN / "series-001.parquet", 30)
    again, unread = Run.open(RUN, disk).gather(lambda rows: rows.filter(pl.col("name") == "transactions"))
    assert (again.equals(whole), unread) == (True, ())
