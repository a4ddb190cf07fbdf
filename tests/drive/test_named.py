"""Drives that outlive a command, on a fake kernel: made whole or not at all, also by a maker that is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive import named
from pgassay.drive.block.daemon import CONFIGURATION
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.options import DriveOptions
from pgassay.drive.root import Root, open_root
from pgassay.errors import UsageError
from pgassay.interfaces.errors import DamagedError, DriveError
from tests.drive.places import OURSELVES, mounted
from tests.drive.test_directory import attach, with_snapshot
from tests.fakes.block import FakeDaemon, FakeKernel


def root_at(place: Path) -> Root:
    return open_root(place, OURSELVES, mounted(), allow_volatile=False)


def make(root: Root, name: str, kernel: FakeKernel | None = None, **levels: str) -> named.NamedDrive:
    options = DriveOptions.from_levels({"data": "image", "data.capacity": "512MB", **levels})
    return named.create(root, name, options, kernel or FakeKernel(), FakeDaemon())


NO_PROCESS = 2**22 + 1
"""No process can have this number (proc(5), pid_max)."""


class DyingKernel(FakeKernel):
    """Takes the whole process along when it is asked for a file system."""

    def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class RefusingKernel(FakeKernel):
    """Says no to mkfs."""

    def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
        raise DriveError("could not make a file system: as planned")


def test_a_drive_is_made_found_and_destroyed(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    made = make(root, "mine")
    assert (made.name, made.kind, made.facts["capacity_bytes"]) == ("mine", "image", 512 << 20)
    assert [each.name for each in named.all_drives(root)] == ["mine"]
    with pytest.raises(UsageError, match='a drive "mine" already'):
        make(root, "mine")
    named.destroy(named.find(root, "mine"))
    assert named.all_drives(root) == []
    with pytest.raises(UsageError, match='no drive "mine"'):
        named.find(root, "mine")


def test_nothing_stays_of_one_that_could_not_be_made(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    with pytest.raises(DriveError, match="as planned"):
        make(root, "mine", RefusingKernel())
    assert list(root.drives.iterdir()) == []
    make(root, "mine")


@pytest.mark.parametrize("name", ["", "-x", "a b", "../up", "a" * 41])
def test_a_name_that_is_none_is_told_with_what_would_do(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a drive") as caught:
        make(root_at(tmp_path), name)
    assert caught.value.hint == "a name has letters, digits, - and _, at most 40"


KILLED_MAKER = """
import sys
from pathlib import Path
from tests.drive.test_named import DyingKernel, make, root_at
make(root_at(Path(sys.argv[1])), "mine", DyingKernel())
"""


def test_what_a_killed_maker_left_is_named_put_away_and_its_name_is_free_again(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED_MAKER, str(tmp_path)], cwd=folder, check=False)
    assert killed.returncode == -signal.SIGKILL
    root = root_at(tmp_path)
    assert named.all_drives(root) == []
    with pytest.raises(UsageError, match="is only partly created") as caught:
        make(root, "mine")
    assert caught.value.hint is not None
    assert "pgassay drive list --repair" in caught.value.hint
    assert named.repair(root) == ["drive mine, which was partly created"]
    assert make(root, "mine").name == "mine"


def test_one_that_is_being_made_is_not_put_away(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    repaired: list[str] = []

    class Watched(FakeKernel):
        def make(self, device: Path, filesystem: Filesystem, label: str) -> None:
            repaired.extend(named.repair(root))
            super().make(device, filesystem, label)

    assert make(root, "mine", Watched()).name == "mine"
    assert repaired == []
    assert named.repair(root) == []


def test_a_run_that_keeps_no_snapshots_leaves_drives_alone(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    made = make(root, "mine")
    drive = with_snapshot(attach(tmp_path, keep_snapshots=False))
    assert list(root.snapshots.iterdir()) != []
    drive.release()
    assert list(root.snapshots.iterdir()) == []
    assert [each.home for each in named.all_drives(root)] == [made.home]
    named.destroy(made)
    attach(tmp_path, keep_snapshots=False).release()
    assert list(tmp_path.iterdir()) == [], "the last one out takes all along"


def test_a_drive_that_is_not_mounted_now_is_not_put_away_while_its_program_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_at(tmp_path)
    made = make(root, "mine")
    (made.home / CONFIGURATION).write_text("{}")
    serving: list[int | None] = [NO_PROCESS]
    monkeypatch.setattr("pgassay.drive.block.daemon.running", lambda home: serving[0])
    (found,) = named.all_drives(root)
    assert (found.emulated, found.state) == (True, "stopped"), "as while it is checked"
    assert named.repair(root) == []
    serving[0] = None
    assert named.repair(root) == ["drive mine, whose daemon is gone"]
    assert named.all_drives(root) == []


class Telling(named.NamedDrive):
    """Emulated, with what its daemon says of itself."""

    @property
    def emulated(self) -> bool:
        return True

    @property
    def device(self) -> Path:
        return Path("/dev/fake1")

    def ask(self, do: str, **values: Any) -> Mapping[str, Any]:
        assert do == "fsck"
        return dict(self.facts["told"])


class Mounting(FakeKernel):
    """Knows only whether it is mounted."""

    here = True

    def unmount(self, point: Path) -> None:
        self.here = False

    def mount(self, device: Path, point: Path, filesystem: Filesystem) -> None:
        self.here = True

    def check(self, device: Path, filesystem: Filesystem) -> None:
        assert not self.here
        super().check(device, filesystem)


@pytest.mark.parametrize(
    ("damaged", "problems", "said"),
    [
        (False, ["block 7 has 5 bytes, the model says 9"], "the emulated drive .* is damaged: block 7 has 5 bytes"),
        (True, [], 'the file system on "/dev/fake1" is damaged'),
        (False, [], ""),
    ],
)
def test_a_drive_that_is_not_sound_is_told_and_mounted_again(
    tmp_path: Path, damaged: bool, problems: list[str], said: str
) -> None:
    told = {"damaged": len(problems), "problems": problems}
    facts = {"told": told, "filesystem": {"name": "ext4", "mkfs": [], "mount_options": []}}
    drive, kernel = Telling("mine", "csd", "mounted", tmp_path, facts), Mounting(damaged=damaged)
    if said:
        with pytest.raises(DamagedError, match=said):
            named.check(drive, kernel)
    else:
        assert named.check(drive, kernel) == told
    assert kernel.here
