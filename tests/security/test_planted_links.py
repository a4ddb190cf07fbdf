"""Links that somebody planted in a run directory, or where runs are kept: they are replaced or refused, never followed.

A run directory may come from anyone, by tar or from another account's folder. Before, going on with it wrote through
such links; as root into any file. Reports of it are in `test_strangers_records`.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgassay.files import UntrustedError
from pgassay.locks import FileLock, alone
from pgassay.record import directory
from pgassay.record.directory import RunDirectory, unused_path
from pgassay.record.errors import NotARunError, RecordError
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.testing.planted import make_run
from tests.security.attackers import as_root, fingerprint, nobody


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the victim's."""
    for name in ("key", "profile"):
        (tmp_path / "home" / "ssh").mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_text(f"{name}\n" * 99)
    return tmp_path / "home"


def planted(link: Path, target: Path) -> None:
    """In the place of what is there."""
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


@pytest.mark.parametrize("name", ["lock", JOURNAL_FILE, "trials"])
def test_a_run_is_not_gone_on_with_behind_a_link(tmp_path: Path, home: Path, name: str) -> None:
    run = make_run(tmp_path / "run", finished=False).path
    target = home / "key"
    if name == JOURNAL_FILE:  # a whole one, of which a torn line would be cut off
        target.write_bytes((run / name).read_bytes() + b"torn")
    if name == "trials":
        (run / name).rename(home / "trials")
        target = home / "trials"
    planted(run / name, target)
    before = fingerprint(home)
    with pytest.raises((RecordError, NotARunError)):
        RunDirectory.open(run)
    assert fingerprint(home) == before


def test_a_stop_is_not_asked_behind_a_link(tmp_path: Path, home: Path) -> None:
    run = make_run(tmp_path / "run", finished=False).path
    planted(run / directory.STOP_FILE, home / "nologin")
    with pytest.raises(RecordError):
        directory.ask_to_stop(run)
    assert not (home / "nologin").exists()


@pytest.mark.parametrize("take", [lambda path: FileLock(path).take(), lambda path: alone(path).__enter__()])
def test_a_lock_is_not_made_behind_a_link(tmp_path: Path, home: Path, take: Callable[[Path], object]) -> None:
    planted(tmp_path / "a.lock", home / "nologin")
    with pytest.raises(OSError, match="symbolic link"):
        take(tmp_path / "a.lock")
    assert not (home / "nologin").exists()


@as_root
def test_root_goes_on_with_no_run_that_a_stranger_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, stranger = make_run(tmp_path / "run", finished=False).path, nobody()
    os.chown(run, stranger.uid, stranger.gid)
    with pytest.raises(UntrustedError, match=f"belongs to user {stranger.uid}"):
        RunDirectory.open(run)
    monkeypatch.setenv("SUDO_UID", str(stranger.uid))
    RunDirectory.open(run).close()


@as_root
def test_no_run_is_kept_where_a_stranger_made_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in /tmp, where anybody may make a `runs`."""
    monkeypatch.chdir(tmp_path)
    now, stranger = datetime(2026, 1, 2, tzinfo=UTC), nobody()
    (tmp_path / "runs").mkdir()
    assert unused_path("first", now).parent == tmp_path / "runs"
    os.chown(tmp_path / "runs", stranger.uid, stranger.gid)
    with pytest.raises(UntrustedError, match=f"belongs to user {stranger.uid}"):
        unused_path("first", now)
    os.chown(tmp_path, stranger.uid, stranger.gid)  # who works in a stranger's directory has chosen that
    assert unused_path("first", now).parent == tmp_path / "runs"
