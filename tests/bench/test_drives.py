"""The contract of `bench.store.Drive`: what the real directory drive and the fake both promise the lab."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay.bench.errors import DriveError, SpaceError
from pgassay.bench.fakes.drive import FakeDrive
from pgassay.bench.store import Drive
from pgassay.drive.directory import DirectoryDrive
from tests.drive.places import OURSELVES, mounted


@dataclass(frozen=True)
class Bench:
    """A drive, with how a server would write to and read from a directory of it; `tiny` makes one without room."""

    drive: Drive
    write: Callable[[Path, str], None]
    read: Callable[[Path], str]
    tiny: Callable[[], Drive]


def write_file(directory: Path, text: str) -> None:
    """What a server does on a real drive."""
    (directory / "file").write_text(text)


@pytest.fixture(params=["directory", "fake"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One drive of each kind."""
    if request.param == "fake":
        fake = FakeDrive()
        yield Bench(
            fake,
            lambda path, text: fake.contents[path].update(text=text),
            lambda path: str(fake.contents[path]["text"]),
            lambda: FakeDrive(free_bytes=1, reflink=False),
        )
        return
    drive = DirectoryDrive.attach(tmp_path, OURSELVES, mounted())
    yield Bench(
        drive,
        write_file,
        lambda path: (path / "file").read_text(),
        lambda: DirectoryDrive.attach(tmp_path, OURSELVES, mounted(free_bytes=1)),
    )
    drive.release()


def prepared(bench: Bench, key: str = "k", text: str = "golden") -> Drive:
    """A drive with one snapshot."""
    directory = bench.drive.workspace(f"prepare-{len(key)}-{text}")
    bench.write(directory, text)
    bench.drive.take_snapshot(key, directory)
    return bench.drive


def test_a_clone_holds_what_the_snapshot_holds(bench: Bench) -> None:
    drive = prepared(bench)
    assert bench.read(drive.clone("k", "trial-1")) == "golden"


def test_what_happens_to_a_clone_stays_in_it(bench: Bench) -> None:
    drive = prepared(bench)
    bench.write(drive.clone("k", "trial-1"), "worn")
    assert bench.read(drive.clone("k", "trial-2")) == "golden"


def test_only_taken_keys_have_a_snapshot(bench: Bench) -> None:
    drive = prepared(bench)
    assert drive.has_snapshot("k")
    assert not drive.has_snapshot("K")
    assert drive.snapshot_bytes("k") > 0
    with pytest.raises(DriveError, match='no snapshot for key "other"'):
        drive.clone("other", "trial-1")
    with pytest.raises(DriveError, match='no snapshot for key "other"'):
        drive.snapshot_bytes("other")


def test_the_first_snapshot_of_a_key_stays(bench: Bench) -> None:
    drive = prepared(bench)
    prepared(bench, text="late")
    assert bench.read(drive.clone("k", "trial-1")) == "golden"


def test_taking_a_snapshot_moves_the_workspace(bench: Bench) -> None:
    drive = bench.drive
    directory = drive.workspace("prepare")
    bench.write(directory, "x")
    drive.take_snapshot("k", directory)
    assert drive.workspace("prepare") == directory


def test_a_name_is_used_once_until_discarded(bench: Bench) -> None:
    drive = prepared(bench)
    clone = drive.clone("k", "trial-1")
    with pytest.raises(DriveError, match="already"):
        drive.clone("k", "trial-1")
    with pytest.raises(DriveError, match="already"):
        drive.workspace("trial-1")
    drive.discard(clone)
    drive.discard(clone)
    assert drive.clone("k", "trial-1") == clone


@pytest.mark.parametrize("name", ["", "..", "a/b", "/tmp/x"])
def test_a_name_that_leaves_the_drive_is_refused(bench: Bench, name: str) -> None:
    with pytest.raises(DriveError, match="cannot name"):
        bench.drive.workspace(name)


def test_what_is_not_ours_is_not_taken_or_removed(bench: Bench, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "file").write_text("precious")
    with pytest.raises(DriveError, match="left alone"):
        bench.drive.discard(foreign)
    with pytest.raises(DriveError, match="left alone"):
        bench.drive.take_snapshot("k", foreign)
    assert (foreign / "file").read_text() == "precious"


def test_no_room_is_told_before_anything_is_written(bench: Bench) -> None:
    tiny = bench.tiny()
    directory = tiny.workspace("prepare")
    tiny.take_snapshot("k", directory)
    with pytest.raises(SpaceError):
        tiny.clone("k", "trial-1")
    assert tiny.workspace("trial-1").name == "trial-1", "nothing of that name was left"
    tiny.release()


def test_it_says_how_it_clones_and_where(bench: Bench) -> None:
    assert bench.drive.how_cloned() in ("reflink", "copy")
    assert bench.drive.kind == "directory"
    assert bench.drive.mount().free_bytes > 0


def test_snapshots_stay_after_a_release_unless_told_otherwise(bench: Bench) -> None:
    drive = prepared(bench)
    drive.release()
    drive.release()
    assert drive.has_snapshot("k")
