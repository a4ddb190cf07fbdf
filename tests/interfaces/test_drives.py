"""The contract of `interfaces.store.Drive`: what every kind of drive and the fake promise the lab.

Image and emulated drives stand here on a fake kernel; tests/drive/block/test_real.py runs the same contract with real
loop devices and mounts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay.drive.options import DriveOptions
from pgassay.interfaces.errors import DriveError, SpaceError
from pgassay.interfaces.store import Drive, Needs
from tests.drive.places import attacher, on_fakes
from tests.fakes.drive import FakeDrive


@dataclass(frozen=True)
class Bench:
    """A drive, with how a server would write to and read from a directory of it; `tiny` makes one without room."""

    drive: Drive
    write: Callable[[Path, str], None]
    read: Callable[[Path], str]
    tiny: Callable[[], Drive]
    keeps: bool = True
    """Do snapshots outlive the lab? Those in an emulated drive's memory do not."""


def write_file(directory: Path, text: str) -> None:
    """What a server does on a real drive."""
    (directory / "file").write_text(text)


def fake_bench() -> Bench:
    """The fake keeps its contents in memory."""
    fake = FakeDrive()
    return Bench(
        fake,
        lambda path, text: fake.contents[path].update(text=text),
        lambda path: str(fake.contents[path]["text"]),
        lambda: FakeDrive(free_bytes=1, reflink=False),
    )


def apart_bench(place: Path) -> Iterator[Bench]:
    """A directory whose snapshots are kept below another one."""

    def attached(free_bytes: int = 1 << 40) -> Drive:
        on = attacher(free_bytes, snapshots_in=place / "kept")
        return on.attach(DriveOptions.from_levels({"data": "directory"}), place / "data", Needs())

    drive = attached()
    yield Bench(drive, write_file, lambda path: (path / "file").read_text(), lambda: attached(free_bytes=1))
    drive.release()


@pytest.fixture(params=["directory", "kept apart", "fake", "image", "csd", "image+directory", "ssd+csd"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One drive of each kind."""
    if request.param == "fake":
        yield fake_bench()
        return
    if request.param == "kept apart":
        yield from apart_bench(tmp_path)
        return
    data, _, wal = request.param.partition("+")
    emulated = "csd" in request.param
    drive = on_fakes(tmp_path / "data", data, wal)
    yield Bench(
        drive,
        write_file,
        lambda path: (path / "file").read_text(),
        lambda: on_fakes(tmp_path / "data", data, wal, free_bytes=1, store_bytes=1 << 50 if emulated else None),
        keeps=not emulated,
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
    clone = drive.clone("k", "trial-1")
    bench.write(clone, "worn")
    drive.discard(clone)  # a block drive holds one at a time
    assert bench.read(drive.clone("k", "trial-2")) == "golden"


def test_only_taken_keys_have_a_snapshot(bench: Bench) -> None:
    drive = prepared(bench)
    assert drive.has_snapshot("k")
    assert not drive.has_snapshot("K")
    with pytest.raises(DriveError, match='no snapshot for key "other"'):
        drive.clone("other", "trial-1")


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


def test_a_clone_is_written_back_until_it_is_gone(bench: Bench) -> None:
    drive = prepared(bench)
    clone = drive.clone("k", "trial-1")
    bench.write(clone, "dirty")
    drive.write_back(clone)
    assert bench.read(clone) == "dirty"
    drive.discard(clone)
    with pytest.raises(DriveError, match="could not write back a clone"):
        drive.write_back(clone)


def test_no_room_is_told_before_anything_is_written(bench: Bench) -> None:
    try:
        tiny = bench.tiny()
    except SpaceError:
        return  # a drive that is sized before it is made says so at once
    directory = tiny.workspace("prepare")
    tiny.take_snapshot("k", directory)
    with pytest.raises(SpaceError):
        tiny.clone("k", "trial-1")
    assert tiny.workspace("trial-1").name == "trial-1", "nothing of that name was left"
    tiny.release()


def test_it_says_how_it_clones_and_where(bench: Bench) -> None:
    words = bench.drive.how_cloned().replace("data by ", "").replace(" WAL by ", "").split(",")
    assert set(words) <= {"reflink", "copy", "copy-on-write"}
    assert set(bench.drive.kind.split("+")) <= {"directory", "image", "ssd", "csd"}
    assert bench.drive.mount().free_bytes > 0


def test_snapshots_stay_after_a_release_unless_told_otherwise(bench: Bench) -> None:
    drive = prepared(bench)
    drive.release()
    drive.release()
    assert drive.has_snapshot("k") is bench.keeps


def test_a_forgotten_snapshot_can_be_taken_again(bench: Bench) -> None:
    drive = prepared(bench)
    drive.forget_snapshot("k")
    drive.forget_snapshot("k")
    assert not drive.has_snapshot("k")
    prepared(bench, text="new")
    assert bench.read(drive.clone("k", "trial-1")) == "new"
