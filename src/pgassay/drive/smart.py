"""The counters of one NVMe drive by nvme-cli: what it was sent, programmed and holds (`nvme_logs` reads the texts).

What lies under a mount is found here: an NVMe controller, or a SATA drive (`sata`).
"""

import re
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.drive_counters import SMART, Counted, DriveCounters
from pgassay.bench.places import Mount
from pgassay.bench.running import Runner
from pgassay.drive import sata
from pgassay.drive.nvme_cli import PROGRAM, NvmeCli
from pgassay.drive.nvme_logs import (
    MEDIA_LOGS,
    Command,
    Contents,
    Media,
    parse_capacity,
    parse_contents,
    parse_endurance_group,
    parse_media,
    parse_namespace,
    parse_standard,
    parse_vendor,
)

SCALEFLUX = 0xCC53
"""Its number on the PCI bus. Only its drives are asked what their data take: the commands are the vendor's own, and
another vendor's drive may take them for something else."""
STATUS, CAPACITY = ("sfx", "status"), ("sfx", "query-cap")
_FDP = ("fdp", "stats")
_LARGEST_UNIT_BYTES = 1 << 30
_FEW_UNITS = 16
"""So many units of the vendor's own must have been written before the two logs can be compared."""
_NVME = re.compile(r"(?P<namespace>(?P<controller>/dev/nvme\d+)n\d+)(?:p\d+)?$")
_SATA = re.compile(r"(?P<disk>/dev/sd[a-z]+)\d*$")


class SmartCounters:
    """Reads one NVMe drive; see `bench.drive_counters.DriveCounters`. The device is only ever asked, never written."""

    def __init__(self, runner: Runner, device: Path, namespace: Path | None = None) -> None:
        self._program = NvmeCli(runner)
        self._device = device
        self._namespace = namespace
        self._group: int | None = None
        self._vendor: int | None = None
        self._command: Command | None = None
        self._possible: tuple[Command, ...] = tuple(MEDIA_LOGS)
        self._contents_by: Command | None = None
        self._unit_bytes: float | None = None

    def __call__(self) -> Counted:
        """What the drive reports now; nothing where nvme-cli is missing or the drive does not answer."""
        standard = parse_standard(self._ask(("smart-log",)))
        if standard is None:
            return {}
        found = {"host_bytes_written": standard.host_bytes_written}
        if standard.host_bytes_read is not None:
            found["host_bytes_read"] = standard.host_bytes_read
        if standard.percentage_used is not None:
            found["percentage_used"] = standard.percentage_used
        if self._namespace is not None:
            said = self._ask(("id-ns",), self._namespace)
            self._group = parse_endurance_group(said)
            found |= parse_namespace(said)
        nand_bytes = self._nand_bytes(standard.host_bytes_written)
        if nand_bytes is not None:
            found["nand_bytes_written"] = nand_bytes
        contents = self._contents()
        if contents is not None:
            found["physical_bytes"] = contents.physical_bytes
            if contents.logical_bytes is not None:
                found["logical_bytes"] = contents.logical_bytes
        return found

    @property
    def source(self) -> str:
        """Where NAND writes come from, for the record: `nvme ocp smart-add-log`, or that this drive does not say."""
        return " ".join((PROGRAM, *self._command)) if self._command else "this drive reports no NAND writes"

    def _nand_bytes(self, host_bytes: float) -> float | None:
        """By the first log whose unit is known or told by its own count of host writes; which log that is, is kept.

        A log that counts, but whose unit cannot be told yet, is asked again the next time.
        """
        if self._command is not None and self._unit_bytes is not None:
            media = self._media(self._command)
            return None if media is None else media.nand * self._unit_bytes
        counting = []
        for command in self._possible:
            media = self._media(command)
            if media is None:
                continue
            counting.append(command)
            unit_bytes = unit_bytes_of(media, host_bytes)
            if unit_bytes is not None:
                self._command, self._unit_bytes = command, unit_bytes
                return media.nand * unit_bytes
        self._possible = tuple(counting)
        return None

    def _media(self, command: Command) -> Media | None:
        if command == _FDP:
            return self._placement()
        if MEDIA_LOGS[command]:
            return parse_media(command, self._ask(command))
        return parse_media(command, self._program.ask_text(command, self._device))

    def _placement(self) -> Media | None:
        """Statistics of Flexible Data Placement are kept by endurance group."""
        if self._group is None:
            return None
        return parse_media(_FDP, self._program.ask(_FDP, self._device, "-e", str(self._group)))

    def _contents(self) -> Contents | None:
        """Of a drive of ScaleFlux; no other plugin tells what data take. Which command answered is kept."""
        if self._vendor is None:
            self._vendor = parse_vendor(self._ask(("id-ctrl",))) or 0
        if self._vendor != SCALEFLUX:
            return None
        for command in (STATUS, CAPACITY) if self._contents_by is None else (self._contents_by,):
            found = self._contents_of(command)
            if found is not None:
                self._contents_by = command
                return found
        return None

    def _contents_of(self, command: Command) -> Contents | None:
        if command == STATUS:
            return parse_contents(self._ask(STATUS))
        return parse_capacity(self._program.ask_text(CAPACITY, self._device))

    def _ask(self, command: Command, device: Path | None = None) -> str:
        return self._program.ask(command, device or self._device)


class SmartOfMounts:
    """What lies under a mount, asked once for each drive: nothing for other devices, or without answers.

    Partitions and namespaces of one drive share its counters, so that they are seen to be one.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._known: dict[Path, DriveCounters | None] = {}

    def __call__(self, mount: Mount) -> Mapping[str, DriveCounters]:
        """The counters of the mount's drive under the source `smart`."""
        found = self.of(mount.device)
        return {SMART: found} if found is not None else {}

    def of(self, device: str) -> DriveCounters | None:
        """The counters of the drive that a device is, or is a part of; None where there are none.

        A stable name, as /dev/disk/by-id/…, is a link; the kernel tells a mount's device as it was named.
        """
        found = str(Path(device).resolve())
        nvme, disk = _NVME.match(found), _SATA.match(found)
        named = nvme["controller"] if nvme is not None else disk["disk"] if disk is not None else ""
        if not named:
            return None
        drive = Path(named)
        if drive not in self._known:
            counters: DriveCounters
            if nvme is not None:
                counters = SmartCounters(self._runner, drive, Path(nvme["namespace"]))
            else:
                counters = sata.SataCounters(self._runner, drive)
            self._known[drive] = counters if counters() else None
        return self._known[drive]


def unit_bytes_of(media: Media, host_bytes: float) -> float | None:
    """The log's own unit, or the power of two that makes its host writes the standard log's; None where none does.

    A unit that is contradicted by the standard log is none: several vendors' logs have one number, and a plugin reads
    another vendor's by its own layout; and one endurance group of several is not what the whole drive was sent. A log
    of zeros counts nothing: it is what a drive answers to another maker's command.
    """
    if host_bytes > 0 and (media.host == 0 or media.nand == 0):
        return None
    if media.host is None:
        return media.unit_bytes
    told = sata.unit_bytes(media.host, host_bytes)
    if media.unit_bytes is None:
        return told if told is not None and 1 <= told <= _LARGEST_UNIT_BYTES else None
    too_early = host_bytes < _FEW_UNITS * media.unit_bytes
    return media.unit_bytes if too_early or told == media.unit_bytes else None
