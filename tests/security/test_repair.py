"""`doctor --repair` by root where others have been before: what they forged is refused by name and left alone."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.drive import sessions
from pgassay.drive.root import MARKER_FILE, NAME, find_root, put_marker
from pgassay.drive.sessions import killed_runs
from pgassay.host.changes import FILE, Change
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import Account
from pgassay.interfaces.proc import boot_id
from pgassay.lab.drives import remove_left
from pgassay.scratch import VARIABLE as STATE_VARIABLE
from pgassay.study.findings import Severity
from tests.drive.block.real import mounting
from tests.security.attackers import as_account, as_root, fingerprint, nobody

pytestmark = [pytest.mark.system, as_root]


@pytest.fixture
def shared() -> Iterator[Path]:
    """A place for clusters where every account may make something, as in /tmp."""
    with tempfile.TemporaryDirectory(prefix="shared-", dir="/var/tmp") as made:
        place = Path(made)
        place.chmod(0o1777)
        yield place


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A file system of somebody else, mounted with a file in it; it stays mounted, and the file stays."""
    if mounting():
        pytest.skip(mounting())
    place = tmp_path / "elsewhere"
    place.mkdir()
    tmp_path.chmod(0o755)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=True)
    try:
        (place / "precious").write_text("precious")
        (place / "lock").write_text("")
        before = fingerprint(place)
        yield place
        assert os.path.ismount(place)
        assert fingerprint(place) == before
    finally:
        subprocess.run(["umount", str(place)], check=True)


def forge(shared: Path, elsewhere: Path) -> None:
    (shared / NAME / "sessions").mkdir(parents=True)
    (shared / NAME / "snapshots").mkdir()
    put_marker(shared / NAME)
    (shared / NAME / "sessions" / "lab-x").symlink_to(elsewhere)


def refusals(shared: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["doctor", "--repair", "--data-dir", str(shared)]) == 2
    error = capsys.readouterr().err
    found = killed_runs(shared)
    assert found.severity is Severity.ERROR
    assert found.text in error
    return error


def test_a_root_that_another_account_made_is_refused(
    shared: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    as_account(nobody(), lambda: forge(shared, elsewhere))
    assert f'"{shared / NAME}" belongs to user 65534, not to user 0' in refusals(shared, capsys)


def test_folders_and_sessions_of_another_account_are_refused(
    shared: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge(shared, elsewhere)
    assert f'"{shared / NAME / "sessions" / "lab-x"}" is a symbolic link' in refusals(shared, capsys)
    (shared / NAME / "sessions" / "lab-x").unlink()
    os.chown(shared / NAME / "sessions", 65534, 65534)
    assert 'sessions" belongs to user 65534' in refusals(shared, capsys)
    os.chown(shared / NAME / "sessions", 0, 0)
    (shared / NAME / "sessions").chmod(0o777)
    assert 'sessions" can be written by others (mode 0777)' in refusals(shared, capsys)
    shutil.rmtree(shared / NAME / "sessions")
    (shared / NAME / "sessions").symlink_to(elsewhere)
    assert 'sessions" is a symbolic link' in refusals(shared, capsys)


def test_a_root_that_is_a_link_is_refused(shared: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(shared, elsewhere)
    (shared / NAME).rename(shared / "other")
    (shared / NAME).symlink_to("other")
    assert f'"{shared / NAME}" is a symbolic link' in refusals(shared, capsys)


def test_a_mount_that_we_did_not_make_stays(shared: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A session of ours in which an administrator mounted something, by hand or by a mistake."""
    point = shared / NAME / "sessions" / "lab-x" / "disk" / sessions.POINT
    point.mkdir(parents=True)
    put_marker(shared / NAME)
    (shared / NAME / "snapshots").mkdir()
    subprocess.run(["mount", "--bind", str(elsewhere), str(point)], check=True)
    try:
        assert main(["doctor", "--repair", "--data-dir", str(shared)]) == 2
        assert f'is mounted at "{point}", and not by pgassay: it is left alone' in capsys.readouterr().err
        assert (point / "precious").read_text() == "precious"
        (point.parent / sessions.DEVICE).write_text("/dev/null")
        with pytest.raises(DriveError, match="not by pgassay"):
            remove_left(shared)
    finally:
        subprocess.run(["umount", str(point)], check=True)
    remove_left(shared)
    assert find_root(shared) is None or not list((shared / NAME / "sessions").iterdir())


def test_a_list_of_changes_that_others_may_write_is_not_obeyed(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the state directory is the servers' account's, it could have root write to any file."""
    target = tmp_path / "shadow"
    target.write_text("root")
    state = shared / "state"
    state.mkdir()
    change = Change("value", str(target), "owned", boot_id())
    (state / FILE).write_text(json.dumps(change.__dict__) + "\n")
    account: Account = nobody()
    os.chown(state, account.uid, account.gid)
    monkeypatch.setenv(STATE_VARIABLE, str(state))
    assert main(["doctor", "--repair", "--data-dir", str(shared)]) == 2
    assert f'"{state}" belongs to user' in capsys.readouterr().err
    assert target.read_text() == "root"


def test_what_is_ours_is_still_repaired(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = shared / NAME / "sessions" / "lab-x"
    (session / "trial-1" / "base").mkdir(parents=True)
    (shared / NAME / "snapshots").mkdir()
    put_marker(shared / NAME)
    assert (shared / NAME / MARKER_FILE).is_file()
    assert main(["doctor", "--repair", "--data-dir", str(shared)]) == 0
    assert "lab-x/trial-1" in capsys.readouterr().err
    assert not session.exists()
