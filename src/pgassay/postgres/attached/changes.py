"""Changes of a server that is not ours: databases of our own, settings by ALTER SYSTEM; each owed before it is made.

`give_back` puts all of it back, whoever made it: the lab at its end, the next lab, or `pgassay doctor --repair`. Every
step may be done twice, so a lab may die between any two of them. What somebody else has changed since is left alone.

What is owed is a list on disk, written before each change and kept until all is put back. Unlike a change of the host,
one by ALTER SYSTEM outlives a reboot, and so does a database. So the list has no boot in it, only the server's address
and its system identifier: `pgassay doctor --repair` finds the server again, and never another one that has its address
since. One list a server; a lab locks it.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay.bench import versions
from pgassay.bench.errors import BenchError, QueryError
from pgassay.bench.places import Endpoint
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.locks import LockedList
from pgassay.postgres.attached.facts import Facts, Sql
from pgassay.postgres.settings import require_name
from pgassay.study.units import canonical
from pgassay.untrusted import json_lines

LIST_PREFIX, SUFFIX, LOCK = "attached-", ".jsonl", ".lock"
DATABASE, SETTING = "database", "setting"


@dataclass(frozen=True)
class Debt:
    """A database that we made (`kind` database), or a setting that we changed.

    `before` is what ALTER SYSTEM had set, None where it had set nothing; `after` is what we set.
    """

    kind: str
    name: str
    before: str | None = None
    after: str | None = None


class AttachedLedger(LockedList):
    """The list of one server."""

    def __init__(self, path: Path, endpoint: Endpoint, system: str) -> None:
        super().__init__(path, path.with_suffix(LOCK))
        self.endpoint = endpoint
        self.system = system
        """The server's system identifier; empty where it does not say."""

    @classmethod
    def of(cls, directory: Path, endpoint: Endpoint, system: str) -> "AttachedLedger":
        place = f"{endpoint.socket_directory}:{endpoint.port}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:12]
        return cls(directory / f"{LIST_PREFIX}{digest}{SUFFIX}", endpoint, system)

    @classmethod
    def read(cls, path: Path) -> "AttachedLedger | None":
        """A list that is there; None where its first line was cut short, so that nothing was done after it."""
        for line in json_lines(path):
            if line.get("kind") == "server":
                more = tuple((str(name), str(value)) for name, value in line["more"])
                endpoint = Endpoint(Path(line["host"]), int(line["port"]), line["database"], line["user"], more=more)
                return cls(path, endpoint, line["system"])
        return None

    @property
    def place(self) -> str:
        """The server's address in words."""
        return f"{self.endpoint.socket_directory}:{self.endpoint.port}"

    def owed(self) -> tuple[Debt, ...]:
        """What is to be put back, in the order of the changes; a line that a crash cut short was not acted upon."""
        return tuple(
            Debt(line["kind"], line["name"], line.get("before"), line.get("after"))
            for line in json_lines(self.path)
            if line.get("kind") in (DATABASE, SETTING)
        )

    def add(self, debt: Debt) -> None:
        """Owe one more; on disk when this returns."""
        head = {
            "kind": "server",
            "host": str(self.endpoint.socket_directory),
            "port": self.endpoint.port,
            "database": self.endpoint.database,
            "user": self.endpoint.user,
            "more": self.endpoint.more,
            "system": self.system,
        }
        self.append(asdict(debt), head)


def ledgers(directory: Path) -> list[AttachedLedger]:
    """Every server to which something is owed.

    Raises `UntrustedError` where root finds lists that another account may have written.
    """
    if os.geteuid() == 0 and directory.is_dir():
        with Directory.open(directory) as state:
            state.require_ours()
    paths = sorted(directory.glob(f"{LIST_PREFIX}*{SUFFIX}")) if directory.is_dir() else []
    return [found for path in paths if (found := AttachedLedger.read(path)) is not None]


PREFIX = "pgassay_"
"""Of every database that we make; one without it is never dropped."""
MARK = "made by pgassay for a study; it is removed when the study ends, or by pgassay doctor --repair"
"""The comment of each of them."""
_LISTS = ("search_path", "temp_tablespaces")
"""Settings whose value is a list of names: quoted as one word it would be one name."""
_RELOAD_S = 30.0
_POLL_S = 0.01

_COPYABLE = """
SELECT datistemplate OR pg_has_role(datdba, 'USAGE') FROM pg_database
 WHERE datname = %s AND datname NOT IN ('template0', 'template1')
"""
_CARRIED = """
SELECT unnest(s.setconfig) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
 WHERE d.datname = %s AND s.setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user)) ORDER BY s.setrole
"""
"""Those of our role come last, as they hold before the others."""
_OF_FILE = """
SELECT setting FROM pg_file_settings
 WHERE sourcefile LIKE '%%/postgresql.auto.conf' AND lower(name) = lower(%s) ORDER BY seqno DESC LIMIT 1
"""
_OF_SETTINGS = """
SELECT current_setting(name) FROM pg_settings
 WHERE lower(name) = lower(%s) AND sourcefile LIKE '%%/postgresql.auto.conf'
"""


class ServerChanges:
    """Made and put back through one session and one list, which is locked for as long as this lives."""

    def __init__(self, sql: Sql, ledger: AttachedLedger, facts: Facts, pause: Callable[[float], None] = time.sleep):
        self._sql = sql
        self._ledger = ledger
        self._facts = facts
        self._pause = pause
        self._token = secrets.token_hex(4)
        self._made = 0
        self._databases: list[str] = []
        self._set: dict[str, str | None] = {}
        """What ALTER SYSTEM had set before, of each setting that is changed now."""

        self.carried: Mapping[str, str] = {}
        """What the user's database that ours are copies of sets for its sessions: copies do not bring that along."""

    @property
    def databases(self) -> Sequence[str]:
        """Those that are there now and ours."""
        return tuple(self._databases)

    def new_name(self) -> str:
        """Of a database that nobody has."""
        self._made += 1
        return f"{PREFIX}{self._token}_{self._made}"

    def create_database(self, name: str, template: str = "") -> None:
        """An empty database, or a copy of one; raises `QueryError`. Nobody may be connected to what is copied."""
        _require_ours(name)
        self._ledger.add(Debt(DATABASE, name))
        self._databases.append(name)
        by_files = template and self._facts.version.major >= versions.CREATE_BY_FILES
        strategy = " STRATEGY = FILE_COPY" if by_files else ""  # through the WAL a standby would get each page twice
        self._sql.query(f"CREATE DATABASE {_name(name)} TEMPLATE {_name(template or 'template0')}{strategy}")
        self._sql.query(f"COMMENT ON DATABASE {_name(name)} IS {_literal(MARK)}")

    def require_copyable(self, name: str, connected: str) -> None:
        """Raise `UsageError` for a database of the user's that cannot be copied; we are `connected` to another."""
        rows = self._sql.query(_COPYABLE, [name])
        if not rows:
            raise UsageError(f'the server has no database "{name}" that could be copied', "psql -l lists them")
        if name == connected:
            raise UsageError(
                f'the database "{name}" cannot be copied while --server connects to it',
                "name another database of that server in --server, such as dbname=postgres",
            )
        if rows != [(True,)]:
            raise UsageError(
                f'role "{self._facts.role}" may not copy the database "{name}"',
                "connect as its owner (with CREATEDB) or as a superuser, or let ALTER DATABASE … IS_TEMPLATE allow it",
            )

    def copy_database(self, name: str, source: str) -> None:
        """A copy of the user's database, which is only read; what it sets for its sessions will hold in ours, too.

        Raises `QueryError`.
        """
        self.create_database(name, source)
        rows = self._sql.query(_CARRIED, [source])
        self.carried = dict(str(each).split("=", 1) for (each,) in rows)

    def set_of_database(self, name: str, values: Mapping[str, str]) -> None:
        """Settings of every session in a database of ours; they go with it. Raises `QueryError`."""
        _require_ours(name)
        for setting, value in {**self.carried, **values}.items():
            self._sql.query(f"ALTER DATABASE {_name(name)} SET {_assigned(setting, value)}")

    def drop_database(self, name: str) -> None:
        """Remove one of ours with whoever is connected to it; harmless when it is gone. Raises `QueryError`."""
        _require_ours(name)
        self._sql.query(f"DROP DATABASE IF EXISTS {_name(name)} WITH (FORCE)")
        if name in self._databases:
            self._databases.remove(name)

    def set_system(self, values: Mapping[str, str]) -> None:
        """Make the server have just these values, and its own for what we had set before; one reload, awaited.

        Raises `QueryError`; what was changed by then stays owed.
        """
        gone = [name for name in self._set if name not in values]
        for name in gone:
            self._restore(name, self._set[name])
        for name, value in values.items():
            if name not in self._set:
                self._set[name] = self.set_before(name)
            self._ledger.add(Debt(SETTING, name, self._set[name], value))
            self._sql.query(f"ALTER SYSTEM SET {_assigned(name, value)}")
        if gone or values:
            self._reload()
        for name in gone:
            del self._set[name]

    def set_before(self, name: str) -> str | None:
        """What ALTER SYSTEM has set, as typed then where the server tells; None where it has set nothing."""
        try:
            rows = self._sql.query(_OF_FILE, [name])
        except QueryError:
            rows = self._sql.query(_OF_SETTINGS, [name])
        return str(rows[0][0]) if rows else None

    def give_back(self) -> tuple[str, ...]:
        """Put back everything that is owed, the latest first; returns what, a line each.

        Raises `BenchError` for what the server refuses: it stays owed.
        """
        done: list[str] = []
        try:
            done += self._settings_back()
            for name in dict.fromkeys(debt.name for debt in reversed(self._ledger.owed()) if debt.kind == DATABASE):
                if self._sql.query("SELECT 1 FROM pg_database WHERE datname = %s", [name]):
                    self.drop_database(name)
                    done.append(f'database "{name}"')
        except QueryError as error:
            raise still_owed(self._ledger.place, error.message) from None
        self._databases.clear()
        self._set.clear()
        self._ledger.clear()
        return tuple(done)

    def _settings_back(self) -> list[str]:
        debts = [debt for debt in self._ledger.owed() if debt.kind == SETTING]
        if debts:
            self._reload()  # a lab may have died before its own, and what is not read yet is not shown
        before = {debt.name: debt.before for debt in reversed(debts)}  # of several the first knows
        done = []
        for name, value in before.items():
            now = self.set_before(name)
            ours = {canonical(debt.after or "") for debt in debts if debt.name == name}
            if now == value:
                continue
            if now is not None and canonical(now) not in ours:
                done.append(f"nothing of {name}, which somebody has set to {now} since")
                continue
            self._restore(name, value)
            done.append(f"{name} of the server" if value is None else f"{name} = {value} of the server")
        if done:
            self._reload()
        return done

    def _restore(self, name: str, value: str | None) -> None:
        require_name(name)
        self._sql.query(f"ALTER SYSTEM RESET {name}" if value is None else f"ALTER SYSTEM SET {_assigned(name, value)}")

    def _reload(self) -> None:
        """Until the server has read its files: its processes hear of it after the postmaster has."""
        ((before,),) = self._sql.query("SELECT pg_conf_load_time()")
        self._sql.query("SELECT pg_reload_conf()")
        for _ in range(int(_RELOAD_S / _POLL_S)):
            if self._sql.query("SELECT pg_conf_load_time()") != [(before,)]:
                return
            self._pause(_POLL_S)
        raise QueryError(f"the server has not read its configuration {_RELOAD_S:.0f} s after pg_reload_conf()")


def _require_ours(name: str) -> None:
    if not name.startswith(PREFIX):
        raise ValueError(name)


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _literal(text: str) -> str:
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"E{quoted}" if "\\" in text else quoted


def _assigned(name: str, value: str) -> str:
    """`work_mem = '4MB'`; raises `UsageError` for what is no setting's name."""
    require_name(name)
    if name.lower() in _LISTS:
        return f"{name} = {', '.join(_literal(each.strip().strip(chr(34))) for each in value.split(','))}"
    return f"{name} = {_literal(value)}"


def still_owed(place: str, detail: str) -> BenchError:
    return BenchError(
        f"the server at {place} could not be put back as it was: {detail}",
        "what is owed is kept on this machine; when the server answers again: pgassay doctor --repair",
    )
