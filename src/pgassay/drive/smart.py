"""nvme-cli's JSON of one drive to bytes: the standard SMART log, and every form in which vendors report NAND writes.

What lies under a mount is found here: an NVMe controller, or a SATA drive (`sata`).

Forms and units as nvme-cli's plugins print them: OCP's log 0xC0 counts bytes in 128 bits, `hi` and `lo`; Micron prints
hexadecimal texts; WD two halves or flat `… raw` names; Intel and Solidigm count 32 MiB units; ScaleFlux and those who
copied Intel's log count units that only the drive knows, equal for host and NAND. Samsung has OCP's log alone.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.bench.drive_counters import SMART, Counted, DriveCounters
from pgassay.bench.places import Mount
from pgassay.bench.running import Runner
from pgassay.drive import nvme_cli, sata
from pgassay.drive.nvme_cli import PROGRAM, NvmeCli, number

DATA_UNIT_BYTES = 512_000
"""NVM Express Base Specification, SMART / Health Information: thousands of 512-byte units."""
INTEL_UNIT_BYTES = 32 << 20
_UNITS_OF = {"intel": INTEL_UNIT_BYTES, "solidigm": INTEL_UNIT_BYTES}
"""The unit of `raw` by the plugin that reads the log, where the vendor's documentation gives it. A log's title does not
say whose it is: until 2.11 the plugin of ScaleFlux prints `Intel Smart log` too."""


_SHIFT_MIN, _SHIFT_MAX = 9, 20
"""Blocks have 512 bytes at least; larger ones than 1 MiB are no answer of a drive."""


@dataclass(frozen=True)
class Standard:
    """The log that every NVMe drive has: bytes, and the share of its rated life in per cent."""

    host_bytes_written: float
    host_bytes_read: float | None
    percentage_used: float | None


@dataclass(frozen=True)
class Media:
    """What was programmed: `nand` in units of `unit_bytes`, or of the unknown unit that `host` is counted in too."""

    nand: float
    host: float | None = None
    unit_bytes: int | None = None


def parse_standard(text: str) -> Standard | None:
    """`nvme smart-log -o json`; None for anything else."""
    log = nvme_cli.table(text)
    written = number(log.get("data_units_written"))
    if written is None:
        return None
    read = number(log.get("data_units_read"))
    used = log.get("percent_used", log.get("percentage_used"))
    return Standard(written * DATA_UNIT_BYTES, None if read is None else read * DATA_UNIT_BYTES, number(used))


@dataclass(frozen=True)
class Contents:
    """What a drive that compresses says that its data take: bytes on flash, and how many bytes of data that is."""

    physical_bytes: float
    logical_bytes: float


def parse_media(text: str, plugin: str = "") -> Media | None:
    """Any log with NAND writes in it, read by `plugin`; None where none of the known forms is found."""
    for table in _tables(nvme_cli.table(text)):
        for form in (_ocp, _device_stats, _micron, _wd_halves, _flat, _fdp):
            found = form(table, plugin)
            if found is not None:
                return found
    return None


def parse_contents(text: str) -> Contents | None:
    """`nvme sfx status` (from 2.12): whole GB and a ratio of whole per cent, so to 1 GB at best; None for other texts.

    The drive's ratio is its own, of all that it holds; below 1 and above 8 it does not count.
    """
    for table in _tables(nvme_cli.table(text)):
        names = ("Provisioned Capacity [GB]", "Free Physical Space [GB]", "Compression Ratio")
        provisioned, free, ratio = (number(table.get(name)) for name in names)
        if provisioned is not None and free is not None and ratio is not None:
            physical_bytes = max(0.0, provisioned - free) * 1e9
            return Contents(physical_bytes, physical_bytes * ratio / 100.0)
    return None


def parse_namespace(text: str) -> Counted:
    """`nvme id-ns -o json`: what the host sees, and what it uses where the drive tells (NVMe NVM Command Set, 4.1.5).

    A drive that allocates on demand (thin provisioning) counts blocks in use; others report all as used.
    """
    log = nvme_cli.table(text)
    size, capacity, used, features, chosen = (
        number(log.get(name)) for name in ("nsze", "ncap", "nuse", "nsfeat", "flbas")
    )
    formats = log.get("lbafs")
    if size is None or capacity is None or chosen is None or not isinstance(formats, list):
        return {}
    index = int(chosen) & 0xF | (int(chosen) >> 5 & 0x3) << 4
    form = formats[index] if index < len(formats) else None
    shift = number(form.get("ds")) if isinstance(form, dict) else None
    if shift is None or not _SHIFT_MIN <= shift <= _SHIFT_MAX:
        return {}
    block_bytes = 2.0**shift
    found = {"capacity_bytes": size * block_bytes}
    thin = features is not None and int(features) & 1
    if used is not None and used <= size and (thin or used < capacity):
        found["logical_bytes"] = used * block_bytes
    return found


def _ocp(log: Mapping[str, Any], plugin: str) -> Media | None:
    both = log.get("physical_media_units_written", log.get("Physical media units written"))
    if not isinstance(both, dict):
        return None
    high, low = number(both.get("hi")), number(both.get("lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _device_stats(log: Mapping[str, Any], plugin: str) -> Media | None:
    nand, host = log.get("nand_bytes_written"), log.get("host_bytes_written")
    if not isinstance(nand, dict) or (written := number(nand.get("raw"))) is None:
        return None
    return Media(written, number(host.get("raw")) if isinstance(host, dict) else None, _UNITS_OF.get(plugin))


def _micron(log: Mapping[str, Any], plugin: str) -> Media | None:
    for names in (
        ("NAND Writes (Bytes Written)",),
        ("Physical Media Units Written",),
        ("Physical Media Units Written - TLC", "Physical Media Units Written - SLC"),
    ):
        parts = [number(log.get(name)) for name in names]
        if all(part is not None for part in parts):
            return Media(sum(part for part in parts if part is not None), unit_bytes=1)
    return None


def _wd_halves(log: Mapping[str, Any], plugin: str) -> Media | None:
    high, low = number(log.get("NAND Bytes Written Hi")), number(log.get("NAND Bytes Written Lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _flat(log: Mapping[str, Any], plugin: str) -> Media | None:
    nand = number(log.get("nand_bytes_written raw"))
    return None if nand is None else Media(nand, number(log.get("host_bytes_written raw")))


def _fdp(log: Mapping[str, Any], plugin: str) -> Media | None:
    media, host = number(log.get("mbmw")), number(log.get("hbmw"))
    return None if media is None else Media(media, host, unit_bytes=1)


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every table in a document, outermost first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _tables(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tables(inner)


_CONTENTS = ("sfx", "status")
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
_NVME = re.compile(r"(?P<namespace>(?P<controller>/dev/nvme\d+)n\d+)(?:p\d+)?$")
_SATA = re.compile(r"(?P<disk>/dev/sd[a-z]+)\d*$")


class SmartCounters:
    """Reads one NVMe drive; see `bench.drive_counters.DriveCounters`. The device is only ever asked, never written."""

    def __init__(self, runner: Runner, device: Path, namespace: Path | None = None) -> None:
        self._program = NvmeCli(runner)
        self._device = device
        self._namespace = namespace
        self._command: tuple[str, ...] | None = None
        self._tried = False
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
        media = self._media()
        if media is not None:
            unit_bytes = self._unit(media, standard.host_bytes_written)
            if unit_bytes is not None:
                found["nand_bytes_written"] = media.nand * unit_bytes
        if self._namespace is not None:
            found |= parse_namespace(self._ask(("id-ns",), self._namespace))
        contents = self._contents()
        if contents is not None:
            found |= {"physical_bytes": contents.physical_bytes, "logical_bytes": contents.logical_bytes}
        return found

    @property
    def source(self) -> str:
        """Where NAND writes come from, for the record: `nvme ocp smart-add-log`, or that this drive does not say."""
        return " ".join((PROGRAM, *self._command)) if self._command else "this drive reports no NAND writes"

    def _media(self) -> Media | None:
        if self._command is not None:
            return parse_media(self._ask(self._command), self._command[0])
        if self._tried:
            return None
        self._tried = True
        for command in MEDIA_LOGS:
            found = parse_media(self._ask(command), command[0])
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

    def _contents(self) -> Contents | None:
        """Of a drive that answers the plugin of ScaleFlux; no other plugin tells what data take."""
        if self._command is None or self._command[0] != _CONTENTS[0]:
            return None
        return parse_contents(self._ask(_CONTENTS))

    def _ask(self, command: tuple[str, ...], device: Path | None = None) -> str:
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
        """The counters of the drive that a device is, or is a part of; None where there are none."""
        nvme, disk = _NVME.match(device), _SATA.match(device)
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
    """The power of two that makes the log's own host writes the standard log's; None where none comes near."""
    return None if media.host is None else sata.unit_bytes(media.host, host_bytes)
