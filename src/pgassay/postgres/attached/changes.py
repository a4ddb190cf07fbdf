"""Changes of a server that is not ours: databases of our own, settings by ALTER SYSTEM; each owed before it is made.

`give_back` puts all of it back, whoever made it: the lab at its end, the next lab, or `pgassay doctor --repair`. Every
step may be done twice, so a lab may die between any two of them. What somebody else has changed since is left alone.

What is owed is a list on disk, written before each change and kept until all is put back. Unlike a change of the host,
one by ALTER SYSTEM outlives a reboot, and so does a database. So the list has no boot in it, only the server's address
and its system identifier: `pgassay doctor --repair` finds the server again, and never another one that has its address
since. One list a server; a lab locks it.

Settings that take a restart are in the file and not in force until the server is restarted by the user's command
(`restarts`), which the list has, too. Whether one is still owed the server says itself (pg_settings.pending_restart).
"""

import hashlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay.errors import PgassayError, UsageError
from pgassay.files import Directory
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError, ClusterError, QueryError
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.server import Server
from pgassay.locks import LockedList
from pgassay.postgres.attached import facts as about
from pgassay.postgres.attached import restarts, scopes
from pgassay.postgres.attached.facts import Facts, Sql
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.postgres.settings import require_name, same
from pgassay.study.units import canonical
from pgassay.untrusted import json_lines

LIST_PREFIX, SUFFIX, LOCK_SUFFIX = "attached-", ".jsonl", ".lock"
DATABASE, SETTING, COMMAND = "database", "setting", "command"


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
    def __init__(
        self,
        path: Path,
        endpoint: Endpoint,
        system: str,
        restart: RestartCommand | None = None,
        data: Path | None = None,
        timeline: int = 0,
    ) -> None:
        super().__init__(path, path.with_suffix(LOCK_SUFFIX))
        self.endpoint = endpoint
        self.system = system
        """The server's system identifier; empty where it does not say."""
        self.restart = restart
        """How it may be restarted; None where it may not."""
        self.data = data
        """Its data directory, where it is on this machine and known."""
        self.timeline = timeline
        """As `Facts.timeline`, when the list was begun."""

    @classmethod
    def of(
        cls,
        directory: Path,
        endpoint: Endpoint,
        system: str,
        restart: RestartCommand | None = None,
        data: Path | None = None,
        timeline: int = 0,
    ) -> "AttachedLedger":
        place = f"{endpoint.socket_directory}:{endpoint.port}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:12]
        return cls(directory / f"{LIST_PREFIX}{digest}{SUFFIX}", endpoint, system, restart, data, timeline)

    @classmethod
    def read(cls, path: Path) -> "AttachedLedger | None":
        """A list that is there; None where its first line was cut short, so that nothing was done after it."""
        for line in json_lines(path):
            if line.get("kind") == "server":
                more = tuple((str(name), str(value)) for name, value in line["more"])
                endpoint = Endpoint(Path(line["host"]), int(line["port"]), line["database"], line["user"], more=more)
                words, data = line.get("restart"), line.get("data")
                restart = RestartCommand(tuple(words), float(line["limit_s"])) if words else None
                timeline = line.get("timeline", 0)
                return cls(path, endpoint, line["system"], restart, Path(data) if data else None, timeline)
        return None

    @property
    def place(self) -> str:
        """The server's address in words."""
        return f"{self.endpoint.socket_directory}:{self.endpoint.port}"

    def owed(self) -> tuple[Debt, ...]:
        return tuple(
            Debt(line["kind"], line["name"], line.get("before"), line.get("after"))
            for line in json_lines(self.path)
            if line.get("kind") in (DATABASE, SETTING)
        )

    def before(self) -> tuple[Mapping[str, str | None], Mapping[str, Sequence[str]]]:
        """Of each setting that is owed what ALTER SYSTEM had set before us, and what we have set since."""
        debts = [debt for debt in self.owed() if debt.kind == SETTING]
        ours: dict[str, list[str]] = {}
        for debt in debts:
            ours.setdefault(debt.name, []).append(debt.after or "")
        return {debt.name: debt.before for debt in reversed(debts)}, ours  # of several the first knows

    def commands(self) -> tuple[tuple[int, int], ...]:
        """Process ids, with their starts, of the restarts that labs have begun."""
        lines = [line for line in json_lines(self.path) if line.get("kind") == COMMAND]
        return tuple((int(line["pid"]), int(line["started_ticks"])) for line in lines)

    def note(self, pid: int, started_ticks: int) -> None:
        """A restart is under way: if the lab is killed, whoever repairs waits for its end."""
        self._add({"kind": COMMAND, "pid": pid, "started_ticks": started_ticks})

    def add(self, debt: Debt) -> None:
        """Owe one more; on disk when this returns."""
        self._add(asdict(debt))

    def _add(self, line: Mapping[str, object]) -> None:
        head = {
            "kind": "server",
            "host": str(self.endpoint.socket_directory),
            "port": self.endpoint.port,
            "database": self.endpoint.database,
            "user": self.endpoint.user,
            "more": self.endpoint.more,
            "system": self.system,
            "restart": self.restart and self.restart.words,
            "limit_s": self.restart and self.restart.limit_s,
            "data": self.data and str(self.data),
            "timeline": self.timeline,
        }
        self.append(line, head)


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
_RESTART_LOOK_S = 0.1
_FAILOVER_S = 60.0
"""How long an address may lead nowhere, until a failover leads it to another server."""
_TRIES = 3
"""Of putting back a server that may be restarted: what a killed lab began may end our session once more."""

LOCK_KEY = int.from_bytes(b"pgassay!")
"""Of the advisory lock."""
TAKE_LOCK = "SELECT pg_try_advisory_lock(%s)"
_LOCKED = """
SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint << 32 | objid::bigint = %s
   AND pid <> pg_backend_pid() LIMIT 1
"""
"""In whichever database: an advisory lock is one of its database only."""
_STREAMING = """
SELECT coalesce(application_name, '') FROM pg_stat_replication WHERE coalesce(state, 'streaming') = 'streaming'
"""
_STARTED = f"SELECT {about.STARTED}"
_PENDING = "SELECT name FROM pg_settings WHERE pending_restart AND lower(name) = ANY(%s) ORDER BY name"
_SOURCE = "SELECT source, sourcefile, sourceline, pending_restart FROM pg_settings WHERE lower(name) = lower(%s)"

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
    def restart_command(self) -> RestartCommand | None:
        return self._ledger.restart

    @property
    def databases(self) -> Sequence[str]:
        return tuple(self._databases)

    def new_name(self) -> str:
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

        Raises `QueryError`, and as `require_same` where something was set before; what was changed by then stays owed.
        """
        if self._set:
            self.require_same()  # what a new primary has is its own
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

    def restart(self, levels: Mapping[str, str]) -> Facts:
        """Restart the server, until it answers with these settings in force; returns what it is then.

        Raises `ClusterError` for a server that does not start with them, once it runs again as it was before.
        `BenchError`, which ends a run, is for a command that fails or restarts nothing, for another server, and for a
        setting that something overrides.
        """
        standbys = self._standbys()
        failed, anew = self._restarted()
        if anew is None:
            revive(self._sql, self._ledger)
            self.require_same()
            listed = ", ".join(f"{name} = {value}" for name, value in levels.items())
            given = f" with {listed}" if listed else ""
            raise ClusterError(f"the server did not start{given}: {failed or 'it does not answer'}")
        if failed:
            raise BenchError(failed, "try the command by hand; --restart-limit gives it more time")
        found = self.require_same()
        require_lock(self._sql, self._ledger.place)  # the one that we had ended with our session
        self._await_standbys(standbys)
        for name, value in levels.items():
            setting = scopes.row(self._sql, name).setting
            if not same(value, setting) and versions.AUTOMATIC_SETTINGS.get(setting.name) != value.strip():
                ((source, file, line, pending),) = self._sql.query(_SOURCE, [name])
                where = f"it comes from the {source}{f' {file}, line {line}' if file else ''}"
                raise BenchError(
                    f"{setting.name} is {scopes.shown(self._sql, name)} after the restart, not {value}:"
                    f" {'it still waits for a restart' if pending else where}",
                    "set it there, or leave it out of the study",
                )
        return found

    def _restarted(self) -> tuple[str, bool | None]:
        """Run the command; returns why it failed, and whether the server has been restarted: None while it is down."""
        command = self._ledger.restart
        assert command is not None
        ((before,),) = self._sql.query(_STARTED)
        self._sql.close()  # a smart shutdown would wait for us
        failed, anew = "", None
        try:
            deadline = time.monotonic() + command.limit_s
            try:
                command.run(self._ledger.note)
            except BenchError as error:
                failed, deadline = error.message, 0.0
            while True:
                with suppress(QueryError):
                    anew = None
                    anew = self._sql.query(_STARTED) != [(before,)]
                if anew or time.monotonic() >= deadline:
                    if anew is False and not failed:
                        failed = f'"{command.text}" has not restarted the server at {self._ledger.place}'
                    return failed, anew
                self._pause(_RESTART_LOOK_S)
        except KeyboardInterrupt:
            revive(self._sql, self._ledger)  # what is cleaned up next takes a server
            raise

    def _standbys(self) -> Counter[str]:
        return Counter(str(name) for (name,) in self._sql.query(_STREAMING))

    def _await_standbys(self, before: Counter[str]) -> None:
        """Standbys come back some seconds after a restart: until then commits may wait for them, and none costs WAL.

        Raises `BenchError` for one that has not come back at the command's limit.
        """
        command = self._ledger.restart
        assert command is not None
        deadline = time.monotonic() + command.limit_s
        while lost := before - self._standbys():
            if time.monotonic() >= deadline:
                raise BenchError(
                    f"{command.limit_s:g} s after the restart no WAL streams to {', '.join(sorted(lost))} any more",
                    "look into the log of that standby; --restart-limit gives it more time",
                )
            self._pause(_RESTART_LOOK_S)

    def require_same(self) -> Facts:
        """Raise `BenchError` where another server answers, a standby, or a primary that was a standby before."""
        found = self._require_system()
        if found.standby or found.timeline != self._facts.timeline:
            now = "a standby" if found.standby else f"on timeline {found.timeline}"
            names = ", ".join(self._ledger.before()[0])
            there = f"; the former primary may keep {names} by ALTER SYSTEM: reset that there" if names else ""
            raise BenchError(
                f"the server at {self._ledger.place} has failed over: it is {now} now, and was the primary of timeline"
                f" {self._facts.timeline} when the run began",
                f"start a new run on the new primary{there}",
            )
        return found

    def outlive_failover(self) -> None:
        """Where the server has just gone away: as `require_same` once one answers there again; nothing if none does."""
        deadline = time.monotonic() + _FAILOVER_S
        while time.monotonic() < deadline:  # by the clock: a try takes as long as its connection
            with suppress(QueryError):
                self.require_same()
                return
            self._pause(_RESTART_LOOK_S)

    def require_direct(self, other: Server) -> None:
        """Raise `BenchError` where a session that has just begun, at the same address, has reached another server.

        That may not even have its database.
        """
        ours, theirs, why = self._sql.query(_STARTED), [], ""
        try:
            theirs = other.query(_STARTED)
        except QueryError as error:
            why = f" ({error.message})"
        if theirs != ours:
            raise BenchError(
                f"connections to {self._ledger.place} reach different servers{why}: there was a failover, or the"
                " address leads to several",
                "name one server by an address of its own",
            )

    def _require_system(self) -> Facts:
        """Raise `BenchError` where another server answers: on it nothing may be changed."""
        found = about.ask(self._sql)
        if found.system != self._facts.system:
            raise BenchError(
                f"the server at {self._ledger.place} is another one now (system identifier {found.system}, and it was"
                f" {self._facts.system}): nothing is changed there",
                "the changes to undo are listed on this machine; once the former one is back: pgassay doctor --repair",
            )
        return found

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
        for left in reversed(range(1 if self._ledger.restart is None else _TRIES)):
            try:
                done = [*revive(self._sql, self._ledger)]
                done += self._settings_back(self._require_system())
                for name in dict.fromkeys(debt.name for debt in reversed(self._ledger.owed()) if debt.kind == DATABASE):
                    if self._sql.query("SELECT 1 FROM pg_database WHERE datname = %s", [name]):
                        self.drop_database(name)
                        done.append(f'database "{name}"')
                break
            except QueryError as error:
                if not left:
                    raise still_owed(self._ledger.place, error.message) from None
        self._databases.clear()
        self._set.clear()
        self._ledger.clear()
        return tuple(done)

    def _settings_back(self, found: Facts) -> list[str]:
        """On a standby, too: a primary that has become one has its own file still. A new primary has its own values."""
        failed_over = self._ledger.timeline not in (0, found.timeline)
        before, ours = self._ledger.before()
        if before:
            self._reload()  # a lab may have died before its own, and what is not read yet is not shown
        done = []
        for name, value in before.items():
            now = self.set_before(name)
            is_ours = now is not None and canonical(now) in map(canonical, ours[name])
            if failed_over and (now == value or not is_ours):
                done.append(f"nothing of {name}, which the primary before the failover may have still")
                continue
            if now == value:
                continue
            if now is not None and not is_ours:
                done.append(f"nothing of {name}, which somebody has set to {now} since")
                continue
            self._restore(name, value)
            done.append(f"{name} of the server" if value is None else f"{name} = {value} of the server")
        if done:
            self._reload()
        if self._ledger.restart is not None and not (found.standby or failed_over) and self._pending(before):
            failed, anew = self._restarted()
            if anew is None:
                revive(self._sql, self._ledger)
            self._require_system()
            if waiting := self._pending(before):
                raise still_owed(self._ledger.place, f"without a restart {waiting} stays as it is: {failed}")
            done.append("the server, by a restart")
        return done

    def _pending(self, names: Iterable[str]) -> str:
        rows = self._sql.query(_PENDING, [[name.lower() for name in names]])
        return ", ".join(str(name) for (name,) in rows)

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


def revive(sql: Sql, ledger: AttachedLedger) -> tuple[str, ...]:
    """Have a server answer that may be restarted, whatever a lab has begun; one that is down gets its file back first.

    Nothing where it answers, or may not be restarted; returns what was done. Raises `BenchError` where it stays down,
    with what helps.
    """
    command = ledger.restart
    if command is None:
        return ()
    for pid, started_ticks in ledger.commands():
        restarts.wait_for_end(pid, started_ticks, command.limit_s)
        restarts.end(pid, started_ticks)
    if restarts.answers(ledger.endpoint, command.limit_s, down=False):
        return ()
    sql.close()
    before, ours = ledger.before()
    hint = "look into its log, start it, then: pgassay doctor --repair"
    if before:
        try:
            restarts.put_file_back(ledger.data, ledger.system, before, ours)
        except (OSError, PgassayError):
            hint = restarts.by_hand(ledger.data, before, command)
    failed = ""
    try:
        command.run(ledger.note)
    except BenchError as error:
        failed = error.message
    if not restarts.answers(ledger.endpoint, command.limit_s, down=not failed):
        raise BenchError(f"the server at {ledger.place} is down: {failed or 'it does not answer'}", hint)
    return ("the server, which was down",)


def require_lock(sql: Sql, place: str) -> None:
    """Raise `BenchError` while another lab is attached to the server, by whichever address and database."""
    if sql.query(TAKE_LOCK, [LOCK_KEY]) != [(True,)] or sql.query(_LOCKED, [LOCK_KEY]):
        raise another_lab(place)


def another_lab(place: str) -> BenchError:
    return BenchError(f"another pgassay is attached to the server at {place}", "wait until it has ended")


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
        "the changes to undo are listed on this machine; when the server answers again: pgassay doctor --repair",
    )
