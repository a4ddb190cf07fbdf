"""What runs of the study `disk` measured of each drive: one small file a user, which later runs on that drive use.

`$XDG_STATE_HOME/pgassay/disk.json`, beside the calibrations; one entry a place (host, file system, device), the latest.
A file that cannot be read counts as missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgassay.record import formats
from pgassay.record.calibrations import Setting
from pgassay.record.disk import Disk, keep_file
from pgassay.record.errors import as_record_error

FORMAT = 1
FILE = "disk.json"
FACT = "disk_capacities"
"""The name of such an entry in a later run's host.json."""


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
        """As plain values for a later run's host.json."""
        found: dict[str, Any] = {"measured_utc": self.measured_utc, "run": self.run, "per_s": dict(self.per_s)}
        return {**found, "at": dict(self.at), "remarks": list(self.remarks)}


@dataclass(frozen=True)
class KnownDisks:
    """Every entry that the user's file holds."""

    disks: tuple[DiskCapacities, ...] = ()
    format: int = field(default=FORMAT)

    def of(self, place: Setting) -> DiskCapacities | None:
        """The entry of this place (host, file system, device), or None."""
        return next((each for each in self.disks if each.place.same_place(place)), None)

    def with_one(self, new: DiskCapacities) -> "KnownDisks":
        """With `new` in the place of an older one of the same drive."""
        return KnownDisks((*(each for each in self.disks if not each.place.same_place(new.place)), new))


def read(disk: Disk, path: Path) -> KnownDisks:
    """The user's file; empty when there is none, it cannot be read, or a later version wrote it."""
    return formats.read_or(disk, path, KnownDisks())


def remember(disk: Disk, path: Path, new: DiskCapacities) -> None:
    """Add one to the user's file; raises `RecordError`."""
    with as_record_error(path, "keep what the disk can do"):
        keep_file(disk, path, formats.encode(read(disk, path).with_one(new)), private=True)
