"""What attackers of these tests can do: run as the servers' account or as nobody, beside us, for as long as we work."""

import hashlib
import os
import pwd
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pgassay.host.accounts import choose
from pgassay.interfaces.places import Account

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has anything to lose to another account")


def servers_account() -> Account:
    """The account that servers run under; skips where that is ourselves."""
    account = choose()
    if account.name is None:
        pytest.skip("servers run as ourselves")
    return account


def nobody() -> Account:
    """An account that has nothing to do with us."""
    entry = pwd.getpwnam("nobody")
    return Account("nobody", entry.pw_uid, entry.pw_gid)


@contextmanager
def again_and_again(account: Account, step: Callable[[], None]) -> Iterator[None]:
    """A process of the account that repeats a step, whatever comes of it, until the `with` ends."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(account.gid)
        os.setuid(account.uid)
        while True:
            with suppress(OSError):
                step()
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def as_account(account: Account, step: Callable[[], object]) -> None:
    """One step of a process of the account; raises `AssertionError` where it fails."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(account.gid)
            os.setuid(account.uid)
            step()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def fingerprint(place: Path) -> dict[str, tuple[object, ...]]:
    """Of all below a place: kind and mode, owner, inode, time of change, and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (place, *sorted(place.rglob("*"))):
        facts = path.lstat()
        contents = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (facts.st_mode, facts.st_uid, facts.st_gid, facts.st_ino, facts.st_mtime_ns, contents)
    return found
