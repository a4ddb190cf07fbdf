"""What trials of past runs took on this machine besides their load, over what a plan expects: one small file a user.

`$XDG_STATE_HOME/pgassay/trial_lengths.json`, along with the calibrations. A plan multiplies what it expects by the
median of the latest runs that were alike, so the second plan on a machine is nearer than the first. Decisions of a run
never read it: they go by the run's own trials. A file that cannot be read counts as missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from pgassay.record import formats
from pgassay.record.calibrations import Setting
from pgassay.record.disk import Disk, keep_file
from pgassay.record.errors import as_record_error

FORMAT = 1
FILE = "trial_lengths.json"
LATEST = 5
"""So many runs of a kind are kept."""
ALIKE = 4.0
"""Data that are at most so many times larger or smaller are of one size."""


@dataclass(frozen=True)
class Kind:
    """How trials were run: where, on which kind of drive, in turns or not, and by which load with which extra steps."""

    place: Setting
    drive: str
    pairing: str
    load: str


@dataclass(frozen=True)
class Lengths:
    """One run: how many times as long as expected its trials took besides their load, and making its snapshots.

    `preparation` is None for a run that made none.
    """

    measured_utc: str
    kind: Kind
    data_bytes: int
    trial: float
    preparation: float | None = None

    def like(self, kind: Kind, data_bytes: int) -> bool:
        """Of this kind, with data of this size?"""
        small, large = sorted((max(1, self.data_bytes), max(1, data_bytes)))
        return self.kind == kind and large <= ALIKE * small


@dataclass(frozen=True)
class Pace:
    """How many times as long as expected something takes here, by so many `runs`; as expected where there were none."""

    trial: float = 1.0
    preparation: float = 1.0
    runs: int = 0


@dataclass(frozen=True)
class KnownLengths:
    """Every entry that the user's file holds, the latest last."""

    runs: tuple[Lengths, ...] = ()
    format: int = field(default=FORMAT)

    def pace(self, kind: Kind, data_bytes: int, latest: int = LATEST) -> Pace:
        """By so many of the latest runs of this kind with data of this size, else of any; else by those of the other
        pairing. With none as expected."""
        found = (
            [each for each in self.runs if each.like(kind, data_bytes)]
            or [each for each in self.runs if each.kind == kind]
            or [each for each in self.runs if replace(each.kind, pairing=kind.pairing) == kind]
        )[-latest:]
        if not found or not latest:
            return Pace()
        made = [each.preparation for each in found if each.preparation is not None]
        return Pace(median(each.trial for each in found), median(made) if made else 1.0, len(found))

    def with_one(self, new: Lengths) -> "KnownLengths":
        """With `new`, and without the oldest of its like where there are many."""
        alike = [each for each in self.runs if each.like(new.kind, new.data_bytes)]
        return KnownLengths((*_without(self.runs, alike[: 1 - LATEST]), new))


def _without(runs: Iterable[Lengths], gone: list[Lengths]) -> tuple[Lengths, ...]:
    return tuple(each for each in runs if each not in gone)


def read(disk: Disk, path: Path) -> KnownLengths:
    """The user's file; empty when there is none, it cannot be read, or a later version wrote it."""
    return formats.read_or(disk, path, KnownLengths())


def remember(disk: Disk, path: Path, new: Lengths) -> None:
    """Add one to the user's file; raises `RecordError`."""
    with as_record_error(path, "keep what trials took"):
        keep_file(disk, path, formats.encode(read(disk, path).with_one(new)), private=True)
