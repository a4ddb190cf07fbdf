"""A PostgreSQL that pgassay did not make and does not know: somebody's staging server, with a database of their own."""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg

from pgassay.host.accounts import choose
from pgassay.interfaces.running import Running
from pgassay.testing import real
from tests.fleet.namespaces import Host

PORT = 5999
_WAITED_FOR = "database system is ready to accept connections"
_OWNERS = (
    "ALTER SYSTEM SET checkpoint_timeout = '7min'",
    "CREATE DATABASE app",
    "ALTER DATABASE app SET work_mem = '17MB'",
    "CREATE ROLE plain LOGIN CREATEDB IN ROLE pg_monitor",
    "ALTER ROLE plain SET DateStyle = 'ISO'",
)
"""What its owner has made of it."""


def options(sockets: Path, host: Host | None) -> list[str]:
    """Of a server's command line: where it is reached."""
    return ["-k", str(sockets), "-p", str(PORT), "-c", f"listen_addresses={'0.0.0.0' if host else ''}"]


class Staging:
    """A server below a folder, and on a host where one is given; `state` is all that must be as it was."""

    def __init__(self, folder: Path, host: Host | None = None) -> None:
        self.folder = folder
        self.host = host
        self.data = folder / "data"
        self._bindir = real.installation().bindir
        self._runner = real.runner()
        self._running: Running | None = None
        words = ["-D", str(self.data), "-U", "owner", "--auth=trust", "--no-sync", "--locale=C"]
        done = self._runner.run([str(self._bindir / "initdb"), *words])
        assert done.status == 0, done.stderr
        self.start()
        for statement in _OWNERS:
            self.query(statement)
        with self.connected("app") as session:
            session.execute("CREATE TABLE orders AS SELECT n FROM generate_series(1, 1000) n")
        self.query("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start it, also after a crash."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        self._running = self.started(self.data, self.folder, log, self.host)
        while _WAITED_FOR not in log.read_text():
            try:
                self._running.wait(0.05)
            except TimeoutError:
                continue
            raise AssertionError(log.read_text())

    def started(self, data: Path, sockets: Path, log: Path, host: Host | None) -> Running:
        """The server of this data directory, on a host also by its addresses."""
        words = [str(self._bindir / "postgres"), "-D", str(data), *options(sockets, host)]
        with host.inside() if host else nullcontext():
            return self._runner.start(words, stdout=log, stderr=log, directory=Path("/"))

    def stop(self) -> None:
        """End it without a word, as a power cut would."""
        if self._running is not None:
            self._running.terminate()

    def dsn(self, role: str = "owner", database: str = "postgres") -> str:
        """How it is reached."""
        return f"host={self.folder} port={PORT} user={role} dbname={database}"

    def connected(self, database: str = "postgres") -> "psycopg.Connection[tuple[Any, ...]]":
        """A client of its owner's."""
        return psycopg.connect(
            self.dsn(database=database), autocommit=True, application_name="the owner's own", client_encoding="UTF8"
        )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of one statement, in a session that ends with it."""
        with self.connected() as session:
            cursor = session.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def show(self, name: str) -> str:
        """The value that a new session has."""
        return str(self.query(f"SHOW {name}")[0][0])

    def state(self) -> dict[str, object]:
        """Databases with comments and settings, roles, ALTER SYSTEM's file by its lines, and what is in force."""
        lines = (self.data / "postgresql.auto.conf").read_text().splitlines()
        with self.connected("app") as session:
            orders = session.execute("SELECT count(*), sum(n) FROM orders").fetchall()
        return {
            "file": sorted(line for line in lines if not line.startswith("#")),
            "databases": self.query("SELECT datname, datallowconn, datacl::text FROM pg_database ORDER BY 1"),
            "comments": self.query("SELECT count(*) FROM pg_shdescription WHERE description LIKE '%pgassay%'"),
            "of databases": self.query("SELECT setdatabase, setrole, setconfig FROM pg_db_role_setting ORDER BY 1, 2"),
            "roles": self.query("SELECT rolname FROM pg_roles ORDER BY 1"),
            "settings": self.query(
                "SELECT name, setting, source FROM pg_settings WHERE context <> 'internal'"
                " AND source NOT IN ('client', 'session') ORDER BY 1"
            ),
            "orders": orders,
        }


_SCRIPT = """#!/bin/sh
echo restart >> {folder}/calls
inside() {{ touch {folder}/inside; sleep $1; }}
case "$(cat {folder}/mode)" in
  hang) inside 600 ;;
  fail) echo "Job for postgresql.service failed."; exit 3 ;;
  nothing) exit 0 ;;
  ignore) {pg_ctl} -D {folder}/data {how} restart -o "{options} -c shared_buffers=77MB" ;;
  manage) grep -v ^shared_buffers {folder}/data/postgresql.auto.conf >{folder}/kept
    cat {folder}/kept >{folder}/data/postgresql.auto.conf
    {{ cat {folder}/data/postgresql.conf; echo shared_buffers = 77MB; }} >{folder}/managed.conf
    {pg_ctl} -D {folder}/data {how} restart -o "{options} -c config_file={folder}/managed.conf" ;;
  another) {pg_ctl} -D {folder}/data {how} stop && {pg_ctl} -D {folder}/second {how} start -o "{options}" ;;
  slow) inside 1; {pg_ctl} -D {folder}/data {how} stop; sleep 1; {pg_ctl} -D {folder}/data {how} start -o "{options}" ;;
  half) {pg_ctl} -D {folder}/data {how} stop; inside 600 ;;
  *) {pg_ctl} -D {folder}/data {how} restart -o "{options}" ;;
esac
"""


class Restartable(Staging):
    """A staging server with a script of its owner's that restarts it, as the word in `mode` says."""

    def __init__(self, folder: Path, host: Host | None = None) -> None:
        super().__init__(folder, host)
        account = choose()
        words = [str(real.installation().bindir / "pg_ctl")]
        if os.geteuid() == 0:
            words = ["setpriv", f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups", *words]
        if host is not None:
            words = ["nsenter", f"--net=/run/netns/{host.space}", *words]
        self.script = folder / "restart.sh"
        self._pg_ctl = shlex.join(words)
        text = _SCRIPT.format(
            folder=folder,
            pg_ctl=self._pg_ctl,
            how=f"-w -t 60 -m fast -s -l {folder}/log2",
            options=shlex.join(options(folder, host)),
        )
        self.script.write_text(text)
        self.script.chmod(0o755)
        (folder / "log2").touch()
        os.chown(folder / "log2", account.uid, account.gid)
        self.mode("as it should")

    def mode(self, word: str) -> None:
        """How the next restarts go."""
        (self.folder / "mode").write_text(word)
        (self.folder / "inside").unlink(missing_ok=True)

    def restarts(self) -> int:
        calls = self.folder / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def inside(self) -> bool:
        """Is a restart under way that takes its time?"""
        return (self.folder / "inside").exists()

    def stop(self) -> None:
        """Whoever has started it."""
        for data in ("data", "second"):
            if (self.folder / data).exists():
                os.system(f"{self._pg_ctl} -D {self.folder}/{data} -m immediate -w stop >/dev/null 2>&1")
        super().stop()

    def again(self) -> None:
        """As it should run, for the next test."""
        self.mode("as it should")
        os.system(f"{self.script} >/dev/null 2>&1")


@contextmanager
def staging(kind: Callable[[Path], Staging] = Staging) -> Iterator[Staging]:
    """It runs, and is gone at the end."""
    with real.private_folder() as folder:
        if os.geteuid() == 0:
            folder.chmod(0o755)
        assert choose() is not None
        server: Staging | None = None
        try:
            server = kind(folder)
            yield server
        finally:
            if server is not None:
                server.stop()
