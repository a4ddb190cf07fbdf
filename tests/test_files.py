"""Files below a directory that is not ours alone; each test by openat2(2), and level by level without it."""

import errno
import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pgassay import files
from pgassay.files import Directory, UntrustedError

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(params=["openat2", "step by step"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "step by step":
        monkeypatch.setattr(files, "_has_openat2", lambda: False)
    elif not files._has_openat2():
        pytest.skip("no openat2 in this kernel")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory with a file and a folder, which must be the same afterwards."""
    place = tmp_path / "elsewhere"
    (place / "folder").mkdir(parents=True)
    (place / "file").write_text("precious")
    (place / "file").chmod(0o644)
    (place / "folder" / "file").write_text("precious too")
    before = {path: (path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_ino) for path in place.rglob("*")}
    yield place
    assert {p: (p.lstat().st_mode, p.lstat().st_uid, p.lstat().st_ino) for p in place.rglob("*")} == before
    assert (place / "file").read_text() == "precious"
    assert (place / "folder" / "file").read_text() == "precious too"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Directory]:
    (tmp_path / "place" / "a" / "b").mkdir(parents=True)
    with Directory.open(tmp_path / "place") as opened:
        yield opened


def test_what_is_there_is_reached(place: Directory) -> None:
    place.replace("file", "one")
    assert place.read("file") == b"one"
    with place.inner("a/b") as inner:
        assert inner.path == place.path / "a" / "b"
        inner.replace("file", b"two", mode=0o640)
        assert stat.S_IMODE((inner.path / "file").stat().st_mode) == 0o640
    assert place.read("a/b/file") == b"two"
    place.mkdir("c", 0o711)
    assert stat.S_IMODE((place.path / "c").stat().st_mode) == 0o711
    place.give("file", None, 0o400)
    assert stat.S_IMODE((place.path / "file").stat().st_mode) == 0o400
    assert place.names() == ["a", "c", "file"]
    place.remove_tree("a")
    place.remove_tree("a")
    place.unlink("file")
    place.unlink("file")
    assert place.names() == ["c"]


def test_a_link_is_not_followed_wherever_it_stands(place: Directory, elsewhere: Path) -> None:
    (place.path / "link").symlink_to(elsewhere)
    (place.path / "a" / "link").symlink_to(elsewhere / "folder")
    (place.path / "to a file").symlink_to(elsewhere / "file")
    (place.path / "inside").symlink_to("a")
    with pytest.raises(UntrustedError, match=r'/link" is a symbolic link'):
        place.inner("link")
    for name in ("a/link/file", "link/file", "to a file", "inside/b"):
        with pytest.raises(UntrustedError, match=name):
            place.read(name)
        with pytest.raises(UntrustedError, match=name):
            place.give(name, (NOBODY, NOBODY), 0o777)
    with pytest.raises(UntrustedError):
        place.create("link/new")
    with pytest.raises(FileExistsError):
        place.create("to a file")
    with pytest.raises(FileExistsError):
        place.mkdir("link")
    with pytest.raises(UntrustedError, match="symbolic link"):
        Directory.open(place.path / "link")


def test_a_link_is_replaced_moved_and_removed_as_a_link(place: Directory, elsewhere: Path) -> None:
    (place.path / "one").symlink_to(elsewhere / "file")
    (place.path / "two").symlink_to(elsewhere)
    (place.path / "a" / "three").symlink_to(elsewhere)
    place.replace("one", "ours")
    assert (place.path / "one").read_text() == "ours"
    with place.inner("a") as inner:
        place.rename("two", inner, "moved")
    assert (place.path / "a" / "moved").is_symlink()
    place.remove_tree("a")
    (place.path / "four").symlink_to(elsewhere)
    place.unlink("four")
    (place.path / "five").symlink_to(elsewhere)
    place.clear()
    assert place.names() == []


def test_names_lead_down_only(place: Directory, elsewhere: Path) -> None:
    for name in ("../elsewhere/file", "/etc/passwd", "a/../../elsewhere/file", "", ".", "..", "a//b"):
        with pytest.raises(UntrustedError):
            place.read(name)
    for name in ("../elsewhere", "a/b", "..", "."):
        with pytest.raises(UntrustedError):
            place.remove_tree(name)
        with pytest.raises(UntrustedError):
            place.unlink(name)
        with pytest.raises(UntrustedError):
            place.mkdir(name)


def test_a_second_name_of_a_file_elsewhere_is_replaced_and_not_written(place: Directory, elsewhere: Path) -> None:
    (place.path / "hard").hardlink_to(elsewhere / "file")
    with pytest.raises(UntrustedError, match=r'hard" has another name \(a hard link\)'):
        place.give("hard", None, 0o777)
    place.replace("hard", "ours")
    assert (place.path / "hard").read_text() == "ours"


def test_what_is_no_file_is_neither_read_nor_waited_for(place: Directory) -> None:
    os.mkfifo(place.path / "pipe")
    with pytest.raises(UntrustedError, match="not a regular file"):
        place.read("pipe")
    with pytest.raises(UntrustedError, match="not a regular file"):
        place.give("pipe", None, 0o777)
    with pytest.raises(UntrustedError, match="not a regular file"):
        place.read("a")
    place.remove_tree("pipe")
    (place.path / "large").touch()
    os.truncate(place.path / "large", 17 << 20)
    with pytest.raises(UntrustedError, match="larger than 16 MiB"):
        place.read("large")


def test_what_the_system_refuses_is_told_with_the_path(place: Directory) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        place.read("a/none")
    assert missing.value.filename == str(place.path / "a" / "none")
    place.replace("file", "")
    with pytest.raises(NotADirectoryError):
        place.inner("file")
    with pytest.raises(NotADirectoryError):
        Directory.open(place.path / "file")
    with pytest.raises(OSError) as full:  # noqa: PT011 (the errno is asked)
        place.rename("file", place, "a")
    assert full.value.errno == errno.EISDIR


def test_a_replacement_is_whole_or_not_there(place: Directory) -> None:
    place.replace("file", "before")
    with pytest.raises(UnicodeEncodeError):
        place.replace("file", "\ud800")
    with pytest.raises(IsADirectoryError):
        place.replace("a", "text")
    assert place.read("file") == b"before"
    assert place.names() == ["a", "file"]


def test_a_moved_directory_is_worked_in_where_it_went(place: Directory, elsewhere: Path) -> None:
    """Swapped for a link between two steps: the open one is still the one that was looked at."""
    with place.inner("a") as inner:
        inner.path.rename(place.path / "away")
        inner.path.symlink_to(elsewhere)
        inner.replace("file", "ours")
        inner.mkdir("new")
        inner.remove_tree("b")
    assert sorted(path.name for path in (place.path / "away").iterdir()) == ["file", "new"]


def test_a_tree_deeper_than_we_may_have_files_open_is_removed(place: Directory) -> None:
    deep = os.open(place.path / "a", os.O_RDONLY)
    for _ in range(450):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    place.remove_tree("a")
    assert "a" not in place.names()


def test_only_a_directory_of_ours_that_others_cannot_write_is_ours(place: Directory) -> None:
    place.require_ours()
    place.give_self(None, 0o775)
    with pytest.raises(UntrustedError, match=r"can be written by others \(mode 0775\)"):
        place.require_ours()
    place.give_self(None, 0o711)
    place.require_ours()


@as_root
def test_a_directory_of_another_account_is_not_ours(place: Directory) -> None:
    place.mkdir("theirs", 0o700, (NOBODY, NOBODY))
    with place.inner("theirs") as theirs, pytest.raises(UntrustedError, match="belongs to user 65534, not to user 0"):
        theirs.require_ours()
    place.replace("file", "", (NOBODY, NOBODY))
    assert (place.path / "file").stat().st_uid == NOBODY
    place.give("file", (0, 0), 0o600)
    assert (place.path / "file").stat().st_uid == 0


def test_no_descriptor_stays_open(place: Directory) -> None:
    (place.path / "link").symlink_to("/etc")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("link/passwd", "a/b/none", "a/b", "link"):
        with pytest.raises((UntrustedError, OSError)):
            place.read(name)
        with pytest.raises((UntrustedError, OSError)):
            place.replace(f"{name}/x/y", "")
    place.mkdir("c")
    place.remove_tree("c")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_swapping_while_a_tree_is_removed_gains_nothing(place: Directory, elsewhere: Path) -> None:
    """A child swaps a directory for a link as fast as it can, for as long as we remove."""
    folder = place.path / "a" / "b"
    other = place.path / "a" / "other"
    child = os.fork()
    if child == 0:  # ends by being killed
        while True:
            try:
                folder.rename(other)
                folder.symlink_to(elsewhere / "folder")
                folder.unlink()
                other.rename(folder)
            except OSError:
                pass
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            with suppress(OSError, UntrustedError):
                place.mkdir("a")
            with suppress(OSError, UntrustedError), place.inner("a") as inner:
                inner.mkdir("b")
            with suppress(OSError, UntrustedError), place.inner("a/b") as inner:
                inner.replace("file", "")
            with suppress(OSError, UntrustedError):
                place.remove_tree("a")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
