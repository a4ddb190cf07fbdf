"""What a study asks of its drives: the options `drive.*`, each declared once, as one typed value.

`drive.data` and `drive.wal` name a drive and `drive.data.NAME` says more of it; the others hold for all drives of a
treatment. Nothing is attached or looked at here but description files. All but `drive.check` are baked into snapshots.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pgassay._core import DRIVE_CODECS, DRIVE_STORES, GC_POLICIES, TIMING_PROFILES, DescriptionError, DriveDescription
from pgassay.bench.factor import Catalogue, Stage
from pgassay.bench.kinds import SWITCH, Change, Kind, choice, whole
from pgassay.bench.options import Options, declared_options, factors_of, group, option
from pgassay.drive import messages, readback
from pgassay.drive.block import description
from pgassay.drive.block.description import PRESETS, Description
from pgassay.drive.block.filesystems import KINDS, Filesystem
from pgassay.drive.sizing import AUTO
from pgassay.study.drives import UNTIMED, DriveKind, Role, declared
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import parse_memory

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
_WRITES_MAX = _DILATION_MAX = 100
_OWNED_BY_MOUNT = ("bind", "ro", "remount", "loop", "move")


@dataclass(frozen=True)
class DriveLevel:
    """A level of `drive.data` or `drive.wal`: a kind; of a directory, device or description perhaps its path, and of a
    description a digest of its contents, so that another text is another level. Perhaps its role, as declared."""

    kind: DriveKind
    path: Path | None = None
    digest: str = ""
    role: Role | None = None

    def __str__(self) -> str:
        """The canonical text, as records and the keys of snapshots have it."""
        place = self.kind if self.path is None else f"{self.kind}:{self.path}"
        text = f"{place}#{self.digest}" if self.digest else place
        return text if self.role is None else f"{self.role}={text}"


def _place(name: str, text: str) -> DriveLevel:
    role, bare = declared(text)
    if bare == DriveKind.BESIDE and name == f"{DriveOptions.namespace}.wal" and role is None:
        return DriveLevel(DriveKind.BESIDE)
    found = _undeclared(bare)
    if role is not None and found.kind not in (DriveKind.DIRECTORY, DriveKind.DEVICE, DriveKind.DESCRIPTION):
        raise messages.role_is_known(text, found.kind)
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
        return DriveLevel(DriveKind.DESCRIPTION, Path(file), digest)
    if text.strip().endswith(".toml"):
        found = Path(text.strip()).expanduser().resolve()
        description.read(found)
        return DriveLevel(DriveKind.DESCRIPTION, found, description.digest(found))
    raise messages.bad_level(text)


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


def _codec(name: str, text: str) -> str:
    try:
        return DriveDescription({"emulation": {"codec": text.strip()}}).codec
    except DescriptionError:
        raise messages.unknown_word(name, text, (*DRIVE_CODECS, "another level")) from None


def _capacity(name: str, text: str) -> int | str:
    return AUTO if text.strip() == AUTO else parse_memory(text)


def _share(name: str, text: str) -> float:
    stripped = text.strip()
    try:
        value = float(stripped[:-1]) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 10.0:
        raise messages.unknown_word(name, text, ("a share such as 7% or 0.07",))
    return value


def _count(name: str, text: str) -> int:
    if not text.strip().isdecimal() or int(text) > _WRITES_MAX:
        raise messages.unknown_word(name, text, (f"a whole number up to {_WRITES_MAX}",))
    return int(text)


def _mkfs(name: str, text: str) -> tuple[str, ...]:
    words = text.split()
    for position, word in enumerate(words):
        if word.startswith("/") or (position == 0 and not word.startswith("-")):
            raise messages.not_an_option(name, word)
    return tuple(words)


def _mount_options(name: str, text: str) -> tuple[str, ...]:
    options = [word.strip() for word in text.split(",") if word.strip()]
    for word in options:
        if any(letter in word for letter in " /\\\"'") or word in _OWNED_BY_MOUNT:
            raise messages.unknown_word(name, word, ("mount options such as noatime,discard",))
    return tuple(sorted(set(options)))


def _bytes(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value}B"


OF_DRIVE = ModelSize(least_bytes=64 << 20, step_bytes=1 << 20)
"""The least that holds a file system with an empty cluster and two WAL files."""
PLACE = Kind(
    _place,
    str,
    "directory, directory:PATH, image, ssd, csd, device:/dev/…, FILE.toml; of the WAL also beside; "
    "normal=… or compressing=… before a real drive or a description",
    each_path=_each_path,
    rooted=_rooted,
)
CAPACITY = Kind(_capacity, _bytes, f"a size with its unit, or {AUTO}")
SIZE = Kind(lambda _, text: parse_memory(text), _bytes, "a size with its unit: 6GB")
SHARE = Kind(_share, lambda value: f"{value:g}", "a share: 7%, 0.07")
CODEC = Kind(_codec, str, f"{', '.join(DRIVE_CODECS)}, or another level")
COUNT = Kind(_count, str, f"a whole number up to {_WRITES_MAX}")
MKFS = Kind(_mkfs, " ".join, "options of mkfs, but no device")
MOUNT_OPTIONS = Kind(_mount_options, ",".join, "options of mount, with commas between")


@dataclass(frozen=True, kw_only=True)
class OneDrive(Options):
    """One drive; None is what the kind of drive usually has."""

    place: DriveLevel | None = option(
        PLACE,
        name="",
        default=None,
        stage=Stage.INIT,
        summary="where the clusters live, or the WAL if it has a drive of its own",
        read_back=readback.at(readback.drive),
    )
    filesystem_name: str | None = option(
        choice(*KINDS),
        name="filesystem",
        default=None,
        stage=Stage.INIT,
        summary="the file system",
        read_back=readback.at(readback.filesystem),
    )
    mkfs: tuple[str, ...] = option(
        MKFS,
        default=(),
        stage=Stage.INIT,
        summary="further options of mkfs: -b 1024, -J size=64",
        read_back=readback.at(readback.mkfs),
    )
    mount_options: tuple[str, ...] | None = option(
        MOUNT_OPTIONS,
        default=None,
        stage=Stage.INIT,
        summary="mount options (default: noatime)",
        read_back=readback.at(readback.mount_options),
    )
    capacity: int | str | None = option(
        CAPACITY,
        default=None,
        stage=Stage.INIT,
        unit="bytes",
        summary="the drive's capacity (default: by the data), or auto",
        read_back=readback.at(readback.capacity),
        size=OF_DRIVE,
    )
    over_provisioning: float | None = option(
        SHARE,
        default=None,
        stage=Stage.INIT,
        summary="flash beyond capacity: 7% is T/U − 1",
        read_back=readback.at(readback.described),
    )
    codec: str | None = option(
        CODEC,
        default=None,
        stage=Stage.INIT,
        summary="what an emulated drive compresses with",
        read_back=readback.at(readback.described),
    )
    policy: str | None = option(
        choice(*GC_POLICIES),
        default=None,
        stage=Stage.INIT,
        summary="which block garbage collection empties next",
        read_back=readback.at(readback.described),
    )
    precondition: int = option(
        COUNT, default=0, stage=Stage.INIT, unit="drive writes", read_back=readback.nothing,
        summary="times that a device is written over first",
    )  # fmt: skip
    trim: bool = option(
        SWITCH, default=False, stage=Stage.INIT, read_back=readback.nothing,
        summary="before each trial tell a device what its file system does not use (fstrim)",
    )  # fmt: skip
    store: str | None = option(
        choice(*DRIVE_STORES),
        default=None,
        stage=Stage.INIT,
        summary="where an emulated drive keeps its contents",
        read_back=readback.at(readback.described),
    )
    store_bytes: int | None = option(
        SIZE, default=None, stage=Stage.INIT, unit="bytes", read_back=readback.at(readback.described),
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
        """The word for records and messages: the kind, of a description the stem of its file."""
        return self.kind if self.described is None else self.described.kind

    @property
    def filesystem(self) -> Filesystem:
        """The file system to make."""
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
            return self.described.capacity_bytes
        return self.capacity if isinstance(self.capacity, int) else None

    def asked(self) -> list[str]:
        """The options that are set, by name; without the drive itself."""
        declared = declared_options(OneDrive).items()
        return [each.name for field, each in declared if each.name and getattr(self, field) != each.default]


@dataclass(frozen=True, kw_only=True)
class DriveOptions(Options):
    """All drives of one treatment. Raises `UsageError` for options that a kind of drive does not have."""

    namespace = "drive"
    data: OneDrive = group(OneDrive, default=OneDrive())
    wal: OneDrive | None = group(OneDrive, default=None)
    state: str = option(
        choice(FRESH, AGED),
        default=FRESH,
        stage=Stage.INIT,
        summary="emulated drives start fresh, or aged to their steady state (a device: by drive.data.precondition)",
        read_back=readback.nothing,
    )
    check: bool = option(
        SWITCH,
        default=False,
        summary="after each trial look for damage in tables, indexes, file system and drive",
        read_back=readback.nothing,
    )
    live_share: float = option(
        SHARE,
        default=0.8,
        stage=Stage.INIT,
        summary="share of an aged drive that holds live blocks",
        read_back=readback.nothing,
    )
    compressed_to: float = option(
        SHARE,
        default=0.5,
        stage=Stage.INIT,
        summary="what the filling of an aged drive compresses to",
        read_back=readback.nothing,
    )
    timing: str = option(
        choice(UNTIMED, ON, *TIMING_PROFILES), default=UNTIMED, stage=Stage.INIT,
        read_back=readback.at(readback.timing),
        summary="service times of emulated drives: a profile, or on for those of the description",
    )  # fmt: skip
    dilation: int = option(
        whole(1, _DILATION_MAX), default=1, stage=Stage.INIT, read_back=readback.at(readback.dilation),
        summary="how many times slower the clock is by which drives with service times and load.rate go",
    )  # fmt: skip
    cache: str = option(
        choice(PROTECTED, VOLATILE), default=PROTECTED, stage=Stage.INIT, read_back=readback.at(readback.described),
        summary="whether a power cut can take what an emulated drive's cache holds",
    )  # fmt: skip
    flush: str = option(
        choice(HONEST, LIES, DATA_FIRST), default=HONEST, stage=Stage.INIT, read_back=readback.at(readback.described),
        summary="whether an emulated drive's flush does what it says",
    )  # fmt: skip
    atomic_write_bytes: str = option(
        choice("512", "4096", "8192", "16384"), default="4096", stage=Stage.INIT, unit="bytes",
        summary="the aligned unit that a power cut leaves whole", read_back=readback.at(readback.described),
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
        """Refuse what does not fit together; a WAL beside the data has no drive of its own."""
        if self.dilation > 1 and self.timing == UNTIMED:
            raise messages.nothing_to_slow()
        if self.wal is not None and self.wal.kind is DriveKind.BESIDE:
            if self.wal.asked():
                raise messages.needs_drive(f"wal.{self.wal.asked()[0]}", "wal")
            object.__setattr__(self, "wal", None)
        for owner, drive in (("data", self.data), ("wal", self.wal)):
            if drive is None:
                continue
            if drive.place is None and owner == "wal":
                raise messages.needs_drive(f"wal.{drive.asked()[0]}", "wal")
            _check(owner, drive)
            of_emulated = [*(["timing"] if self.timing != UNTIMED else []), *self.persistence]
            if of_emulated and not drive.kind.emulated:
                raise messages.only_emulated(of_emulated[0], drive.label)
            if self.state == AGED and not (drive.kind.emulated or drive.precondition):
                raise messages.cannot_be_aged(owner, drive.label, device=drive.kind is DriveKind.DEVICE)
            timed = self.described(drive)
            if timed is not None and timed.rotates and timed.core.kind == "compressing":
                raise messages.disk_compresses(str(timed.core.profile))

    def described(self, drive: OneDrive) -> Description | None:
        """An emulated drive with the service times that are asked for; None for other kinds."""
        return None if drive.described is None else drive.described.with_timing(self.timing)


def _check(owner: str, drive: OneDrive) -> None:
    """Refuse options that the kind of drive does not have, and a role that is not the described drive's."""
    if drive.described is not None and drive.place is not None:
        drive.described.require_role(drive.place.role, str(drive.place))
    real = drive.kind in (DriveKind.DIRECTORY, DriveKind.DEVICE)
    for name in drive.asked():
        if name == "capacity" and drive.scaled and real:
            continue  # it is as large as it is
        if drive.kind is DriveKind.DIRECTORY and name != "filesystem":
            raise messages.not_for_directories(f"{owner}.{name}")
        only_emulated = name in _OF_EMULATED or (name == "capacity" and drive.kind is DriveKind.DEVICE)
        if only_emulated and not drive.kind.emulated:
            raise messages.only_emulated(f"{owner}.{name}", drive.label)
        if name in ("precondition", "trim") and drive.kind is not DriveKind.DEVICE:
            raise messages.only_devices(f"{owner}.{name}", drive.label)


FACTORS: Catalogue = {factor.pattern: factor for factor in factors_of(DriveOptions)}
"""Pattern to factor, made from the options above."""
