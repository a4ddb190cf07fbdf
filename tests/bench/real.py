"""The real PostgreSQL and runner of this machine, for tests marked `system`; where there is none they are skipped."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import pytest

from pgassay.errors import PgassayError
from pgassay.host.accounts import choose
from pgassay.host.clock import SystemClock
from pgassay.host.runner import LocalRunner
from pgassay.postgres import sockets
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation


def runner() -> LocalRunner:
    """Runs programs; unprivileged ones under the account that servers get."""
    return LocalRunner(choose())


def finder() -> Finder:
    """Looks on this machine."""
    account = choose()
    return Finder(LocalRunner(account), SystemClock(), account, os.environ)


def installation() -> LocalInstallation:
    """The PostgreSQL of this machine."""
    try:
        return finder().find()
    except PgassayError as error:
        pytest.skip(error.message)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A short, closed directory of the servers' account (pytest's own are open to nobody else and long)."""
    folder = sockets.make(choose())
    try:
        yield folder
    finally:
        rmtree(folder)
