"""A server that is not ours, seen by the lab as if it were a cluster for each clone: databases stand for clusters.

To start one is to set its settings: those of a session on its database, the others for the whole server by ALTER SYSTEM
and a reload, or a restart by the user's command. To stop it is to put the latter back. The server itself is never
started, stopped, signalled or read by its files otherwise. Its drive has clones that are databases, each a copy of one
that we made (CREATE DATABASE); nothing of them outlives the run, since a server that somebody works on is no place to
keep snapshots.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pgassay.errors import UsageError
from pgassay.interfaces.drive_counters import DriveCounters
from pgassay.interfaces.errors import DriveError, QueryError, SettingError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Endpoint, Listening, Mount, Version
from pgassay.interfaces.server import READY_S, Server
from pgassay.interfaces.store import DATABASES, Ageing, DriveOutline, Trait
from pgassay.postgres.attached import facts as about
from pgassay.postgres.attached import scopes
from pgassay.postgres.attached.changes import ServerChanges
from pgassay.postgres.attached.facts import NOBODY, Companions, Facts, Sql, other_clients
from pgassay.postgres.attached.scopes import Scope
from pgassay.postgres.attached.watch import SLOT_BYTES, require_slots, slots
from pgassay.postgres.installation import COPY_DATABASE
from pgassay.postgres.server import Session


class Databases:
    kind = DATABASES

    def __init__(self, changes: ServerChanges, mount: Mount) -> None:
        self._changes = changes
        self._mount = mount
        self._snapshots: dict[str, str] = {}

    def mount(self) -> Mount:
        return self._mount

    def snapshot_mount(self) -> Mount | None:
        return None

    def wal(self) -> DriveOutline | None:
        return None

    def has_snapshot(self, key: str) -> bool:
        return key in self._snapshots

    def ageing(self) -> Ageing | None:
        return None

    def workspace(self, name: str) -> Path:
        return Path(self._changes.new_name())

    def lay_out(self, directory: Path) -> None:
        """Nothing: the server decides where its files are."""

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        self._snapshots[key] = directory.name

    def forget_snapshot(self, key: str) -> None:
        name = self._snapshots.pop(key, None)
        if name is not None:
            self._changes.drop_database(name)

    def clone(self, key: str, name: str) -> Path:
        """CREATE DATABASE … TEMPLATE; raises `DriveError` where the server refuses or has no such snapshot, and
        `BenchError` where another one took its place while the load ran on one that it is compared with."""
        if key not in self._snapshots:
            raise DriveError(f'there is no prepared database "{key}" on the server')
        made = self._changes.new_name()
        try:
            self._changes.create_database(made, self._snapshots[key])
        except QueryError as error:
            self._changes.outlive_failover()
            raise DriveError(f"the server could not copy a database: {error.message}", error.hint) from None
        return Path(made)

    def how_cloned(self) -> str:
        return "CREATE DATABASE"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        return {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        return {}

    def write_back(self, directory: Path) -> None:
        """Nothing: the server's files are its own."""

    def discard(self, directory: Path, *, check: bool = False) -> None:
        self._changes.drop_database(directory.name)

    def release(self) -> None:
        """Nothing: what is owed is put back by `ServerChanges.give_back`, databases and settings alike."""


FOUND_BY = "attached"
"""How the PostgreSQL of a record was found: it is the user's own server."""


class AttachedServer:
    """One database with its settings in force; implements `interfaces.server.Server`."""

    def __init__(self, endpoint: Endpoint, facts: Facts, changes: ServerChanges) -> None:
        self.endpoint = self.client_endpoint = endpoint
        """The user's server, and the database that is ours; a load's program reaches it as we do."""
        self.postmaster_pid = facts.postmaster_pid
        """A number that no process has where it runs elsewhere."""
        self.version = facts.version
        self.placement = ANYWHERE
        self._checkpoints = facts.checkpoints
        self._changes = changes
        self._session = Session(endpoint)
        self._stopped = self._gone = False

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._session.query(sql, parameters)

    def execute(self, sql: str) -> None:
        """One statement without a result. CHECKPOINT is left out where our role may not: the record says so."""
        if sql != "CHECKPOINT" or self._checkpoints:
            self._session.query(sql)

    def alive(self) -> bool:
        """Raises `BenchError` where that is since another server took its place; only the first look waits for one."""
        try:
            return not self._stopped and self.query("SELECT 1") == [(1,)]
        except QueryError:
            if not self._gone:
                self._gone = True
                self._changes.outlive_failover()
            return False

    def freeze(self, *kinds: str) -> None:
        """Nothing: its processes are not ours to stop."""

    def thaw(self) -> None:
        """Nothing, as for `freeze`."""

    def processes(self) -> frozenset[int]:
        return frozenset()

    def stop(self, *, immediately: bool = False) -> None:
        """Put back what holds for the whole server; the database stays until its drive discards it."""
        if not self._stopped:
            self._stopped = True
            self._session.close()
            self._changes.set_system({})

    def log_text(self) -> str:
        return ""


@dataclass(frozen=True)
class AttachedInstallation:
    """The user's server, with the client programs of this machine; implements `interfaces.server.Installation`.

    A directory stands for a database of its name.
    """

    bindir: Path
    """Where the client programs are."""
    sql: Sql
    endpoint: Endpoint
    facts: Facts
    changes: ServerChanges
    companions: Companions = NOBODY
    slot_bytes: int = SLOT_BYTES
    """The most WAL that a replication slot may hold back."""
    called: str = about.ONLY
    found_by: str = FOUND_BY

    @property
    def version(self) -> Version:
        return self.facts.version

    def initialize(self, directory: Path, options: Mapping[str, str]) -> None:
        """An empty database, or a copy of the user's (`copy_database`); raises `UsageError` for options of initdb."""
        others = sorted(f"init.{name}" for name in options if name != COPY_DATABASE)
        if others:
            raise as_it_is(others)
        if COPY_DATABASE in options:
            self.changes.copy_database(directory.name, options[COPY_DATABASE])
        else:
            self.changes.create_database(directory.name)

    def start(
        self,
        directory: Path,
        settings: Mapping[str, str],
        socket_directory: Path,
        placement: Placement = ANYWHERE,
        ready_s: float = READY_S,
        listening: Listening | None = None,
        crashed: Path | None = None,
    ) -> AttachedServer:
        """Set the settings, of this database and of the server, which is restarted if it may be: every trial begins so.

        Raises `SettingError`, `QueryError`, `BenchError` where undeclared clients have come, or slots hold much WAL
        back, and as `ServerChanges.restart`.
        """
        self.changes.require_same()
        clients = about.others(self.sql, self.changes.databases, companions=self.companions)
        if clients:
            raise other_clients(clients, self.facts.role, self.called)
        require_slots(slots(self.sql), self.slot_bytes, self.called)
        found = self._scopes(settings)
        mine, servers, restarted = (
            {n: v for n, v in settings.items() if found[n] is scope}
            for scope in (Scope.DATABASE, Scope.SYSTEM, Scope.RESTART)
        )
        carried = {name.lower() for name in self.changes.carried}
        mine |= {n: v for n, v in settings.items() if found[n] is Scope.HELD and n.lower() in carried}
        self.changes.set_of_database(directory.name, mine)
        self.changes.set_system(servers | restarted)
        now = self.facts if self.changes.restart_command is None else self.changes.restart(restarted)
        started = AttachedServer(replace(self.endpoint, database=directory.name), now, self.changes)
        self.changes.require_direct(started)
        return started

    def setting(self, directory: Path, settings: Mapping[str, str], name: str) -> str:
        scopes.row(self.sql, name)
        return scopes.shown(self.sql, name)

    def check_settings(self, values: Mapping[str, str]) -> None:
        """Raise `SettingError` for what cannot be varied on this server, each with its reason."""
        try:
            self._scopes(values)
        except SettingError as error:
            error.message = about.of_several(self.called, error.message)
            raise

    def _scopes(self, values: Mapping[str, str]) -> Mapping[str, Scope]:
        return scopes.check(self.sql, self.facts, values, restarts=self.changes.restart_command is not None)

    def require_network(self) -> None:
        """Raise `UsageError`: a load's program runs here, and reaches the server as we do."""
        raise as_it_is(["load.host"])


_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname), c.relkind IN ('r', 'm')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'm', 'p', 'i', 'I') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
"""


def rows_of_relations(server: Server) -> dict[str, int]:
    """The rows of each table in the server's database, counted; 0 of indexes, and of what is made of partitions."""
    return {
        name: server.query(f"SELECT count(*) FROM {name}")[0][0] if has_rows else 0
        for name, has_rows in server.query(_TABLES)
    }


def as_it_is(names: Iterable[str], reasons: Sequence[str] = ()) -> UsageError:
    listed = "; ".join(reasons) if reasons else ", ".join(names)
    return UsageError(
        f"a server that runs already is taken as it is, and cannot have: {listed}",
        "leave them out, or run the study without --server on clusters of its own",
    )
