"""nvme-cli's JSON of one drive to bytes: the standard SMART log, and every form in which vendors tell NAND writes.

Forms and units as nvme-cli's plugins print them: OCP's log 0xC0 counts bytes in 128 bits, `hi` and `lo`; Micron prints
hexadecimal texts; WD two halves or flat `… raw` names; Intel and Solidigm count 32 MiB units; ScaleFlux and those who
copied Intel's log count units that only the drive knows, equal for host and NAND. Samsung has OCP's log alone.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DATA_UNIT_BYTES = 512_000
"""NVM Express Base Specification, SMART / Health Information: thousands of 512-byte units."""
INTEL_UNIT_BYTES = 32 << 20
_UNITS_OF = {"Intel Smart log": INTEL_UNIT_BYTES, "Solidigm SMART log": INTEL_UNIT_BYTES}
"""The unit of `raw` by the title of the log, where the vendor's documentation gives it."""


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
    log = _table(text)
    written = _number(log.get("data_units_written"))
    if written is None:
        return None
    read = _number(log.get("data_units_read"))
    used = log.get("percent_used", log.get("percentage_used"))
    return Standard(written * DATA_UNIT_BYTES, None if read is None else read * DATA_UNIT_BYTES, _number(used))


def parse_media(text: str) -> Media | None:
    """Any log with NAND writes in it; None where none of the known forms is found."""
    root = _table(text)
    for table in _tables(root):
        for form in (_ocp, _device_stats, _micron, _wd_halves, _flat, _fdp):
            found = form(table, root)
            if found is not None:
                return found
    return None


def _ocp(log: Mapping[str, Any], root: Mapping[str, Any]) -> Media | None:
    both = log.get("physical_media_units_written", log.get("Physical media units written"))
    if not isinstance(both, dict):
        return None
    high, low = _number(both.get("hi")), _number(both.get("lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _device_stats(log: Mapping[str, Any], root: Mapping[str, Any]) -> Media | None:
    nand, host = log.get("nand_bytes_written"), log.get("host_bytes_written")
    if not isinstance(nand, dict) or (written := _number(nand.get("raw"))) is None:
        return None
    unit_bytes = next((unit for title, unit in _UNITS_OF.items() if title in root), None)
    return Media(written, _number(host.get("raw")) if isinstance(host, dict) else None, unit_bytes)


def _micron(log: Mapping[str, Any], root: Mapping[str, Any]) -> Media | None:
    for names in (
        ("NAND Writes (Bytes Written)",),
        ("Physical Media Units Written",),
        ("Physical Media Units Written - TLC", "Physical Media Units Written - SLC"),
    ):
        parts = [_number(log.get(name)) for name in names]
        if all(part is not None for part in parts):
            return Media(sum(part for part in parts if part is not None), unit_bytes=1)
    return None


def _wd_halves(log: Mapping[str, Any], root: Mapping[str, Any]) -> Media | None:
    high, low = _number(log.get("NAND Bytes Written Hi")), _number(log.get("NAND Bytes Written Lo"))
    return None if high is None or low is None else Media(high * 2.0**64 + low, unit_bytes=1)


def _flat(log: Mapping[str, Any], root: Mapping[str, Any]) -> Media | None:
    nand = _number(log.get("nand_bytes_written raw"))
    return None if nand is None else Media(nand, _number(log.get("host_bytes_written raw")))


def _fdp(log: Mapping[str, Any], root: Mapping[str, Any]) -> Media | None:
    media, host = _number(log.get("mbmw")), _number(log.get("hbmw"))
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


def _table(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float | None:
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
