"""smartctl's JSON of one SATA drive to bytes: the device statistics that every drive shares, and vendors' NAND writes.

Host writes come from ATA's device statistics ("Logical Sectors Written", ACS-4), which are defined in sectors. Vendors'
attributes count as they please; smartmontools' drive database gives those that it knows a name with the unit in it
(`NAND_Writes_1GiB`), and only such names are read. Crucial and Micron count pages of a size of their own, once for
the host and once for the flash: the size comes from the host's bytes. `Total_LBAs_Written` is not read: it is what the
database calls attribute 241 of drives that it does not know, whose units differ.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

from pgassay.bench.drive_counters import Counted
from pgassay.bench.errors import BenchError
from pgassay.bench.running import Runner

PROGRAM = "smartctl"
OPTIONS = ("-j", "-i", "-A", "-l", "devstat")
NAND_BYTES = re.compile(
    r"(?:Total_|Lifetime_)?(?:NAND|Flash|TLC|SLC)_(?:Writes|Prog_Ct|Prg)_(?P<count>\d*)(?P<unit>MiB|GiB)$"
)
"""Attributes of NAND writes whose name tells the unit; a drive with two kinds of cell counts each."""
HOST_PAGES = ("Host_Program_Page_Count",)
FLASH_PAGES = ("FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt")
"""Pages programmed for the host, and those programmed beside them by the drive itself."""
_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}
_NO_ANSWER = 0b111
"""Bits of smartctl's exit status for a drive that was not asked; the others tell of its health (smartctl(8))."""
UNIT_TOLERANCE = 0.1
"""How far a unit may be from a power of two: two counts are not of the same moment, and round."""
_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Sata:
    """One answer. `nand_bytes` is known, or `pages` (for the host, and beside them) in a unit of the drive's own."""

    host_bytes_written: float
    host_bytes_read: float | None
    percentage_used: float | None
    capacity_bytes: float | None
    nand_bytes: float | None
    pages: tuple[float, float] | None


def parse(text: str) -> Sata | None:
    """What `smartctl -j -i -A -l devstat` says; None for other texts, and drives without device statistics."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    sector_bytes = _number(document.get("logical_block_size"))
    statistics = dict(_statistics(document))
    written = statistics.get("Logical Sectors Written")
    if sector_bytes is None or written is None:
        return None
    read = statistics.get("Logical Sectors Read")
    capacity = document.get("user_capacity")
    attributes = dict(_attributes(document))
    return Sata(
        written * sector_bytes,
        None if read is None else read * sector_bytes,
        statistics.get("Percentage Used Endurance Indicator"),
        _number(capacity.get("bytes")) if isinstance(capacity, dict) else None,
        _nand_bytes(attributes),
        _pages(attributes),
    )


def unit_bytes(counted: float, true_bytes: float) -> float | None:
    """The power of two that makes `counted` units `true_bytes`; None where none comes near."""
    if counted <= 0 or true_bytes <= 0:
        return None
    exponent = log2(true_bytes / counted)
    return 2.0 ** round(exponent) if abs(2 ** (exponent - round(exponent)) - 1) <= UNIT_TOLERANCE else None


class SataCounters:
    """Reads one SATA drive; see `bench.drive_counters.DriveCounters`. The device is only ever asked, never written."""

    def __init__(self, runner: Runner, device: Path) -> None:
        self._runner = runner
        self._device = device
        self._page_bytes: float | None = None

    def __call__(self) -> Counted:
        """What the drive reports now; nothing where smartctl is missing or the drive does not answer."""
        try:
            done = self._runner.run(
                [PROGRAM, *OPTIONS, str(self._device)], privileged="asks a drive", timeout_s=_TIMEOUT_S
            )
        except (BenchError, TimeoutError):
            return {}
        answer = None if done.status & _NO_ANSWER else parse(done.stdout)
        if answer is None:
            return {}
        found = {
            "host_bytes_written": answer.host_bytes_written,
            "host_bytes_read": answer.host_bytes_read,
            "percentage_used": answer.percentage_used,
            "capacity_bytes": answer.capacity_bytes,
            "nand_bytes_written": self._nand_bytes(answer),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _nand_bytes(self, answer: Sata) -> float | None:
        if answer.nand_bytes is not None or answer.pages is None:
            return answer.nand_bytes
        for_host, beside = answer.pages
        if self._page_bytes is None:
            self._page_bytes = unit_bytes(for_host, answer.host_bytes_written)
        return None if self._page_bytes is None else (for_host + beside) * self._page_bytes


def _statistics(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Name and value of each device statistic that the drive says is valid."""
    pages = document.get("ata_device_statistics")
    for page in _dicts(pages.get("pages") if isinstance(pages, dict) else None):
        for row in _dicts(page.get("table")):
            flags, value = row.get("flags"), _number(row.get("value"))
            if value is not None and not (isinstance(flags, dict) and flags.get("valid") is False):
                yield str(row.get("name")), value


def _attributes(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Name and raw value of each vendor attribute."""
    table = document.get("ata_smart_attributes")
    for row in _dicts(table.get("table") if isinstance(table, dict) else None):
        raw = row.get("raw")
        value = _number(raw.get("value")) if isinstance(raw, dict) else None
        if value is not None:
            yield str(row.get("name")), value


def _nand_bytes(attributes: Mapping[str, float]) -> float | None:
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


def _pages(attributes: Mapping[str, float]) -> tuple[float, float] | None:
    for_host, beside = (
        next((attributes[name] for name in names if name in attributes), None) for names in (HOST_PAGES, FLASH_PAGES)
    )
    return None if for_host is None or beside is None else (for_host, beside)


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
