"""The real PostgreSQL and runner of this machine, for system tests; a test that finds no PostgreSQL here is skipped."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from pgassay.copying import copy_tree
from pgassay.errors import PgassayError
from pgassay.files import Directory
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.places import Listening
from pgassay.interfaces.server import Server
from pgassay.postgres import ownership
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation


def runner() -> LocalRunner:
    return LocalRunner(choose())


def finder() -> Finder:
    account = choose()
    return Finder(LocalRunner(account), SystemClock(), account, os.environ)


def installation() -> LocalInstallation:
    try:
        return finder().find()
    except PgassayError as error:
        pytest.skip(error.message)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A short, closed directory of the servers' account (pytest's own are closed to that account, and long)."""
    account = choose()
    with ownership.private_directory(account) as folder, Directory.open(folder) as opened:
        opened.give_self(account.owner, 0o700)
        try:
            yield folder
        finally:
            opened.give_self((os.geteuid(), os.getegid()))


@cache
def _pattern(bindir: Path) -> "tempfile.TemporaryDirectory[str]":
    """Holds an empty cluster for others to be copied from, until the process ends: initdb takes ten times as long."""
    made = tempfile.TemporaryDirectory(prefix="pattern-")
    Path(made.name).chmod(0o755)
    finder().named(bindir).initialize(Path(made.name) / "data", {})
    return made


@contextmanager
def server(listening: Listening | None = None, /, **settings: str) -> Iterator[tuple[Server, Path]]:
    """A private, empty server that does not wait for its disk, and its data directory; both are gone at the end.

    All of a process have one system identifier. With `listening` a load's program reaches it over TCP.
    """
    found = installation()
    with private_folder() as folder:
        copy_tree(Path(_pattern(found.bindir).name) / "data", folder / "data", share=False)
        started = found.start(folder / "data", {"fsync": "off", **settings}, folder / "socket", listening=listening)
        try:
            yield started, folder / "data"
        finally:
            started.stop()
