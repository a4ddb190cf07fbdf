"""What is said of real devices, of described drives' roles, and of room for images and stores, in PostgreSQL's manner;
see also `drive.messages`."""

from pathlib import Path

from pgassay.bench.errors import DriveError, SpaceError
from pgassay.drive.block.filesystems import KINDS, LABEL
from pgassay.errors import UsageError
from pgassay.study.units import format_size

_MARKED = f"mkfs.ext4 -L {LABEL}-own {{}} marks it as one for pgassay"


def no_block_device(device: Path) -> UsageError:
    """A name that is none."""
    return UsageError(f'"{device}" is not a block device')


def device_in_use(device: Path, why: str) -> DriveError:
    """Mounted, swapped on, held by LVM or RAID: never touched."""
    return DriveError(f'"{device}" is in use ({why}): it is left alone', "name a device that nothing uses")


def device_gone(device: Path, failure: OSError, said: str) -> DriveError:
    """A device that does not answer any more; `said` is what failed because of that."""
    return DriveError(f'"{device}" does not answer any more: {failure.strerror or failure} ({said})')


def device_kept(device: Path, holder: tuple[int, str] | None) -> DriveError:
    """A loop device that is not free although it was unmounted."""
    hint = "look for a program that has it open: fuser"
    if holder:
        hint = f"process {holder[0]} ({holder[1]}) has it mounted in a mount namespace of its own: end it"
    return DriveError(f'could not free "{device}": device busy', hint)


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
        "give all its uses the same filesystem, mkfs, mount_options, precondition and trim, or a partition each",
    )


COUNTS_NOTHING = "the device counts no host writes, or nothing asks it here"
COUNTS_NO_NAND = "the device counts no NAND writes"


def moved_wrongly(counter: str, moved_bytes: float, written_bytes: int, what: str) -> str:
    """A counter that a known write did not move as it must, or not in time."""
    return (
        f"{counter} moved by {format_size(int(moved_bytes))} while {format_size(written_bytes)} of {what} were written"
    )


def no_namespace(device: Path, how: str) -> UsageError:
    """A secure erase of a partition, or of what is no NVMe drive."""
    return UsageError(
        f'"{device}" is no NVMe namespace, and --erase {how} erases nothing else',
        "name the namespace, such as /dev/nvme0n1, or use --erase discard",
    )


def erasure_not_known(device: Path, how: str) -> UsageError:
    """A drive that does not say what an erase would reach."""
    return UsageError(
        f'"{device}" does not say what --erase {how} would reach: it is left alone',
        "install nvme-cli and run as root, or use --erase discard",
    )


def cannot_erase(device: Path, how: str) -> UsageError:
    """A controller without the command."""
    return UsageError(f'"{device}" cannot do --erase {how}: its controller does not offer it', "use --erase discard")


def erases_others(device: Path, how: str, others: int) -> UsageError:
    """An erase that takes namespaces that nobody named."""
    return UsageError(
        f'--erase {how} of "{device}" would erase {others} more {"namespace" if others == 1 else "namespaces"} of its '
        "drive: it is left alone",
        "use --erase discard, which stays within the device",
    )


def erasure_failed(device: Path, how: str, said: str) -> DriveError:
    """The drive began and did not do it, or refused; nothing else was written."""
    return DriveError(f'could not erase "{device}" by {how}: {said}', "use --erase discard")


SANITIZE_FAILED = "its log says that it failed"
SANITIZE_GOES_ON = "it still goes on"
NO_SANITIZE_LOG = "the drive does not say how far it is"


def cannot_trim(device: Path, asked: str) -> UsageError:
    """A device that takes no discards."""
    return UsageError(f'"{device}" takes no discards, so {asked} would do nothing', f"leave {asked} out")


NO_IDENTITY = "the drive has no serial number by which a later run would know it"
EMULATED = "an emulated drive tells its counters itself"
DISTURBED = "other programs wrote meanwhile"


def no_room_to_prove(directory: Path, needed_bytes: int, free_bytes: int, fits_bytes: int) -> DriveError:
    """Known before anything is written. `fits_bytes` is a proof for which there is room, or 0."""
    unit = next((unit for unit in (1 << 30, 1 << 20) if fits_bytes >= unit), 1)
    return DriveError(
        f'"{directory}" has {format_size(free_bytes)} free, this proof needs {format_size(needed_bytes)}, with what it '
        "leaves to others",
        f"make room, or prove with less: --proof {format_size(fits_bytes // unit * unit)}"
        if fits_bytes
        else "make room: no proof that would show anything fits",
    )


def no_directory(directory: Path) -> UsageError:
    """Nothing is made for a proof."""
    return UsageError(f'"{directory}" is not a directory', "name one on the drive whose counters are to be proven")


def nothing_counts(directory: Path, device: str) -> UsageError:
    """A directory on a drive that nobody can ask."""
    return UsageError(
        f'nothing here counts what is written to the drive of "{directory}" ({device})',
        "counters of NVMe drives need nvme-cli, of SATA drives smartmontools, and both need root",
    )


def not_written_as_sent(directory: Path, filesystem: str) -> UsageError:
    """A file system that may store less than it is sent, or elsewhere, so that a known write proves nothing."""
    return UsageError(
        f'"{directory}" lies on {filesystem}, which may store zeros in less: a known write proves nothing there',
        f"name a directory on {', '.join(KINDS)}, mounted without compression",
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


def other_role(typed: str, role: str) -> UsageError:
    """A described drive that is declared to be what it is not."""
    return UsageError(
        f'"{typed}" does not declare what its description says: a drive that is {role}',
        f"declare it as {role}=…, or change its kind or codec",
    )


STORE_BOUND = (
    "a store counts every snapshot and a drive that one trial writes over whole, of which short windows use about half:"
    " drive.data.store_bytes takes less, at the risk of drive_store_full"
)
"""Of the store of an emulated drive; `Attacher` has the amounts."""


def too_little_room(place: Path, needed: int, free: int, what: str, *, stores: bool = False) -> SpaceError:
    """Checked before an image or, with `stores`, a store in a file is made."""
    hint = "free some space, name another --data-dir, or make the drive smaller with drive.data.capacity"
    return SpaceError(
        f'"{place}" has {format_size(free)} free, {format_size(needed)} are needed for {what}',
        f"{hint}; {STORE_BOUND}" if stores else hint,
    )


def too_little_memory(needed: int, available: int) -> SpaceError:
    """A store in memory is reserved before anything runs."""
    return SpaceError(
        f"the drives' stores need {format_size(needed)} of memory, {format_size(available)} are available",
        "keep them in a file with drive.data.store=file, or make the drives smaller with drive.data.capacity;"
        f" {STORE_BOUND}",
    )
