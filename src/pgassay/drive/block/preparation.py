"""Bringing a device to a state that a trial can start from: its counters proven, filled, overwritten until it settles.

The order is that of SNIA's Performance Test Specification: erase, fill in sequence, then overwrite at random in rounds
until the last five differ by at most a fifth of their mean and show no trend. Counters are believed only after they
moved as a known write must move them: zeros, which a drive that compresses hardly stores, and noise, which it must.

`blkdiscard` says which blocks are not needed; what the drive does with that is its own. What makes the flash itself
empty (`nvme format`, `nvme sanitize`) may take other namespaces along, so it is left to the drive's owner.
"""

import mmap
import os
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, linear_regression
from types import TracebackType
from typing import Self

from pgassay.drive.block.filesystems import KINDS
from pgassay.drive.block.kernel import command_failed, refusals_of
from pgassay.errors import UsageError
from pgassay.interfaces.drive_counters import Counted, DriveCounters, Trust
from pgassay.interfaces.errors import BenchError, DriveError
from pgassay.interfaces.places import Mount
from pgassay.interfaces.running import Runner
from pgassay.study.drives import Role
from pgassay.study.units import format_size


def discard(device: Path, runner: Runner) -> str:
    """Give up what a device holds; returns why it was not discarded: not every device can, and writing goes on."""
    return _run(["blkdiscard", str(device)], runner)[0]


def _run(command: list[str], runner: Runner) -> tuple[str, str]:
    """Why a program did not do it, empty where it did, and what it said."""
    try:
        outcome = runner.run(command, privileged="discards or trims a device", timeout_s=_DISCARD_S)
    except (BenchError, TimeoutError) as failure:
        return str(failure), ""
    if outcome.status == 0:
        return "", outcome.stdout
    said = (outcome.stderr or outcome.stdout).strip().splitlines()
    return said[-1] if said else f"{command[0]} ended with status {outcome.status}", ""


def require_trimmable(device: Path, asked: str, sys: Path = Path("/sys/class/block")) -> None:
    """Raise `UsageError` where the device takes no trim: known before hours of writing.

    `asked` is what it was asked by, for the message.
    """
    folder = (sys / device.resolve().name).resolve()
    for queue in (folder / "queue", folder.parent / "queue"):  # a partition has its drive's
        if queue.is_dir():
            if int((queue / "discard_max_bytes").read_text().strip() or 0) == 0:
                raise UsageError(f'"{device}" takes no discards, so {asked} would do nothing', f"leave {asked} out")
            return


def trim(point: Path, runner: Runner) -> float | None:
    """Tell the drive what the file system mounted here does not use; returns how many bytes, None if that is not said.

    Raises `DriveError` where that fails.
    """
    why, said = _run(["fstrim", "--verbose", str(point)], runner)
    if why:
        raise command_failed(f"trim {point}", why)
    found = re.search(r"(\d+) bytes", said)
    return None if found is None else float(found[1])


_DISCARD_S = 4 * 3600.0
"""A drive may take its time for terabytes."""
SEQUENTIAL_BYTES = 1 << 20
RANDOM_BYTES = 64 << 10
_NOISE_BYTES = 16 << 20
_ALIGNED_BYTES = 4096
HOST_TOLERANCE = 0.1
NOISE_LEAST = 0.9
NOISE_MOST = 20.0
"""NAND writes for a byte of noise: flash cannot store it in less, nor does garbage collection cost so much more."""
COMPRESSING_MOST = 0.5
"""NAND writes for zeros, as a share of those for noise, that only a drive that compresses has."""
PATIENCE_S = 300.0
"""How long a drive may take to bring its log up to date."""
_POLL_S = 5.0
SPARE_LEAST_BYTES = 1 << 30
SPARE_PARTS = 20
"""What a proof next to others' data leaves free at least, and as a part of the file system: they go on writing."""
LEAST_USEFUL_BYTES = 512 << 20
"""A smaller proof is lost in the steps of the coarsest counter."""
_HOST, _NAND = "host_bytes_written", "nand_bytes_written"
ROUNDS = 5
ROUNDS_A_DRIVE = 10
SPREAD_MAX, TREND_MAX = 0.2, 0.1
"""Of the mean of the last rounds: SNIA's bounds for a steady state."""

Tell = Callable[[str, int, int, float | None], None]
"""What is being done, bytes written, bytes at most, and the write amplification of the last round where it is known."""
Wrote = Callable[[int], None]
"""Called for every stretch with its bytes."""


def tell_nobody(doing: str, done: int, most: int, amplification: float | None) -> None:
    """See `Tell`: nobody wants to know."""


class RawDevice:
    """A device opened for us alone and past the page cache; use it in a `with`. All that was on it is gone.

    `filling` blocks compress to `compressed_to` of their size; noise does not compress. Raises `DriveError`.
    """

    def __init__(self, device: Path, compressed_to: float = 1.0, seed: int = 1, room_bytes: int | None = None) -> None:
        """With `room_bytes`, `device` is a directory: a file without a name in it, which is gone however we end."""
        self._device = device
        self._room_bytes = room_bytes
        self._kept_bytes = round(_ALIGNED_BYTES * compressed_to)
        self._chance = random.Random(seed)
        self._descriptor = -1
        self.size_bytes = 0

    def __enter__(self) -> Self:
        with refusals_of("open", self._device):
            how = os.O_EXCL if self._room_bytes is None else os.O_TMPFILE
            self._descriptor = os.open(self._device, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC | how, 0o600)
        room = os.lseek(self._descriptor, 0, os.SEEK_END) if self._room_bytes is None else self._room_bytes
        self.size_bytes = room // _ALIGNED_BYTES * _ALIGNED_BYTES
        self._zeros = mmap.mmap(-1, SEQUENTIAL_BYTES)
        self._noise = mmap.mmap(-1, _NOISE_BYTES)
        self._noise.write(os.urandom(_NOISE_BYTES))
        self._filling = mmap.mmap(-1, _NOISE_BYTES)
        for place in range(0, _NOISE_BYTES, _ALIGNED_BYTES):
            self._filling[place : place + self._kept_bytes] = self._noise[place : place + self._kept_bytes]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        for each in (self._zeros, self._noise, self._filling):
            each.close()

    def zeros(self, place: int, length: int, wrote: Wrote) -> int:
        """Write zeros in sequence; returns bytes written."""
        return self._sequence(self._zeros, place, length, wrote)

    def noise(self, place: int, length: int, wrote: Wrote) -> int:
        """Write what does not compress in sequence; returns bytes written."""
        return self._sequence(self._noise, place, length, wrote)

    def fill(self, tell: Tell) -> int:
        """Write the whole device once with the filling, in sequence; returns bytes written."""
        return self._sequence(self._filling, 0, self.size_bytes, _Course(FILLING, self.size_bytes, tell))

    def overwrite(self, length: int, wrote: Wrote) -> int:
        """Write so many bytes of the filling at random places; returns bytes written."""
        places = max(1, self.size_bytes // RANDOM_BYTES)
        written = 0
        while written < length:
            place = self._chance.randrange(places) * RANDOM_BYTES
            stretch = self._write(self._filling, place, min(RANDOM_BYTES, self.size_bytes))
            written += stretch
            wrote(stretch)
        with refusals_of("write over", self._device):
            os.fsync(self._descriptor)
        return written

    def _sequence(self, source: mmap.mmap, start: int, length: int, wrote: Wrote) -> int:
        end = min(self.size_bytes, start + length)
        written = 0
        for place in range(start, end, SEQUENTIAL_BYTES):
            stretch = self._write(source, place, min(SEQUENTIAL_BYTES, end - place))
            written += stretch
            wrote(stretch)
        with refusals_of("write over", self._device):
            os.fsync(self._descriptor)
        return written

    def _write(self, source: mmap.mmap, place: int, length: int) -> int:
        """Some stretch of the source, another each time: drives may find what repeats."""
        start = self._chance.randrange((len(source) - length) // _ALIGNED_BYTES + 1) * _ALIGNED_BYTES
        with refusals_of("write over", self._device), memoryview(source) as view, view[start : start + length] as part:
            return os.pwrite(self._descriptor, part, place)


def precondition(device: Path, drive_writes: int, tell: Tell = tell_nobody) -> int:
    """Write the device over so many times, first in sequence, then at random, with what does not compress.

    Returns bytes written. Raises `DriveError`. All that was on it is gone.
    """
    if drive_writes <= 0:
        return 0
    with RawDevice(device) as raw:
        written, more = raw.fill(tell), drive_writes - 1
        if more:
            course = _Course(OVERWRITING, more * raw.size_bytes, tell)
            written += sum(raw.overwrite(raw.size_bytes, course) for _ in range(more))
        return written


@dataclass(frozen=True)
class Moved:
    """What was written, and by how much the counters moved for it; None for one that the drive does not have."""

    written: int
    host_bytes: float | None
    nand_bytes: float | None


@dataclass(frozen=True)
class Proof:
    """Counters after a known write of zeros and one of noise."""

    zeros: Moved
    noise: Moved
    late: bool = False
    """Had the log of NAND writes to be asked again before it showed the noise?"""

    @property
    def problem(self) -> str:
        """Why the counters are not trusted, in words for users; empty where they moved as they must."""
        for what, each in (("zeros", self.zeros), ("random data", self.noise)):
            if each.host_bytes is None:
                return "the device counts no host writes, or nothing asks it here"
            if not 1 - HOST_TOLERANCE <= each.host_bytes / each.written <= 1 + HOST_TOLERANCE:
                return _moved_wrongly(_HOST, each.host_bytes, each.written, what)
        if self.noise.nand_bytes is None or self.zeros.nand_bytes is None:
            return "the device counts no NAND writes"
        if not NOISE_LEAST <= self.noise.nand_bytes / self.noise.written <= NOISE_MOST:
            moved, written = self.noise.nand_bytes, self.noise.written
            return _moved_wrongly(_NAND, moved, written, "random data")
        return ""

    def trust(self, on: str) -> Trust:
        """What runs go by from this date on, and its words for users."""
        return Trust(self.zeros.written + self.noise.written, on, self.problem, self.role)

    @property
    def disturbed(self) -> bool:
        """Was the drive sent more than the proof? On a drive in use that is other programs' work."""
        return any(
            each.host_bytes is not None and each.host_bytes > (1 + HOST_TOLERANCE) * each.written
            for each in (self.zeros, self.noise)
        )

    @property
    def role(self) -> Role | None:
        """What the drive is, by what zeros cost it; None while its counters are not trusted.

        A late log that did not move at all for zeros says nothing: it may show them only later.
        """
        if self.problem or self.zeros.nand_bytes is None or self.noise.nand_bytes is None:
            return None
        if self.late and self.zeros.nand_bytes == 0:
            return None
        share = (self.zeros.nand_bytes / self.zeros.written) / (self.noise.nand_bytes / self.noise.written)
        return Role.COMPRESSING if share <= COMPRESSING_MOST else Role.NORMAL


def _moved_wrongly(counter: str, moved_bytes: float, written_bytes: int, what: str) -> str:
    moved, written = format_size(int(moved_bytes)), format_size(written_bytes)
    return f"{counter} moved by {moved} while {written} of {what} were written"


FILLING, OVERWRITING, PROVING = "filling in sequence", "overwriting at random", "proving its counters"


class _Course:
    """Adds up what is written, and reports it after every stretch: at terabytes a fill takes hours."""

    def __init__(self, doing: str, most: int, tell: Tell) -> None:
        self._doing, self._most, self._tell = doing, most, tell
        self._done = 0
        self.amplification: float | None = None
        self(0)

    def __call__(self, written: int) -> None:
        self._done += written
        self._tell(self._doing, self._done, self._most, self.amplification)


def prove(raw: RawDevice, read: DriveCounters, pause: Callable[[float], None], amount_bytes: int, tell: Tell) -> Proof:
    """Write noise, then zeros behind it, `amount_bytes` each, and see how the counters move.

    A log may be late: it is asked again for up to `PATIENCE_S` until it shows what was written. Noise goes first,
    because every drive stores it: whether the log is late is then known when the drive is asked for zeros, which one
    that compresses hardly stores. Else a late log would look like such a drive.
    """
    amount = min(amount_bytes, raw.size_bytes // 2) // SEQUENTIAL_BYTES * SEQUENTIAL_BYTES
    course = _Course(PROVING, 2 * amount, tell)
    noise, waited_s = _moved(lambda: raw.noise(0, amount, course), read, pause, (_HOST, _NAND))
    late = waited_s > 0
    zeros, _ = _moved(lambda: raw.zeros(amount, amount, course), read, pause, (_HOST, _NAND) if late else (_HOST,))
    return Proof(zeros, noise, late)


def prove_in(
    mount: Mount, directory: Path, read: DriveCounters, pause: Callable[[float], None], amount_bytes: int, tell: Tell
) -> Proof:
    """As `prove`, in a file that is gone afterwards: for a drive in use, along with what lies on it.

    Raises `UsageError` where the file system may store less than it is sent, `DriveError` where it has no room for
    both writes and for what others write meanwhile.
    """
    if mount.filesystem not in KINDS or "compress" in mount.options:
        raise UsageError(
            f'"{directory}" lies on {mount.filesystem}, which may store zeros in less: a known write proves nothing '
            "there",
            f"name a directory on {', '.join(KINDS)}, mounted without compression",
        )
    spare_bytes = max(SPARE_LEAST_BYTES, mount.size_bytes // SPARE_PARTS)
    needed_bytes = 2 * amount_bytes + spare_bytes
    if mount.free_bytes < needed_bytes:
        fits_bytes = (mount.free_bytes - spare_bytes) // 2
        fits_bytes = fits_bytes if fits_bytes >= LEAST_USEFUL_BYTES else 0
        unit = next((unit for unit in (1 << 30, 1 << 20) if fits_bytes >= unit), 1)
        raise DriveError(
            f'"{directory}" has {format_size(mount.free_bytes)} free, this proof needs {format_size(needed_bytes)}, '
            "with what it leaves to others",
            f"make room, or prove with less: --proof {format_size(fits_bytes // unit * unit)}"
            if fits_bytes
            else "make room: no proof that would show anything fits",
        )
    with RawDevice(directory, room_bytes=2 * amount_bytes) as raw:
        return prove(raw, read, pause, amount_bytes, tell)


def _moved(
    write: Callable[[], int], read: DriveCounters, pause: Callable[[float], None], awaited: Sequence[str]
) -> tuple[Moved, float]:
    """How the counters moved, and how many seconds they were waited for."""
    before = read()
    written = write()
    after = read()
    waited_s = 0.0
    while waited_s < PATIENCE_S and any(
        name in before and after.get(name, 0.0) - before[name] < NOISE_LEAST * written for name in awaited
    ):
        pause(_POLL_S)
        waited_s += _POLL_S
        after = read()

    def difference(name: str) -> float | None:
        return after[name] - before[name] if name in before and name in after else None

    return Moved(written, difference(_HOST), difference(_NAND)), waited_s


@dataclass(frozen=True)
class Overwritten:
    """Rounds of random overwriting: bytes in all, write amplification of each where counted, whether it settled."""

    written: int
    amplification: tuple[float, ...]
    settled: bool


def overwrite(raw: RawDevice, read: DriveCounters | None, drive_writes: int, tell: Tell) -> Overwritten:
    """Overwrite at random, a tenth of the drive a round, until write amplification settles, `drive_writes` at most.

    At least one whole drive write is made. Without counters (None) all of them are, and nothing is said to settle.
    """
    round_bytes = -(-raw.size_bytes // ROUNDS_A_DRIVE // RANDOM_BYTES) * RANDOM_BYTES
    most = drive_writes * ROUNDS_A_DRIVE
    course = _Course(OVERWRITING, most * round_bytes, tell)
    written, found = 0, list[float]()
    for round_number in range(most):
        before = read() if read is not None else {}
        written += raw.overwrite(round_bytes, course)
        after = read() if read is not None else {}
        found += amplification(before, after)
        course.amplification = found[-1] if found else None
        if round_number + 1 >= ROUNDS_A_DRIVE and steady(found):
            return Overwritten(written, tuple(found), settled=True)
    return Overwritten(written, tuple(found), settled=False)


def amplification(before: Counted, after: Counted) -> list[float]:
    """NAND over host bytes between two readings; empty where one of them did not move."""
    if not all(name in before and name in after for name in (_HOST, _NAND)):
        return []
    host, nand = (after[name] - before[name] for name in (_HOST, _NAND))
    return [nand / host] if host > 0 and nand > 0 else []


def steady(rounds: Sequence[float]) -> bool:
    last = rounds[-ROUNDS:]
    if len(last) < ROUNDS:
        return False
    mean, slope = fmean(last), linear_regression(range(ROUNDS), last).slope
    return max(last) - min(last) <= SPREAD_MAX * mean and abs(slope) * (ROUNDS - 1) <= TREND_MAX * mean
