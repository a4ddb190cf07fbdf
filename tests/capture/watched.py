"""A server that is to be captured, and everything by which a change of it would show."""

import hashlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from pgassay.capture.reads import MARK
from pgassay.interfaces.server import Server
from pgassay.postgres.installation import LocalInstallation
from pgassay.testing import real
from tests import machine
from tests.capture import web_shop

EVERY_WRITE = {"log_statement": "mod", "log_line_prefix": "%a: "}
"""Every statement that changes rows or the schema is logged, with the name of the application."""


@dataclass(frozen=True)
class Watched:
    """The running server with its data directory, what it is made of, and a folder for captures."""

    server: Server
    installation: LocalInstallation
    data: Path
    folder: Path

    def conninfo(self, user: str = "reader") -> str:
        """As `capture` takes it."""
        where = self.server.endpoint
        return f"host={where.socket_directory} port={where.port} user={user} dbname={where.database}"

    def contents(self) -> str:
        """A hash of all data, definitions, settings and files of settings."""
        words = [str(self.installation.bindir / "pg_dumpall"), "-d", self.server.endpoint.conninfo()]
        dumped = subprocess.run([*words, "--restrict-key=same"], capture_output=True, check=False)
        if dumped.returncode:  # before the minor versions of August 2025 it is not known
            dumped = subprocess.run(words, capture_output=True, check=True)
        return hashlib.sha256(dumped.stdout + self.settings().encode()).hexdigest()

    def settings(self) -> str:
        """All settings as the server shows them, and the files that they stand in."""
        rows = self.server.query("SELECT name, setting, source FROM pg_settings WHERE source <> 'client' ORDER BY 1")
        kept = [(self.data / name).read_text() for name in ("postgresql.conf", "postgresql.auto.conf", "pg_hba.conf")]
        return repr((rows, kept))

    def transactions(self) -> int:
        """The next number: only a transaction that writes takes one (manual, "Transactions and Identifiers")."""
        with psycopg.connect(self.server.endpoint.conninfo()) as connection:
            row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
        assert row is not None
        return int(row[0])

    def wal_position(self) -> str:
        """Up to where WAL is written."""
        return str(self.server.query("SELECT pg_current_wal_insert_lsn()")[0][0])

    def changes_by_us(self) -> list[str]:
        """The lines of the log about statements of a capture that change something."""
        return [line for line in self.server.log_text().splitlines() if line.startswith(f"{MARK}: LOG:  statement")]


@contextmanager
def watched_shop(installation: LocalInstallation, settings: dict[str, str]) -> Iterator[Watched]:
    """A web shop on a server of its own, with `EVERY_WRITE`."""
    with real.private_folder() as folder, machine.own_folder() as captures:
        installation.initialize(folder / "data", {})
        given = {"shared_preload_libraries": "pg_stat_statements", "fsync": "off", **EVERY_WRITE, **settings}
        server = installation.start(folder / "data", given, folder / "socket")
        try:
            with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
                connection.execute(web_shop.SCHEMA)
                connection.execute(web_shop.READER)
            yield Watched(server, installation, folder / "data", captures)
        finally:
            server.stop()
