"""Reading drive levels back: from where the server says its files are to what lies under them, as the kernel reports.

Nothing is taken from what was asked: /proc/self/mountinfo, the loop device's backing file, the file system's own tools
and the emulated drive's own answer. None where none of them says.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgassay import children
from pgassay.bench.errors import DriveError
from pgassay.bench.factor import Readable
from pgassay.bench.options import ReadBack
from pgassay.bench.server import Server
from pgassay.drive.block import daemon, description, mounts
from pgassay.drive.block.answers import rounding
from pgassay.drive.block.daemon import SocketControl
from pgassay.drive.block.filesystems import KINDS, confirmed
from pgassay.drive.block.image import DISK
from pgassay.drive.root import NAME
from pgassay.drive.sizing import AUTO
from pgassay.study.drives import UNTIMED, DriveKind, declared
from pgassay.study.levels import Level
from pgassay.study.units import parse_memory

_SHOWN = frozenset({"noatime", "nodev", "nodiratime", "noexec", "nosuid", "nodatacow", "nodatasum"})
"""Options beginning with "no" that are no type's default: the kernel lists them where they hold."""
WAL_DIRECTORY = "pg_wal"
_ROUNDED_BYTES = 64 << 20
"""A store is rounded up to whole segments of less than this."""
_STATS_PATIENCE_S = 5.0
_TOOL_TIMEOUT_S = 20.0


Reading = Callable[[Path, str, str], str | None]
"""From a place, the factor's full name and the asked level to what holds there."""


def at(reading: Reading) -> ReadBack:
    """Read where the server says that its files are."""

    def read_back(name: str, level: Level, readable: Readable) -> str | None:
        return reading(place_of(readable.server, name), name, level.canonical)

    return read_back


def nothing(name: str, level: Level, readable: Readable) -> str | None:
    """None: neither the kernel nor the drive reports it."""
    return None


def place_of(server: Server, name: str) -> Path:
    """Where the server keeps its data, or its WAL for `drive.wal…`."""
    ((directory,),) = server.query("SHOW data_directory")
    path = Path(str(directory))
    return (path / WAL_DIRECTORY).resolve() if name.startswith("drive.wal") else path


def drive(place: Path, name: str, level: str) -> str:
    """The level that describes the drive under `place`; what the user declared of it stays before it."""
    role, bare = declared(level)
    found = _drive(place, bare)
    return found if role is None else f"{role}={found}"


def _drive(place: Path, level: str) -> str:
    if level == DriveKind.BESIDE and place.name == WAL_DIRECTORY:
        return DriveKind.BESIDE
    entry = mounts.mount_over(place)
    home = entry.point.parent if entry is not None else place
    file = mounts.backing_file(Path(entry.source)) if entry is not None else None
    if file is not None and file == home / DISK:
        return DriveKind.IMAGE
    if file is not None and file == home / daemon.FUSE / daemon.DISK:
        return _emulated(home, level)
    if level.startswith(f"{DriveKind.DEVICE}:") and entry is not None:
        same = Path(level.partition(":")[2]).resolve() == Path(entry.source).resolve()
        return level if same else f"{DriveKind.DEVICE}:{entry.source}"
    for parent in place.parents:
        if parent.name == NAME:
            found = f"{DriveKind.DIRECTORY}:{parent.parent}"
            return DriveKind.DIRECTORY if level == DriveKind.DIRECTORY else found
    return f"{DriveKind.DIRECTORY}:{place}"


def filesystem(place: Path, name: str, level: str) -> str | None:
    """The type of the file system, as the kernel mounts it."""
    entry = mounts.mount_over(place)
    return entry.filesystem if entry is not None else None


def mount_options(place: Path, name: str, level: str) -> str | None:
    """The asked options, if the kernel has them; what it has, if one is missing; None if it says nothing about one."""
    entry = mounts.mount_over(place)
    return None if entry is None else options_held(entry.options, level)


def options_held(options: Sequence[str], level: str) -> str | None:
    """The kernel leaves out what is a type's default: `nodiscard`, `commit=5`."""
    unknown = False
    for word in level.split(","):
        key, sign, _ = word.partition("=")
        if (
            word in options
            or word == "defaults"
            or (word not in _SHOWN and word[:2] == "no" and word[2:] not in options)
        ):
            continue
        if sign and not any(option.startswith(f"{key}=") for option in options):
            unknown = True
            continue
        return ",".join(sorted(options))
    return None if unknown else level


def mkfs(place: Path, name: str, level: str) -> str | None:
    """By the file system's own tool; None for options that it does not say."""
    entry = mounts.mount_over(place)
    if entry is None or entry.filesystem not in KINDS:
        return None
    kind = KINDS[entry.filesystem]
    try:
        program, *words = kind.question
        outcome = subprocess.run(
            [children.which(program) or program, *words, entry.source],
            capture_output=True,
            text=True,
            timeout=_TOOL_TIMEOUT_S,
            check=False,
            env=children.environment_of(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    holds = confirmed(kind, level.split(), outcome.stdout)
    return None if holds is None else level if holds else f"not {level}"


def capacity(place: Path, name: str, level: str) -> str | None:
    """The block device's size, by the kernel (in sectors of 512 bytes); any will do where the study chose it."""
    entry = mounts.mount_over(place)
    if entry is None:
        return None
    try:
        told = Path("/sys/class/block") / Path(entry.source).resolve().name / "size"
        sectors = int(told.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return AUTO if level == AUTO and sectors > 0 else f"{sectors * 512}B"


def described(place: Path, name: str, level: str) -> str | None:
    """What the drive itself says under the factor's last name; None if it does not say."""
    entry = mounts.mount_over(place)
    stats = _stats(entry.point.parent) if entry is not None else None
    return None if stats is None else in_stats(stats, name.rpartition(".")[2], level)


def timing(place: Path, name: str, level: str) -> str | None:
    """The profile by whose service times the drive says that it answers; None from what is no emulated drive."""
    entry = mounts.mount_over(place)
    stats = _stats(entry.point.parent) if entry is not None else None
    return None if stats is None else timing_in_stats(stats, level)


def dilation(place: Path, name: str, level: str) -> str | None:
    """How many times slower than the machine's the drive says that its clock is; 1 of one without service times."""
    entry = mounts.mount_over(place)
    stats = _stats(entry.point.parent) if entry is not None else None
    return None if stats is None else dilation_in_stats(stats)


def dilation_in_stats(stats: Mapping[str, Any]) -> str:
    """As the level is written."""
    found = stats.get("timing")
    return str(found.get("dilation", 1)) if isinstance(found, Mapping) else "1"


def timing_in_stats(stats: Mapping[str, Any], level: str) -> str:
    """`on` is whatever profile the drive has."""
    found = stats.get("timing")
    if not isinstance(found, Mapping):
        return UNTIMED
    return level if level == "on" else str(found.get("profile"))


def in_stats(stats: Mapping[str, Any], key: str, level: str) -> str | None:
    """A value of the drive's own answer, in the level's form: numbers as shares or bytes."""
    for value in (stats, *(each for each in stats.values() if isinstance(each, Mapping))):
        found = value.get(key)
        if isinstance(found, str):
            return found.replace("_", "-") if key == "policy" else found
        if key == "over_provisioning" and isinstance(found, int | float):
            return level if abs(found - float(level)) <= rounding(stats) else f"{found:g}"
        if key == "store_bytes" and isinstance(found, int):
            return level if 0 <= found - parse_memory(level) < _ROUNDED_BYTES else f"{found}B"
        if isinstance(found, int | float):
            return f"{int(found)}B" if level.endswith("B") else f"{found:g}"
    return None


def _emulated(home: Path, level: str) -> str:
    stats = _stats(home)
    if stats is None:
        return "an emulated drive that does not answer"
    codec = in_stats(stats, "codec", "") or "none"
    kind = (in_stats(stats, "kind", "") or ("page-mapped" if codec == "none" else "compressing")).replace("_", "-")
    if level.startswith(f"{DriveKind.DESCRIPTION}:"):
        asked = description.read(Path(level.removeprefix(f"{DriveKind.DESCRIPTION}:").rpartition("#")[0])).core
        if (asked.kind, asked.codec) == (kind, codec):
            return level
    return DriveKind.CSD if kind == "compressing" else DriveKind.SSD


def _stats(home: Path) -> Mapping[str, Any] | None:
    try:
        return SocketControl(home).ask("stats", patience_s=_STATS_PATIENCE_S)
    except (DriveError, OSError):
        return None
