"""What known writes showed of drives' counters: one small file of the machine, which every later run here goes by.

`counters.json` in the state directory (`pgassay.scratch`), beside the list of changes to the machine; one
entry a drive, by its own identity, the latest. A file that cannot be read is an error and never counts as missing: the
proofs that failed would be forgotten, and counters believed that are known to be wrong.
"""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pgassay.locks import alone
from pgassay.record import formats
from pgassay.record.disk import Disk, keep_file
from pgassay.record.errors import as_record_error, unreadable_proofs

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


class _Stamp(msgspec.Struct):
    """What the file says first; everything else may differ between formats."""

    format: int


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
    """The machine's file; empty when there is none. Raises `RecordError` for one that cannot be read."""
    try:
        data = disk.read(path)
        stamp = msgspec.json.decode(data, type=_Stamp)
        if stamp.format != FORMAT:
            raise unreadable_proofs(path, f"it has format {stamp.format}, this pgassay reads {FORMAT}")
        return msgspec.json.decode(data, type=KnownProofs)
    except FileNotFoundError:
        return KnownProofs()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as failure:
        raise unreadable_proofs(path, str(getattr(failure, "strerror", None) or failure)) from failure


def remember(disk: Disk, path: Path, new: CounterProof) -> None:
    """Add one to the machine's file; raises `RecordError`."""
    with as_record_error(path, "keep what a known write showed of the counters"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(path.with_suffix(".lock")):
            keep_file(disk, path, formats.encode(read(disk, path).with_one(new)), private=True)
