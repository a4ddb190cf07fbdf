"""What a study asks of its drives, from the `drive.*` levels: one drive for the data, perhaps one for the WAL.

Only parsing and refusing: nothing is attached or looked at here but description files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.drive.block import description, messages
from pgassay.drive.block.description import PRESETS, Description
from pgassay.drive.block.filesystems import KINDS, Filesystem
from pgassay.study.drives import DriveKind
from pgassay.study.units import parse_memory

DIRECTORY, IMAGE = DriveKind.DIRECTORY, DriveKind.IMAGE
DEVICE, DESCRIBED = DriveKind.DEVICE, DriveKind.DESCRIPTION
_KEYS = {
    "codec": "emulation.codec",
    "over_provisioning": "drive.over_provisioning",
    "policy": "drive.policy",
    "store": "emulation.store",
    "store_bytes": "emulation.store_bytes",
}
"""Of an emulated drive's description, by the last name of their factor."""
DATA, WAL = "data", "wal"
FRESH, AGED = "fresh", "aged"
OFF = "off"
AUTO = "auto"
"""A capacity as small as the data allow, so that a trial writes much of it."""


@dataclass(frozen=True)
class DriveWish:
    """One drive. `place` is the directory or device that was named; `described` is there for emulated drives only;
    `scaled`: capacity and superblock follow the data closely; `precondition`: drive writes before mkfs, of a device.
    """

    kind: str
    place: Path | None = None
    filesystem: Filesystem = field(default_factory=Filesystem)
    filesystem_named: bool = False
    capacity_bytes: int | None = None
    scaled: bool = False
    precondition: int = 0
    described: Description | None = None

    @property
    def directory(self) -> Path | None:
        """The directory that was named."""
        return self.place if self.kind == DIRECTORY else None

    @property
    def emulated(self) -> bool:
        """Is it a program?"""
        return self.described is not None


@dataclass(frozen=True)
class SetWish:
    """All drives of one treatment; shares are of the capacity or of a block."""

    data: DriveWish
    wal: DriveWish | None = None
    state: str = FRESH
    live_share: float = 0.8
    compressed_to: float = 0.5


def parse(wanted: Mapping[str, str]) -> SetWish:
    """From `Setup.drive` (names without `drive.`, canonical levels); raises `UsageError` for what does not fit."""
    for name in wanted:
        owner, dot, _ = name.partition(".")
        if dot and owner == WAL and WAL not in wanted:
            raise messages.needs_drive(name, WAL)
    data, wal = _drive(DATA, wanted), _drive(WAL, wanted) if WAL in wanted else None
    if wanted.get("timing", OFF) != OFF:
        for drive in (data, wal):
            if drive is not None and not drive.emulated:
                raise messages.only_emulated("timing", drive.kind)
    return SetWish(
        data=data,
        wal=wal,
        state=wanted.get("state", FRESH),
        live_share=float(wanted.get("live_share", "0.8")),
        compressed_to=float(wanted.get("compressed_to", "0.5")),
    )


def _drive(owner: str, wanted: Mapping[str, str]) -> DriveWish:
    kind, _, rest = wanted.get(owner, DIRECTORY).partition(":")
    options = {name.partition(".")[2]: value for name, value in wanted.items() if name.startswith(f"{owner}.")}
    described = _described(kind, rest)
    for name in options:
        if kind == DIRECTORY and name != "filesystem":
            raise messages.not_for_directories(f"{owner}.{name}")
        if (name in _KEYS and described is None) or (name == "capacity" and kind == DEVICE):
            raise messages.only_emulated(f"{owner}.{name}", kind)
        if name == "precondition" and kind != DEVICE:
            raise messages.only_devices(f"{owner}.{name}", kind)
    scaled = options.get("capacity") == AUTO
    capacity = None if scaled else options.get("capacity")
    if described is not None:
        described = _with_levels(described, options).with_timing(wanted.get("timing", OFF))
        if described.rotates and described.core.kind == "compressing":
            raise messages.disk_compresses(str(described.core.profile))
        capacity_bytes = None if scaled else described.capacity_bytes
    else:
        capacity_bytes = parse_memory(capacity) if capacity else None
    return DriveWish(
        kind=described.kind if described is not None else kind,
        place=Path(rest) if rest and described is None else None,
        filesystem=filesystem_of(options),
        filesystem_named="filesystem" in options,
        capacity_bytes=capacity_bytes,
        scaled=scaled,
        precondition=int(options.get("precondition", "0")),
        described=described,
    )


def _with_levels(described: Description, options: Mapping[str, str]) -> Description:
    values: dict[str, object] = {_KEYS[name]: level for name, level in options.items() if name in _KEYS}
    if "over_provisioning" in options:
        values["drive.over_provisioning"] = float(options["over_provisioning"])
    described = described.with_values(values)
    capacity = options.get("capacity", AUTO)
    return described if capacity == AUTO else described.with_capacity(parse_memory(capacity))


def filesystem_of(options: Mapping[str, str]) -> Filesystem:
    """The file system that these levels ask for (names without owner)."""
    usual = Filesystem()
    mount_options = options.get("mount_options")
    return Filesystem(
        options.get("filesystem", usual.name),
        tuple(options.get("mkfs", "").split()),
        tuple(mount_options.split(",")) if mount_options else usual.mount_options,
    )


def least_bytes(filesystem: Filesystem) -> int:
    """The smallest drive that holds such a file system."""
    return KINDS[filesystem.name].capacity_min_bytes


def _described(kind: str, rest: str) -> Description | None:
    if kind == DESCRIBED:
        return description.read(Path(rest.rpartition("#")[0]))
    return PRESETS.get(kind)
