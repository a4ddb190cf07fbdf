"""What an emulated drive is: a preset (`ssd`, `csd`), or a description file in TOML, with single values laid over.

A file has the tables of `pgassay simulate` that describe a drive (`[drive]`, `[timing]`) and `[emulation]` for what
only a running drive has: codec, store. Which keys the first two may have is said by the program that emulates the
drive, before anything is made (`daemon.check`); see docs/drives.md.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from pgassay.drive.block import messages
from pgassay.errors import UsageError
from pgassay.study.drives import DriveKind
from pgassay.study.units import parse_memory

CODECS = ("zstd-1", "deflate-1", "lz4", "none")
STORES = ("memory", "file")
PROFILES = ("tlc-nvme", "sata-ssd", "hdd-7200")
"""Devices whose service times the flash model knows by name."""
ROTATING = ("hdd-7200",)
_TABLES = ("drive", "timing", "emulation")
_EMULATION = ("codec", "store", "store_bytes", "threads", "watchdog_s")
_NUMBERS: Mapping[str, tuple[type, int, int]] = {
    "store_bytes": (int, 1, 1 << 60),
    "threads": (int, 1, 64),
    "watchdog_s": (float, 1, 3600),
}
"""Of `[emulation]`: type, least and most."""


@dataclass(frozen=True)
class Description:
    """`flash` goes to the model as it is; `capacity_bytes` None leaves it to the study's data. Bytes, seconds."""

    kind: str
    flash: Mapping[str, Any]
    codec: str
    capacity_bytes: int | None = None
    store: str = "memory"
    store_bytes: int | None = None
    timing: Mapping[str, Any] | None = None
    threads: int = 2
    watchdog_s: float = 30.0
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def rotates(self) -> bool:
        """Does it answer as a disk with a moving arm?"""
        return self.timing is not None and self.timing.get("profile") in ROTATING

    @property
    def compresses(self) -> bool:
        """Does what is stored shrink?"""
        return self.codec != "none"

    def facts(self) -> dict[str, str]:
        """For the record."""
        flash = {name: json.dumps(value) for name, value in self.flash.items()}
        timing = "off" if self.timing is None else json.dumps(dict(self.timing))
        return {"kind": self.kind, **flash, "codec": self.codec, "store": self.store, "timing": timing}

    def configuration(self, name: str, directory: Path) -> dict[str, Any]:
        """The daemon's configuration, see `pgassay-drive serve --help`."""
        assert self.capacity_bytes is not None
        found: dict[str, Any] = {
            "name": name,
            "directory": str(directory),
            "capacity_bytes": self.capacity_bytes,
            "codec": self.codec,
            "store": "memory" if self.store == "memory" else {"file": str(directory / "store")},
            "threads": self.threads,
            "watchdog_s": self.watchdog_s,
            **self.flash,
        }
        if self.store_bytes is not None:
            found["store_bytes"] = self.store_bytes
        if self.timing is not None:
            found["timing"] = dict(self.timing)
        return found


PRESETS: Mapping[str, Description] = {
    DriveKind.SSD: Description(DriveKind.SSD, {"kind": "page-mapped", "over_provisioning": 0.07}, "none"),
    DriveKind.CSD: Description(DriveKind.CSD, {"kind": "compressing", "over_provisioning": 0.07}, "zstd-1"),
}
"""A normal drive, and one with transparent compression: the same flash, the same over-provisioning."""


def read(path: Path) -> Description:
    """A description file; raises `UsageError` for what it cannot be."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise messages.bad_description(path, (failure.strerror or str(failure)).lower()) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise messages.bad_description(path, f"not valid TOML: {failure}") from None
    for table in document:
        if table not in _TABLES:
            raise messages.bad_description(path, f'unknown table "{table}"; the tables are {", ".join(_TABLES)}')
    drive = _table(path, document, "drive")
    emulation = _emulation(path, _table(path, document, "emulation"))
    timing = _timing(path, _table(path, document, "timing")) if "timing" in document else None
    compresses = drive.get("kind", "page-mapped") == "compressing"
    codec = emulation.pop("codec", "zstd-1" if compresses else "none")
    if codec not in CODECS:
        raise messages.bad_description(path, f'unknown codec "{codec}"; one of {", ".join(CODECS)}')
    capacity = _capacity(path, drive)
    return Description(path.stem, drive, codec, capacity_bytes=capacity, timing=timing, **emulation)


def _capacity(path: Path, drive: dict[str, Any]) -> int | None:
    """What the host sees, taken out of the table: `user_bytes`, unless more is promised than there is flash for."""
    for key in ("logical_bytes", "user_bytes"):
        if key in drive:
            _require_number(path, f"drive.{key}", drive[key], int, 1, 1 << 44)
    promised: int | None = drive.pop("logical_bytes", None)
    if promised is None:
        promised = drive.pop("user_bytes", None)
    elif "user_bytes" not in drive:
        raise messages.bad_description(
            path, '"logical_bytes" goes with "user_bytes", the flash that stands behind them'
        )
    return promised


def with_level(found: Description, name: str, value: str) -> Description:
    """A description with one level laid over it (`capacity`, `codec`, `over_provisioning`, `policy`, `store` …)."""
    if name == "codec":
        return replace(found, codec=value)
    if name == "store":
        return replace(found, store=value)
    if name == "capacity":
        return replace(found, capacity_bytes=parse_memory(value))
    if name == "store_bytes":
        return replace(found, store_bytes=parse_memory(value))
    plain: Any = float(value) if name == "over_provisioning" else value
    flash = {
        key: kept for key, kept in found.flash.items() if (name, key) != ("over_provisioning", "spare_of_physical")
    }
    return replace(found, flash={**flash, name: plain})


def timed(found: Description, level: str) -> Description:
    """With the level of `drive.timing`: `off`, `on` (as the description says, or the model's defaults), a profile."""
    if level == "off":
        return replace(found, timing=None)
    if level == "on":
        return replace(found, timing=found.timing or {})
    return replace(found, timing={"profile": level})


def digest(path: Path) -> str:
    """Eight digits of a description's contents: another text is another level."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    except OSError as failure:
        raise messages.bad_description(path, (failure.strerror or str(failure)).lower()) from None


def _table(path: Path, document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One table with sizes and percentages as numbers; empty where there is none."""
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise messages.bad_description(path, f'"{name}" must be a table')
    return {key: _plain(path, f"{name}.{key}", value) for key, value in table.items()}


def _emulation(path: Path, emulation: dict[str, Any]) -> dict[str, Any]:
    for key, value in emulation.items():
        if key not in _EMULATION:
            raise messages.bad_description(path, f'unknown key "emulation.{key}"')
        if key in _NUMBERS:
            _require_number(path, f"emulation.{key}", value, *_NUMBERS[key])
    if emulation.get("store", "memory") not in STORES:
        raise messages.bad_description(path, f"emulation.store must be one of {', '.join(STORES)}")
    return emulation


def _require_number(path: Path, key: str, value: Any, kind: type, least: int, most: int) -> None:
    fits = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        what = "a whole number" if kind is int else "a number"
        raise messages.bad_description(path, f"{key} must be {what} from {least} to {most}")


def _timing(path: Path, timing: Mapping[str, Any]) -> Mapping[str, Any]:
    """The service times; the daemon checks which keys the profile has."""
    profile = timing.get("profile", PROFILES[0])
    if profile not in PROFILES:
        raise messages.bad_description(path, f'unknown timing.profile "{profile}"; one of {", ".join(PROFILES)}')
    for key, value in timing.items():
        if isinstance(value, int | float) and value < 0:
            raise messages.bad_description(path, f"timing.{key} must not be negative")
    return timing


def _plain(path: Path, key: str, value: Any) -> Any:
    """Sizes and percentages as numbers; all else as it is."""
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not isfinite(value)):
        raise messages.bad_description(path, f"{key} must be a number, a word, true or false")
    if not isinstance(value, str):
        return value
    if value.endswith("%"):
        try:
            return float(value[:-1]) / 100
        except ValueError:
            raise messages.bad_description(path, f'"{value}" is no percentage') from None
    if key.endswith("_bytes"):
        try:
            return parse_memory(value)
        except UsageError as error:
            raise messages.bad_description(path, error.message) from None
    return value
