"""Every user message of the drive room, in PostgreSQL's manner: lower case, no full stop, with what helps."""

from pathlib import Path

from pgassay.bench.errors import DriveError, SpaceError
from pgassay.errors import UsageError

_MIB = 1 << 20


def volatile(path: Path, filesystem: str) -> DriveError:
    """Memory or a container's layers: not a drive that anyone asks about."""
    return DriveError(
        f'"{path}" is on {filesystem}, which is no drive: its speed says nothing about storage',
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
        f'"{path}" has format {found}, this pgassay knows up to {known}', "use the later pgassay, or another --data-dir"
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
        "free some room, name another --data-dir, or use a smaller scale",
    )


def filled_up(path: Path) -> SpaceError:
    """It filled up in spite of the check; what was copied is removed."""
    return SpaceError(f'"{path}" filled up while a snapshot was copied', "something else writes there; free some room")


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
    return DriveError(f'a run lives in "{root}" and may need its snapshots', "wait until it has ended")


def not_ours(path: Path) -> DriveError:
    """Only workspaces and clones of this drive are moved or removed."""
    return DriveError(f'"{path}" is no workspace or clone of this drive: it is left alone')


def still_running(path: Path, pid: int) -> DriveError:
    """A server's files are never taken or removed from under it."""
    return DriveError(f'a server (process {pid}) runs in "{path}"', "stop it first")


def unclean(path: Path) -> DriveError:
    """A snapshot must be of a server that was stopped properly."""
    return DriveError(f'"{path}" holds a postmaster.pid: its server was not shut down cleanly', "prepare it again")


def points_outside(path: Path) -> DriveError:
    """A clone that shares files with its snapshot by a symbolic link would spoil it."""
    return DriveError(f'symbolic link "{path}" leads out of the cluster: it cannot be cloned')


def failed(path: Path, doing: str, failure: OSError) -> DriveError:
    """Anything else that the operating system says."""
    return DriveError(f'could not {doing} in "{path}": {failure.strerror or failure}')


def bad_level(typed: str) -> UsageError:
    """Not a place that a drive can be."""
    return UsageError(
        f'"{typed}" is no drive',
        "one of: directory, directory:PATH, image, ssd, csd, device:/dev/NAME, or a description file ending in .toml",
    )


def only_planned() -> DriveError:
    """A dry run has asked for more than a plan: our mistake, and nobody's data."""
    return DriveError("a dry run makes nothing on a drive")
