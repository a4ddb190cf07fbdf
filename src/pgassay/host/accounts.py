"""The account that servers run under.

PostgreSQL refuses root, so root changes to an unprivileged account, and says which. Any other user's servers run as
that user, who needs an entry in the password database (manual, "initdb").
"""

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Account

PREFERRED = ("pgassay", "postgres")
LAST_RESORT = "nobody"


def choose(environment: Mapping[str, str] = os.environ) -> Account:
    """The account for servers: ourselves, or for root the first of pgassay, postgres, $SUDO_USER, nobody."""
    uid = os.geteuid()
    if uid != 0:
        try:
            pwd.getpwuid(uid)
        except KeyError:
            raise BenchError(
                f"the current user id {uid} has no entry in the password database, and PostgreSQL wants one",
                f"add one (useradd --uid {uid} pgassay), or run as another user",
            ) from None
        return Account(None, uid, os.getegid())
    for name in (*PREFERRED, environment.get("SUDO_USER", ""), LAST_RESORT):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise BenchError(
        "PostgreSQL does not run as root, and no unprivileged account was found to run it under",
        "create one: useradd --system pgassay",
    )


def describe(account: Account) -> str:
    """For the user: `servers run as "postgres" (uid 101), because PostgreSQL refuses root`."""
    if account.name is None:
        return f"servers run as the current user (uid {account.uid})"
    return f'servers run as "{account.name}" (uid {account.uid}), because PostgreSQL refuses root'


def groups_of(account: Account) -> list[int]:
    return os.getgrouplist(account.name, account.gid) if account.name else [account.gid]


def barrier(path: Path, account: Account) -> Path | None:
    """The first directory on the way to `path` (itself included) that the account may not enter; None if all may be.

    By the permission bits alone: access control lists are not looked at.
    """
    resolved = path.resolve()
    for folder in (*reversed(resolved.parents), resolved):
        if not folder.is_dir():
            return None
        if not _permits(folder, account, stat.S_IXOTH):
            return folder
    return None


def may_read(file: Path, account: Account) -> bool:
    """May the account read this file where it is? By the permission bits, as `barrier`."""
    return barrier(file.parent, account) is None and file.exists() and _permits(file, account, stat.S_IROTH)


def _permits(path: Path, account: Account, bit: int) -> bool:
    """By the bits of the class that the account is in; `bit` is that of others."""
    status = path.stat()
    if status.st_uid == account.uid:
        bit <<= 6
    elif status.st_gid in groups_of(account):
        bit <<= 3
    return bool(status.st_mode & bit)


def require_reach(path: Path, account: Account) -> None:
    if account.name is not None and (closed := barrier(path, account)) is not None:
        raise BenchError(
            f'account "{account.name}" cannot reach "{path}": it may not enter "{closed}"',
            "choose a place that it can enter, such as one below /var/lib or /srv",
        )
