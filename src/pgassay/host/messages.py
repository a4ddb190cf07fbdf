"""Every message of the host room that a user may see: lower case, no full stop, with a hint where one helps."""

from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.bench.places import Account


def program_missing(program: str) -> BenchError:
    """A program that is not on this machine."""
    return BenchError(f'program "{program}" was not found', "install it, or add its directory to PATH")


def no_passwd_entry(uid: int) -> BenchError:
    """initdb looks the user up and fails without an entry."""
    return BenchError(
        f"the current user id {uid} has no entry in the password database, and PostgreSQL wants one",
        f"add one (useradd --uid {uid} pgassay), or run as another user",
    )


def no_account() -> BenchError:
    """We are root and nobody else can run a server."""
    return BenchError(
        "PostgreSQL does not run as root, and no unprivileged account was found to run it under",
        "create one: useradd --system pgassay",
    )


def unreachable(path: Path, barrier: Path, account: Account) -> BenchError:
    """The servers' account cannot enter a directory."""
    return BenchError(
        f'account "{account.name}" cannot reach "{path}": it may not enter "{barrier}"',
        "choose a place that it can enter, such as one below /var/lib or /srv",
    )


def no_mount(path: Path) -> BenchError:
    """A path whose file system cannot be told."""
    return BenchError(f'could not tell which file system holds "{path}"')
