"""Asks nvme-cli for a drive's logs and gives them as `bench.drive_counters` does for every other kind of drive.

Which vendor's log a drive has is found once, by trying; a unit that the vendor does not tell is found by setting the
log's own count of host writes against the standard log's, which is in bytes. Counters of real drives move late (minutes
on some) and coarsely (32 MiB on some): a window below some 10 GiB tells little (docs/drives.md).
"""

import re
from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path

from pgassay.bench.drive_counters import SMART, Counted, DriveCounters
from pgassay.bench.errors import BenchError
from pgassay.bench.places import Mount
from pgassay.bench.running import Runner
from pgassay.drive.smart.logs import Media, parse_media, parse_standard

PROGRAM = "nvme"
_JSON = ("-o", "json")
MEDIA_LOGS: tuple[tuple[str, ...], ...] = (
    ("ocp", "smart-add-log"),
    ("sfx", "smart-log-add"),
    ("solidigm", "smart-log-add"),
    ("intel", "smart-log-add"),
    ("micron", "vs-nand-stats"),
    ("micron", "vs-smart-add-log"),
    ("wdc", "vs-nand-stats"),
    ("wdc", "vs-smart-add-log"),
    ("memblaze", "smart-log-add"),
    ("dapustor", "smart-log-add"),
)
"""Plugin and command, most widely spread first; each refuses drives that it does not know."""
UNIT_TOLERANCE = 0.1
"""How far a unit may be from a power of two: the two logs are read one after the other, and round."""
TIMEOUT_S = 10.0
_CONTROLLER = re.compile(r"/dev/nvme\d+(?=n\d|$)")


class SmartCounters:
    """Reads one NVMe drive; see `bench.drive_counters.DriveCounters`. The device is only ever asked, never written."""

    def __init__(self, runner: Runner, device: Path) -> None:
        self._runner = runner
        self._device = device
        self._command: tuple[str, ...] | None = None
        self._tried = False
        self._unit_bytes: float | None = None

    def __call__(self) -> Counted:
        """What the drive tells now; nothing where nvme-cli is missing or the drive does not answer."""
        standard = parse_standard(self._ask(("smart-log",)))
        if standard is None:
            return {}
        found = {"host_bytes_written": standard.host_bytes_written}
        if standard.host_bytes_read is not None:
            found["host_bytes_read"] = standard.host_bytes_read
        if standard.percentage_used is not None:
            found["percentage_used"] = standard.percentage_used
        media = self._media()
        if media is not None:
            unit_bytes = self._unit(media, standard.host_bytes_written)
            if unit_bytes is not None:
                found["nand_bytes_written"] = media.nand * unit_bytes
        return found

    @property
    def source(self) -> str:
        """Where NAND writes come from, for the record: `nvme ocp smart-add-log`, or that this drive does not tell."""
        return " ".join((PROGRAM, *self._command)) if self._command else "this drive tells no NAND writes"

    def _media(self) -> Media | None:
        if self._command is not None:
            return parse_media(self._ask(self._command))
        if self._tried:
            return None
        self._tried = True
        for command in MEDIA_LOGS:
            found = parse_media(self._ask(command))
            if found is not None:
                self._command = command
                return found
        return None

    def _unit(self, media: Media, host_bytes: float) -> float | None:
        if media.unit_bytes is not None:
            return media.unit_bytes
        if self._unit_bytes is None:
            self._unit_bytes = unit_bytes_of(media, host_bytes)
        return self._unit_bytes

    def _ask(self, command: Sequence[str]) -> str:
        try:
            done = self._runner.run([PROGRAM, *command, str(self._device), *_JSON], timeout_s=TIMEOUT_S)
        except (BenchError, TimeoutError):
            return ""
        return done.stdout if done.status == 0 else ""


class SmartOfMounts:
    """What lies under a mount, asked once for each NVMe controller: nothing for other devices, or without answers."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._known: dict[Path, SmartCounters | None] = {}

    def __call__(self, mount: Mount) -> Mapping[str, DriveCounters]:
        """The counters of the mount's drive under the source `smart`."""
        named = _CONTROLLER.match(mount.device)
        if named is None:
            return {}
        controller = Path(named[0])
        if controller not in self._known:
            counters = SmartCounters(self._runner, controller)
            self._known[controller] = counters if counters() else None
        found = self._known[controller]
        return {SMART: found} if found is not None else {}


def unit_bytes_of(media: Media, host_bytes: float) -> float | None:
    """The power of two that makes the log's own host writes the standard log's; None where none comes near."""
    if not media.host or host_bytes <= 0:
        return None
    exponent = log2(host_bytes / media.host)
    return 2.0 ** round(exponent) if abs(2 ** (exponent - round(exponent)) - 1) <= UNIT_TOLERANCE else None
