"""A private server for a benchmark of loads: a cluster of its own, settings as where snapshots are made."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.running import Clock, Runner
from pgassay.interfaces.server import Installation, Server
from pgassay.postgres.find import Finder

SETTINGS = {"fsync": "off", "max_wal_size": "4GB", "wal_level": "minimal", "max_wal_senders": "0", "autovacuum": "off"}


@dataclass(frozen=True)
class Bench:
    """What a benchmark needs; `directory` is its own, and gone afterwards."""

    installation: Installation
    runner: Runner
    clock: Clock
    server: Server
    directory: Path


@contextmanager
def serving(
    within: Path | None,
    name: str,
    settings: Mapping[str, str] | None = None,
    *,
    bindir: Path | None = None,
    init: Mapping[str, str] | None = None,
) -> Iterator[Bench]:
    """A fresh server below `within` (None: where temporary files go), stopped and removed at the end.

    `settings` are set along with those of every benchmark, and instead of them; `init` are options of initdb. It is the
    first PostgreSQL that is found, or the one whose programs are in `bindir`.
    """
    account = choose()
    runner, clock = LocalRunner(account), SystemClock()
    installation = Finder(runner, clock, account, os.environ).find(bindir=bindir)
    with tempfile.TemporaryDirectory(dir=within, prefix=f"{name}-") as place:
        directory = Path(place)
        directory.chmod(0o755)
        sockets = directory / "sockets"
        shutil.chown(directory, account.uid, account.gid)
        installation.initialize(directory / "data", init or {})
        server = installation.start(directory / "data", {**SETTINGS, **(settings or {})}, sockets)
        try:
            yield Bench(installation, runner, clock, server, directory)
        finally:
            server.stop()
