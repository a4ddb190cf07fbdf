"""Which counters of real drives are believed: what a known write showed of them, by the drive's own identity.

NAND writes of a drive whose proof failed are left out of what it counts, so that whatever is computed from them is not
available, instead of wrong. The name of a device may be another drive's after the next boot, so it identifies nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pgassay.bench.drive_counters import NAND_WRITTEN, SMART, Counted, DriveCounters, Trust
from pgassay.bench.places import Mount

NOT_PROVEN = "not proven"
Known = Callable[[str], Trust | None]
"""From a drive's identity to what a known write showed of it; None for one that was never proven."""
_SYS = Path("/sys/class/block")


class Asked(Protocol):
    """Whoever asks drives what they count."""

    def of(self, device: str) -> DriveCounters | None:
        """The counters of the drive that a device is, or is a part of; None where there are none."""


def nobody(drive: str) -> Trust | None:
    """No drive's counters were ever proven."""
    return None


def identity_of(device: Path, sys: Path = _SYS) -> str:
    """What the drive under a device says that it is: model and serial number, else its world wide name.

    Of a loop device the file below it. Empty where the drive does not say.
    """
    folder = (sys / device.resolve().name).resolve()
    if (folder / "partition").exists():
        folder = folder.parent
    file = _text(folder / "loop" / "backing_file")
    if file:
        return f"loop device over {file}"
    serial = _text(folder / "device" / "serial") or _text(folder / "serial")
    if serial:
        return f"{_text(folder / 'device' / 'model')} {serial}".strip()
    return _text(folder / "wwid") or _text(folder / "device" / "wwid")


@dataclass(eq=False)
class BelievedCounters:
    """What a drive counts, as far as that is believed; see `bench.drive_counters.DriveCounters`."""

    read: DriveCounters
    trust: Trust | None

    def __call__(self) -> Counted:
        """As the drive tells it, without NAND writes where a known write did not move them as it must."""
        found = self.read()
        if self.trust is None or not self.trust.problem:
            return found
        return {name: value for name, value in found.items() if name != NAND_WRITTEN}

    @property
    def words(self) -> str:
        """For the record and the report."""
        return NOT_PROVEN if self.trust is None else self.trust.words


@dataclass(eq=False)
class BelievedMounts:
    """What the drives under mounts count, as far as that is believed; one object a drive, whatever lies on it."""

    asked: Asked
    known: Known = nobody
    identity: Callable[[Path], str] = identity_of
    _found: dict[DriveCounters, BelievedCounters] = field(default_factory=dict)

    def __call__(self, mount: Mount) -> Mapping[str, DriveCounters]:
        """The counters of the mount's drive under the source `smart`."""
        found = self.of(mount.device)
        return {SMART: found} if found is not None else {}

    def of(self, device: str) -> BelievedCounters | None:
        """The counters of the drive that a device is, or is a part of; None where there are none."""
        read = self.asked.of(device)
        if read is None:
            return None
        if read not in self._found:
            self._found[read] = BelievedCounters(read, self.known(self.identity(Path(device))))
        return self._found[read]


def _text(path: Path) -> str:
    try:
        return " ".join(path.read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return ""
