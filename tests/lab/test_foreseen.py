"""All that is refused of a study's drives is refused before the first device is written over."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from pgassay.drive.attacher import Attacher
from pgassay.drive.block import device
from pgassay.drive.block.filesystems import Filesystem
from pgassay.errors import PgassayError
from pgassay.interfaces.errors import DriveError
from pgassay.lab import drives, run
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.drives import Drives
from pgassay.lab.preflight import check
from tests.drive.places import attacher
from tests.fakes.block import FakeKernel
from tests.lab.simulation import fake_bench, fake_site, study_of


@dataclass
class Machine:
    """Two devices, `one` and `two`; `written` are those that were written over, `foreign` those of somebody else."""

    place: Path
    disks: Path
    attacher: Attacher
    foreign: set[Path] = field(default_factory=set)
    written: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.given_back = ExitStack()
        drives = Drives(self.place, self.attacher, nullcontext, self.given_back, str)
        self.foreseeing = drives

    @property
    def kernel(self) -> FakeKernel:
        return cast("FakeKernel", self.attacher.kernel)

    def resolved(self, **changes: Any) -> ResolvedStudy:
        names = [f"device:{self.disks / name}" for name in ("one", "two")]
        design = {"baseline": {"drive.data": names[0]}, **changes.pop("design", {})}
        study = study_of(factors={"drive.data": names}, design=design, **changes)
        return resolve(study, fake_site(drive=self.foreseeing.attach, ahead=self.foreseeing.ahead))

    def prepare(self, resolved: ResolvedStudy) -> None:
        run.prepare(resolved, fake_bench())


@pytest.fixture
def machine(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="pgassay-test-") as folder:
        disks = Path(folder)
        paths = [disks / "one", disks / "two"]
        for path in paths:
            with path.open("wb") as file:
                file.truncate(8 << 30)
        found = Machine(place, disks, attacher(owned=frozenset(paths), allow_volatile=True))
        found.kernel.devices.update({path: path for path in paths})

        def require_ours(path: Path, runner: object) -> None:
            if path in found.foreign or path in found.kernel.mounted.values():
                raise DriveError(f'"{path}" is in use')

        make = found.kernel.make

        def made(path: Path, filesystem: Filesystem, label: str) -> None:
            found.written.append(path)
            make(path, filesystem, label)

        monkeypatch.setattr(device, "require_ours", require_ours)
        monkeypatch.setattr(found.kernel, "make", made)
        monkeypatch.setattr(run, "surroundings", lambda bench, mount, study: ())
        monkeypatch.setattr(run, "drive_remarks", lambda resolved, bench: ())
        yield found
        found.given_back.close()


def test_devices_that_are_in_order_are_written_over_once(machine: Machine) -> None:
    machine.prepare(machine.resolved())
    assert machine.written == [machine.disks / "one", machine.disks / "two"]
    machine.prepare(machine.resolved(fixed={"drive.check": "on"}))
    assert len(machine.written) == 2, "another study of one bench finds them mounted"


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("not owned", "--i-own does not name it"),
        ("in use", "is in use"),
        ("small", "a drive of 1MB is too small"),
        ("full", "this study needs about"),
    ],
)
def test_a_second_device_is_refused_before_the_first_is_written_over(machine: Machine, why: str, said: str) -> None:
    two = machine.disks / "two"
    if why == "not owned":
        machine.attacher.owned -= {two}
    elif why == "in use":
        machine.foreign.add(two)
    else:
        with two.open("r+b") as file:
            file.truncate(1 << 20 if why == "small" else 512 << 20)
    with pytest.raises(PgassayError, match=said):
        machine.prepare(machine.resolved())
    assert machine.written == []


def test_what_has_nothing_to_do_with_drives_is_refused_before_too(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PgassayError, match="is not measured"):
        machine.prepare(machine.resolved(responses={"primary": "no_such"}))

    def busy(bench: object, mount: object, study: object) -> None:
        raise PgassayError("another PostgreSQL is busy")

    monkeypatch.setattr(run, "surroundings", busy)
    with pytest.raises(PgassayError, match="is busy"):
        machine.prepare(machine.resolved())
    assert machine.written == []


def ahead_of(resolved: ResolvedStudy) -> ResolvedStudy:
    ahead = resolved.foreseen
    assert ahead is not None
    return ahead


def test_a_device_that_may_just_do_is_left_to_the_check_of_what_is_mounted(machine: Machine) -> None:
    """File systems keep different shares of a device for themselves, and a plan knows none of them."""
    resolved = machine.resolved()
    ahead = replace(resolved.environment, drive=machine.foreseeing.ahead(), ahead=None)
    needed = max(room.needed_bytes for room in check(resolve(resolved.study, ahead)).rooms)
    for room_for, refused in ((needed + 1, False), (needed - 1, True)):
        for name in ("one", "two"):
            with (machine.disks / name).open("r+b") as file:
                file.truncate(room_for)
        with pytest.raises(PgassayError, match="this study needs about") if refused else nullcontext():
            check(ahead_of(resolved))


def test_what_killed_runs_left_in_the_directories_of_a_study_takes_no_room(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended: list[Path] = []
    monkeypatch.setattr(drives, "_end_killed", ended.append)
    check(ahead_of(machine.resolved(fixed={"drive.wal": f"directory:{tmp_path}"})))
    assert ended == [machine.place, tmp_path], "each once, however many servers have it"


def test_whether_servers_take_turns_is_decided_when_a_run_begins(machine: Machine) -> None:
    asked = machine.resolved(design={"pairing": "alternate"}, load={"checkpoint": "cycle"})
    check(ahead_of(asked))
    with pytest.raises(PgassayError, match="turns"):
        machine.prepare(asked)
    assert machine.written == []


def test_two_uses_of_one_device_are_refused_before_it_is_written_over(machine: Machine) -> None:
    study = study_of(
        factors={"drive.data.filesystem": ["ext4", "xfs"]},
        design={"baseline": {"drive.data.filesystem": "ext4"}},
        fixed={"drive.data": f"device:{machine.disks / 'one'}"},
    )
    environment = machine.resolved().environment
    with pytest.raises(PgassayError, match="two file systems"):
        machine.prepare(resolve(study, environment))
    assert machine.written == []


def test_a_study_without_devices_is_not_looked_at_twice(machine: Machine) -> None:
    def ahead() -> Any:
        raise AssertionError("nobody asked for a device")

    environment = replace(fake_site(), ahead=ahead)
    machine.prepare(resolve(study_of(), environment))
