"""Preparing loop devices, and emulated drives as block devices; what is refused untouched, and what disappears."""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive import attacher
from pgassay.drive.block import daemon, device, kernel
from pgassay.drive.block.device import Preparation, Prepared, prepare, require_ours, state_of
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.drive.block.preparation import FILLING, OVERWRITING, PROVING
from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.store import Needs
from pgassay.lab.drives import local_attacher, owned
from pgassay.study.drives import Role
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.drive.block.test_preparation import MIB, nothing_told
from tests.noise import noise

RUNNER = LocalRunner(choose())
KERNEL = LinuxKernel(RUNNER)

WANTED = Preparation(discard=True, compressed_to=1.0, drive_writes=1, proof_bytes=16 * MIB)


def prepared(path: Path, wanted: Preparation = WANTED, tell: Callable[..., None] = nothing_told) -> Prepared:
    return prepare(path, wanted, RUNNER, KERNEL, device.counters_of(path), lambda s: None, tell)


@pytest.fixture
def place() -> Iterator[Path]:
    real.require("device")
    with real.place() as path:
        yield path


@pytest.fixture
def loop(place: Path) -> Iterator[Path]:
    file = place / "disk"
    with file.open("wb") as image:
        image.truncate(64 * MIB)
    found = KERNEL.attach(file)
    yield found
    kernel.detach_loop(found)


@pytest.mark.system
@pytest.mark.slow
def test_a_device_that_counts_nothing_is_written_over_and_nothing_is_said_to_settle(loop: Path) -> None:
    found = prepared(loop)
    assert "counts no host writes" in found.proof.problem
    assert (found.overwritten.settled, found.label) == (False, "pgassay-own")
    assert found.overwritten.written >= 60 * MIB
    require_ours(loop, RUNNER)
    assert state_of(loop, RUNNER) == "as it was found"


@pytest.mark.system
@pytest.mark.slow
def test_every_step_tells_how_far_it_is(loop: Path) -> None:
    """The sequential fill and the proof of a drive of terabytes take hours."""
    told: dict[str, list[tuple[int, int]]] = {}

    def tell(doing: str, done: int, most: int, last: float | None) -> None:
        told.setdefault(doing, []).append((done, most))

    prepared(loop, tell=tell)
    for doing, most in ((PROVING, 32 * MIB), (FILLING, 64 * MIB), (OVERWRITING, 60 * MIB)):
        done = [each for each, _ in told[doing]]
        assert done == sorted(set(done)), f"{doing} rises"
        assert len(done) >= 10
        assert most <= done[-1] <= told[doing][-1][1], doing


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("what", ["foreign", "mounted", "small", "unmarked", "forbidden"])
def test_what_is_not_ours_or_not_fit_is_not_touched(
    place: Path, loop: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, said = place / "disk", {
        "foreign": "labelled precious", "mounted": "in use", "small": "too small", "unmarked": "is not zero",
        "forbidden": "permission denied",
    }[what]  # fmt: skip
    point = place / "point"
    point.mkdir()
    if what in ("foreign", "mounted"):
        real.succeeded("mkfs.ext4", "-q", "-L", "precious", str(loop))
    if what == "mounted":
        real.succeeded("mount", str(loop), str(point))
    if what == "unmarked":
        file.write_bytes(b"somebody's" + bytes(64 * MIB - 10))
    if what == "small":
        monkeypatch.setattr(device, "size_bytes", lambda path: MIB)
    if what == "forbidden":
        monkeypatch.setattr(os, "open", refusing(os.open, loop))
    before = file.read_bytes()
    try:
        with pytest.raises((DriveError, UsageError), match=said):
            prepared(loop)
    finally:
        monkeypatch.undo()
        if what == "mounted":
            real.succeeded("umount", str(point))
    if what != "mounted":
        assert file.read_bytes() == before


def refusing(really: Callable[..., int], path: Path) -> Callable[..., int]:
    def opened(name: Any, *arguments: Any, **more: Any) -> int:
        if str(name) == str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return really(name, *arguments, **more)

    return opened


@pytest.fixture
def emulated(place: Path) -> Iterator[Callable[..., Path]]:
    with real.emulated_devices(place) as made:
        yield made


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "role"), [("ssd", Role.NORMAL), ("csd", Role.COMPRESSING)])
def test_an_emulated_drive_settles_and_shows_what_it_is(emulated: Callable[[str], Path], kind: str, role: Role) -> None:
    path = emulated(kind)
    wanted = Preparation(discard=True, compressed_to=0.5, drive_writes=12, proof_bytes=16 * MIB)
    found = prepared(path, wanted)
    assert (found.not_discarded, found.proof.problem, found.proof.role) == ("", "", role)
    assert found.overwritten.settled
    assert found.label == "pgassay-aged"
    assert state_of(path, RUNNER) == "preconditioned until write amplification settled"
    assert all(each > 0.3 for each in found.overwritten.amplification)


@pytest.mark.system
@pytest.mark.slow
def test_an_empty_file_system_that_is_trimmed_leaves_a_new_drive_and_says_so(emulated: Callable[[str], Path]) -> None:
    path = emulated("ssd")
    counters = device.counters_of(path)
    assert counters is not None
    wanted = Preparation(discard=False, compressed_to=0.5, drive_writes=12, proof_bytes=16 * MIB, trim=True)
    found = prepared(path, wanted)
    assert (found.not_discarded, found.label) == ("not asked for", "pgassay-trimmed")
    assert state_of(path, RUNNER) == ("trimmed while it was empty: nearly all of its flash is spare, as of a new drive")
    mapped = counters()["logical_bytes"]
    assert 0 < mapped < 16 * MIB, "of 64 MB that were all written"


@pytest.mark.system
@pytest.mark.slow
def test_a_device_is_trimmed_when_its_data_are_in_place(emulated: Callable[..., Path], place: Path) -> None:
    path, account = emulated("ssd", 256), choose()
    counters = device.counters_of(path)
    assert counters is not None
    (place / "data").mkdir()
    prepared(path, Preparation(discard=False, compressed_to=0.5, drive_writes=12, proof_bytes=16 * MIB))
    options = DriveOptions.from_levels({"data": f"device:{path}", "data.trim": "on"})
    drive = replace(
        local_attacher(LocalRunner(account), account), allow_volatile=True, owned=owned([str(path)])
    ).attach(options, place / "data", Needs())
    try:
        made = drive.workspace("prepare")
        (made / "rows").write_bytes(noise(64 * MIB))
        drive.take_snapshot("k", made)
        assert counters()["logical_bytes"] == 256 * MIB, "all of it was written over"
        for name in ("trial-1", "trial-2"):
            clone = drive.clone("k", name)
            blocks = os.statvfs(clone)
            used = 256 * MIB - blocks.f_bfree * blocks.f_frsize
            assert 128 * MIB < used < 192 * MIB, "the snapshot and its copy"
            assert counters()["logical_bytes"] == pytest.approx(used, abs=4 * MIB)
            told = {name: trait.found for name, trait in drive.traits(clone).items()}
            assert told["drive.start"] == (
                "preconditioned until write amplification settled, told before each trial what its file system does "
                "not use"
            )
            assert isinstance(told["drive.trimmed_bytes"], float)
            (clone / "more").write_bytes(noise(32 * MIB, 1))
            drive.discard(clone)
    finally:
        drive.release()
    assert left_behind(place / "data") == []


@pytest.mark.system
def test_a_device_that_cannot_be_trimmed_is_refused_untouched(
    loop: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, asked: str) -> None:
        raise UsageError(f'"{path}" takes no discards, so {asked} would do nothing')

    monkeypatch.setattr(attacher, "require_trimmable", refuse)
    account = choose()
    before = (place / "disk").read_bytes()
    options = DriveOptions.from_levels({"data": f"device:{loop}", "data.trim": "on"})
    with pytest.raises(UsageError, match="takes no discards, so trim=on would do nothing"):
        replace(local_attacher(LocalRunner(account), account), allow_volatile=True, owned=owned([str(loop)])).attach(
            options, place / "data", Needs()
        )
    assert (place / "disk").read_bytes() == before


@pytest.mark.system
@pytest.mark.slow
def test_a_device_that_disappears_in_a_run_is_named_and_given_back(emulated: Callable[..., Path], place: Path) -> None:
    path, account = emulated("ssd", 256), choose()
    (place / "data").mkdir()
    attacher = replace(local_attacher(LocalRunner(account), account), allow_volatile=True, owned=owned([str(path)]))
    drive = attacher.attach(DriveOptions.from_levels({"data": f"device:{path}"}), place / "data", Needs())
    try:
        made = drive.workspace("prepare")
        (made / "rows").write_bytes(bytes(MIB))
        drive.take_snapshot("k", made)
        daemon.kill(place / "home")
        with pytest.raises(DriveError, match=f'"{path}" does not answer any more: Input/output error \\(could not'):
            drive.write_back(drive.clone("k", "trial-1"))
    finally:
        drive.release()
    assert left_behind(place / "data") == []


@pytest.mark.system
@pytest.mark.slow
def test_a_device_that_disappears_is_named(emulated: Callable[[str], Path], place: Path) -> None:
    path = emulated("ssd")

    def gone(doing: str, done: int, most: int, last: float | None) -> None:
        if doing == OVERWRITING:
            daemon.kill(place / "home")

    with pytest.raises(DriveError, match=f'could not write over "{path}"'):
        prepared(path, WANTED, gone)
