"""Snapshots in a place of their own: the measured drive holds one set of data at a time, and nothing is lost."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.drive import snapshots
from pgassay.drive.attacher import PlannedDrive
from pgassay.drive.directory import DirectoryDrive
from pgassay.drive.options import DriveOptions
from pgassay.drive.root import find_root
from pgassay.interfaces.store import Needs
from tests.drive.places import OURSELVES, attacher, fill, mounted
from tests.drive.test_directory import with_snapshot

MEMORY = Path("/dev/shm")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system")
    place = Path(tempfile.mkdtemp(prefix="pgassay-test-", dir=MEMORY))
    yield place
    shutil.rmtree(place)


def attach(directory: Path, store: Path, *, keep_snapshots: bool = True) -> DirectoryDrive:
    return DirectoryDrive(directory, OURSELVES, mounted(), keep_snapshots=keep_snapshots, snapshots_in=store)


def files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_data_lie_on_the_measured_drive_once_and_come_from_the_other(tmp_path: Path, elsewhere: Path) -> None:
    fill(tmp_path / "as filled")
    drive = with_snapshot(attach(tmp_path / "measured", elsewhere))
    assert files(tmp_path / "measured" / "pgassay" / "snapshots") == {}
    assert not list((tmp_path / "measured").rglob("1259")), "what was prepared here has moved"
    clone = drive.clone("k", "trial-1")
    assert files(clone) == files(tmp_path / "as filled")
    assert (clone / "base").stat().st_mode & 0o777 == 0o700
    assert drive.how_cloned() == "copy"
    mount = drive.snapshot_mount()
    assert mount is not None
    assert mount.path == elsewhere / "pgassay"
    drive.release()


def test_the_next_lab_finds_them_there_and_not_on_the_drive(tmp_path: Path, elsewhere: Path) -> None:
    with_snapshot(attach(tmp_path, elsewhere)).release()
    again, alone = attach(tmp_path, elsewhere), DirectoryDrive(tmp_path, OURSELVES, mounted())
    assert (again.has_snapshot("k"), alone.has_snapshot("k")) == (True, False)
    root = find_root(elsewhere)
    assert root is not None
    assert len(snapshots.all_stored([root])) == 1
    again.forget_snapshot("k")
    assert not again.has_snapshot("k")
    again.release()
    alone.release()


def test_nothing_is_left_in_either_place_without_keep_snapshots(tmp_path: Path, elsewhere: Path) -> None:
    with_snapshot(attach(tmp_path / "new", elsewhere, keep_snapshots=False)).release()
    assert list(tmp_path.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


def test_a_copy_that_was_cut_short_is_no_snapshot_and_goes_with_the_killed_lab(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(source: Path, target: Path, *, share: bool) -> None:
        target.mkdir()
        (target / "PG_VERSION").write_text("1")
        raise KeyboardInterrupt

    killed = attach(tmp_path, elsewhere)
    with monkeypatch.context() as patched:
        patched.setattr(snapshots, "copy_tree", cut)
        with pytest.raises(KeyboardInterrupt):
            with_snapshot(killed)
    assert not killed.has_snapshot("k")
    assert [each.name.startswith(".taking-") for each in (elsewhere / "pgassay/snapshots").iterdir()] == [True]
    for session in (killed._session, killed._keeper):
        assert session is not None
        assert session._lock is not None
        os.close(session._lock)  # as the kernel does when a process ends
        session._lock = None
    attach(tmp_path, elsewhere).release()
    assert list((elsewhere / "pgassay/snapshots").iterdir()) == []


def test_a_plan_sees_what_is_kept_elsewhere_and_makes_nothing(tmp_path: Path, elsewhere: Path) -> None:
    with_snapshot(attach(tmp_path, elsewhere)).release()
    options = DriveOptions.from_levels({"data": "directory"})
    found = attacher(planned=True, snapshots_in=elsewhere).attach(options, tmp_path / "new", Needs())
    assert isinstance(found, PlannedDrive)
    assert (found.has_snapshot("k"), found.has_snapshot("other")) == (True, False)
    mount = found.snapshot_mount()
    assert mount is not None
    assert mount.path == elsewhere / "pgassay"
    missing = attacher(planned=True, snapshots_in=tmp_path / "not there").attach(options, tmp_path / "new", Needs())
    assert not missing.has_snapshot("k")
    assert not (tmp_path / "not there").exists()
    assert not (tmp_path / "new").exists()
