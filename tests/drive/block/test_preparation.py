"""Preparing a device: whose counters are trusted, when overwriting ends, and what is refused untouched."""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pgassay.bench.drive_counters import Counted
from pgassay.bench.errors import DriveError
from pgassay.bench.store import Needs
from pgassay.drive.block import daemon, device, kernel
from pgassay.drive.block.device import Preparation, Prepared, prepare, state_of
from pgassay.drive.block.emulated import RealDaemon
from pgassay.drive.block.erasing import Erasure
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.drive.block.preparation import (
    PATIENCE_S,
    ROUNDS_A_DRIVE,
    Proof,
    amplification,
    overwrite,
    prove,
    steady,
)
from pgassay.drive.options import DriveOptions
from pgassay.drive.sizing import scaled_pages
from pgassay.errors import UsageError
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.lab.drives import DriveChoices, attacher_of, owned
from pgassay.study.drives import Role
from tests.drive.block import real
from tests.drive.block.killing import left_behind

MIB = 1 << 20
RUNNER = LocalRunner(choose())
KERNEL = LinuxKernel(RUNNER)


@dataclass
class Flash:
    """A drive that counts: the costs are NAND bytes for a byte, and `late` readings show nothing new."""

    size_bytes: int = 100 * MIB
    zeros_cost: float = 1.0
    noise_cost: float = 1.0
    late: int = 0
    counts: frozenset[str] = frozenset({"host_bytes_written", "nand_bytes_written"})
    host: float = 1e12
    nand: float = 2e12
    shown: list[dict[str, float]] = field(default_factory=list)

    def zeros(self, place: int, length: int) -> int:
        return self._write(length, self.zeros_cost)

    def noise(self, place: int, length: int) -> int:
        return self._write(length, self.noise_cost)

    def overwrite(self, length: int) -> int:
        return self._write(length, self.noise_cost)

    def _write(self, length: int, cost: float) -> int:
        self.host += length
        self.nand += cost * length
        return length

    def read(self) -> Counted:
        now = {"host_bytes_written": self.host, "nand_bytes_written": self.nand}
        self.shown.append({name: value for name, value in now.items() if name in self.counts})
        return self.shown[max(0, len(self.shown) - 1 - self.late)]


def proven(flash: Any) -> tuple[Proof, list[float]]:
    waited: list[float] = []
    return prove(flash, flash.read, waited.append, 8 * MIB), waited


@pytest.mark.parametrize(("zeros_cost", "role"), [(1.0, Role.NORMAL), (0.0, Role.COMPRESSING), (0.4, Role.COMPRESSING)])
def test_what_zeros_cost_tells_what_a_drive_is(zeros_cost: float, role: Role) -> None:
    proof, waited = proven(Flash(zeros_cost=zeros_cost, noise_cost=1.1))
    assert (proof.problem, proof.role, waited) == ("", role, [])
    assert (proof.noise.written, proof.noise.host_bytes) == (8 * MIB, 8 * MIB)
    assert proof.noise.nand_bytes == pytest.approx(1.1 * 8 * MIB)


def test_a_late_log_is_waited_for() -> None:
    proof, waited = proven(Flash(late=2))
    assert (proof.problem, proof.role) == ("", Role.NORMAL)
    assert 0 < sum(waited) < PATIENCE_S


@pytest.mark.parametrize(
    ("period_s", "age_s", "zeros_cost", "role"),
    [
        (250.0, 100.0, 1.0, Role.NORMAL),
        (250.0, 240.0, 1.0, Role.NORMAL),
        (250.0, 240.0, 0.05, Role.COMPRESSING),
        (700.0, 690.0, 1.0, None),  # it shows the random data soon, and the zeros when nobody asks any more
        (700.0, 0.0, 1.0, None),  # it does not even show the random data in time
    ],
)
def test_a_late_log_does_not_look_like_a_drive_that_compresses(
    period_s: float, age_s: float, zeros_cost: float, role: Role | None
) -> None:
    """A normal drive whose log of NAND writes is written every few minutes once had zeros for nothing."""
    flash: Any = Flash(zeros_cost=zeros_cost)
    now_s, shown = age_s, flash.nand

    def read() -> Counted:
        return {"host_bytes_written": flash.host, "nand_bytes_written": shown}

    def pause(length_s: float) -> None:
        nonlocal now_s, shown
        if (now_s + length_s) // period_s > now_s // period_s:
            shown = flash.nand
        now_s += length_s

    assert prove(flash, read, pause, 8 * MIB).role is role


@pytest.mark.parametrize(
    ("flash", "said"),
    [
        (Flash(counts=frozenset()), "counts no host writes"),
        (Flash(counts=frozenset({"host_bytes_written"})), "counts no NAND writes"),
        (Flash(noise_cost=0.5), "nand_bytes_written moved by 4MB while 8MB of random data were written"),
        (Flash(noise_cost=30.0), "nand_bytes_written moved by 240MB while 8MB"),
        (Flash(late=10**6), "host_bytes_written moved by 0B while 8MB of zeros were written"),
    ],
)
def test_counters_that_do_not_move_as_they_must_are_not_trusted(flash: Flash, said: str) -> None:
    proof, waited = proven(flash)
    assert said in proof.problem
    assert proof.role is None
    assert sum(waited) <= 2 * PATIENCE_S, "it gives up"


def test_somebody_elses_writes_are_seen() -> None:
    flash = Flash()

    def disturbed() -> Counted:
        flash.host += MIB
        return flash.read()

    raw: Any = flash
    assert "host_bytes_written moved by 9MB" in prove(raw, disturbed, lambda s: None, 8 * MIB).problem


@pytest.mark.parametrize(
    ("rounds", "settled"),
    [
        ([1.0, 2.0, 2.0, 2.1, 2.0, 1.95], True),
        ([2.0] * 4, False),
        ([2.0, 2.0, 2.0, 2.0, 2.5], False),  # more than a fifth apart
        ([2.0, 2.1, 2.2, 2.3, 2.39], False),  # a trend
        ([], False),
    ],
)
def test_a_steady_state_has_little_spread_and_no_trend(rounds: list[float], settled: bool) -> None:
    assert steady(rounds) is settled


def overwritten(flash: Flash, cost: Callable[[int], float], *, counted: bool = True) -> tuple[int, float, bool]:
    told: list[int] = []
    raw: Any = flash

    def tell(doing: str, done: int, most: int, last: float | None) -> None:
        told.append(done)
        flash.noise_cost = cost(len(told))

    found = overwrite(raw, flash.read if counted else None, 4, tell)
    assert told[-1] == found.written
    return len(told), found.amplification[-1] if found.amplification else 0.0, found.settled


def test_overwriting_ends_when_it_has_settled_and_never_before_a_whole_drive() -> None:
    assert overwritten(Flash(), lambda rounds: 1.0) == (ROUNDS_A_DRIVE, 1.0, True)
    rounds, last, settled = overwritten(Flash(), lambda rounds: min(2.0, 1.0 + rounds / 10))
    assert ROUNDS_A_DRIVE < rounds < 4 * ROUNDS_A_DRIVE
    assert (last, settled) == (2.0, True)


def test_what_never_settles_ends_and_says_so() -> None:
    rounds, _, settled = overwritten(Flash(), lambda rounds: 1.0 + rounds % 2)
    assert (rounds, settled) == (4 * ROUNDS_A_DRIVE, False)


def test_without_counters_all_is_written_and_nothing_settles() -> None:
    assert overwritten(Flash(), lambda rounds: 1.0, counted=False) == (4 * ROUNDS_A_DRIVE, 0.0, False)


def test_a_round_in_which_a_counter_stood_still_tells_nothing() -> None:
    assert amplification({"host_bytes_written": 1, "nand_bytes_written": 1}, {}) == []
    same = {"host_bytes_written": 1.0, "nand_bytes_written": 1.0}
    assert amplification(same, same) == []
    assert amplification(same, {"host_bytes_written": 3.0, "nand_bytes_written": 4.0}) == [1.5]


# On loop devices, and on an emulated drive as a block device.

WANTED = Preparation(erase=Erasure.DISCARD, compressed_to=1.0, drive_writes=1, proof_bytes=16 * MIB)


def nothing_told(doing: str, done: int, most: int, last: float | None) -> None:
    """No progress."""


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
    device.require_ours(loop, RUNNER)
    assert state_of(loop, RUNNER) == "as it was found"


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
    """An emulated drive of 64 MB, if not said otherwise, as a block device, without a file system."""
    real.require("csd")
    home, program, found = place / "home", RealDaemon(), list[Path]()

    def made(kind: str, size_mib: int = 64) -> Path:
        home.mkdir()
        described = DriveOptions.from_levels({"data": kind, "data.capacity": f"{size_mib}MB"}).data.described
        assert described is not None
        described = described.with_values(
            {"drive.pages_per_block": scaled_pages(size_mib * MIB), "emulation.store_bytes": 5 * size_mib * MIB // 2}
        )
        program.start(home, described.configuration("prepared", home))
        found.append(KERNEL.attach(program.disk(home)))
        return found[0]

    try:
        yield made
    finally:
        for each in found:
            kernel.detach_loop(each)
        program.end(home)


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "role"), [("ssd", Role.NORMAL), ("csd", Role.COMPRESSING)])
def test_an_emulated_drive_settles_and_shows_what_it_is(emulated: Callable[[str], Path], kind: str, role: Role) -> None:
    path = emulated(kind)
    wanted = Preparation(erase=Erasure.DISCARD, compressed_to=0.5, drive_writes=12, proof_bytes=16 * MIB)
    found = prepared(path, wanted)
    assert (found.not_erased, found.proof.problem, found.proof.role) == ("", "", role)
    assert found.overwritten.settled
    assert found.label == "pgassay-aged"
    assert state_of(path, RUNNER) == "preconditioned until write amplification settled"
    assert all(each > 0.3 for each in found.overwritten.amplification)


@pytest.mark.system
@pytest.mark.slow
def test_what_the_file_system_does_not_use_is_trimmed_and_the_state_says_so(emulated: Callable[[str], Path]) -> None:
    path = emulated("ssd")
    counters = device.counters_of(path)
    assert counters is not None
    wanted = Preparation(erase=Erasure.NONE, compressed_to=0.5, drive_writes=12, proof_bytes=16 * MIB, trim=True)
    found = prepared(path, wanted)
    assert (found.not_erased, found.label) == ("not asked for", "pgassay-trimmed")
    assert state_of(path, RUNNER) == (
        "preconditioned until write amplification settled, then trimmed: what is not used adds to its spare flash"
    )
    mapped = counters()["logical_bytes"]
    assert 0 < mapped < 16 * MIB, "of 64 MB that were all written"


@pytest.mark.system
def test_a_loop_device_is_refused_a_secure_erase_untouched(loop: Path, place: Path) -> None:
    before = (place / "disk").read_bytes()
    with pytest.raises(UsageError, match="is no NVMe namespace"):
        prepared(loop, Preparation(erase=Erasure.FORMAT, compressed_to=1.0, drive_writes=1, proof_bytes=16 * MIB))
    assert (place / "disk").read_bytes() == before


@pytest.mark.system
@pytest.mark.slow
def test_a_device_that_disappears_in_a_run_is_named_and_given_back(emulated: Callable[..., Path], place: Path) -> None:
    path, account = emulated("ssd", 256), choose()
    places = DriveChoices(place / "data", allow_volatile=True, owned=owned([str(path)]))
    (place / "data").mkdir()
    attacher = attacher_of(places, LocalRunner(account), account)
    drive = attacher.attach(DriveOptions.from_levels({"data": f"device:{path}"}), place / "data", Needs())
    try:
        made = drive.workspace("prepare")
        (made / "rows").write_bytes(bytes(MIB))
        drive.take_snapshot("k", made)
        daemon.kill(place / "home")
        with pytest.raises(DriveError, match=r"could not clone a snapshot .*: Input/output error"):
            drive.clone("k", "trial-1")
    finally:
        drive.release()
    assert left_behind(place / "data") == []


@pytest.mark.system
@pytest.mark.slow
def test_a_device_that_disappears_is_named(emulated: Callable[[str], Path], place: Path) -> None:
    path = emulated("ssd")

    def gone(doing: str, done: int, most: int, last: float | None) -> None:
        if doing == "overwriting at random":
            daemon.kill(place / "home")

    with pytest.raises(DriveError, match=f'could not write over "{path}"'):
        prepared(path, WANTED, gone)
