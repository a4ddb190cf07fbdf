"""Kept snapshots: what is listed of them, and which are removed first."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.drive import snapshots
from pgassay.drive.directory import DirectoryDrive
from pgassay.drive.root import Root, find_root
from pgassay.interfaces.errors import DriveError
from tests.drive.places import OURSELVES, fill, mounted

DAY_S = 86400


def attach(directory: Path) -> DirectoryDrive:
    return DirectoryDrive(directory, OURSELVES, mounted())


def keep(directory: Path, *keys: str) -> Root:
    """Snapshots of these keys, the first one used longest ago."""
    drive = attach(directory)
    for key in keys:
        place = drive.workspace(f"prepare-{key}")
        fill(place)
        drive.take_snapshot(key, place, f"data {key}")
    drive.release()
    root = find_root(directory)
    assert root is not None
    for each in snapshots.all_stored([root]):
        age = len(keys) - keys.index(each.what.removeprefix("data "))
        os.utime(each.path / "snapshot.json", (age * -DAY_S + 10**9, age * -DAY_S + 10**9))
    return root


def names(found: list[snapshots.StoredSnapshot]) -> list[str]:
    return [each.what.removeprefix("data ") for each in found]


def test_snapshots_are_listed_the_latest_used_first(tmp_path: Path) -> None:
    root = keep(tmp_path, "a", "b", "c")
    assert names(snapshots.all_stored([root])) == ["c", "b", "a"]
    drive = attach(tmp_path)
    drive.clone("a", "trial-1")
    drive.release()
    assert names(snapshots.all_stored([root])) == ["a", "c", "b"]
    assert [each.size_bytes > 0 for each in snapshots.all_stored([root])] == [True] * 3


def test_the_least_recently_used_go_until_the_others_fit(tmp_path: Path) -> None:
    root = keep(tmp_path, "a", "b", "c")
    one = snapshots.all_stored([root])[0].size_bytes
    assert snapshots.trim([root], 3 * one) == []
    assert names(snapshots.trim([root], 2 * one)) == ["a"]
    assert names(snapshots.all_stored([root])) == ["c", "b"]
    assert names(snapshots.trim([root], 0)) == ["b", "c"]
    assert list(root.snapshots.iterdir()) == []
    drive = attach(tmp_path)
    assert not drive.has_snapshot("c")
    drive.release()


def test_the_limit_is_on_all_roots_together(tmp_path: Path) -> None:
    roots = [keep(tmp_path / "one", "a", "b"), keep(tmp_path / "two", "c")]
    one = snapshots.all_stored(roots)[0].size_bytes
    assert sorted(names(snapshots.trim(roots, one))) in (["a", "b"], ["a", "c"])


def test_nothing_goes_while_a_run_lives_there(tmp_path: Path) -> None:
    root = keep(tmp_path, "a")
    living = attach(tmp_path)
    with pytest.raises(DriveError, match="may need its snapshots"):
        snapshots.trim([root], 0)
    assert living.has_snapshot("a")
    living.release()
    assert names(snapshots.trim([root], 0)) == ["a"]


def test_what_no_run_could_use_is_named_and_goes(tmp_path: Path) -> None:
    root = keep(tmp_path, "a")
    (root.snapshots / "0" / "data").mkdir(parents=True)
    (found,) = (each for each in snapshots.all_stored([root]) if each.path.name == "0")
    assert "unreadable" in found.what
    snapshots.trim([root], 0)
    assert list(root.snapshots.iterdir()) == []


def test_what_a_killed_process_was_removing_is_swept_away(tmp_path: Path) -> None:
    root = keep(tmp_path, "a")
    half = root.snapshots / ".forgotten-0"
    half.mkdir()
    assert names(snapshots.all_stored([root])) == ["a"]
    drive = attach(tmp_path)
    assert not half.exists()
    drive.release()


def test_a_directory_without_ours_has_none_and_a_foreign_one_is_refused(tmp_path: Path) -> None:
    assert find_root(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "pgassay").mkdir()
    with pytest.raises(DriveError, match="was not made by pgassay"):
        find_root(tmp_path)


def test_one_that_a_run_removes_while_they_are_listed_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = keep(tmp_path, "a", "b")
    gone = next(each for each in snapshots.all_stored([root]) if each.what == "data a")
    listed = Path.iterdir

    def late(path: Path) -> Iterator[Path]:
        found = list(listed(path))
        snapshots.forget(root, "a")
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", late)
    assert names(snapshots.all_stored([root])) == ["b"]
    assert not gone.path.exists()
