"""Which clusters and directories are ours, and which pgassay process uses them, by files inside them.

`PGASSAY_CLUSTER` marks a data directory as ours. It lies inside, so that copies, reflinks and snapshots carry it along;
a directory without it is never started, stopped or removed. `PGASSAY_OWNER` names the process that uses a cluster.
After a crash or SIGKILL of that process it shows that what lies there was left behind; what a running pgassay uses is
not touched. Servers normally die with us (see the host's runner); ending what was left behind is for other cases:
another kernel, a supervisor in between.

Private directories hold a server's log and its socket. The socket's path is short (107 bytes: sun_path less its final
null), and closed to all but root and the servers' account, since `trust` is safe only then. That account may write in
the socket's directory alone: root works in the one above it.
"""

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay import scratch, untrusted
from pgassay.files import Directory, UntrustedError
from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.places import Account
from pgassay.interfaces.proc import boot_id
from pgassay.postgres import processes
from pgassay.postgres.processes import started_ticks

MARKER_FILE = "PGASSAY_CLUSTER"
MARKER_FORMAT = 1


@dataclass(frozen=True)
class Marker:
    """Who made a cluster and when (`made_wall_ns` since the epoch)."""

    format: int
    identity: str
    made_wall_ns: int
    made_by_uid: int
    version: str


def mark(directory: Path, made_wall_ns: int, version: str, account: Account) -> Marker:
    marker = Marker(MARKER_FORMAT, str(uuid.uuid4()), made_wall_ns, os.getuid(), version)
    with Directory.open(directory) as cluster:
        cluster.replace(MARKER_FILE, json.dumps(asdict(marker), indent=1) + "\n", account.owner)
    return marker


def require_mark(directory: Path) -> Marker:
    """The marker of a cluster of ours; raises `ClusterError` for every other directory."""
    try:
        with Directory.open(directory) as cluster:
            found: Marker = untrusted.json(cluster.read(MARKER_FILE), Marker)
            return found
    except (FileNotFoundError, NotADirectoryError, UntrustedError):
        raise ClusterError(
            f'directory "{directory}" was not made by pgassay, and is left alone',
            "only clusters with our marker file are started or stopped",
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f'marker file "{directory / MARKER_FILE}" cannot be read: {error!s}', "the cluster is left alone"
        ) from None


def mark_again(directory: Path, source: Path, account: Account) -> None:
    """Give a copy of `source` that lost our marker the one of its source; harmless where either is none of ours.

    After a loss of power the marker may be gone or in part. It is no file of PostgreSQL's, so that is no damage.
    """
    with suppress(ClusterError):
        require_mark(directory)
        return
    with suppress(ClusterError, FileNotFoundError):
        text = json.dumps(asdict(require_mark(source)), indent=1) + "\n"
        with Directory.open(directory) as copy:
            copy.replace(MARKER_FILE, text, account.owner)


OWNER_FILE = "PGASSAY_OWNER"


def claim(directory: Path) -> None:
    """Write into `directory` that this process uses it."""
    ours = {"pid": os.getpid(), "started_ticks": started_ticks(os.getpid()), "boot": boot_id()}
    with Directory.open(directory) as opened:
        # A base backup of such a server reads it, too.
        opened.replace(OWNER_FILE, json.dumps(ours) + "\n", mode=0o644)


def release(directory: Path) -> None:
    with suppress(FileNotFoundError), Directory.open(directory) as opened:
        opened.unlink(OWNER_FILE)


def abandoned(directory: Path) -> bool:
    """Did the process that used `directory` end without saying so? False where no file says anything."""
    try:
        with Directory.open(directory) as opened:
            owner = untrusted.json(opened.read(OWNER_FILE))
        pid, ticks, boot = int(owner["pid"]), owner["started_ticks"], str(owner["boot"])
    except (OSError, UntrustedError, ValueError, KeyError, TypeError):
        return False
    return boot != boot_id() or bool(started_ticks(pid) != ticks)


SOCKET_PATH_BYTES_MAX = 107
FIRST_PORT = 54320
PRIVATE_PARENT = Path("/tmp")
"""Not $TMPDIR: that may be long, or closed to the servers' account (pam_tmpdir)."""


SOCKETS = "s"
"""The directory in a private one where the servers' account may write."""


@contextmanager
def private_directory(account: Account) -> Iterator[Path]:
    """A fresh directory of ours in /tmp, which the servers' account may pass through.

    Nobody else may even do that. It is gone afterwards.
    """
    with scratch.folder("sockets", PRIVATE_PARENT) as path:
        with Directory.open(path) as private:
            private.give_self(*account.passable)
        yield path


def remove_private_directory(path: Path) -> None:
    """Remove it with all that is in it; another lab that finds it abandoned may be at it, too."""
    with suppress(OSError, UntrustedError), Directory.open(path.parent) as parent:
        parent.remove_tree(path.name)


@contextmanager
def empty_configuration(account: Account) -> Iterator[Path]:
    """A directory with an empty postgresql.conf, which is all that `postgres -C` needs; gone afterwards."""
    with private_directory(account) as private, Directory.open(private) as opened:
        opened.mkdir("data", 0o700, account.owner)
        with opened.inner("data") as data:
            data.replace("postgresql.conf", "", account.owner)
        yield private / "data"


def prepare_socket_directory(directory: Path, account: Account) -> tuple[Path, int]:
    """Make or check `directory`, which is ours, and the one in it where servers make their sockets.

    Returns that one and a port that is free in it; raises `ClusterError`, and `UntrustedError` where it is not ours.
    """
    place = directory / SOCKETS
    longest = place / ".s.PGSQL.65535"
    if len(os.fsencode(longest)) > SOCKET_PATH_BYTES_MAX:
        raise ClusterError(
            f'socket path "{longest}" is {len(str(longest).encode())} bytes long, the '
            f"system allows {SOCKET_PATH_BYTES_MAX}",
            "choose a shorter directory",
        )
    if not directory.exists():
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with Directory.open(directory.parent) as parent:
            owner, mode = account.passable
            parent.mkdir(directory.name, mode, owner)
    with Directory.open(directory) as private:
        mode = os.fstat(private.descriptor).st_mode & 0o777
        if mode & 0o067:
            raise ClusterError(
                f'socket directory "{directory}" is open to others (mode {mode:04o})',
                "it must be ours alone (mode 0700)",
            )
        private.require_ours()
        if private.status(SOCKETS) is None:
            private.mkdir(SOCKETS, 0o700, account.owner)
        with private.inner(SOCKETS) as sockets:
            port = FIRST_PORT
            while sockets.status(f".s.PGSQL.{port}.lock") is not None:
                port += 1
    return place, port


DEPTH = 7
"""How far below a place of ours a cluster may lie: pgassay/sessions/lab-…/disk/crash/1/trial-… of a power cut."""
_END_S = 10.0


def leftovers(place: Path) -> list[Path]:
    """Every cluster of ours below `place` whose owner is gone and that is still served."""
    return [each for each in _clusters(place, DEPTH) if abandoned(each) and processes.serving(each)]


def end_leftover(cluster: Path) -> None:
    """Stop what serves an abandoned cluster of ours; its files stay for the drive to discard.

    The keeper of the killed lab may be at it too, and may have removed them meanwhile.
    """
    try:
        require_mark(cluster)
    except ClusterError:
        if cluster.exists():
            raise
        return
    processes.end(cluster, _END_S)
    release(cluster)


def _clusters(place: Path, depth: int) -> Iterator[Path]:
    """Directories with our marker at most `depth` below `place`; symbolic links are not followed."""
    try:
        if (place / MARKER_FILE).is_file():
            yield place
            return
        folders = [each for each in place.iterdir() if each.is_dir() and not each.is_symlink()] if depth else []
    except OSError:
        return
    for folder in folders:
        yield from _clusters(folder, depth - 1)
