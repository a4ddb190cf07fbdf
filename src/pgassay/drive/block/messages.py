"""What is said of real devices, in PostgreSQL's manner; of all other drives see `drive.messages`."""

from pathlib import Path

from pgassay.bench.errors import DriveError
from pgassay.drive.block.filesystems import LABEL
from pgassay.errors import UsageError
from pgassay.study.units import format_size

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
        "give all its uses the same filesystem, mkfs, mount_options and precondition, or each a partition of its own",
    )


COUNTS_NOTHING = "the device counts no host writes, or nothing asks it here"
COUNTS_NO_NAND = "the device counts no NAND writes"


def moved_wrongly(counter: str, moved_bytes: float, written_bytes: int, what: str) -> str:
    """A counter that a known write did not move as it must, or not in time."""
    return (
        f"{counter} moved by {format_size(int(moved_bytes))} while {format_size(written_bytes)} of {what} were written"
    )


def share_out_of_range(name: str, value: float) -> UsageError:
    """A share of nothing, or of more than all."""
    return UsageError(f"{name} cannot be {value:g}", "give a share above 0 and up to 1")


def no_drive_writes(count: int) -> UsageError:
    """Overwriting that would never begin."""
    return UsageError(f"--drive-writes cannot be {count}", "give a whole number from 1 on")


def proof_too_small(typed: str, least_bytes: int) -> UsageError:
    """A known write that no counter would show."""
    return UsageError(
        f'--proof cannot be "{typed}"', f"give {format_size(least_bytes)} or more; real counters need GBs"
    )
