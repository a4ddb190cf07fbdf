"""What real drives count of themselves, by nvme-cli and smartctl.

How a command is asked for JSON differs between plugins and versions of nvme-cli (`-j`, `-o json`, `-f json`, not at
all), so the program is asked for that command's options first; it lists them without a device. The readers of its texts
are pure, and written after the printing code of its plugins (1.16 to 3.0). OCP's log 0xC0 counts bytes in 128 bits, as
`hi` and `lo` or whole; Micron prints hexadecimal texts; WD two halves, two kinds of cell or flat `… raw`
names; Intel and Solidigm count 32 MiB units; ScaleFlux and those who copied Intel's log count units that only
the drive knows, equal for host and NAND. Statistics of Flexible Data Placement count bytes, metadata included, of one
endurance group. Samsung has OCP's log alone.

Host writes of a SATA drive come from ATA's device statistics ("Logical Sectors Written", ACS-4), which are defined in
sectors. Vendors' attributes count as they please; smartmontools' drive database gives those that it knows a name with
the unit in it (`NAND_Writes_1GiB`), and only such names are read. Crucial and Micron count pages of a size of their
own, once for the host and once for the flash: the size comes from the host's bytes. `Total_LBAs_Written` is not read:
it is what the database calls attribute 241 of drives that it does not know, whose units differ.

Nothing here checks what a drive reports.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

from pgassay.interfaces.drive_counters import Counted, DriveCounters
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.running import Completed, Runner

PROGRAM = "nvme"
TIMEOUT_S = 10.0
_JSON_BY: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"--json\S*, -j\b"), ("-j",)),
    (re.compile(r"--output-format=<\S+, -o\b"), ("-o", "json")),
    (re.compile(r"--format=<\S+, -f\b"), ("-f", "json")),
)
"""By what its help lists, how a command is asked for JSON; the first that is there."""
_NO_COMMAND = "Invalid sub-command"


def json_options(help_text: str) -> tuple[str, ...] | None:
    """How a command is asked for JSON, by its help; None where it cannot be, or there is no such command."""
    return next((options for pattern, options in _JSON_BY if pattern.search(help_text)), None)


def table(text: str) -> Mapping[str, Any]:
    """A JSON document; what stands behind it does not count (`sfx` prints the letters `/n` there until 2.11)."""
    return next(documents(text), {})


_NOT_A_NUMBER = re.compile(r"(:\s*)-?(?:nan|inf)\b")
"""What the plugins print by printf for a share of nothing, and JSON does not know."""


def documents(text: str) -> Iterator[Mapping[str, Any]]:
    """All JSON documents that a text begins with: `wdc vs-smart-add-log` prints one for each log page."""
    rest = _NOT_A_NUMBER.sub(r"\1null", text.lstrip())
    while rest:
        try:
            found, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        yield found
        rest = rest[end:].lstrip()


def number(value: Any) -> float | None:
    """Whole numbers as nvme-cli prints them: plain, or as a text where 64 bits do not hold them, or hexadecimal."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return float(int(value.strip().replace(",", ""), 0))
    except ValueError:
        return None


@dataclass(eq=False)
class NvmeCli:
    """The program; each command's options are looked up once."""

    runner: Runner
    _helps: dict[tuple[str, ...], str] = field(default_factory=dict, init=False)

    def ask(self, command: tuple[str, ...], device: Path, *more: str) -> str:
        """What a command says of a device, in JSON; nothing where it fails, or knows no JSON."""
        options = json_options(self._help(command))
        done = None if options is None else self._run(*command, str(device), *more, *options)
        return done.stdout if done is not None and done.status == 0 else ""

    def ask_text(self, command: tuple[str, ...], device: Path) -> str:
        """What a command says of a device in its own words; nothing where it fails, or there is no such command."""
        said = self._help(command)
        done = None if not said or _NO_COMMAND in said else self._run(*command, str(device))
        return done.stdout if done is not None and done.status == 0 else ""

    def _help(self, command: tuple[str, ...]) -> str:
        """What nvme-cli says of a command's options: on either stream, with a status that says nothing."""
        if command not in self._helps:
            done = self._run(*command, "--help")
            self._helps[command] = "" if done is None else done.stdout + done.stderr
        return self._helps[command]

    def _run(self, *arguments: str) -> Completed | None:
        try:
            return self.runner.run([PROGRAM, *arguments], privileged="asks a drive", timeout_s=TIMEOUT_S)
        except (BenchError, TimeoutError):
            return None


DATA_UNIT_BYTES = 512_000
"""NVM Express Base Specification, SMART / Health Information: thousands of 512-byte units."""
INTEL_UNIT_BYTES = 32 << 20
_UNITS_OF = {"intel": INTEL_UNIT_BYTES, "solidigm": INTEL_UNIT_BYTES}
"""The unit of `raw` by the plugin that reads the log, where the vendor's documentation gives it. A log's title does not
say whose it is: until 2.11 the plugin of ScaleFlux prints `Intel Smart log` too."""
_SECTOR_BYTES = 512
_SHIFT_MIN, _SHIFT_MAX = 9, 20
"""Blocks have 512 bytes at least; larger ones than 1 MiB are no answer of a drive."""

Command = tuple[str, ...]


@dataclass(frozen=True)
class Media:
    """What was programmed: `nand` in units of `unit_bytes`, or of the unknown unit that `host` is counted in too."""

    nand: float
    host: float | None = None
    unit_bytes: int | None = None


def parse_standard(text: str) -> Counted:
    """The log that every NVMe drive has, `nvme smart-log -o json`; empty for anything else."""
    log = table(text)
    written, read = number(log.get("data_units_written")), number(log.get("data_units_read"))
    if written is None:
        return {}
    found = {
        "host_bytes_written": written * DATA_UNIT_BYTES,
        "host_bytes_read": None if read is None else read * DATA_UNIT_BYTES,
        "percentage_used": number(log.get("percent_used", log.get("percentage_used"))),
    }
    return {name: value for name, value in found.items() if value is not None}


def parse_contents(text: str) -> Counted:
    """`nvme sfx status` (from 2.12): whole GB and a ratio of whole per cent, so to 1 GB at best; empty for other texts.

    The drive's ratio is its own, of all that it holds; below 1 and above 8 it does not count. Of less than 50 GB
    that are free nvme-cli prints a number beyond all drives.
    """
    for log in _tables(table(text)):
        names = ("Provisioned Capacity [GB]", "Free Physical Space [GB]", "Compression Ratio")
        provisioned, free, ratio = (number(log.get(name)) for name in names)
        if provisioned is not None and free is not None and ratio is not None and 0 <= free <= provisioned:
            physical_bytes = (provisioned - free) * 1e9
            return {"physical_bytes": physical_bytes, "logical_bytes": physical_bytes * ratio / 100.0}
    return {}


_CAPACITY = re.compile(r"^ *(?P<name>[a-z]+(?: [a-z]+)?) +capacity: *\d+ *GB\(0x(?P<sectors>[0-9a-f]+)\)", re.MULTILINE)


def parse_capacity(text: str) -> Counted:
    """`nvme sfx query-cap` (all versions, text only): sectors, in hexadecimal behind the GB. It has no ratio."""
    sectors = {each["name"]: int(each["sectors"], 16) for each in _CAPACITY.finditer(text)}
    provisioned, free = sectors.get("provisioned"), sectors.get("free provisioned")
    if provisioned is None or free is None or not 0 <= free <= provisioned:
        return {}
    return {"physical_bytes": float((provisioned - free) * _SECTOR_BYTES)}


def parse_namespace(text: str) -> Counted:
    """`nvme id-ns -o json`: what the host sees, and what it uses where that is reported (NVMe NVM Command Set, 4.1.5).

    A drive that allocates on demand (thin provisioning) counts blocks in use. Others report all as used, or fewer where
    they count them all the same.
    """
    log = table(text)
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
        whole = number(both)
        return None if whole is None else Media(whole, unit_bytes=1)
    high, low = number(both.get("hi")), number(both.get("lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _device_stats(log: Mapping[str, Any], plugin: str) -> Media | None:
    nand, host = log.get("nand_bytes_written"), log.get("host_bytes_written")
    if not isinstance(nand, dict) or (written := number(nand.get("raw"))) is None:
        return None
    return Media(written, number(host.get("raw")) if isinstance(host, dict) else None, _UNITS_OF.get(plugin))


def _sum_of(choices: Sequence[Sequence[str]], log: Mapping[str, Any], plugin: str) -> Media | None:
    """The sum of the first of these groups of names that is there in whole, in bytes."""
    for names in choices:
        parts = [number(log.get(name)) for name in names]
        if all(part is not None for part in parts):
            return Media(sum(part for part in parts if part is not None), unit_bytes=1)
    return None


_micron = partial(
    _sum_of,
    (
        ("NAND Writes (Bytes Written)",),
        ("Physical Media Units Written",),
        ("Physical Media Units Written - TLC", "Physical Media Units Written - SLC"),
    ),
)
_wd_cells = partial(_sum_of, (("NAND Writes TLC (Bytes)", "NAND Writes SLC (Bytes)"),))


def _wd_halves(log: Mapping[str, Any], plugin: str) -> Media | None:
    high, low = number(log.get("NAND Bytes Written Hi")), number(log.get("NAND Bytes Written Lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _pair(names: tuple[str, str], unit_bytes: int | None, log: Mapping[str, Any], plugin: str) -> Media | None:
    nand, host = (number(log.get(name)) for name in names)
    return None if nand is None else Media(nand, host, unit_bytes)


_wd_flat = partial(_pair, ("nand_bytes_written raw", "host_bytes_written raw"), None)
_fdp = partial(_pair, ("mbmw", "hbmw"), 1)


Form = Callable[[Mapping[str, Any], str], Media | None]
MEDIA_LOGS: Mapping[Command, tuple[Form, ...]] = {
    ("ocp", "smart-add-log"): (_ocp,),
    ("fdp", "stats"): (_fdp,),
    ("sfx", "smart-log-add"): (_device_stats,),
    ("solidigm", "smart-log-add"): (_device_stats,),
    ("intel", "smart-log-add"): (_device_stats,),
    ("micron", "vs-nand-stats"): (_micron,),
    ("micron", "vs-smart-add-log"): (_micron,),
    ("wdc", "vs-nand-stats"): (_wd_cells,),
    ("wdc", "vs-smart-add-log"): (_ocp, _wd_halves, _wd_flat),
    ("dapustor", "smart-log-add"): (_device_stats,),
}
"""Plugin and command, those of published formats first, and the forms that it prints.
Each refuses drives that it does not know, or asks for a log that they do not have."""


def parse_media(command: Command, text: str) -> Media | None:
    """What this command says of NAND writes; None where none of its forms is found."""
    for document in documents(text):
        for log in _tables(document):
            for form in MEDIA_LOGS[command]:
                found = form(log, command[0])
                if found is not None:
                    return found
    return None


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every table in a document, outermost first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _tables(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tables(inner)


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
    """Reads one NVMe drive; see `interfaces.drive_counters.DriveCounters`. The device is only asked, never written."""

    def __init__(self, runner: Runner, device: Path, namespace: Path | None = None) -> None:
        self._program, self._device, self._namespace = NvmeCli(runner), device, namespace
        self._group = 0
        self._vendor: int | None = None
        self.command: Command | None = None
        """Of the log that NAND writes come from; None where the drive reports none."""
        self._possible: tuple[Command, ...] = tuple(MEDIA_LOGS)
        self._contents_by: Command | None = None
        self._unit_bytes: float | None = None

    def __call__(self) -> Counted:
        """What the drive reports now; nothing where nvme-cli is missing or the drive does not answer."""
        found = dict(parse_standard(self._program.ask(("smart-log",), self._device)))
        if not found:
            return {}
        host_bytes = found["host_bytes_written"]
        if self._namespace is not None:
            said = self._program.ask(("id-ns",), self._namespace)
            self._group = int(number(table(said).get("endgid")) or 0)
            found |= parse_namespace(said)
        nand_bytes = self._nand_bytes(host_bytes)
        if nand_bytes is not None:
            found["nand_bytes_written"] = nand_bytes
        return {**found, **self._contents()}

    def _nand_bytes(self, host_bytes: float) -> float | None:
        """By the first log whose unit is known or follows from its own count of host writes; which that is, is kept.

        A log that counts, but whose unit is not known yet, is asked again the next time.
        """
        if self.command is not None and self._unit_bytes is not None:
            media = self._media(self.command)
            return None if media is None else media.nand * self._unit_bytes
        counting = []
        for command in self._possible:
            media = self._media(command)
            if media is None:
                continue
            counting.append(command)
            unit_bytes = unit_bytes_of(media, host_bytes)
            if unit_bytes is not None:
                self.command, self._unit_bytes = command, unit_bytes
                return media.nand * unit_bytes
        self._possible = tuple(counting)
        return None

    def _media(self, command: Command) -> Media | None:
        if command != _FDP:
            return parse_media(command, self._program.ask(command, self._device))
        if not self._group:  # it is kept by endurance group
            return None
        return parse_media(_FDP, self._program.ask(_FDP, self._device, "-e", str(self._group)))

    def _contents(self) -> Counted:
        """Of a drive of ScaleFlux; no other plugin reports what data take. Which command answered is kept."""
        if self._vendor is None:
            said = self._program.ask(("id-ctrl",), self._device)
            self._vendor = int(number(table(said).get("vid")) or 0)
        if self._vendor != SCALEFLUX:
            return {}
        for command in (STATUS, CAPACITY) if self._contents_by is None else (self._contents_by,):
            if command == STATUS:
                found = parse_contents(self._program.ask(STATUS, self._device))
            else:
                found = parse_capacity(self._program.ask_text(CAPACITY, self._device))
            if found:
                self._contents_by = command
                return found
        return {}


@dataclass(eq=False)
class SmartOfMounts:
    """What lies under a mount, asked once for each drive: nothing for other devices, or without answers.

    Partitions and namespaces of one drive share its counters, so that they are seen to be one.
    """

    runner: Runner
    _known: dict[Path, DriveCounters | None] = field(default_factory=dict, init=False)

    def of(self, device: str) -> DriveCounters | None:
        """The counters of the drive that a device is, or is a part of; None where there are none.

        A stable name, as /dev/disk/by-id/…, is a link; the kernel reports a mount's device as it was named.
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
                counters = SmartCounters(self.runner, drive, Path(nvme["namespace"]))
            else:
                counters = SataCounters(self.runner, drive)
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
    measured = unit_bytes(media.host, host_bytes)
    if media.unit_bytes is None:
        return measured if measured is not None and 1 <= measured <= _LARGEST_UNIT_BYTES else None
    too_early = host_bytes < _FEW_UNITS * media.unit_bytes
    return media.unit_bytes if too_early or measured == media.unit_bytes else None


SMARTCTL = "smartctl"
SMARTCTL_OPTIONS = ("-j", "-i", "-A", "-l", "devstat")
NAND_BYTES = re.compile(
    r"(?:Total_|Lifetime_)?(?:NAND|Flash|TLC|SLC)_(?:Writes|Prog_Ct|Prg)_(?P<count>\d*)(?P<unit>MiB|GiB)$"
)
"""Attributes of NAND writes whose name has the unit; a drive with two kinds of cell counts each."""
HOST_PAGES = ("Host_Program_Page_Count",)
FLASH_PAGES = ("FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt")
"""Pages programmed for the host, and those programmed in addition by the drive itself."""
_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}
_NO_ANSWER = 0b111
"""Bits of smartctl's exit status for a drive that was not asked; the others are about its health (smartctl(8))."""
UNIT_TOLERANCE = 0.1
"""How far a unit may be from a power of two: two counts are not of the same moment, and round."""


def parse_sata(text: str) -> tuple[dict[str, float], tuple[float, float] | None]:
    """What `smartctl -j -i -A -l devstat` says; nothing of other texts, and of drives without device statistics.

    Where NAND bytes are not known, also the pages for the host and those in addition, in a unit of the drive's own.
    """
    document = table(text)
    sector_bytes, capacity = number(document.get("logical_block_size")), document.get("user_capacity")
    statistics, attributes = dict(_statistics(document)), dict(_sata_attributes(document))
    written, read = statistics.get("Logical Sectors Written"), statistics.get("Logical Sectors Read")
    if sector_bytes is None or written is None:
        return {}, None
    found = {
        "host_bytes_written": written * sector_bytes,
        "host_bytes_read": None if read is None else read * sector_bytes,
        "percentage_used": statistics.get("Percentage Used Endurance Indicator"),
        "capacity_bytes": number(capacity.get("bytes")) if isinstance(capacity, dict) else None,
        "nand_bytes_written": _sata_nand_bytes(attributes),
    }
    for_host, more = (
        next((attributes[name] for name in names if name in attributes), None) for names in (HOST_PAGES, FLASH_PAGES)
    )
    pages = None if for_host is None or more is None else (for_host, more)
    if found["nand_bytes_written"] is not None:
        pages = None
    return {name: value for name, value in found.items() if value is not None}, pages


def unit_bytes(counted: float, true_bytes: float) -> float | None:
    """The power of two that makes `counted` units `true_bytes`; None where none comes near."""
    if counted <= 0 or true_bytes <= 0:
        return None
    exponent = log2(true_bytes / counted)
    return 2.0 ** round(exponent) if abs(2 ** (exponent - round(exponent)) - 1) <= UNIT_TOLERANCE else None


@dataclass(eq=False)
class SataCounters:
    """Reads one SATA drive; see `interfaces.drive_counters.DriveCounters`. The device is only asked, never written."""

    runner: Runner
    device: Path
    _page_bytes: float | None = field(default=None, init=False)

    def __call__(self) -> Counted:
        """What the drive reports now; nothing where smartctl is missing or the drive does not answer."""
        try:
            done = self.runner.run(
                [SMARTCTL, *SMARTCTL_OPTIONS, str(self.device)], privileged="asks a drive", timeout_s=TIMEOUT_S
            )
        except (BenchError, TimeoutError):
            return {}
        found, pages = ({}, None) if done.status & _NO_ANSWER else parse_sata(done.stdout)
        if pages is not None:
            if self._page_bytes is None:
                self._page_bytes = unit_bytes(pages[0], found["host_bytes_written"])
            if self._page_bytes is not None:
                found["nand_bytes_written"] = sum(pages) * self._page_bytes
        return found


def _statistics(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Name and value of each device statistic that the drive says is valid."""
    pages = document.get("ata_device_statistics")
    for page in _dicts(pages.get("pages") if isinstance(pages, dict) else None):
        for row in _dicts(page.get("table")):
            flags, value = row.get("flags"), number(row.get("value"))
            if value is not None and not (isinstance(flags, dict) and flags.get("valid") is False):
                yield str(row.get("name")), value


def _sata_attributes(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    table = document.get("ata_smart_attributes")
    for row in _dicts(table.get("table") if isinstance(table, dict) else None):
        raw = row.get("raw")
        value = number(raw.get("value")) if isinstance(raw, dict) else None
        if value is not None:
            yield str(row.get("name")), value


def _sata_nand_bytes(attributes: Mapping[str, float]) -> float | None:
    """Bytes programmed; the kinds of cell added up, and of two names for the whole the first."""
    cells: dict[str, float] = {}
    for name, value in attributes.items():
        named = NAND_BYTES.match(name)
        if named is not None:
            kind = name[:3] if name.startswith(("TLC", "SLC")) else "all"
            cells.setdefault(kind, value * int(named["count"] or 1) * _UNITS[named["unit"]])
    if "all" in cells:
        return cells["all"]
    return sum(cells.values()) if "TLC" in cells else None  # the fast cells alone are a part of the whole


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())
