"""Preparing a device: whose counters are trusted, and when overwriting ends."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive.block.preparation import (
    PATIENCE_S,
    RANDOM_BYTES,
    ROUNDS_A_DRIVE,
    Proof,
    RawDevice,
    amplification,
    overwrite,
    prove,
    prove_in,
    steady,
)
from pgassay.interfaces.drive_counters import Counted
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.places import Mount
from pgassay.study.drives import Role

MIB = 1 << 20


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

    def zeros(self, place: int, length: int, wrote: Callable[[int], None]) -> int:
        wrote(length)
        return self._write(length, self.zeros_cost)

    def noise(self, place: int, length: int, wrote: Callable[[int], None]) -> int:
        wrote(length)
        return self._write(length, self.noise_cost)

    def overwrite(self, length: int, wrote: Callable[[int], None]) -> int:
        written = self._write(length, self.noise_cost)
        wrote(written)
        return written

    def _write(self, length: int, cost: float) -> int:
        self.host += length
        self.nand += cost * length
        return length

    def read(self) -> Counted:
        now = {"host_bytes_written": self.host, "nand_bytes_written": self.nand}
        self.shown.append({name: value for name, value in now.items() if name in self.counts})
        return self.shown[max(0, len(self.shown) - 1 - self.late)]


def nothing_told(doing: str, done: int, most: int, last: float | None) -> None:
    """No progress."""


def proven(flash: Any) -> tuple[Proof, list[float]]:
    waited: list[float] = []
    return prove(flash, flash.read, waited.append, 8 * MIB, nothing_told), waited


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

    assert prove(flash, read, pause, 8 * MIB, nothing_told).role is role


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
    assert "host_bytes_written moved by 9MB" in prove(raw, disturbed, lambda s: None, 8 * MIB, nothing_told).problem


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
        if done == 0:
            return
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


class PlainFile(RawDevice):
    """A file that stands for a device, through the page cache."""

    def _open(self) -> int:
        return os.open(self._device, os.O_WRONLY | os.O_CLOEXEC)


def test_overwriting_tells_of_every_stretch_and_not_of_every_round_alone(tmp_path: Path) -> None:
    """A round of a drive of terabytes takes an hour."""
    told: list[tuple[int, float | None]] = []
    moved = {"host_bytes_written": 0.0, "nand_bytes_written": 0.0}
    file = tmp_path / "device"
    file.write_bytes(bytes(10 * MIB))

    def read() -> Counted:
        for name, by in (("host_bytes_written", 1.0), ("nand_bytes_written", 2.0)):
            moved[name] += by
        return dict(moved)

    with PlainFile(file) as raw:
        overwrite(raw, read, 1, lambda doing, done, most, last: told.append((done, last)))
    assert [done for done, _ in told] == list(range(0, 10 * MIB + 1, RANDOM_BYTES))
    stretches = MIB // RANDOM_BYTES
    assert [last for _, last in told] == [None] * (1 + stretches) + [2.0] * 9 * stretches


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


@pytest.mark.parametrize(
    ("size_gib", "free_gib", "said", "hint"),
    [
        (1000, 65, "this proof needs 66GB", "--proof 7GB"),
        (1000, 50, "this proof needs 66GB", "no proof that would show anything fits"),
        (10, 16, "this proof needs 17GB", "--proof 7GB"),
        (10, 2.5, "this proof needs 17GB", "--proof 768MB"),
    ],
)
def test_a_proof_leaves_others_on_the_drive_room_to_go_on(size_gib: int, free_gib: float, said: str, hint: str) -> None:
    """A server beside it that cannot write its WAL stops."""
    place = Path("/d")
    mount = Mount(place, place, "ext4", "/dev/nvme0n1", "rw", size_gib << 30, round(free_gib * (1 << 30)), False)
    with pytest.raises(DriveError, match=said) as refused:
        prove_in(mount, place, dict, lambda _: None, 8 << 30, nothing_told)
    assert refused.value.hint is not None
    assert hint in refused.value.hint
