"""What is said of real devices, in PostgreSQL's manner; of all other drives see `drive.messages`."""

from pathlib import Path

from pgassay.bench.errors import DriveError
from pgassay.drive.block.filesystems import LABEL
from pgassay.errors import UsageError

_MARKED = f"mkfs.ext4 -L {LABEL}-own {{}} marks it as one for pgassay"


def no_block_device(device: Path) -> UsageError:
    """A name that is none."""
    return UsageError(f'"{device}" is not a block device')


def device_in_use(device: Path, why: str) -> DriveError:
    """Mounted, swapped on, held by LVM or RAID: never touched."""
    return DriveError(f'"{device}" is in use ({why}): it is left alone', "name a device that nothing uses")


def carries_data(device: Path, found: str) -> DriveError:
    """Something is on it that we did not make."""
    return DriveError(
        f'"{device}" carries data that pgassay did not make ({found}): it is left alone',
        f"if you do not need them: wipefs --all {device}; {_MARKED.format(device)}",
    )


def carries_unknown_data(device: Path, place: int) -> DriveError:
    """Something is on it that has no signature."""
    return DriveError(
        f'"{device}" carries data that pgassay did not make (byte {place} is not zero): it is left alone',
        f"if you do not need them: {_MARKED.format(device)}",
    )


def used_otherwise(device: Path) -> UsageError:
    """Two treatments want another file system, or another preparation, of one device."""
    return UsageError(
        f'"{device}" is used with two file systems or preparations in one study',
        "give all its uses the same filesystem, mkfs, mount_options and precondition",
    )
