"""Private socket directories: short, ours alone, one server each.

A socket's path has 107 bytes (sun_path less its final null); `trust` is safe on it only because the directory is closed
to all but root and the servers' account.
"""

import os
import tempfile
from pathlib import Path

from pgassay.bench.places import Account
from pgassay.postgres import messages

LIMIT_BYTES = 107
FIRST_PORT = 54320
PREFIX = "pgassay-"


def make(account: Account, parent: Path | None = None) -> Path:
    """A fresh directory (below /tmp unless told), mode 0700, owned by the servers' account. The caller removes it."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    give(path, account)
    return path


def give(path: Path, account: Account) -> None:
    """Hand a directory or file of ours to the servers' account (nothing to do unless we are root)."""
    if account.name is not None:
        os.chown(path, account.uid, account.gid)


def prepare(directory: Path, account: Account) -> int:
    """Make or check `directory` for a server and return a port that is free in it; raises `ClusterError`."""
    longest = directory / ".s.PGSQL.65535"
    if len(os.fsencode(longest)) > LIMIT_BYTES:
        raise messages.socket_path_too_long(longest, LIMIT_BYTES)
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
