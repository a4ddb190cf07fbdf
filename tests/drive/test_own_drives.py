"""Drives that an earlier version kept for users' own work: what is gone is removed, what holds contents stays."""

from pathlib import Path

import pytest

from pgassay.drive.block.daemon import CONFIGURATION
from pgassay.drive.root import Root, alone, open_root
from pgassay.lab.drives import remove_left
from tests.drive.places import OURSELVES, mounted
from tests.drive.test_directory import attach, with_snapshot


@pytest.fixture
def root(tmp_path: Path) -> Root:
    found = open_root(tmp_path, OURSELVES, mounted(), allow_volatile=False)
    for name in ("image", "emulated", "partly"):
        (found.drives / name).mkdir(parents=True)
        if name != "partly":
            (found.drives / name / "drive.json").write_text("{}")
    (found.drives / "emulated" / CONFIGURATION).write_text("{}")
    return found


def test_only_those_whose_contents_are_gone_are_removed(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving: list[int | None] = [2**22 + 1]  # no process can have this number (proc(5), pid_max)
    monkeypatch.setattr("pgassay.drive.block.daemon.running", lambda home: serving[0])
    with alone(root.drives / "partly"):
        assert remove_left(tmp_path) == [], "one that is being made is not touched"
    assert remove_left(tmp_path) == ["drive partly"]
    serving[0] = None
    assert remove_left(tmp_path) == ["drive emulated"]
    assert [each.name for each in root.drives.iterdir()] == ["image"]


def test_a_run_that_keeps_no_snapshots_leaves_them_alone(root: Root, tmp_path: Path) -> None:
    with_snapshot(attach(tmp_path, keep_snapshots=False)).release()
    assert list(root.snapshots.iterdir()) == []
    assert (root.drives / "image").is_dir()
    for name in ("image", "emulated", "partly"):
        for each in (*(root.drives / name).iterdir(), root.drives / name):
            each.unlink() if each.is_file() else each.rmdir()
    attach(tmp_path, keep_snapshots=False).release()
    assert list(tmp_path.iterdir()) == [], "the last one out takes all along"
