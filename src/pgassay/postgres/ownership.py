"""Which clusters and directories are ours, and which pgassay process uses them, by files inside them.

`PGASSAY_CLUSTER` marks a data directory as ours. It lies inside, so that copies, reflinks and snapshots carry it along;
a directory without it is never started, stopped or removed. `PGASSAY_OWNER` names the process that uses a cluster or a
private directory. After a crash or SIGKILL of that process it shows that what lies there was left behind; what a
running pgassay uses is not touched.

Private directories hold a server's socket: short, since a socket's path has 107 bytes (sun_path less its final null),
and closed to all but root and the servers' account, since `trust` is safe only then.
"""

import json
import os
import tempfile
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay.bench.errors import ClusterError
from pgassay.bench.places import Account
from pgassay.files import Directory
from pgassay.postgres import messages
from pgassay.postgres.processes import started_ticks

MARKER_FILE = "PGASSAY_CLUSTER"
MARKER_FORMAT = 1


@dataclass(frozen=True)
class Marker:
    """Who made a cluster and when (`made_wall_ns` since the epoch), and how we connect to it."""

    format: int
    identity: str
    made_wall_ns: int
    made_by_uid: int
    version: str
    database: str = "postgres"
    role: str = "postgres"
    """As whom, and where, we connect: a cluster that came from elsewhere has its own database, and a role of ours."""


def mark(
    directory: Path,
    made_wall_ns: int,
    version: str,
    account: Account,
    *,
    database: str = Marker.database,
    role: str = Marker.role,
) -> Marker:
    """Write our marker into `directory`; returns it."""
    marker = Marker(MARKER_FORMAT, str(uuid.uuid4()), made_wall_ns, os.getuid(), version, database, role)
    path = directory / MARKER_FILE
    path.write_text(json.dumps(asdict(marker), indent=1) + "\n", encoding="utf-8")
    if account.name is not None:
        os.chown(path, account.uid, account.gid)
    return marker


def require_mark(directory: Path) -> Marker:
    """The marker of a cluster of ours; raises `ClusterError` for every other directory."""
    path = directory / MARKER_FILE
    if path.is_symlink() or not path.is_file():
        raise messages.foreign_cluster(directory)
    try:
        return Marker(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise messages.bad_marker(path, str(error)) from None


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
            copy.replace(MARKER_FILE, text, None if account.name is None else (account.uid, account.gid))


OWNER_FILE = "PGASSAY_OWNER"


def claim(directory: Path) -> None:
    """Write into `directory` that this process uses it."""
    ours = {"pid": os.getpid(), "started_ticks": started_ticks(os.getpid()), "boot": _boot()}
    (directory / OWNER_FILE).write_text(json.dumps(ours) + "\n", encoding="utf-8")


def release(directory: Path) -> None:
    """Remove the note that this process uses `directory`; harmless when there is none."""
    (directory / OWNER_FILE).unlink(missing_ok=True)


def abandoned(directory: Path) -> bool:
    """Did the process that used `directory` end without saying so? False where no file says anything."""
    path = directory / OWNER_FILE
    if path.is_symlink() or not path.is_file():
        return False
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        pid, ticks, boot = int(owner["pid"]), owner["started_ticks"], str(owner["boot"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return boot != _boot() or bool(started_ticks(pid) != ticks)


def _boot() -> str:
    """Which boot of the machine this is."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


SOCKET_PATH_BYTES_MAX = 107
FIRST_PORT = 54320
PRIVATE_PREFIX = "pgassay-"
PRIVATE_PARENT = Path("/tmp")
"""Not $TMPDIR: that may be long, or closed to the servers' account (pam_tmpdir)."""


def make_private_directory(account: Account, parent: Path | None = None) -> Path:
    """A fresh directory in `parent` (default /tmp), mode 0700, owned by the servers' account; the caller removes it."""
    path = Path(tempfile.mkdtemp(prefix=PRIVATE_PREFIX, dir=parent or PRIVATE_PARENT))
    claim(path)
    give(path, account)
    return path


def give(path: Path, account: Account) -> None:
    """Hand a directory or file of ours to the servers' account (nothing to do unless we are root)."""
    if account.name is not None:
        os.chown(path, account.uid, account.gid)


def prepare_socket_directory(directory: Path, account: Account) -> int:
    """Make or check `directory` for a server and return a port that is free in it; raises `ClusterError`."""
    longest = directory / ".s.PGSQL.65535"
    if len(os.fsencode(longest)) > SOCKET_PATH_BYTES_MAX:
        raise messages.socket_path_too_long(longest, SOCKET_PATH_BYTES_MAX)
    if not directory.exists():
        directory.mkdir(mode=0o700, parents=True)
        give(directory, account)
    mode = directory.stat().st_mode & 0o777
    if mode & 0o077:
        raise messages.socket_directory_open(directory, mode)
    port = FIRST_PORT
    while (directory / f".s.PGSQL.{port}.lock").exists():
        port += 1
    return port
