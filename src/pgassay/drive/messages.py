"""Every user message of the drive room, in PostgreSQL's manner: lower case, no full stop, with what helps."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pgassay.bench.errors import DamagedError, DriveError, SpaceError
from pgassay.errors import UsageError
from pgassay.study.units import format_size

_MIB = 1 << 20


def volatile(path: Path, filesystem: str) -> DriveError:
    """Memory or a container's layers: not a drive that anyone asks about."""
    return DriveError(
        f'"{path}" is on {filesystem}, which is not a drive: its speed says nothing about storage',
        "name a directory on a real file system with --data-dir, or allow it with --allow-volatile",
    )


def not_a_directory(path: Path) -> DriveError:
    """A file where clusters were to live."""
    return DriveError(f'"{path}" is not a directory', "name a directory with --data-dir")


def no_directory(path: Path) -> DriveError:
    """Neither the directory nor its parent exists."""
    return DriveError(f'directory "{path}" does not exist and cannot be made', "make it, or name another --data-dir")


def foreign(path: Path) -> DriveError:
    """There is something of this name that we did not make."""
    return DriveError(
        f'"{path}" exists and was not made by pgassay: it is left alone',
        "name another --data-dir, or remove it yourself",
    )


def newer(path: Path, found: int, known: int) -> DriveError:
    """Made by a later version."""
    return DriveError(
        f'"{path}" has format {found}, this version of pgassay reads formats up to {known}',
        "use the later version, or another --data-dir",
    )


def unreachable(path: Path, account: str) -> DriveError:
    """Servers run under an unprivileged account that may not pass through here."""
    return DriveError(
        f'account "{account}", under which servers run, may not enter "{path}"',
        f"chmod o+x {path}, or name another --data-dir",
    )


def too_little_space(path: Path, needed_bytes: int, free_bytes: int) -> SpaceError:
    """Checked before anything is written."""
    return SpaceError(
        f'"{path}" has {free_bytes // _MIB} MB free, {-(-needed_bytes // _MIB)} MB are needed',
        "free some space, name another --data-dir, or use a smaller scale",
    )


def filled_up(path: Path) -> SpaceError:
    """It filled up in spite of the check; what was copied is removed."""
    return SpaceError(f'"{path}" filled up while a snapshot was copied', "something else writes there; free some space")


def bad_name(name: str) -> DriveError:
    """A workspace's or clone's name becomes a file name."""
    return DriveError(f'"{name}" cannot name a workspace or clone: letters, digits, ".", "_" and "-" only')


def name_taken(name: str) -> DriveError:
    """Two workspaces or clones of one name at a time."""
    return DriveError(f'there is a workspace or clone named "{name}" already')


def no_snapshot(key: str) -> DriveError:
    """Asked to clone what was never taken."""
    return DriveError(f'there is no snapshot for key "{key}"')


def snapshots_in_use(root: Path) -> DriveError:
    """A run's next trial may start from any of them."""
    return DriveError(f'a run is active in "{root}" and may need its snapshots', "wait until it has ended")


def not_ours(path: Path) -> DriveError:
    """Only workspaces and clones of this drive are moved or removed."""
    return DriveError(f'"{path}" is not a workspace or clone of this drive: it is left alone')


def still_running(path: Path, pid: int) -> DriveError:
    """A server's files are never taken or removed from under it."""
    return DriveError(f'a server (process {pid}) runs in "{path}"', "stop it first")


def unclean(path: Path) -> DriveError:
    """A snapshot must be of a server that was stopped properly."""
    return DriveError(f'"{path}" holds a postmaster.pid: its server was not shut down cleanly', "prepare it again")


def failed(path: Path, doing: str, failure: OSError) -> DriveError:
    """Anything else that the operating system says."""
    return DriveError(f'could not {doing} in "{path}": {failure.strerror or failure}')


def bad_level(typed: str) -> UsageError:
    """Not a place that a drive can be."""
    return UsageError(
        f'"{typed}" is not a drive',
        "one of: directory, directory:PATH, image, ssd, csd, device:/dev/NAME, or a description file ending in .toml; "
        "of the WAL also beside; a real drive or a description may be declared: normal=…, compressing=…",
    )


def role_is_known(typed: str, kind: str) -> UsageError:
    """A role for a drive that we make ourselves."""
    return UsageError(
        f'"{typed}" declares what a drive of kind {kind} is, which is known',
        "normal= and compressing= stand before directory:PATH, device:/dev/NAME or FILE.toml",
    )


def only_planned() -> DriveError:
    """A dry run has asked for more than a plan: a mistake in pgassay; no data are touched."""
    return DriveError("a dry run makes nothing on a drive")


_WITHOUT = "use drive.data=directory here"


def not_privileged(doing: str) -> DriveError:
    """Mounting and loop devices want root."""
    return DriveError(f"{doing} needs root with the capability CAP_SYS_ADMIN", f"run pgassay as root, or {_WITHOUT}")


def no_device_node(path: Path, doing: str) -> DriveError:
    """A container without /dev/loop-control or /dev/fuse."""
    return DriveError(
        f'"{path}" does not exist or cannot be opened, and {doing} needs it', f"allow it here, or {_WITHOUT}"
    )


def no_program(name: str, package: str) -> DriveError:
    """mkfs of a kind that is not installed."""
    return DriveError(f'program "{name}" is not installed', f"install {package}, or choose another file system")


def command_failed(doing: str, said: str) -> DriveError:
    """losetup, mkfs, mount … said no."""
    first = said.strip().splitlines()[0] if said.strip() else "no reason given"
    return DriveError(f"could not {doing}: {first}")


def system_failed(doing: str, path: Path, failure: OSError) -> DriveError:
    """A system call said no."""
    return DriveError(f'could not {doing} "{path}": {(failure.strerror or str(failure)).lower()}')


def busy(point: Path, holders: Iterable[str]) -> DriveError:
    """A process works in the file system that is to be unmounted."""
    named = ", ".join(holders) or "unknown"
    return DriveError(f'"{point}" is in use and cannot be unmounted: {named}', "end what uses it, then try again")


def held(name: str, other: str) -> DriveError:
    """A block drive holds one cluster at a time."""
    return DriveError(f'"{name}" cannot be made: the drive holds "{other}" already', "discard that first")


def unknown_word(name: str, typed: str, known: Sequence[str]) -> UsageError:
    """A level that is none of a list."""
    return UsageError(f'"{name}" cannot be "{typed}"', f"one of: {', '.join(known)}")


def not_an_option(name: str, word: str) -> UsageError:
    """mkfs's options come from the user; what they name must not."""
    return UsageError(f'"{word}" in "{name}" is not an option of mkfs', "give options only: pgassay adds the device")


def too_small(capacity: int, least: int) -> UsageError:
    """No file system fits into this capacity."""
    return UsageError(f"a drive of {format_size(capacity)} is too small", f"give it {format_size(least)} or more")


def needs_drive(name: str, owner: str) -> UsageError:
    """`drive.wal.filesystem` and the like without `drive.wal`."""
    return UsageError(f'"drive.{name}" needs "drive.{owner}"', f'set "drive.{owner}" too, or leave it out')


def not_for_directories(name: str) -> UsageError:
    """mkfs options for a directory."""
    return UsageError(
        f'"drive.{name}" does not apply to a directory',
        "it applies to image, ssd, csd, a device or a description; give linked levels as treatments",
    )


def other_filesystem(path: Path, found: str, wanted: str) -> UsageError:
    """A directory lies on what it lies on."""
    return UsageError(f'"{path}" is on {found}, not on {wanted}', "name another directory, or use drive.data=image")


def only_emulated(name: str, kind: str) -> UsageError:
    """Over-provisioning and the like of a drive that is not emulated."""
    return UsageError(
        f'"drive.{name}" does not apply to a drive of kind {kind}', "it applies to ssd, csd or a description"
    )


def nothing_to_slow() -> UsageError:
    """A slower clock without service times."""
    return UsageError('"drive.dilation" slows service times, and drive.timing is off', "--set drive.timing=sata-ssd")


def disk_compresses(profile: str) -> UsageError:
    """A disk's service times for a drive that compresses."""
    return UsageError(
        f'"drive.timing" cannot be "{profile}" for a drive that compresses: disks do not',
        "it applies to ssd, or another drive of kind page-mapped",
    )


def only_devices(name: str, kind: str) -> UsageError:
    """Preconditioning or trimming of a drive that is no real device."""
    return UsageError(
        f'"drive.{name}" does not apply to a drive of kind {kind}',
        "it applies to device:/dev/…; emulated drives are aged by drive.state=aged, and trimmed where they are mounted "
        "with mount_options=discard",
    )


def cannot_be_aged(owner: str, kind: str, *, device: bool) -> UsageError:
    """A steady state that nothing would bring about, and that a report must not be labelled with."""
    return UsageError(
        f'"drive.state" cannot be "aged" for {owner} on a drive of kind {kind}'
        + (" that is not written over first" if device else ""),
        f"set drive.{owner}.precondition=2, or drive.state=fresh to take the device as it is"
        if device
        else "set drive.state=fresh: such a drive is taken as it is",
    )


def not_owned(device: Path) -> UsageError:
    """A real device is written over only when its owner says so by name."""
    return UsageError(
        f'"{device}" would be overwritten, and --i-own does not name it',
        f"if you need nothing on it: --i-own {device}",
    )


def bad_description(path: Path, why: str, hint: str = "") -> UsageError:
    """A drive description that cannot be used."""
    return UsageError(f'"{path}" is not a valid drive description: {why}', hint or "see docs/drives.md")


def impossible_drive(kind: str, said: str, hint: str) -> UsageError:
    """The emulating program's own words about a drive that it was asked for, before anything was made."""
    return UsageError(f'drive "{kind}" cannot be emulated: {said or "no reason given"}', hint or "see docs/drives.md")


def damaged_filesystem(device: Path, said: str) -> DamagedError:
    """A file system check found something."""
    return DamagedError(f'the file system on "{device}" is damaged: {said}')


def drive_damaged(home: Path, problems: Sequence[str]) -> DamagedError:
    """An emulated drive's own check found something."""
    return DamagedError(f'the emulated drive in "{home}" is damaged: {"; ".join(problems)}')


def no_daemon() -> DriveError:
    """The program that emulates drives was not built."""
    return DriveError(
        "the program pgassay-drive, which emulates drives, is not installed",
        "build it with: make setup; or name it in $PGASSAY_DRIVE; image and directory work without it",
    )


def daemon_failed(log: Path, said: str, hint: str = "") -> DriveError:
    """It ended, or never became ready."""
    return DriveError(f"the emulated drive did not start: {said or 'no reason given'}", hint or f"its log is {log}")


def daemon_silent(socket: Path, why: str) -> DriveError:
    """Its control socket does not answer."""
    return DriveError(f'the emulated drive does not answer on "{socket}": {why}', "pgassay drive list --repair")


def refused_by_daemon(doing: str, error: str, hint: str | None) -> DriveError:
    """The emulated drive refused a command, in its own words."""
    return DriveError(f"the emulated drive refused {doing}: {error}", hint)


def limited_memory(group: str, limit: int) -> DriveError:
    """A drive and its users in one limited memory cgroup hang each other (see docs/drives.md)."""
    return DriveError(
        f'the emulated drive would share memory cgroup "{group}", limited to {format_size(limit)}, with its users',
        "writes could then hang the machine: start pgassay where the root memory cgroup can be entered, or use image",
    )


def no_such_drive(name: str, known: Iterable[str]) -> UsageError:
    """A name that `pgassay drive create` never made."""
    words = ", ".join(known)
    return UsageError(
        f'there is no drive "{name}"', f"there are: {words}" if words else "pgassay drive create makes one"
    )


def bad_drive_name(name: str) -> UsageError:
    """It becomes a file name and a label."""
    return UsageError(f'"{name}" cannot name a drive', "a name has letters, digits, - and _, at most 40")


def drive_half_made(name: str) -> UsageError:
    """`pgassay drive create` was killed, or is running in another terminal."""
    return UsageError(
        f'drive "{name}" is only partly created',
        "if no other process is creating it, remove it: pgassay drive list --repair",
    )


def drive_exists(name: str) -> UsageError:
    """`pgassay drive create` with the name of a drive that exists."""
    return UsageError(f'there is a drive "{name}" already', "name another, or destroy it: pgassay drive destroy")


def not_emulated(name: str, kind: str) -> UsageError:
    """`stats` or `age` of an image."""
    return UsageError(f'drive "{name}" is of kind {kind}, which has no counters and cannot be aged')


def halves_apart(key: str) -> DriveError:
    """Data and WAL of two different preparations."""
    return DriveError(f'the two halves of snapshot "{key}" do not match', "start again: it will be rebuilt")


def no_block_events(path: Path) -> DriveError:
    """A kernel without block tracing, or a container that may not mount tracefs."""
    return DriveError(
        f'the kernel does not report what block devices receive: "{path}" is not available',
        "it needs tracefs and CONFIG_BLK_DEV_IO_TRACE; an emulated drive records by itself",
    )


def events_lost(device: Path, lost: int) -> DriveError:
    """The machine was too slow to copy them."""
    return DriveError(
        f'the recording of "{device}" is not complete: {lost} events were lost', "record a shorter or a slower load"
    )


def nothing_recorded(device: Path) -> UsageError:
    """No write reached the device during the recording."""
    return UsageError(f'nothing was written to "{device}" while it was recorded', "run the load while recording")


def trace_exists(path: Path) -> UsageError:
    """No recording writes over another."""
    return UsageError(f'"{path}" already exists', "choose another file name")


def no_place_for_trace(path: Path) -> UsageError:
    """A directory that is not there."""
    return UsageError(f'"{path.parent}" is not a directory', "choose a file in a directory that exists")


def no_cuts(kind: str) -> DriveError:
    """A crash state is asked of a drive that does not see its writes one by one."""
    return DriveError(
        f"the power of a drive of the kind {kind} cannot be cut",
        'only an emulated drive can be cut: --set drive.data=ssd (root and FUSE are needed; "pgassay doctor" tells)',
    )
