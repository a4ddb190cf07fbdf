"""Drives of a dry run: described and refused as a run would, and nothing made."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive.attacher import Attacher
from pgassay.drive.block import device
from pgassay.drive.options import DriveLevel, DriveOptions, OneDrive
from pgassay.errors import UsageError
from pgassay.interfaces.errors import DriveError, Missing, SpaceError
from pgassay.interfaces.places import Account
from pgassay.interfaces.store import Drive, Needs
from pgassay.study.drives import DriveKind
from tests.drive.places import OURSELVES, attacher, mounted
from tests.drive.test_directory import attach, with_snapshot
from tests.fakes.block import FakeDaemon, FakeKernel

NEEDS = Needs(64 << 20, 64 << 20, 1, 64 << 20)


def look(directory: Path, filesystem: str = "ext4", account: Account = OURSELVES) -> Drive:
    machine = replace(attacher(planned=True), account=account, mount_of=mounted(filesystem))
    return machine.attach(DriveOptions(), directory, NEEDS)


def planned(place: Path, wanted: Mapping[str, str], bench: Attacher | None = None) -> Drive:
    return (bench or attacher(planned=True)).attach(DriveOptions.from_levels(wanted), place, NEEDS)


def everything(place: Path) -> set[tuple[Path, float]]:
    return {(path, path.stat().st_mtime) for path in (place, *place.rglob("*"))}


@pytest.mark.parametrize("below", ["new", "a/b/new"])
def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path, below: str) -> None:
    drive = look(tmp_path / below)
    assert (drive.kind, drive.mount().path) == ("directory", tmp_path / below / "pgassay")
    assert not drive.has_snapshot("k")
    drive.release()
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_there_is_seen_and_left_as_it_is(tmp_path: Path) -> None:
    with_snapshot(attach(tmp_path)).release()
    before = everything(tmp_path)
    drive = look(tmp_path)
    assert (drive.has_snapshot("k"), drive.has_snapshot("other")) == (True, False)
    drive.release()
    assert everything(tmp_path) == before


def test_a_place_is_refused_as_for_a_run(tmp_path: Path) -> None:
    with pytest.raises(DriveError, match="is on tmpfs"):
        look(tmp_path / "new", "tmpfs")
    (tmp_path / "file").touch()
    with pytest.raises(DriveError, match="is not a directory"):
        look(tmp_path / "file")
    (tmp_path / "closed").mkdir(mode=0o700)
    with pytest.raises(DriveError, match="may not enter"):
        look(tmp_path / "closed" / "new", account=Account("nobody", 65534, 65534))
    (tmp_path / "foreign" / "pgassay").mkdir(parents=True)
    with pytest.raises(DriveError, match="was not made by pgassay"):
        look(tmp_path / "foreign")


def test_a_place_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(DriveError, match=r"could not attach a drive .*: Permission denied"):
        look(tmp_path / "new")


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        ({"data": "directory"}, "directory"),
        ({"data": "image"}, "image"),
        ({"data": "csd", "state": "aged"}, "csd"),
        ({"data": "ssd", "wal": "directory"}, "ssd+directory"),
    ],
)
def test_no_kind_of_drive_makes_anything_for_a_plan(tmp_path: Path, levels: dict[str, str], kind: str) -> None:
    drive = planned(tmp_path / "new", levels)
    assert drive.kind == kind
    assert not drive.has_snapshot("k")
    assert drive.mount().free_bytes > 0
    assert (drive.ageing() is not None) == ("state" in levels)
    drive.release()
    assert list(tmp_path.iterdir()) == []


def test_an_image_kept_by_an_earlier_run_is_seen(tmp_path: Path) -> None:
    made = attacher().attach(DriveOptions.from_levels({"data": "image"}), tmp_path, NEEDS)
    made.take_snapshot("k", made.workspace("prepare"))
    made.release()
    before = everything(tmp_path)
    drive = planned(tmp_path, {"data": "image"})
    assert drive.has_snapshot("k")
    drive.release()
    assert everything(tmp_path) == before


def test_a_device_is_not_written_over_for_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"\0" * (64 << 20))
    monkeypatch.setattr(device, "require_ours", lambda path, runner: None)
    bench = attacher(planned=True, owned=frozenset([disk]))
    options = DriveOptions(data=OneDrive(place=DriveLevel(DriveKind.DEVICE, disk)))
    drive = bench.attach(options, tmp_path / "new", NEEDS)
    mount = drive.mount()
    assert (drive.kind, mount.device, mount.size_bytes, mount.filesystem) == ("device", str(disk), 64 << 20, "ext4")
    assert not drive.has_snapshot("k")
    drive.release()
    assert disk.read_bytes() == b"\0" * (64 << 20)
    assert list(tmp_path.iterdir()) == [disk]


def of_device(disk: Path, **more: Any) -> OneDrive:
    return OneDrive(place=DriveLevel(DriveKind.DEVICE, disk), **more)


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two devices that are ours."""
    monkeypatch.setattr(device, "require_ours", lambda path, runner: None)
    for name in ("one", "two"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 30)
    return tmp_path / "one", tmp_path / "two"


@pytest.mark.parametrize("other", [{"filesystem_name": "xfs"}, {"mkfs": ("-b", "1024")}])
def test_a_plan_refuses_two_uses_of_one_device_as_a_run_does(
    tmp_path: Path, disks: tuple[Path, Path], other: dict[str, Any]
) -> None:
    """They were once seen in the run alone, after the first of them was written over."""
    one, two = disks
    stable = tmp_path / "by-id"
    stable.symlink_to(one)
    bench = attacher(planned=True, owned=frozenset([one, two, stable]))
    bench.attach(DriveOptions(data=of_device(one)), tmp_path / "new", NEEDS)
    bench.attach(DriveOptions(data=of_device(stable), wal=of_device(one)), tmp_path / "new", NEEDS)
    bench.attach(DriveOptions(data=of_device(two, **other)), tmp_path / "new", NEEDS)
    with pytest.raises(UsageError, match="two file systems"):
        bench.attach(DriveOptions(data=of_device(stable, **other)), tmp_path / "new", NEEDS)
    apart = DriveOptions(data=of_device(one), wal=of_device(one, **other))
    with pytest.raises(UsageError, match="two file systems"):
        attacher(planned=True, owned=frozenset([one])).attach(apart, tmp_path / "new", NEEDS)


@pytest.mark.parametrize("typed", ["one", "by-id"])
@pytest.mark.parametrize("asked", ["one", "by-id"])
def test_a_device_is_owned_by_whichever_of_its_names(
    tmp_path: Path, disks: tuple[Path, Path], typed: str, asked: str
) -> None:
    (tmp_path / "by-id").symlink_to(disks[0])
    named = tmp_path / typed
    bench = attacher(planned=True, owned=frozenset([named, named.resolve()]))
    bench.attach(DriveOptions(data=of_device(tmp_path / asked)), tmp_path / "new", NEEDS)
    with pytest.raises(UsageError, match="--i-own does not name it"):
        bench.attach(DriveOptions(data=of_device(disks[1])), tmp_path / "new", NEEDS)


@pytest.mark.parametrize(
    ("asked", "shares"),
    [
        ({}, False),
        ({"filesystem_name": "xfs"}, True),
        ({"filesystem_name": "xfs", "mkfs": ("-m", "reflink=0")}, False),
        ({"filesystem_name": "btrfs"}, True),
    ],
)
def test_a_plan_knows_whether_a_devices_clones_will_share_their_blocks(
    tmp_path: Path, disks: tuple[Path, Path], asked: dict[str, Any], shares: bool
) -> None:
    """A run would be refused for room that its clones do not take."""
    bench = attacher(planned=True, owned=frozenset(disks))
    drive = bench.attach(DriveOptions(data=of_device(disks[0], **asked)), tmp_path / "new", NEEDS)
    assert drive.mount().reflink == shares


def test_a_device_that_is_too_small_is_refused_by_a_plan_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"\0" * (1 << 20))
    monkeypatch.setattr(device, "require_ours", lambda path, runner: None)
    options = DriveOptions(data=OneDrive(place=DriveLevel(DriveKind.DEVICE, disk)))
    with pytest.raises(UsageError, match="a drive of 1MB is too small"):
        attacher(planned=True, owned=frozenset([disk])).attach(options, tmp_path / "new", NEEDS)


def test_a_set_tells_the_wals_drive(tmp_path: Path) -> None:
    for bench in (attacher(planned=True), attacher()):
        apart = bench.attach(DriveOptions.from_levels({"data": "image", "wal": "directory"}), tmp_path, NEEDS)
        wal = apart.wal()
        assert wal is not None
        assert (wal.kind, wal.mount().path, wal.wal()) == ("directory", tmp_path / "pgassay", None)
        apart.release()


@pytest.mark.parametrize(
    ("levels", "pages"),
    [
        ({"data": "ssd", "data.capacity": "auto"}, 32),
        ({"data": "ssd", "data.capacity": "auto", "timing": "sata-ssd"}, None),
        ({"data": "csd", "data.capacity": "auto", "timing": "on"}, None),
        ({"data": "ssd", "data.capacity": "auto", "timing": "hdd-7200"}, 32),
    ],
)
def test_a_drive_with_service_times_has_the_shape_of_its_profile(
    tmp_path: Path, levels: dict[str, str], pages: int | None
) -> None:
    """With superblocks of ours it had one die instead of 8: 4 times as slow to read, 35 times to write."""
    bench = attacher(planned=True)
    planned(tmp_path, levels, bench)
    assert isinstance(bench.program, FakeDaemon)
    (described,) = bench.program.checked
    assert described.core.pages_per_block == pages
    assert described.core.has_shape == (pages is not None)


TERABYTES = Needs(1 << 40, 1 << 30, 2, 2 << 40)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"data": "csd"}, "of memory"),
        ({"data": "ssd", "data.store": "file"}, "has 1TB free"),
        ({"data": "image"}, "has 1TB free"),
    ],
)
def test_what_a_plan_lacks_is_named_and_refuses_a_run(tmp_path: Path, levels: dict[str, str], said: str) -> None:
    options, bench = DriveOptions.from_levels(levels), attacher(planned=True, missing=Missing(planned=True))
    bench.attach(options, tmp_path / "new", TERABYTES).release()
    assert any(said in each for each in bench.missing.messages)
    with pytest.raises(SpaceError, match=said) as refused:
        attacher().attach(options, tmp_path, TERABYTES)
    hint = refused.value.hint or ""
    assert "drive.data.capacity" in hint
    bound = ("every snapshot", "writes over whole", "short windows", "drive.data.store_bytes", "drive_store_full")
    assert all((words in hint) == (levels["data"] != "image") for words in bound), "an image has no store"


@pytest.mark.parametrize(("kind", "share"), [("ssd", 1.0), ("csd", 0.6)])
def test_a_store_holds_every_snapshot_and_a_drive_that_is_written_over_whole(
    tmp_path: Path, kind: str, share: float
) -> None:
    """As docs/evidence/drives.md says what studies use."""
    program = FakeDaemon()
    bench = replace(attacher(planned=True), program=program)
    options = DriveOptions.from_levels({"data": kind, "data.capacity": "4GB"})
    bench.attach(options, tmp_path, Needs(64 << 20, 64 << 20, 3, 1 << 30)).release()
    kept = (1 << 30) + 3 * (256 << 20)
    assert program.checked[-1].core.store_bytes == pytest.approx(((4 << 30) * 1.1 + kept) * share, abs=1)


def test_drives_that_fit_one_by_one_must_fit_together(tmp_path: Path) -> None:
    """Stores in files were once held against the same free space each."""
    bench, each = attacher(free_bytes=3 << 40), Needs(1 << 40, 1 << 30, 0, 0)
    bench.attach(DriveOptions.from_levels({"data": "image"}), tmp_path, each)
    bench.attach(DriveOptions.from_levels({"data": "image", "data.filesystem": "xfs"}), tmp_path, each)
    with pytest.raises(SpaceError, match=r"has 3TB free, .* are needed for the drives"):
        bench.attach(DriveOptions.from_levels({"data": "image", "data.filesystem": "btrfs"}), tmp_path, each)


def test_a_plan_does_without_rights_and_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise DriveError("an emulated drive needs root")

    monkeypatch.setattr(FakeKernel, "require", refuse)
    monkeypatch.setattr(FakeDaemon, "check", refuse)
    options = DriveOptions.from_levels({"data": "csd"})
    bench = attacher(planned=True, missing=Missing(planned=True))
    bench.attach(options, tmp_path / "new", NEEDS).release()
    assert bench.missing.messages == ("an emulated drive needs root",)
    with pytest.raises(DriveError, match="needs root"):
        attacher().attach(options, tmp_path, NEEDS)


def test_nothing_can_be_put_on_it(tmp_path: Path) -> None:
    drive = look(tmp_path)
    for making in ("workspace", "lay_out", "take_snapshot", "clone", "forget_snapshot", "discard"):
        with pytest.raises(DriveError, match="a dry run makes nothing"):
            getattr(drive, making)(tmp_path)
    with pytest.raises(DriveError, match="a dry run makes nothing"):
        drive.how_cloned()
    assert (drive.counters(tmp_path), drive.traits(tmp_path)) == ({}, {})
