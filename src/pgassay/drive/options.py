"""What a study asks of its drives: the options `drive.*`, each declared once, as one typed value.

`drive.data` and `drive.wal` name a drive and `drive.data.NAME` says more of it; the others hold for all drives of a
treatment. Nothing is attached here. All but `drive.check` are baked into snapshots.

Levels are read back from where the server says its files are: by mountinfo, the loop device's backing file, the file
system's own tools and the emulated drive's own answer, never from what was asked; None where none of them says.

A drive that is given no capacity has room to spare. Closely sized (`capacity = auto`) a trial writes as much of it as
it can: what write amplification says depends on how often the flash is turned over, not on how large it is, as long as
there are enough superblocks (research on scaled drives: within 0.1 % from 4096 on, 0.3 % from 1024, of equal size).
They become smaller with the drive, though, and small ones collect less: simulated under uniform writes, of 512 pages
0.7 % less at an over-provisioning of 7 % and 0.2 % at 28 %, of 128 pages 5 and 1.5 %, of 32 pages 18 and 6 %, of 16
pages 31 and 11 %.
"""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pgassay import children
from pgassay._core import DRIVE_CODECS, DRIVE_STORES, GC_POLICIES, TIMING_PROFILES, DescriptionError, DriveDescription
from pgassay.drive.block import daemon, description, kernel
from pgassay.drive.block.daemon import SocketControl
from pgassay.drive.block.description import PRESETS, Description
from pgassay.drive.block.emulated import rounding
from pgassay.drive.block.filesystems import KINDS, Filesystem, confirmed
from pgassay.drive.block.image import DISK, SUFFIX, plugin_drives
from pgassay.drive.root import NAME
from pgassay.drive.sessions import NAME_PATTERN
from pgassay.errors import UsageError
from pgassay.interfaces.factor import Catalogue, Readable, Stage, Turns
from pgassay.interfaces.kinds import SWITCH, Change, Kind, choice, whole
from pgassay.interfaces.options import Options, ReadBack, declared_options, factors_of, group, option
from pgassay.interfaces.places import MountEntry
from pgassay.interfaces.server import Server
from pgassay.interfaces.store import Needs
from pgassay.study.drives import DECLARABLE, UNTIMED, DriveKind, Role, declared
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import parse_memory

AUTO = "auto"
"""The level of a capacity as small as the data allow, so that a trial writes much of the drive."""
WAL_KEPT_BYTES = 256 << 20
"""WAL that lies in a snapshot."""
_STEP_BYTES = 256 << 20
_CAPACITY_MIN_BYTES = 1 << 30
_SLACK = 1.2
"""A drive that is sized by the study's data has this much more room than they need."""
_CLOSE_STEP_BYTES = 16 << 20
_GROWTH = 1.15
"""What a load adds to its tables, and how far estimates of them are off."""
_GROWTH_LEAST_BYTES = 64 << 20
"""What half a minute of unlimited updates adds to small tables before autovacuum comes round: 47 MB became 94."""
_FILE_SYSTEM_SHARE = 0.08
"""Of ext4: blocks reserved for root, inode tables, bitmaps."""
_JOURNAL_BYTES = 48 << 20
_SUPERBLOCKS = 2048
BLOCK_BYTES = 4096
"""A logical block, and a page of the flash."""
USUAL_PAGES = 256
"""Of a superblock whose size nothing settles (docs/drives.md)."""
_PAGES_MIN, _PAGES_MAX = 16, 16384
LEAST_SHARE = 0.04
"""Compressed blocks are taken to be no smaller than this share of 4 KiB on average: the smaller, the more of them on
flash. Of pgbench_accounts `pgassay drive compressibility` leaves a fourteenth, at FILLFACTOR 50 a 28th, which granules
of 64 bytes make a 21st."""
_PLACE_BYTES = 8
"""Of memory for each block of 4 KiB that the host sees: where its contents lie."""
_PROGRAM_BYTES = 16 << 20
"""The program itself, segments of its store that are being filled or emptied, and tables rounded to huge pages."""


def sized(needed_bytes: int) -> int:
    """The capacity in bytes of a drive that was given none: room for what the study needs, in steps of 256 MiB."""
    wanted = max(_CAPACITY_MIN_BYTES, int(needed_bytes * _SLACK))
    return -(-wanted // _STEP_BYTES) * _STEP_BYTES


def closely(needs: Needs, least_bytes: int) -> int:
    """The capacity that is just enough, in steps of 16 MiB."""
    grown = max(needs.data_bytes * _GROWTH, needs.data_bytes + _GROWTH_LEAST_BYTES)
    content = grown + needs.wal_least_bytes
    wanted = int(content / (1 - _FILE_SYSTEM_SHARE)) + _JOURNAL_BYTES
    return -(-max(wanted, least_bytes) // _CLOSE_STEP_BYTES) * _CLOSE_STEP_BYTES


def scaled_pages(capacity_bytes: int) -> int:
    """Pages of a superblock that leave about two thousand superblocks, a power of two."""
    pages = capacity_bytes // BLOCK_BYTES // _SUPERBLOCKS
    return min(max(1 << max(0, pages - 1).bit_length(), _PAGES_MIN), _PAGES_MAX)


def memory_bytes(described: DriveDescription, snapshots: int, share: float = LEAST_SHARE) -> int:
    """Memory in bytes that an emulated drive of a known capacity takes at most besides its contents, in use for long.

    A compressing drive's flash holds blocks of `share` of 4 KiB on average, of its granularity at least. The blank
    drive is a snapshot that takes nothing, but while one is aged the state before and the one after are both there.
    """
    capacity_bytes = described.capacity_bytes
    assert capacity_bytes is not None
    model, kept = described.table_bytes_per_block(capacity_bytes, share)
    block_bytes = _PLACE_BYTES + model + (_PLACE_BYTES + kept) * (snapshots + 1)
    return _PROGRAM_BYTES + int(capacity_bytes / BLOCK_BYTES * block_bytes)


_SHOWN = frozenset({"noatime", "nodev", "nodiratime", "noexec", "nosuid", "nodatacow", "nodatasum"})
"""Options beginning with "no" that are no type's default: the kernel lists them where they hold."""
WAL_DIRECTORY = "pg_wal"
_ROUNDED_BYTES = 64 << 20
"""A store is rounded up to whole segments of less than this."""
_TOOL_TIMEOUT_S = 20.0


def read_mount(reading: Callable[[MountEntry, str], str | None]) -> ReadBack:
    """From the mount that the server's files lie on and the asked level to what holds there."""

    def read_back(name: str, level: Level, readable: Readable) -> str | None:
        entry = kernel.mount_over(place_of(readable.server, name))
        return None if entry is None else reading(entry, level.canonical)

    return read_back


def read_stats(reading: Callable[[Mapping[str, Any], str, str], str | None]) -> ReadBack:
    """From an emulated drive's own answer, the factor's last name and the asked level to what holds there."""

    def read_back(name: str, level: Level, readable: Readable) -> str | None:
        entry = kernel.mount_over(place_of(readable.server, name))
        stats = {} if entry is None else daemon.statistics(SocketControl(entry.point.parent))
        return reading(stats, name.rpartition(".")[2], level.canonical) if stats else None

    return read_back


def not_read(name: str, level: Level, readable: Readable) -> str | None:
    """None: neither the kernel nor the drive reports it."""
    return None


def place_of(server: Server, name: str) -> Path:
    """Where the server keeps its data, or its WAL for `drive.wal…`."""
    ((directory,),) = server.query("SHOW data_directory")
    path = Path(str(directory))
    return (path / WAL_DIRECTORY).resolve() if name.startswith("drive.wal") else path


def drive_at(place: Path, level: str) -> str:
    """The level that describes the drive under `place`; what the user declared of it stays before it."""
    role, bare = declared(level)
    found = _drive(place, bare)
    return found if role is None else f"{role}={found}"


def _drive(place: Path, level: str) -> str:
    if level == DriveKind.BESIDE and place.name == WAL_DIRECTORY:
        return DriveKind.BESIDE
    entry = kernel.mount_over(place)
    home = entry.point.parent if entry is not None else place
    file = kernel.backing_file(Path(entry.source)) if entry is not None else None
    if file is not None and file == home / DISK:
        return DriveKind.IMAGE
    if file is not None and file.parent == home and file.name.startswith(f"{DriveKind.PLUGIN}:"):
        return file.name.removesuffix(SUFFIX)
    if file is not None and file == home / daemon.FUSE / daemon.DISK:
        stats = daemon.statistics(SocketControl(home))
        if not stats:
            return "an emulated drive that does not answer"
        codec = in_stats(stats, "codec", "") or "none"
        kind = (in_stats(stats, "kind", "") or ("page-mapped" if codec == "none" else "compressing")).replace("_", "-")
        if level.startswith(f"{DriveKind.DESCRIPTION}:"):
            asked = description.read(Path(level.removeprefix(f"{DriveKind.DESCRIPTION}:").rpartition("#")[0])).core
            if (asked.kind, asked.codec) == (kind, codec):
                return level
        return DriveKind.CSD if kind == "compressing" else DriveKind.SSD
    if level.startswith(f"{DriveKind.DEVICE}:") and entry is not None:
        same = Path(level.partition(":")[2]).resolve() == Path(entry.source).resolve()
        return level if same else f"{DriveKind.DEVICE}:{entry.source}"
    for parent in place.parents:
        if parent.name == NAME:
            found = f"{DriveKind.DIRECTORY}:{parent.parent}"
            return DriveKind.DIRECTORY if level == DriveKind.DIRECTORY else found
    return f"{DriveKind.DIRECTORY}:{place}"


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


def mkfs_held(entry: MountEntry, level: str) -> str | None:
    """By the file system's own tool; None for options that it does not say."""
    kind = KINDS.get(entry.filesystem)
    if kind is None:
        return None
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


def capacity_of(entry: MountEntry, level: str) -> str | None:
    """The block device's size, by the kernel (in sectors of 512 bytes); any will do where the study chose it."""
    try:
        size = Path("/sys/class/block") / Path(entry.source).resolve().name / "size"
        sectors = int(size.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return AUTO if level == AUTO and sectors > 0 else f"{sectors * 512}B"


def timing_in_stats(stats: Mapping[str, Any], key: str, level: str) -> str:
    """The profile, of which `on` is whatever the drive has."""
    found = stats.get("timing")
    if not isinstance(found, Mapping):
        return UNTIMED
    return level if level == "on" else str(found.get("profile"))


def dilation_in_stats(stats: Mapping[str, Any], key: str, level: str) -> str:
    found = stats.get("timing")
    return str(found.get("dilation", 1)) if isinstance(found, Mapping) else "1"


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


FRESH, AGED = "fresh", "aged"
PROTECTED, VOLATILE = "protected", "volatile"
HONEST, LIES, DATA_FIRST = "honest", "lies", "data-first"
ON = "on"
_OF_EMULATED = {
    "codec": "emulation.codec",
    "over_provisioning": "drive.over_provisioning",
    "policy": "drive.policy",
    "store": "emulation.store",
    "store_bytes": "emulation.store_bytes",
}
"""Options of emulated drives only, with their key in a description."""
_DILATION_MAX = 100
_WORD, _NAMED = r"[\w.^][\w.,=:^-]*", r"[a-z_]+=[\w.,=]+"
_OF_MKFS = {
    **dict.fromkeys(("-b", "-C", "-E", "-g", "-G", "-i", "-I", "-m", "-N", "-n", "-O", "-R", "-s"), _WORD),
    **dict.fromkeys(("-J", "-l"), _NAMED),
    "-d": rf"{_NAMED}|single|dup|raid\w+",
    **dict.fromkeys(("--nodesize", "--sectorsize", "--csum", "--features", "--metadata", "--data"), _WORD),
}
"""Options of mkfs that say how a file system is, with what each may be given.

mkfs runs as root, and a study may come from anybody. Others name files and devices (mke2fs -d DIRECTORY, mkfs.btrfs
--rootdir, mkfs.xfs -p), as do these:
"""
_OF_ANOTHER_PLACE = re.compile(r"\b(device|logdev|rtdev|name|file)\b")
_OWNED_BY_MOUNT = ("bind", "ro", "remount", "loop", "move")


@dataclass(frozen=True)
class DriveLevel:
    """A level of `drive.data` or `drive.wal`: a kind; of a directory, device or description perhaps its path, of a
    plug-in its name, and of a description a digest of its contents, so that another text is another level. Perhaps its
    role, as declared."""

    kind: DriveKind
    path: Path | None = None
    plugin: str = ""
    digest: str = ""
    role: Role | None = None

    def __str__(self) -> str:
        """The canonical text, as records and the keys of snapshots have it."""
        on = self.plugin or self.path
        place = f"{self.kind}:{on}" if on else self.kind
        text = f"{place}#{self.digest}" if self.digest else place
        return text if self.role is None else f"{self.role}={text}"


def _place(name: str, text: str) -> DriveLevel:
    role, bare = declared(text)
    if bare == DriveKind.BESIDE and name == f"{DriveOptions.namespace}.wal" and role is None:
        return DriveLevel(DriveKind.BESIDE)
    found = _undeclared(bare)
    if role is not None and found.kind not in DECLARABLE:
        raise UsageError(
            f'"{text}" declares what a drive of kind {found.kind} is, which is known',
            "normal= and compressing= stand before directory:PATH, device:/dev/NAME, FILE.toml or plugin:NAME",
        )
    return replace(found, role=role)


def _undeclared(text: str) -> DriveLevel:
    kind, _, path = text.strip().partition(":")
    if text.strip() in (DriveKind.DIRECTORY, DriveKind.IMAGE, *PRESETS):
        return DriveLevel(DriveKind(text.strip()))
    if kind == DriveKind.DIRECTORY and path.strip():
        return DriveLevel(DriveKind.DIRECTORY, Path(path).expanduser().resolve())
    if kind == DriveKind.DEVICE and path.startswith("/dev/"):
        return DriveLevel(DriveKind.DEVICE, Path(path))
    if kind == DriveKind.DESCRIPTION and "#" in path:
        file, _, digest = path.rpartition("#")
        return DriveLevel(DriveKind.DESCRIPTION, Path(file), digest=digest)
    if kind == DriveKind.PLUGIN:
        added = plugin_drives()
        if not NAME_PATTERN.fullmatch(path):
            raise UsageError(f'"{path}" cannot name a drive', 'a package uses letters, digits, ".", "_" and "-" only')
        if path not in added:
            known = ", ".join(f"{kind}:{name} ({each.summary})" for name, each in added.items())
            raise UsageError(f'no installed package adds a drive "{path}"', f"these are installed: {known or 'none'}")
        return DriveLevel(DriveKind.PLUGIN, plugin=path)
    if text.strip().endswith(".toml"):
        found = Path(text.strip()).expanduser().resolve()
        description.read(found)
        return DriveLevel(DriveKind.DESCRIPTION, found, digest=description.digest(found))
    raise UsageError(
        f'"{text}" is not a drive',
        "one of: directory, directory:PATH, image, ssd, csd, device:/dev/NAME, plugin:NAME, or a description file "
        "ending in .toml; of the WAL also beside; a real drive, a description or a plug-in may be declared: normal=…, "
        "compressing=…",
    )


def _each_path(level: DriveLevel, change: Change) -> DriveLevel:
    """Of a description alone: directories and devices are places of a machine, and no files of the user's."""
    if level.kind != DriveKind.DESCRIPTION or level.path is None:
        return level
    return replace(level, path=change(level.path))


def _rooted(text: str) -> str:
    """Not in canonical form, which would keep the digest of a description in the place of its file's name."""
    role, bare = declared(text)
    found = _undeclared(bare)
    if found.path is None or str(found.path) in bare:
        return text
    place = str(found.path) if found.kind == DriveKind.DESCRIPTION else f"{found.kind}:{found.path}"
    return place if role is None else f"{role}={place}"


def _unknown_word(name: str, typed: str, known: Sequence[str]) -> UsageError:
    return UsageError(f'"{name}" cannot be "{typed}"', f"one of: {', '.join(known)}")


def _needs_drive(wal: "OneDrive") -> UsageError:
    return UsageError(f'"drive.wal.{wal.options_set()[0]}" needs "drive.wal"', 'set "drive.wal" too, or leave it out')


def _codec(name: str, text: str) -> str:
    try:
        return DriveDescription({"emulation": {"codec": text.strip()}}).codec
    except DescriptionError:
        raise _unknown_word(name, text, (*DRIVE_CODECS, "another level")) from None


def _share(name: str, text: str) -> float:
    stripped = text.strip()
    try:
        value = float(stripped[:-1]) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 10.0:
        raise _unknown_word(name, text, ("a share such as 7% or 0.07",))
    return value


def _mkfs(name: str, text: str) -> tuple[str, ...]:
    words = text.split()
    rest = iter(words)
    for word in rest:
        key = word.partition("=")[0] if word.startswith("--") else word[:2]
        value = word[len(key) :].removeprefix("=") or next(rest, "")
        allowed = _OF_MKFS.get(key)
        if allowed is None or not value or not re.fullmatch(allowed, value) or _OF_ANOTHER_PLACE.search(value):
            raise UsageError(
                f'"{key} {value}" in "{name}" is not an option of mkfs that can be given here',
                "say how the file system is, each option with its value (-b 4096, -O quota): pgassay adds the device",
            )
    return tuple(words)


def _mount_options(name: str, text: str) -> tuple[str, ...]:
    options = [word.strip() for word in text.split(",") if word.strip()]
    for word in options:
        if any(letter in word for letter in " /\\\"'") or word in _OWNED_BY_MOUNT:
            raise _unknown_word(name, word, ("mount options such as noatime,discard",))
    return tuple(sorted(set(options)))


def _bytes(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value}B"


OF_DRIVE = ModelSize(least_bytes=64 << 20, step_bytes=1 << 20)
"""The least that holds a file system with an empty cluster and two WAL files."""
PLACE = Kind(
    _place,
    str,
    "directory, directory:PATH, image, ssd, csd, device:/dev/…, FILE.toml, plugin:NAME; of the WAL also beside; "
    "normal=… or compressing=… before a real drive, a description or a plug-in",
    each_path=_each_path,
    rooted=_rooted,
)
CAPACITY = Kind(
    lambda _, text: AUTO if text.strip() == AUTO else parse_memory(text), _bytes, f"a size with its unit, or {AUTO}"
)
SIZE = Kind(lambda _, text: parse_memory(text), _bytes, "a size with its unit: 6GB")
SHARE = Kind(_share, lambda value: f"{value:g}", "a share: 7%, 0.07")
CODEC = Kind(_codec, str, f"{', '.join(DRIVE_CODECS)}, or another level")
MKFS = Kind(_mkfs, " ".join, "options of mkfs, but no device")
MOUNT_OPTIONS = Kind(_mount_options, ",".join, "options of mount, with commas between")


_IN_TURNS = Turns(
    "a drive goes on with its own work while its server stands still, and remembers for longer than a slice",
    one_value=True,
)


@dataclass(frozen=True, kw_only=True)
class OneDrive(Options):
    """One drive; None is what the kind of drive usually has."""

    turns = _IN_TURNS
    place: DriveLevel | None = option(
        PLACE,
        name="",
        default=None,
        stage=Stage.INIT,
        summary="where the clusters live, or the WAL if it has a drive of its own",
        read_back=lambda name, level, readable: drive_at(place_of(readable.server, name), level.canonical),
    )
    filesystem_name: str | None = option(
        choice(*KINDS),
        name="filesystem",
        default=None,
        stage=Stage.INIT,
        summary="the file system",
        read_back=read_mount(lambda entry, level: entry.filesystem),
    )
    mkfs: tuple[str, ...] = option(
        MKFS,
        default=(),
        stage=Stage.INIT,
        summary="further options of mkfs: -b 1024, -J size=64",
        read_back=read_mount(mkfs_held),
    )
    mount_options: tuple[str, ...] | None = option(
        MOUNT_OPTIONS,
        default=None,
        stage=Stage.INIT,
        summary="mount options (default: noatime)",
        read_back=read_mount(lambda entry, level: options_held(entry.options, level)),
    )
    capacity: int | str | None = option(
        CAPACITY,
        default=None,
        stage=Stage.INIT,
        unit="bytes",
        summary="the drive's capacity (default: by the data), or auto",
        read_back=read_mount(capacity_of),
        size=OF_DRIVE,
    )
    over_provisioning: float | None = option(
        SHARE,
        default=None,
        stage=Stage.INIT,
        summary="flash beyond capacity: 7% is T/U − 1",
        read_back=read_stats(in_stats),
    )
    codec: str | None = option(
        CODEC,
        default=None,
        stage=Stage.INIT,
        summary="what an emulated drive compresses with",
        read_back=read_stats(in_stats),
    )
    policy: str | None = option(
        choice(*GC_POLICIES),
        default=None,
        stage=Stage.INIT,
        summary="which block garbage collection empties next",
        read_back=read_stats(in_stats),
    )
    store: str | None = option(
        choice(*DRIVE_STORES),
        default=None,
        stage=Stage.INIT,
        summary="where an emulated drive keeps its contents",
        read_back=read_stats(in_stats),
    )
    store_bytes: int | None = option(
        SIZE, default=None, stage=Stage.INIT, unit="bytes", read_back=read_stats(in_stats),
        summary="room for an emulated drive's contents and snapshots",
    )  # fmt: skip

    @property
    def kind(self) -> DriveKind:
        """The kind of drive; a directory unless another is named."""
        return DriveKind.DIRECTORY if self.place is None else self.place.kind

    @property
    def path(self) -> Path | None:
        """The directory, device or description that was named."""
        return None if self.place is None else self.place.path

    @property
    def plugin(self) -> str:
        """The name of the plug-in that makes the drive; empty for other kinds."""
        return "" if self.place is None else self.place.plugin

    @property
    def directory(self) -> Path | None:
        """The directory that was named; None for other kinds, and for the one of `--data-dir`."""
        return self.path if self.kind is DriveKind.DIRECTORY else None

    @property
    def device(self) -> Path | None:
        """The device, which will be written over; None for other kinds."""
        return self.path if self.kind is DriveKind.DEVICE else None

    @cached_property
    def described(self) -> Description | None:
        """The emulated drive without service times; None for other kinds. `UsageError` for what cannot be."""
        if not self.kind.emulated:
            return None
        found = description.read(self.path) if self.path is not None else PRESETS[self.kind]
        values = {key: value for name, key in _OF_EMULATED.items() if (value := getattr(self, name)) is not None}
        found = found.with_values(values)
        return found.with_capacity(self.capacity) if isinstance(self.capacity, int) else found

    @property
    def label(self) -> str:
        """The word for records and messages: the kind, with a plug-in's name; of a description the stem of its file."""
        if self.described is not None:
            return self.described.kind
        return f"{self.kind}:{self.plugin}" if self.plugin else self.kind

    @property
    def filesystem(self) -> Filesystem:
        usual = Filesystem()
        return Filesystem(self.filesystem_name or usual.name, self.mkfs, self.mount_options or usual.mount_options)

    @property
    def scaled(self) -> bool:
        """Whether the capacity follows the data closely, and superblocks that nothing else settles."""
        return self.capacity == AUTO

    @property
    def capacity_bytes(self) -> int | None:
        """What the host sees; None leaves it to the study's data."""
        if self.scaled:
            return None
        if self.described is not None:
            return self.described.core.capacity_bytes
        return self.capacity if isinstance(self.capacity, int) else None

    def options_set(self) -> list[str]:
        """The options that are set, by name; without the drive itself."""
        declared = declared_options(OneDrive).items()
        return [each.name for field, each in declared if each.name and getattr(self, field) != each.default]


@dataclass(frozen=True, kw_only=True)
class DriveOptions(Options):
    """All drives of one treatment. Raises `UsageError` for options that a kind of drive does not have."""

    namespace = "drive"
    turns = _IN_TURNS
    data: OneDrive = group(OneDrive, default=OneDrive())
    wal: OneDrive | None = group(OneDrive, default=None)
    state: str = option(
        choice(FRESH, AGED),
        default=FRESH,
        stage=Stage.INIT,
        summary="emulated drives start fresh, or aged to their steady state",
        read_back=not_read,
    )
    check: bool = option(
        SWITCH,
        default=False,
        summary="after each trial look for damage in tables, indexes, file system and drive",
        read_back=not_read,
    )
    live_share: float = option(
        SHARE,
        default=0.8,
        stage=Stage.INIT,
        summary="share of an aged drive that holds live blocks",
        read_back=not_read,
    )
    compressed_to: float = option(
        SHARE,
        default=0.5,
        stage=Stage.INIT,
        summary="what the filling of an aged drive compresses to",
        read_back=not_read,
    )
    timing: str = option(
        choice(UNTIMED, ON, *TIMING_PROFILES), default=UNTIMED, stage=Stage.INIT,
        read_back=read_stats(timing_in_stats),
        summary="service times of emulated drives: a profile, or on for those of the description",
    )  # fmt: skip
    dilation: int = option(
        whole(1, _DILATION_MAX), default=1, stage=Stage.INIT, read_back=read_stats(dilation_in_stats),
        summary="how many times slower the clock is by which drives with service times and load.rate go",
    )  # fmt: skip
    cache: str = option(
        choice(PROTECTED, VOLATILE), default=PROTECTED, stage=Stage.INIT, read_back=read_stats(in_stats),
        summary="whether a power cut can take what an emulated drive's cache holds",
    )  # fmt: skip
    flush: str = option(
        choice(HONEST, LIES, DATA_FIRST), default=HONEST, stage=Stage.INIT, read_back=read_stats(in_stats),
        summary="whether an emulated drive's flush does what it says",
    )  # fmt: skip
    atomic_write_bytes: str = option(
        choice("512", "4096", "8192", "16384"), default="4096", stage=Stage.INIT, unit="bytes",
        summary="the aligned unit that a power cut leaves whole", read_back=read_stats(in_stats),
    )  # fmt: skip

    @property
    def drives(self) -> tuple[OneDrive, ...]:
        """The drive of the data, and that of the WAL where it has its own."""
        return (self.data,) if self.wal is None else (self.data, self.wal)

    @property
    def persistence(self) -> dict[str, Any]:
        """What of a loss of power is not as usual, as the emulating program reads it."""
        asked = {"cache": self.cache, "flush": self.flush, "atomic_write_bytes": int(self.atomic_write_bytes)}
        return {name: value for name, value in asked.items() if value not in (PROTECTED, HONEST, 4096)}

    def __post_init__(self) -> None:
        """Refuse what does not fit together; a WAL with the data has no drive of its own."""
        if self.dilation > 1 and self.timing == UNTIMED:
            raise UsageError(
                '"drive.dilation" slows service times, and drive.timing is off', "--set drive.timing=sata-ssd"
            )
        if self.wal is not None and self.wal.kind is DriveKind.BESIDE:
            if self.wal.options_set():
                raise _needs_drive(self.wal)
            object.__setattr__(self, "wal", None)
        for owner, drive in (("data", self.data), ("wal", self.wal)):
            if drive is None:
                continue
            if drive.place is None and owner == "wal":
                raise _needs_drive(drive)
            _check(owner, drive)
            of_emulated = [*(["timing"] if self.timing != UNTIMED else []), *self.persistence]
            if of_emulated and not drive.kind.emulated:
                beside = ", or drive.wal=beside, which puts the WAL with the data" if owner == "wal" else ""
                raise UsageError(
                    f'"drive.{of_emulated[0]}" does not apply to a drive of kind {drive.label}, as "drive.{owner}" is',
                    f"set drive.{owner}=ssd, csd or a description{beside}",
                )
            if self.state == AGED and not drive.kind.emulated:
                raise UsageError(
                    f'"drive.state" cannot be "aged" for {owner} on a drive of kind {drive.label}',
                    "set drive.state=fresh: such a drive is taken as it is",
                )
            timed = self.described(drive)
            if timed is not None and timed.without_flash and timed.core.kind == "compressing":
                raise UsageError(
                    f'"drive.timing" cannot be "{timed.core.profile!s}" for a drive that compresses: disks and'
                    " volumes do not",
                    "it applies to ssd, or another drive of kind page-mapped",
                )

    def described(self, drive: OneDrive) -> Description | None:
        """An emulated drive with the service times that are asked for; None for other kinds."""
        found = drive.described
        if found is None or (self.timing == ON and found.core.profile is not None):
            return found
        profile = {} if self.timing == ON else {"profile": self.timing}
        return found.with_values({"timing": None if self.timing == UNTIMED else profile})


def _check(owner: str, drive: OneDrive) -> None:
    """Refuse options that the kind of drive does not have, and a role that is not the described drive's."""
    if drive.described is not None and drive.place is not None:
        role = drive.described.role
        if drive.place.role not in (None, role):
            raise UsageError(
                f'"{drive.place}" does not declare what its description says: a drive that is {role}',
                f"declare it as {role}=…, or change its kind or codec",
            )
    for name in drive.options_set():
        if name == "capacity" and drive.scaled and drive.kind.real:
            continue  # it is as large as it is
        if drive.kind is DriveKind.DIRECTORY and name != "filesystem":
            raise UsageError(
                f'"drive.{f"{owner}.{name}"}" does not apply to a directory',
                "it applies to all other drives; give linked levels as treatments",
            )
        only_emulated = name in _OF_EMULATED or (name == "capacity" and drive.kind is DriveKind.DEVICE)
        if only_emulated and not drive.kind.emulated:
            raise UsageError(
                f'"drive.{owner}.{name}" does not apply to a drive of kind {drive.label}',
                "it applies to ssd, csd or a description",
            )


FACTORS: Catalogue = {factor.pattern: factor for factor in factors_of(DriveOptions)}
"""Pattern to factor, made from the options above."""
