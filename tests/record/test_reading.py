"""A run as a value: valid trials for analyses, a run that is still being written, lost files."""

import pytest

from pgassay.record.errors import DamagedError, RecordError
from pgassay.record.reading import Run
from tests.record.runs import HEADER, RUN, commit, create, fake_disk, stage, tool_writes, trial


def test_a_run_that_is_being_written_reads_as_far_as_it_is_committed() -> None:
    disk = fake_disk()
    run = create(disk)
    commit(disk, run, 1)
    stage(disk, run, 2)
    disk.append(RUN / "journal.jsonl", b'{"seq":9,"wal')
    read = Run.open(RUN, disk)
    assert read.trials == (trial(1),)
    assert read.responses == HEADER.responses
    assert [entry.kind for entry in read.journal] == [
        *("run_started", "trial_started", "trial_committed", "trial_started")
    ]


def test_a_trial_that_is_committed_but_not_journalled_is_read() -> None:
    """As it is between the rename and the journal line."""
    disk = fake_disk()
    run = create(disk)
    commit(disk, run, 1)
    disk.truncate(RUN / "journal.jsonl", len(disk.read(RUN / "journal.jsonl").splitlines(keepends=True)[0]))
    assert Run.open(RUN, disk).trials == (trial(1),)


def test_a_broken_study_is_damage() -> None:
    disk = fake_disk()
    create(disk).close()
    disk.truncate(RUN / "study.toml", 3)
    with pytest.raises(DamagedError, match=r"study\.toml"):
        _ = Run.open(RUN, disk).study


def test_a_file_that_is_gone_is_an_error_of_ours() -> None:
    disk = fake_disk()
    with create(disk) as run:
        commit(disk, run, 1)
    disk.remove(RUN / "trials" / "000001" / "trial.json")
    tool_writes(disk, RUN / "elsewhere", b"")
    with pytest.raises(RecordError, match=r"could not read the trials .* No such file"):
        _ = Run.open(RUN, disk).trials


def test_a_trial_that_was_changed_is_not_reported_on() -> None:
    disk = fake_disk()
    with create(disk) as run:
        commit(disk, run, 1)
    path = RUN / "trials" / "000001" / "trial.json"
    changed = disk.read(path).replace(b"1000.0", b"2000.0")
    disk.truncate(path, 0)
    disk.append(path, changed)
    with pytest.raises(DamagedError, match=r"trials/000001/trial.json is not what was committed"):
        _ = Run.open(RUN, disk).trials
