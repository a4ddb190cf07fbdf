"""What a server says of itself and of our role there, and who else is connected; nothing is changed for the answers.

Without a superuser much is hidden (manual, "Predefined Roles"): what is not shown is None or empty, and what it costs
the study is said by `rights`.

Standbys, poolers, exporters and backup agents are on every server that people have; which of them may stay during a
study the user declares (`Companions`), and `watch` measures what they do.
"""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pgassay.errors import UsageError
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError, QueryError
from pgassay.interfaces.places import Version
from pgassay.interfaces.proc import process_of

STANDBY = "walsender"
"""The kind of client that streams WAL; who takes a base backup by the same protocol is a "backup"."""


@dataclass(frozen=True)
class Client:
    """Somebody's session on the server; empty where it is hidden."""

    pid: int
    application: str
    database: str
    role: str
    kind: str
    state: str = ""

    @property
    def words(self) -> str:
        parts = [f"pid {self.pid}", self.application and f"application_name {self.application}"]
        parts.append(f"database {self.database}" if self.database else self.kind or "replication")
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Companions:
    """Whom the user has declared."""

    roles: frozenset[str] = frozenset()
    applications: frozenset[str] = frozenset()
    standbys: bool = False

    @classmethod
    def of(cls, words: Sequence[str]) -> "Companions":
        """From `role=NAME`, `application_name=NAME` and `standby`; raises `UsageError` for any other word."""
        found: dict[str, set[str]] = {"role": set(), "application_name": set(), "standby": set()}
        for word in words:
            kind, equals, name = word.partition("=")
            if kind not in found or (kind == "standby") == bool(equals) or bool(equals) != bool(name):
                raise UsageError(
                    f'--companion cannot be "{word}"', "give role=NAME, application_name=NAME, or standby; repeat it"
                )
            found[kind].add(name)
        return cls(frozenset(found["role"]), frozenset(found["application_name"]), bool(found["standby"]))

    def __contains__(self, client: Client) -> bool:
        streams = client.kind == STANDBY and not client.database  # a subscriber of logical replication has a database
        return client.role in self.roles or client.application in self.applications or (self.standbys and streams)

    @property
    def sessions(self) -> bool:
        """May ordinary sessions begin in a window, so that their number says nothing of strangers?"""
        return bool(self.roles or self.applications)

    @property
    def words(self) -> str:
        found = [f"role={each}" for each in sorted(self.roles)]
        found += [f"application_name={each}" for each in sorted(self.applications)]
        return ", ".join([*found, *(["standby"] if self.standbys else [])])


NOBODY = Companions()


def proposed(found: Sequence[Client], ours: str) -> str:
    """The options that would declare these clients, for the command line; `ours` is our own role, never proposed."""
    words = []
    for each in found:
        if each.kind == STANDBY and not each.database:
            words.append("standby")
        elif each.role and each.role != ours:
            words.append(f"role={each.role}")
        elif each.application:
            words.append(f"application_name={each.application}")
    return " ".join(f"--companion {shlex.quote(word)}" for word in dict.fromkeys(words))


ONLY = "the server of --server"
"""What a server is called in messages where no other one is named."""


def of_several(called: str, text: str) -> str:
    """A message that names no server, with the one that it is about where there are several."""
    return text if called == ONLY else f"{called}: {text}"


_STAGING = "attach only to a staging server that nobody needs meanwhile (docs/your-server.md)"
_LISTED = 5

NO_PROCESS = 2**22 + 1
"""A process id that no process can have (proc(5), pid_max): of a server that is not on this machine."""
_PATIENCE_S = 2.0
"""A client that has just left is listed for a moment longer."""
_LOOK_S = 0.1


class Sql(Protocol):
    """A session on the server, kept for us (autocommit); see `postgres.server.Session`."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of one statement; raises `QueryError`."""

    def close(self) -> None:
        """The next statement connects anew."""


@dataclass(frozen=True)
class Facts:
    version: Version
    system: str
    """Its system identifier; empty where the server does not report it."""
    standby: bool
    role: str
    superuser: bool
    creates_databases: bool
    reads_settings: bool
    """May the role see where settings come from (pg_read_all_settings)?"""
    reads_statistics: bool
    """May it see what others do (pg_read_all_stats)?"""
    checkpoints: bool
    reloads: bool
    connections: int
    """How many an ordinary role can have at once."""
    data_directory: Path | None
    """As the server says, wherever it runs; None where that is hidden."""
    postmaster_pid: int = NO_PROCESS
    """Of a server on this machine."""
    started: str = ""
    """When, in seconds since 1970: with `system` it tells a server from a physical copy of it."""
    timeline: int = 0
    """Another one after a failover; 0 where it does not say, as on a standby."""

    @property
    def here(self) -> bool:
        return self.postmaster_pid != NO_PROCESS


STARTED = "extract(epoch FROM pg_postmaster_start_time())::numeric::text"
"""A timestamp's own text would follow the session's TimeZone and DateStyle."""
_ASK = f"""
SELECT current_setting('server_version_num')::int, version(), pg_is_in_recovery(), current_user::text,
       r.rolsuper, r.rolcreatedb,
       pg_has_role(current_user, 'pg_read_all_settings', 'USAGE'),
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
       has_function_privilege('pg_reload_conf()', 'EXECUTE'),
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
       (SELECT setting FROM pg_settings WHERE name = 'data_directory'),
       pg_backend_pid(), {STARTED}
  FROM pg_roles r WHERE r.rolname = current_user
"""
_MAY_CHECKPOINT = "SELECT pg_has_role(current_user, 'pg_checkpoint', 'USAGE')"
_SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"
_TIMELINE = "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int"
"""Of what is written now: pg_control_checkpoint() has that of the last checkpoint."""


def ask(sql: Sql) -> Facts:
    """Everything, now; raises `QueryError` where the server does not answer at all."""
    (row,) = sql.query(_ASK)
    number, text, standby, role, superuser, createdb, settings, stats, reloads, connections, *rest = row
    directory, pid, started = rest
    major, minor = divmod(int(number), 10000)
    return Facts(
        version=Version(major, minor, " ".join(str(text).split()[:2])),
        system=_scalar(sql, _SYSTEM) or "",
        standby=bool(standby),
        role=str(role),
        superuser=bool(superuser),
        creates_databases=bool(superuser or createdb),
        reads_settings=bool(superuser or settings),
        reads_statistics=bool(superuser or stats),
        checkpoints=bool(superuser or (major >= versions.PG_CHECKPOINT and _scalar(sql, _MAY_CHECKPOINT))),
        reloads=bool(superuser or reloads),
        connections=int(connections),
        data_directory=Path(str(directory)) if directory else None,
        postmaster_pid=_postmaster(int(pid), str(role)),
        started=str(started),
        timeline=int(_scalar(sql, _TIMELINE) or 0),
    )


def _scalar(sql: Sql, question: str) -> Any:
    try:
        return sql.query(question)[0][0]
    except QueryError:
        return None


def _postmaster(backend: int, role: str) -> int:
    """The parent of our own backend, if that process is on this machine: its title names our role."""
    try:
        title = Path(f"/proc/{backend}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return NO_PROCESS
    ours = process_of(backend) if title.startswith("postgres:") and f" {role} " in title else None
    parent = process_of(ours.parent) if ours is not None else None
    return parent.pid if parent is not None and parent.name in ("postgres", "postmaster") else NO_PROCESS


_SERVICES = ("rdsadmin", "cloudsqladmin", "cloudsqlagent", "alloydbadmin", "azuresu", "azure_maintenance", "azure_sys")
"""Roles and databases of managed services' own agents, which never leave: part of the server, not clients of it."""
_SESSIONS = "SELECT coalesce(sum(sessions), 0)::bigint FROM pg_stat_database WHERE datname <> ALL(%s)"


def sessions_of_others(sql: Sql, facts: Facts, ours: Sequence[str]) -> int:
    """How many sessions have ever begun in databases that are not ours; 0 before 14, which does not count them."""
    if facts.version.major < versions.COUNTS_SESSIONS:
        return 0
    return int(sql.query(_SESSIONS, [[*ours, *_SERVICES]])[0][0])


_CLIENTS = """
SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.datname, ''), coalesce(a.usename, ''),
       CASE WHEN r.state = 'backup' THEN 'backup' WHEN r.pid IS NOT NULL THEN 'walsender'
            ELSE coalesce(a.backend_type, '') END,
       coalesce(a.state, '')
  FROM pg_stat_activity a LEFT JOIN pg_stat_replication r ON r.pid = a.pid
 WHERE a.pid <> pg_backend_pid() AND coalesce(a.datname, '') <> ALL(%s)
   AND coalesce(a.usename, '') <> ALL(%s)
   AND (a.backend_type IN ('client backend', 'walsender') OR r.pid IS NOT NULL
        OR a.backend_type IS NULL AND a.usesysid IS NOT NULL AND a.datid IS NOT NULL)
 ORDER BY a.pid
"""
"""Of sessions that our role may not look into, only the process, the database and the role are shown; the launcher of
logical replication then looks like a client of no database."""


def others(
    sql: Sql, ours: Sequence[str] = (), patience_s: float = _PATIENCE_S, companions: Companions = NOBODY
) -> tuple[Client, ...]:
    """Every other client but `companions` and those in the databases `ours`; whoever leaves meanwhile is none.

    Patience is counted in looks: a machine that stands still for seconds lets nobody leave meanwhile.
    """
    parameters = [list(ours), list(_SERVICES)]
    looks = int(patience_s / _LOOK_S)
    while True:
        everyone = (Client(int(pid), *map(str, rest)) for pid, *rest in sql.query(_CLIENTS, parameters))
        found = tuple(each for each in everyone if each not in companions)
        if not found or looks <= 0:
            return found
        looks -= 1
        time.sleep(_LOOK_S)


def other_clients(found: Sequence[Client], role: str, called: str = ONLY) -> BenchError:
    """For undeclared clients, with the options that would declare them; `role` is our own."""
    named = [each.words for each in found[:_LISTED]]
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    options = proposed(found, role)
    may_stay = f" (if they may stay, add: {options})" if options else ""
    return BenchError(f"{called} has other clients: {'; '.join(named)}{more}{may_stay}", _STAGING)


def visited(found: Sequence[Client], sessions: int) -> str:
    named = "; ".join(each.words for each in found[:_LISTED])
    came = f"{sessions} sessions of others began during the window" if sessions else ""
    return "the server had other clients: " + "; ".join(each for each in (named, came) if each)
