"""The contract of `record.disk.Disk`: what the real disk and the fake both do, errors included."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay.record.disk import Disk, HeldError, RealDisk
from tests.fakes.disk import FakeDisk


@pytest.fixture(params=["real", "fake"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Disk, Path]:
    """A disk of each kind and an empty directory on it."""
    if request.param == "real":
        return RealDisk(), tmp_path
    fake = FakeDisk()
    fake.make_root(Path("/runs"))
    return fake, Path("/runs")


def number_of(caught: pytest.ExceptionInfo[OSError]) -> int | None:
    return caught.value.errno


def test_a_file_is_read_as_written(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.write_file(root / "a", b"one\n")
    disk.append(root / "a", b"two\n")
    assert disk.read(root / "a") == b"one\ntwo\n"
    disk.truncate(root / "a", 5)
    assert disk.read(root / "a") == b"one\nt"
    assert b"".join(disk.blocks(root / "a")) == b"one\nt"


def test_a_large_file_comes_in_pieces(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.write_file(root / "a", bytes(range(256)) * 5000)
    pieces = list(disk.blocks(root / "a"))
    assert len(pieces) == 2
    assert b"".join(pieces) == bytes(range(256)) * 5000


def test_a_file_is_never_written_over(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.write_file(root / "a", b"one")
    with pytest.raises(FileExistsError):
        disk.write_file(root / "a", b"two")
    assert disk.read(root / "a") == b"one"


def test_names_are_listed_in_order(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.mkdir(root / "b")
    disk.write_file(root / "c", b"")
    disk.write_file(root / "a", b"")
    disk.write_file(root / "b" / "d", b"")
    assert disk.list(root) == ("a", "b", "c")
    assert disk.exists(root / "b" / "d")
    assert not disk.exists(root / "b" / "e")
    assert not disk.exists(root / "a" / "e")
    assert disk.is_directory(root / "b")
    assert not disk.is_directory(root / "a")
    assert not disk.is_directory(root / "x")


def test_a_rename_moves_a_directory_with_all_in_it(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.mkdir(root / "new")
    disk.mkdir(root / "trials")
    disk.write_file(root / "new" / "a", b"one")
    disk.sync_tree(root / "new")
    disk.rename(root / "new", root / "trials" / "1")
    assert disk.list(root) == ("trials",)
    assert disk.read(root / "trials" / "1" / "a") == b"one"


def test_a_rename_replaces_a_file(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.write_file(root / "old", b"old")
    disk.write_file(root / "new", b"new")
    disk.rename(root / "new", root / "old")
    assert disk.list(root) == ("old",)
    assert disk.read(root / "old") == b"new"


def test_a_rename_onto_a_full_directory_is_refused(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.mkdir(root / "a")
    disk.mkdir(root / "b")
    disk.write_file(root / "b" / "x", b"")
    with pytest.raises(OSError) as caught:  # noqa: PT011 (the number is looked at)
        disk.rename(root / "a", root / "b")
    assert number_of(caught) in (errno.ENOTEMPTY, errno.EEXIST)


def test_removing(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.mkdir(root / "a")
    disk.mkdir(root / "a" / "b")
    disk.write_file(root / "a" / "b" / "c", b"")
    disk.write_file(root / "d", b"")
    disk.remove(root / "d")
    disk.remove_tree(root / "a")
    assert disk.list(root) == ()


def test_what_is_not_there_cannot_be_used(place: tuple[Disk, Path]) -> None:
    disk, root = place
    missing = root / "missing"
    for attempt in (
        lambda: disk.read(missing),
        lambda: disk.append(missing, b"x"),
        lambda: disk.truncate(missing, 0),
        lambda: disk.remove(missing),
        lambda: disk.remove_tree(missing),
        lambda: disk.list(missing),
        lambda: disk.rename(missing, root / "x"),
        lambda: disk.mkdir(missing / "x"),
        lambda: disk.write_file(missing / "x", b""),
        lambda: disk.sync_directory(missing),
    ):
        with pytest.raises(FileNotFoundError):
            attempt()
    with pytest.raises(FileExistsError):
        disk.mkdir(root)


def test_a_lock_is_held_by_one(place: tuple[Disk, Path]) -> None:
    disk, root = place
    lock = disk.lock(root / "lock", "process 1")
    assert lock.former == ""
    with pytest.raises(HeldError) as caught:
        disk.lock(root / "lock", "process 2")
    assert caught.value.owner == "process 1"
    lock.release()
    lock.release()
    again = disk.lock(root / "lock", "process 2")
    assert again.former == "", "given back in good order"
    again.release()


def test_a_lock_stays_with_its_file_when_the_directory_is_renamed(place: tuple[Disk, Path]) -> None:
    disk, root = place
    disk.mkdir(root / "new")
    lock = disk.lock(root / "new" / "lock", "process 1")
    disk.rename(root / "new", root / "run")
    with pytest.raises(HeldError):
        disk.lock(root / "run" / "lock", "process 2")
    lock.release()


def test_the_real_disk_flushes_what_it_writes_and_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many flushes each step makes: of the file, and of the directory that names it."""
    flushed: list[int] = []
    monkeypatch.setattr("os.fsync", flushed.append)
    disk, path, found = RealDisk(), tmp_path / "a", []
    steps: tuple[Callable[[], None], ...] = (
        lambda: disk.write_file(path, b"one\n"),
        lambda: disk.append(path, b"two\n"),
        lambda: disk.truncate(path, 4),
        lambda: disk.rename(path, tmp_path / "b"),
        lambda: disk.sync_tree(tmp_path),
    )
    for step in steps:
        step()
        found.append(len(flushed))
        flushed.clear()
    assert found == [1, 1, 1, 1, 2], "the tree has one file"
