"""What known writes showed of drives' counters: one small file of the machine, which every later run here goes by.

`counters.json` in the state directory (`lab.places.state_directory`), beside the list of changes to the machine; one
entry a drive, by its own identity, the latest. A file that cannot be read counts as missing: nothing is proven then.
"""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pgassay.record import formats
from pgassay.record.disk import Disk, keep_file
from pgassay.record.errors import as_record_error

FORMAT = 1
FILE = "counters.json"


@dataclass(frozen=True)
class CounterProof:
    """One drive's latest proof: `drive` is what it says that it is, `device` the name that it had here then."""

    drive: str
    device: str
    proven_utc: str
    written_bytes: int
    """Of zeros and of noise together."""
    problem: str = ""
    """Why its counters are not trusted; empty where they moved as they must."""
    role: str = ""
    """What zeros cost told; empty where that told nothing."""


@dataclass(frozen=True)
class KnownProofs:
    """Every entry that the file holds."""

    proofs: tuple[CounterProof, ...] = ()
    format: int = field(default=FORMAT)

    def of(self, drive: str) -> CounterProof | None:
        """The entry of this drive, or None; also for a drive without an identity."""
        return next((each for each in self.proofs if drive and each.drive == drive), None)

    def with_one(self, new: CounterProof) -> "KnownProofs":
        """With `new` in the place of an older one of the same drive."""
        return KnownProofs((*(each for each in self.proofs if each.drive != new.drive), new))


def read(disk: Disk, path: Path) -> KnownProofs:
    """The machine's file; empty when there is none, it cannot be read, or a later version wrote it."""
    try:
        found = msgspec.json.decode(disk.read(path), type=KnownProofs)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return KnownProofs()
    return found if found.format == FORMAT else KnownProofs()


def remember(disk: Disk, path: Path, new: CounterProof) -> None:
    """Add one to the machine's file; raises `RecordError`."""
    with as_record_error(path, "keep what a known write showed of the counters"):
        keep_file(disk, path, formats.encode(read(disk, path).with_one(new)))
