"""What is ours, and whether it is alive: marker files, and locks that end with their process.

Only a directory with our marker is ever written to or removed. A session's lock is a flock(2): after a kill or a reboot
nobody holds it, and the session's clones may be swept away by the next lab.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from pgassay.drive import messages

MARKER_FILE = "pgassay-drive.json"
LOCK_FILE = "lock"
FORMAT = 1


def put_marker(directory: Path) -> None:
    """Mark a directory that we have just made."""
    text = json.dumps({"format": FORMAT, "what": "clusters and snapshots of pgassay; removed and remade at will"})
    write_durably(directory / MARKER_FILE, text + "\n")


def require_marker(directory: Path) -> None:
    """Raise `DriveError` unless the directory carries our marker, of a format that we know."""
    try:
        marker = json.loads((directory / MARKER_FILE).read_text())
        found = int(marker["format"])
    except (OSError, ValueError, TypeError, KeyError):
        raise messages.foreign(directory) from None
    if found > FORMAT:
        raise messages.newer(directory, found, FORMAT)


def write_durably(path: Path, text: str) -> None:
    """Make a small file and fsync it and its name."""
    with path.open("x") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def take_lock(directory: Path) -> int | None:
    """Lock a directory for as long as the returned descriptor is open; None when another process has it."""
    descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Wait for the directory's lock and hold it for a few steps that must not cross with another lab's."""
    descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def server_in(directory: Path) -> int | None:
    """The process id of a postmaster that runs in this data directory, by its postmaster.pid and /proc; else None."""
    try:
        pid = int((directory / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None
    try:
        return pid if Path(f"/proc/{pid}/cwd").readlink() == directory.resolve() else None
    except PermissionError:
        return pid
    except OSError:
        return None
