"""Copies of a tree: contents, modes, owners, links, and what is left out."""

import os
from pathlib import Path

import pytest

from pgassay.copying import copy_tree, size_bytes
from pgassay.files import UntrustedError
from tests.drive.places import fill


def shape(directory: Path) -> dict[str, tuple[int, int, int, bytes | str]]:
    """Every path below a directory with its mode, owner, group and contents (a link's target)."""
    found: dict[str, tuple[int, int, int, bytes | str]] = {}
    for path in sorted(directory.rglob("*")):
        facts = path.lstat()
        contents = str(path.readlink()) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(directory))] = (facts.st_mode, facts.st_uid, facts.st_gid, contents)
    return found


@pytest.mark.parametrize("share", [False, True])
def test_everything_is_kept(tmp_path: Path, share: bool) -> None:
    """With `share` on a file system that cannot, each file is copied and the outcome says so."""
    (tmp_path / "a").mkdir()
    fill(tmp_path / "a")
    if os.geteuid() == 0:
        os.chown(tmp_path / "a" / "PG_VERSION", 65534, 65534)
    copied = copy_tree(tmp_path / "a", tmp_path / "b", share=share)
    assert shape(tmp_path / "b") == shape(tmp_path / "a")
    assert copied.files == 3
    assert copied.shared in ((0, 3) if share else (0,))


def test_the_pid_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "postmaster.pid").touch()
    (tmp_path / "a" / "postmaster.opts").touch()
    copy_tree(tmp_path / "a", tmp_path / "b", share=False)
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["postmaster.opts"]


@pytest.mark.parametrize("target", ["/somewhere", "../other"])
def test_a_link_out_of_the_tree_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "pg_wal").symlink_to(target)
    with pytest.raises(UntrustedError, match="leads out of the cluster"):
        copy_tree(tmp_path / "a", tmp_path / "b", share=False)


def test_a_copy_works_without_the_kernels_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: int, target: int, count: int) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    (tmp_path / "a").mkdir()
    fill(tmp_path / "a")
    copy_tree(tmp_path / "a", tmp_path / "b", share=False)
    assert shape(tmp_path / "b") == shape(tmp_path / "a")


def test_a_short_copy_in_the_kernel_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.copy_file_range
    monkeypatch.setattr(os, "copy_file_range", lambda source, target, count: real(source, target, min(count, 4097)))
    (tmp_path / "a").mkdir()
    fill(tmp_path / "a")
    copy_tree(tmp_path / "a", tmp_path / "b", share=False)
    assert shape(tmp_path / "b") == shape(tmp_path / "a")


def test_size_is_the_room_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100_000))
    assert 100_000 <= size_bytes(tmp_path) <= 150_000
