"""What earlier work here found, in small files for later runs: what drives can do, how long trials take.

They are a user's, along with the calibrations in `$XDG_STATE_HOME/pgassay`; one that cannot be read counts as missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from pgassay.record import formats
from pgassay.record.calibrations import Setting
from pgassay.record.disk import Disk, keep_file
from pgassay.record.errors import as_record_error

FORMAT = 1
DISK_FILE, LENGTHS_FILE = "disk.json", "trial_lengths.json"
DISK_FACT = "disk_capacities"
"""The name of a drive's entry in a later run's host.json."""


@dataclass(frozen=True)
class DiskCapacities:
    """One disk study's best: `per_s` and where it was reached (`at`), by resource (see `analysis.capacities`)."""

    measured_utc: str
    place: Setting
    run: str
    per_s: Mapping[str, float]
    at: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    """What may have disturbed the measurement, such as other programs at work."""

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {"measured_utc": self.measured_utc, "run": self.run, "per_s": dict(self.per_s)}
        return {**found, "at": dict(self.at), "remarks": list(self.remarks)}


@dataclass(frozen=True)
class KnownDisks:
    """What runs of the study `disk` measured of each drive: one entry a place, the latest."""

    disks: tuple[DiskCapacities, ...] = ()
    format: int = FORMAT

    def of(self, place: Setting) -> DiskCapacities | None:
        return next((each for each in self.disks if each.place.same_place(place)), None)


def remember_disk(disk: Disk, path: Path, new: DiskCapacities) -> None:
    with as_record_error(path, "keep what the disk can do"):
        known = formats.read_or(disk, path, KnownDisks())
        others = (each for each in known.disks if not each.place.same_place(new.place))
        keep_file(disk, path, formats.encode(KnownDisks((*others, new))), private=True)


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
    """What trials of past runs took besides their load, the latest last.

    A plan multiplies what it expects by the median of the latest runs that were alike. Decisions of a run never read
    it: they go by the run's own trials.
    """

    runs: tuple[Lengths, ...] = ()
    format: int = FORMAT

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
        oldest = [each for each in self.runs if each.like(new.kind, new.data_bytes)][: 1 - LATEST]
        return KnownLengths((*(each for each in self.runs if each not in oldest), new))


def remember_lengths(disk: Disk, path: Path, new: Lengths) -> None:
    with as_record_error(path, "keep what trials took"):
        known = formats.read_or(disk, path, KnownLengths())
        keep_file(disk, path, formats.encode(known.with_one(new)), private=True)
