"""The run directory: made whole, refused where it must not be, recovered after an end that was none."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgassay.record.directory import RunDirectory, unused_path
from pgassay.record.disk import RealDisk
from pgassay.record.errors import DamagedError, InUseError, NewerFormatError, NotARunError, RecordError
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.record.trials import NUMBER_MAX
from tests.fakes.disk import Survival
from tests.record.runs import HEADER, HOST, ROOT, RUN, STUDY, commit, create, fake_disk, stage, tool_writes, trial

DISK = RealDisk()


def made(tmp_path: Path, trials: int = 2) -> Path:
    """A finished run of a few trials on the real disk."""
    with create(DISK, tmp_path / "run") as run:
        for number in range(1, trials + 1):
            commit(DISK, run, number)
        run.finish("all blocks done")
    return tmp_path / "run"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def refused(path: Path, kind: type[RecordError], words: str) -> RecordError:
    """Both the writer and the reader refuse it alike, with a hint, and change nothing."""
    before = sorted((file, file.read_bytes()) for file in path.rglob("*") if file.is_file() and file.name != "lock")
    with pytest.raises(kind, match=words) as caught:
        RunDirectory.open(path)
    with pytest.raises(kind, match=words):
        _ = Run.open(path).trials
    assert caught.value.hint
    after = sorted((file, file.read_bytes()) for file in path.rglob("*") if file.is_file() and file.name != "lock")
    assert after == before
    return caught.value


def test_a_new_run_holds_what_it_was_made_of(tmp_path: Path) -> None:
    made(tmp_path)
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == [
        *("host.json", "index.parquet", "journal.jsonl", "lock", "run.json", "study.toml", "trials")
    ]
    run = Run.open(tmp_path / "run")
    assert (run.header, run.study_toml, run.host) == (HEADER, STUDY, HOST)
    assert run.study == {"study": {"format": 1, "title": "Page size"}}


def test_a_trial_holds_its_raw_output_and_sums_that_sha256sum_accepts(tmp_path: Path) -> None:
    directory = made(tmp_path) / "trials" / "000002"
    assert names(directory) == ["SHA256SUMS", "pgbench.out", "series.parquet", "trial.json"]
    assert (directory / "pgbench.out").read_text() == "tps = 2\n" * 50
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=directory, check=True)


@pytest.mark.parametrize("there", ["file", "empty directory", "run"])
def test_nothing_that_exists_is_written_into(tmp_path: Path, there: str) -> None:
    path = tmp_path / "run"
    if there == "file":
        path.write_text("precious")
    elif there == "empty directory":
        path.mkdir()
    else:
        made(tmp_path)
    with pytest.raises(RecordError, match="exists already"):
        create(DISK, path)


def test_a_parent_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=f'directory "{tmp_path}/a" does not exist'):
        create(DISK, tmp_path / "a" / "run")


def test_a_foreign_directory_beside_it_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / ".run.creating").mkdir()
    (tmp_path / ".run.creating" / "precious").touch()
    with pytest.raises(RecordError, match="exists already"):
        create(DISK, tmp_path / "run")
    assert (tmp_path / ".run.creating" / "precious").exists()


def test_what_is_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    refused(tmp_path / "missing", NotARunError, "is not a run directory: it does not exist")
    refused(tmp_path, NotARunError, r"is not a run directory: it has no run\.json")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", NotARunError, "is not a run directory: it is a file")


def test_a_later_format_says_which_version_is_needed(tmp_path: Path) -> None:
    path = made(tmp_path)
    header = (path / "run.json").read_text()
    (path / "run.json").write_text(
        header.replace('"format": 1', '"format": 2').replace('"program_version": "0.1.0"', '"program_version": "3.0.0"')
    )
    caught = refused(path, NewerFormatError, "has format 2, this pgassay reads up to format 1")
    assert caught.hint == "read it with pgassay 3.0.0 or later"


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("run.json", '"seed": 42', '"seed": "42"', "run.json: Expected `int`"),
        ("run.json", "{", "", "run.json:"),
        ("run.json", '"format": 1', '"format": -1', "run.json has format -1"),
        ("journal.jsonl", '"number":1', '"number":2', "line 2 of journal.jsonl does not match its checksum"),
        ("journal.jsonl", '"seed":42', '"seed":43', "line 1 of journal.jsonl does not match its checksum"),
    ],
)
def test_damage_is_named(tmp_path: Path, file: str, old: str, new: str, words: str) -> None:
    path = made(tmp_path)
    text = (path / file).read_text()
    assert old in text
    (path / file).write_text(text.replace(old, new, 1))
    refused(path, DamagedError, words)


def test_a_lost_trial_is_named(tmp_path: Path) -> None:
    path = made(tmp_path)
    (path / "trials" / "000002").rename(tmp_path / "elsewhere")
    refused(path, DamagedError, "trial 2 is in the journal but not under trials/")


def test_a_lost_journal_is_named(tmp_path: Path) -> None:
    path = made(tmp_path)
    (path / "journal.jsonl").unlink()
    with pytest.raises(RecordError, match=r"could not open the run directory .* No such file"):
        RunDirectory.open(path)


def test_two_runners_never_work_on_one_run(tmp_path: Path) -> None:
    run = create(DISK, tmp_path / "run")
    with pytest.raises(InUseError, match=f"is in use by process {os.getpid()} on "):
        RunDirectory.open(tmp_path / "run")
    assert Run.open(tmp_path / "run").trials == (), "reading needs no lock"
    run.close()
    RunDirectory.open(tmp_path / "run").close()


KILLED_RUNNER = """
import os, signal, sys
from pathlib import Path
from pgassay.record.disk import RealDisk
from tests.record.runs import commit, create, stage
run = create(RealDisk(), Path(sys.argv[1]))
commit(RealDisk(), run, 1)
stage(RealDisk(), run, 2)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_runner_is_succeeded(tmp_path: Path) -> None:
    path = tmp_path / "run"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_RUNNER, str(path)], cwd=Path(__file__).parents[2], check=False
    )
    assert killed.returncode == -9
    with RunDirectory.open(path) as run:
        assert run.recovery.former_owner.startswith("process ")
        assert run.recovery.abandoned == (".abandoned-000002-1",)
        assert (path / "trials" / ".abandoned-000002-1" / "pgbench.out").exists()
        assert run.next_number == 2
        run.resumed()
        commit(DISK, run, 2)
    assert [record.number for record in Run.open(path).trials] == [1, 2]
    entry = next(entry for entry in Run.open(path).journal if entry.kind == Kind.RESUMED)
    assert entry.data["abandoned"] == [".abandoned-000002-1"]


def test_a_trial_set_aside_keeps_its_output_and_gives_its_number_back(tmp_path: Path) -> None:
    run = create(DISK, tmp_path / "run")
    for count in (1, 2):
        run.abandon_trial(stage(DISK, run, 1))
        assert (tmp_path / "run" / "trials" / f".abandoned-000001-{count}" / "pgbench.out").exists()
    commit(DISK, run, run.next_number)
    run.close()
    assert [record.number for record in Run.open(tmp_path / "run").trials] == [1]


def test_a_committed_trial_is_never_begun_again() -> None:
    disk = fake_disk()
    run = create(disk)
    commit(disk, run, 1)
    with pytest.raises(RecordError, match="trial 1 is committed already"):
        run.begin_trial(1)


def test_a_trial_is_committed_under_its_own_number() -> None:
    disk = fake_disk()
    run = create(disk)
    with pytest.raises(RecordError, match="trial 2 cannot be committed from the staging directory of 1"):
        run.commit_trial(stage(disk, run, 1), trial(2), [])


@pytest.mark.parametrize("number", [-1, NUMBER_MAX + 1])
def test_a_number_that_does_not_fit_is_refused(number: int) -> None:
    with pytest.raises(RecordError, match="is outside"):
        create(fake_disk()).begin_trial(number)


@pytest.mark.parametrize("name", ["trial.json", "series.parquet", "SHA256SUMS"])
def test_a_tool_may_not_write_our_files(name: str) -> None:
    disk = fake_disk()
    run = create(disk)
    staging = stage(disk, run, 1)
    tool_writes(disk, staging.path / name, b"{}")
    with pytest.raises(RecordError, match=f'a tool wrote "{name}"'):
        run.commit_trial(staging, trial(1), [])
    assert disk.list(RUN / "trials") == (".staging-000001",)


def test_output_in_directories_below_is_kept_and_summed() -> None:
    disk = fake_disk()
    run = create(disk)
    staging = stage(disk, run, 1)
    disk.mkdir(staging.path / "logs")
    tool_writes(disk, staging.path / "logs" / "pgbench_log.1", b"0 1 2\n")
    run.commit_trial(staging, trial(1), [])
    disk.reboot(Survival.LOST)
    assert disk.read(RUN / "trials" / "000001" / "logs" / "pgbench_log.1") == b"0 1 2\n"
    assert b"  logs/pgbench_log.1\n" in disk.read(RUN / "trials" / "000001" / "SHA256SUMS")


def test_a_half_made_run_is_made_anew() -> None:
    disk = fake_disk()
    disk.mkdir(ROOT / ".page-size.creating")
    disk.mkdir(ROOT / ".page-size.creating" / "trials")
    create(disk).close()
    assert disk.list(ROOT) == ("page-size",)


def test_two_runs_of_one_second_have_places_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    first = unused_path("fillfactor", now)
    assert first == tmp_path / "runs" / "fillfactor-20260102T030405Z"
    first.mkdir(parents=True)
    second = unused_path("fillfactor", now)
    second.mkdir()
    assert [second.name, unused_path("fillfactor", now).name] == [f"{first.name}-2", f"{first.name}-3"]
