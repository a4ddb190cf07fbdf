"""What nvme-cli prints of one drive, as bytes: pure, and written after the printing code of its plugins (1.16 to 3.0).

The standard SMART log, what a namespace and a compressing drive hold, and the logs in which NAND writes are counted.
OCP's log 0xC0 counts bytes in 128 bits, as `hi` and `lo` or whole; Micron and Seagate print hexadecimal texts; WD two
halves, two kinds of cell or flat `… raw` names; Intel and Solidigm count 32 MiB units; ScaleFlux, Seagate and those who
copied Intel's log count units that only the drive knows, equal for host and NAND. Statistics of Flexible Data Placement
count bytes, metadata included, of one endurance group. Samsung has OCP's log alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pgassay.bench.drive_counters import Counted
from pgassay.drive.nvme_cli import documents, number, table

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


@dataclass(frozen=True)
class Contents:
    """What a drive that compresses says that its data take: bytes on flash, and how many bytes of data that is."""

    physical_bytes: float
    logical_bytes: float | None = None


def parse_standard(text: str) -> Standard | None:
    """`nvme smart-log -o json`; None for anything else."""
    log = table(text)
    written = number(log.get("data_units_written"))
    if written is None:
        return None
    read = number(log.get("data_units_read"))
    used = log.get("percent_used", log.get("percentage_used"))
    return Standard(written * DATA_UNIT_BYTES, None if read is None else read * DATA_UNIT_BYTES, number(used))


def parse_vendor(text: str) -> int | None:
    """Who made the drive, by `nvme id-ctrl -o json`: the vendor's number on the PCI bus."""
    vendor = number(table(text).get("vid"))
    return None if vendor is None else int(vendor)


def parse_contents(text: str) -> Contents | None:
    """`nvme sfx status` (from 2.12): whole GB and a ratio of whole per cent, so to 1 GB at best; None for other texts.

    The drive's ratio is its own, of all that it holds; below 1 and above 8 it does not count. Of less than 50 GB
    that are free nvme-cli prints a number beyond all drives.
    """
    for log in _tables(table(text)):
        names = ("Provisioned Capacity [GB]", "Free Physical Space [GB]", "Compression Ratio")
        provisioned, free, ratio = (number(log.get(name)) for name in names)
        if provisioned is not None and free is not None and ratio is not None and 0 <= free <= provisioned:
            physical_bytes = (provisioned - free) * 1e9
            return Contents(physical_bytes, physical_bytes * ratio / 100.0)
    return None


_CAPACITY = re.compile(r"^ *(?P<name>[a-z]+(?: [a-z]+)?) +capacity: *\d+ *GB\(0x(?P<sectors>[0-9a-f]+)\)", re.MULTILINE)


def parse_capacity(text: str) -> Contents | None:
    """`nvme sfx query-cap` (all versions, text only): sectors, in hexadecimal behind the GB. It tells no ratio."""
    sectors = {each["name"]: int(each["sectors"], 16) for each in _CAPACITY.finditer(text)}
    provisioned, free = sectors.get("provisioned"), sectors.get("free provisioned")
    if provisioned is None or free is None or not 0 <= free <= provisioned:
        return None
    return Contents(float((provisioned - free) * _SECTOR_BYTES))


def parse_endurance_group(text: str) -> int | None:
    """The endurance group of a namespace, by `nvme id-ns -o json`; None where there are none (0)."""
    group = number(table(text).get("endgid"))
    return int(group) if group else None


def parse_namespace(text: str) -> Counted:
    """`nvme id-ns -o json`: what the host sees, and what it uses where the drive tells (NVMe NVM Command Set, 4.1.5).

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


def _micron(log: Mapping[str, Any], plugin: str) -> Media | None:
    names = ("NAND Writes (Bytes Written)",), ("Physical Media Units Written",)
    return _sum_of(log, *names, ("Physical Media Units Written - TLC", "Physical Media Units Written - SLC"))


def _wd_cells(log: Mapping[str, Any], plugin: str) -> Media | None:
    return _sum_of(log, ("NAND Writes TLC (Bytes)", "NAND Writes SLC (Bytes)"))


def _wd_halves(log: Mapping[str, Any], plugin: str) -> Media | None:
    high, low = number(log.get("NAND Bytes Written Hi")), number(log.get("NAND Bytes Written Lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _wd_flat(log: Mapping[str, Any], plugin: str) -> Media | None:
    nand = number(log.get("nand_bytes_written raw"))
    return None if nand is None else Media(nand, number(log.get("host_bytes_written raw")))


def _seagate(log: Mapping[str, Any], plugin: str) -> Media | None:
    """The extended SMART log: low and high halves each, then both as one text. Halves of 32 bits (drives before the
    log's second version) are put together as if they had 64: such a number is no drive's."""
    values = _attributes(log, "Extended-SMART-Attributes")
    nand, host = values.get("Physical (NAND) bytes written"), values.get("Physical (HOST) bytes written")
    if nand is None or host is None or max(nand, host) >= 2.0**64:
        return None
    return Media(nand, host)


def _seagate_ocp(log: Mapping[str, Any], plugin: str) -> Media | None:
    nand = _attributes(log, "Seagate SMART Health Attributes").get("Physical Media Units Written")
    return None if nand is None else Media(nand, unit_bytes=1)


def _fdp(log: Mapping[str, Any], plugin: str) -> Media | None:
    media, host = number(log.get("mbmw")), number(log.get("hbmw"))
    return None if media is None else Media(media, host, unit_bytes=1)


_SECTORS = re.compile(r"^(?P<who>nand|host)_bytes_written +: +\d+% +(?:sectors: )?(?P<count>\d+)$", re.MULTILINE)


def _sectors(text: str) -> Media | None:
    """Plugins that know no JSON: `nand_bytes_written : 100%       sectors: 300`. How long one is only they know."""
    counts = {each["who"]: float(each["count"]) for each in _SECTORS.finditer(text)}
    return Media(counts["nand"], counts["host"]) if {"nand", "host"} <= counts.keys() else None


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
    ("seagate", "vs-smart-add-log"): (_seagate, _seagate_ocp),
    ("dapustor", "smart-log-add"): (_device_stats,),
    ("memblaze", "smart-log-add"): (),
    ("ymtc", "smart-log-add"): (),
    ("shannon", "smart-log-add"): (),
}
"""Plugin and command, those of published formats first, and the forms that it prints; without forms it prints text.
Each refuses drives that it does not know, or asks for a log that they do not have."""


def parse_media(command: Command, text: str) -> Media | None:
    """What this command says of NAND writes; None where none of its forms is found."""
    forms = MEDIA_LOGS[command]
    if not forms:
        return _sectors(text)
    for document in documents(text):
        for log in _tables(document):
            for form in forms:
                found = form(log, command[0])
                if found is not None:
                    return found
    return None


def _sum_of(log: Mapping[str, Any], *choices: tuple[str, ...]) -> Media | None:
    """The sum of the first of these groups of names that is there in whole, in bytes."""
    for names in choices:
        parts = [number(log.get(name)) for name in names]
        if all(part is not None for part in parts):
            return Media(sum(part for part in parts if part is not None), unit_bytes=1)
    return None


def _attributes(log: Mapping[str, Any], title: str) -> Mapping[str, float]:
    """Seagate's lists of `attribute_name` and `attribute_value`."""
    rows = log.get(title)
    found: dict[str, float] = {}
    for row in rows if isinstance(rows, list) else ():
        name, value = (row.get("attribute_name"), row.get("attribute_value")) if isinstance(row, dict) else (None, None)
        counted = number(value)
        if isinstance(name, str) and counted is not None:
            found[name] = counted
    return found


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every table in a document, outermost first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _tables(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tables(inner)
