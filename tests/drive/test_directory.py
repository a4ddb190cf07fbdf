"""The directory drive beyond its contract (tests/interfaces/test_drives.py): markers, killed labs, several, errors."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pgassay import copying
from pgassay.drive.directory import DirectoryDrive
from pgassay.drive.root import MARKER_FILE, Root, open_root
from pgassay.drive.sessions import killed_runs
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import Account
from pgassay.lab.drives import remove_left
from pgassay.study.findings import Severity
from tests.drive.places import OURSELVES, fill, mounted


def attach(directory: Path, keep_snapshots: bool = True, filesystem: str = "ext4") -> DirectoryDrive:
    return DirectoryDrive(directory, OURSELVES, mounted(filesystem), keep_snapshots=keep_snapshots)


def with_snapshot(drive: DirectoryDrive, key: str = "k") -> DirectoryDrive:
    directory = drive.workspace("prepare")
    fill(directory)
    drive.take_snapshot(key, directory)
    return drive


@pytest.mark.parametrize("filesystem", ["tmpfs", "overlay", "ramfs"])
def test_memory_is_no_drive_unless_asked_for(tmp_path: Path, filesystem: str) -> None:
    with pytest.raises(DriveError, match=f"is on {filesystem}") as caught:
        attach(tmp_path, filesystem=filesystem)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []
    DirectoryDrive(tmp_path, OURSELVES, mounted(filesystem), allow_volatile=True).release()


def test_a_directory_that_we_did_not_make_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pgassay").mkdir()
    (tmp_path / "pgassay" / "precious").touch()
    with pytest.raises(DriveError, match="was not made by pgassay"):
        attach(tmp_path)
    assert [path.name for path in (tmp_path / "pgassay").iterdir()] == ["precious"]


def test_a_later_format_is_named(tmp_path: Path) -> None:
    attach(tmp_path).release()
    (tmp_path / "pgassay" / MARKER_FILE).write_text('{"format": 2}')
    with pytest.raises(DriveError, match="has format 2, this version of pgassay reads formats up to 1"):
        attach(tmp_path)


def test_a_root_that_goes_with_its_last_lab_while_another_waits_for_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, flock = with_snapshot(attach(tmp_path, keep_snapshots=False)), fcntl.flock

    def late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        first.release()
        assert list(tmp_path.iterdir()) == []
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    second = attach(tmp_path)
    assert not second.has_snapshot("k")
    with_snapshot(second).release()
    assert [path.name for path in tmp_path.iterdir()] == ["pgassay"]


def test_a_root_that_goes_with_its_last_lab_before_another_has_a_session_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = attach(tmp_path, keep_snapshots=False)

    def late(directory: Path, account: Account, *more: Any) -> Root:
        monkeypatch.undo()
        root = open_root(directory, account, *more)
        first.release()
        assert not root.path.exists()
        return root

    monkeypatch.setattr("pgassay.drive.sessions.open_root", late)
    with_snapshot(attach(tmp_path)).release()
    assert [path.name for path in tmp_path.iterdir()] == ["pgassay"]


def test_two_labs_make_a_missing_directory_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def late(path: Path, *more: Any, **options: Any) -> None:
        monkeypatch.setattr(Path, "mkdir", made)
        attach(tmp_path / "new").release()
        made(path, *more, **options)

    monkeypatch.setattr(Path, "mkdir", late)
    with_snapshot(attach(tmp_path / "new")).release()


def test_a_missing_directory_is_made_but_not_its_parents(tmp_path: Path) -> None:
    attach(tmp_path / "new").release()
    assert (tmp_path / "new" / "pgassay" / MARKER_FILE).exists()
    with pytest.raises(DriveError, match="does not exist"):
        attach(tmp_path / "a" / "b")


def test_a_file_is_no_place_for_clusters(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(DriveError, match="is not a directory"):
        DirectoryDrive(file, OURSELVES, mounted())
    assert file.is_file()


def test_the_servers_account_must_be_able_to_enter(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    account = Account("nobody", 65534, 65534)
    with pytest.raises(DriveError, match='account "nobody", under which servers run, may not enter'):
        DirectoryDrive(tmp_path / "closed", account, mounted())
    assert list((tmp_path / "closed").iterdir()) == []


def test_nothing_is_left_without_keep_snapshots(tmp_path: Path) -> None:
    drive = with_snapshot(attach(tmp_path / "new", keep_snapshots=False))
    drive.clone("k", "trial-1")
    drive.release()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_keeps_the_users_directory(tmp_path: Path) -> None:
    drive = attach(tmp_path / "new", keep_snapshots=False)
    (tmp_path / "new" / "precious").touch()
    drive.release()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["precious"]


def test_a_living_labs_clones_and_snapshots_are_not_touched(tmp_path: Path) -> None:
    first = with_snapshot(attach(tmp_path))
    clone = first.clone("k", "trial-1")
    second = attach(tmp_path, keep_snapshots=False)
    assert clone.exists()
    assert second.clone("k", "trial-1") != clone
    second.release()
    assert (clone / "PG_VERSION").exists()
    assert first.has_snapshot("k")
    with pytest.raises(DriveError, match="left alone"):
        attach(tmp_path).discard(clone)
    first.release()


KILLED_LAB = """
import os, signal, sys
from pathlib import Path
from tests.drive.places import fill
from tests.drive.test_directory import attach, with_snapshot
drive = with_snapshot(attach(Path(sys.argv[1])))
drive.clone("k", "trial-1")
half = Path(sys.argv[1], "pgassay", "snapshots", f".taking-{drive.workspace('w').parent.name}-0")
half.mkdir()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_lab_left_is_swept_away_and_its_snapshots_stay(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED_LAB, str(tmp_path)], cwd=root, check=False)
    assert killed.returncode == -9
    drive = attach(tmp_path)
    assert drive.has_snapshot("k")
    assert [path.name.startswith(".") for path in (tmp_path / "pgassay" / "snapshots").iterdir()] == [False]
    assert len(list((tmp_path / "pgassay" / "sessions").iterdir())) == 1
    drive.release()


def test_what_a_killed_lab_left_is_named_and_removed_on_request(tmp_path: Path) -> None:
    assert killed_runs(tmp_path).severity is Severity.OK
    living = attach(tmp_path)
    assert killed_runs(tmp_path).severity is Severity.OK, "a living lab's session is not left by anyone"
    subprocess.run([sys.executable, "-c", KILLED_LAB, str(tmp_path)], cwd=Path(__file__).parents[2], check=False)
    found = killed_runs(tmp_path)
    assert found.severity is Severity.WARNING
    assert found.remedy == f"pgassay doctor --repair --data-dir {tmp_path}"
    assert {name.rpartition("/")[2].partition("-")[0] for name in remove_left(tmp_path)} == {"trial", "w", ".taking"}
    assert killed_runs(tmp_path).severity is Severity.OK
    assert remove_left(tmp_path) == []
    living.release()


def test_what_is_not_ours_is_neither_looked_into_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "pgassay").mkdir()
    assert killed_runs(tmp_path).severity is Severity.ERROR
    with pytest.raises(DriveError):
        remove_left(tmp_path)
    assert remove_left(tmp_path / "nothing") == []


def test_a_running_servers_directory_is_never_taken_removed_or_swept(tmp_path: Path) -> None:
    drive = attach(tmp_path)
    directory = drive.workspace("prepare")
    server = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=directory)
    try:
        (directory / "postmaster.pid").write_text(f"{server.pid}\n{directory}\n")
        with pytest.raises(DriveError, match=f"process {server.pid}"):
            drive.discard(directory)
        with pytest.raises(DriveError, match=f"process {server.pid}"):
            drive.take_snapshot("k", directory)
        drive.release()
        later = attach(tmp_path)
        later.release()
        assert directory.exists()
    finally:
        server.communicate(b"\n")
    last = attach(tmp_path)
    assert not directory.exists()
    last.release()


def test_a_server_that_was_not_shut_down_makes_no_snapshot(tmp_path: Path) -> None:
    drive = attach(tmp_path)
    directory = drive.workspace("prepare")
    (directory / "postmaster.pid").write_text(f"{os.getpid()}\n")
    with pytest.raises(DriveError, match="not shut down cleanly"):
        drive.take_snapshot("k", directory)
    assert not drive.has_snapshot("k")
    drive.release()


def test_a_clone_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drive = with_snapshot(attach(tmp_path))

    def fail(source: int, target: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copying, "_copy_contents", fail)
    monkeypatch.setattr(copying, "clone_contents", fail)
    with pytest.raises(DriveError, match="filled up"):
        drive.clone("k", "trial-1")
    monkeypatch.undo()
    assert (drive.clone("k", "trial-1") / "PG_VERSION").exists()
    drive.release()


def test_a_snapshot_whose_facts_cannot_be_read_does_not_count(tmp_path: Path) -> None:
    drive = with_snapshot(attach(tmp_path))
    (facts,) = (tmp_path / "pgassay" / "snapshots").glob("*/snapshot.json")
    facts.write_text("{")
    assert not drive.has_snapshot("k")
    with_snapshot(drive)
    assert (drive.clone("k", "trial-1") / "PG_VERSION").exists()
    drive.release()
