"""What pgassay keeps in the user's state and cache is nobody else's to read: 0600 in directories of 0700."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay import scratch
from pgassay.host.changes import Ledger
from pgassay.locks import FileLock
from pgassay.record import calibrations, known
from pgassay.record.disk import RealDisk
from pgassay.report import vega
from tests.record import test_calibrations, test_disk_capacities, test_trial_lengths


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home directory without anything of ours, and the usual umask."""
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", scratch.VARIABLE):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def open_to_others(home: Path) -> dict[str, str]:
    """The mode of each file and directory of ours that another account may use."""
    found = {}
    for path in home.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077 and path.name not in ("xdg_state_home", "xdg_cache_home"):
            found[str(path.relative_to(home))] = f"{mode:04o}"
    return found


def test_state_is_closed_to_others(home: Path) -> None:
    disk, place = RealDisk(), scratch.state_directory()
    with scratch.folder("test"):
        pass
    assert FileLock(place / "host-changes.lock").take()
    Ledger(place, "boot").add("value", Path("/proc/sys/x"), "1")
    user = calibrations.user_file(os.environ, home)
    calibrations.remember(disk, user, test_calibrations._calibration())
    known.remember_disk(disk, user.with_name(known.DISK_FILE), test_disk_capacities.FOUND)
    lengths = test_trial_lengths.took(2.0)
    known.remember_lengths(disk, user.with_name(known.LENGTHS_FILE), lengths)
    assert {each.name for each in home.rglob("*.json")} == {
        calibrations.FILE, known.DISK_FILE, known.LENGTHS_FILE,
    }  # fmt: skip
    assert open_to_others(home) == {}


@pytest.mark.parametrize("first", ["scratch", "lock"])
def test_whatever_is_kept_first_closes_the_state_directory(home: Path, first: str) -> None:
    place = scratch.state_directory()
    if first == "scratch":
        with scratch.folder("test"):
            pass
    else:
        assert FileLock(place / "host-changes.lock").take()
    assert open_to_others(home) == {}


def test_the_cache_is_closed_to_others(home: Path) -> None:
    cache = vega.directory(os.environ)
    vega._keep(cache / "vega.js", "text")
    assert [each.name for each in cache.iterdir()] == ["vega.js"]
    assert open_to_others(home) == {}
