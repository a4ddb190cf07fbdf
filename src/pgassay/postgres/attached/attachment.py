"""Attaching to a server that the user names, and leaving it; what a killed lab owes is put back first.

Nobody else may work there: we look who is connected, and hold an advisory lock, which keeps two labs apart.

The command is kept in a run's record, and the address in the list of what is owed, so neither may hold a secret. Who
needs a password has it in a file (manual, "The Password File"), where client programs find it, too.

Our own sessions wait for no standby: what is put back must not hang where a synchronous one has gone.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.errors import BenchError, ClusterError, Missing, QueryError
from pgassay.interfaces.places import VARIABLES, Endpoint
from pgassay.postgres.attached import facts
from pgassay.postgres.attached.changes import (
    AttachedLedger,
    ServerChanges,
    another_lab,
    ledgers,
    require_lock,
    revive,
    still_owed,
)
from pgassay.postgres.attached.facts import NOBODY, Companions, Facts, other_clients
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.postgres.attached.watch import unsynced
from pgassay.postgres.server import Session
from pgassay.study.findings import Finding, Severity

_FILE = "keep it in ~/.pgpass, in the file that PGPASSFILE names, or in a service (pg_service.conf)"

CONNECT_S = 10
_PASSWORD = "PGPASSWORD"
_OURS = ("application_name", "connect_timeout", "fallback_application_name")
_FILES = {"passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl"}
_OWN_FIELDS = ("host", "port", "dbname", "user")
_LOCALLY = "SET synchronous_commit = local"


def require_no_secret(dsn: str, called: str = "--server") -> None:
    """Raise `UsageError` for what is no connection string, and for one that holds a password or leads elsewhere."""
    given = _parsed(dsn, called)
    if "password" in given or "sslpassword" in given:
        raise UsageError(f"{called} holds a password, and the record keeps the command", _FILE)
    _require_one_host(given, called)
    for name in given:
        if name not in (*VARIABLES, *_OURS, *_OWN_FIELDS):
            raise UsageError(
                f'{called} cannot have the parameter "{name}"',
                "give host, port, dbname, user, service and what encrypts the connection; settings belong to the study",
            )


def resolve(dsn: str, environment: Mapping[str, str] = os.environ, called: str = facts.ONLY) -> Endpoint:
    """Connect once and tell where that led, with all that programs need to get there, too.

    Raises `UsageError` for a string that may not be used, `ClusterError` where no server answers.
    """
    import psycopg

    given_as = "--server" if called == facts.ONLY else called
    require_no_secret(dsn, given_as)
    try:
        with psycopg.connect(dsn, connect_timeout=CONNECT_S, application_name="pgassay", autocommit=True) as connection:
            found = connection.info
            _require_one_host(found.get_parameters(), given_as)  # also of a service, and of variables
            if connection.execute("SELECT pg_backend_pid()").fetchone() != (found.backend_pid,):
                raise UsageError(
                    f"{called} is reached through a pooler, which gives one session to several clients,"
                    " with its settings",
                    "name the address of the server itself; the pooler may stay (--companion role=NAME)",
                )
            if connection.pgconn.used_password and environment.get(_PASSWORD):
                raise UsageError("the password is in PGPASSWORD, which programs of a load do not inherit", _FILE)
            given = found.get_parameters()
            if named := environment.get(VARIABLES["passfile"]):  # no parameter of a connection that names none
                given["passfile"] = named
            more = {name: value for name, value in given.items() if name in VARIABLES}
            for name in more.keys() & _FILES:  # by its whole path: doctor may be run from another directory
                more[name] = str(Path(more[name]).expanduser().absolute())
            more.setdefault("sslmode", "prefer")
            more["client_encoding"] = "UTF8"  # else psycopg has no texts from a server of SQL_ASCII, but bytes
            return Endpoint(Path(found.host), found.port, found.dbname, found.user, more=tuple(sorted(more.items())))
    except psycopg.Error as error:
        raise ClusterError(
            f"could not connect to {called}: {str(error).strip().splitlines()[0]}",
            "try the same with psql",
        ) from None


def _require_one_host(given: Mapping[str, str], called: str) -> None:
    if any("," in given.get(name, "") for name in ("host", "hostaddr", "port")):
        raise UsageError(f"{called} names several hosts", "name the one that may be changed")


def _parsed(dsn: str, called: str) -> dict[str, str]:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.ProgrammingError as error:
        raise UsageError(
            f"{called} is not a connection string: {str(error).strip()}",
            'write "host=staging1 dbname=postgres", or postgresql://…',
        ) from None


@dataclass(frozen=True)
class Attachment:
    endpoint: Endpoint
    sql: Session
    facts: Facts
    ledger: AttachedLedger
    changes: ServerChanges

    def by_socket_alone(self) -> bool:
        """Does a program reach it that knows nothing of libpq: by a Unix socket, and without a password?"""
        import psycopg

        with suppress(psycopg.Error), self.endpoint.connect() as connection:
            return self.endpoint.socket_directory.is_absolute() and not connection.pgconn.used_password
        return False

    def close(self) -> None:
        """Put everything back, unlock; raises `BenchError` for what stays owed. Calling it twice is harmless."""
        try:
            if self.ledger.path.exists():
                self.changes.give_back()
        finally:
            self.sql.close()
            self.ledger.lock.release()


def attach(
    dsn: str,
    directory: Path,
    missing: Missing,
    environment: Mapping[str, str] = os.environ,
    *,
    planned: bool = False,
    companions: Companions = NOBODY,
    restart: RestartCommand | None = None,
    called: str = facts.ONLY,
    others: Sequence[Attachment] = (),
) -> Attachment:
    """Connect, put back what a killed lab owes, and refuse a server with clients that are no `companions`.

    Lists are in `directory`. For a plan (`planned`) nothing is changed, and what is in the way goes to `missing`.
    Without `restart` the server is never restarted, but for what a killed lab owes. `called` is its name in messages;
    it must not be one of the `others`. Raises `PgassayError`.
    """
    try:
        endpoint = resolve(dsn, environment, called)
    except ClusterError as down:  # as a killed lab may have left it
        left = [each for each in owed(directory) if each.severity is Severity.WARNING]
        raise ClusterError(down.message, f"{left[0].text}: {left[0].remedy}" if left else down.hint) from None
    sql = Session(endpoint, _LOCALLY)
    ledger: AttachedLedger | None = None
    try:
        found = facts.ask(sql)
        for other in others:  # a physical copy has the same identifier, and began at another moment
            if (found.system, found.started) == (other.facts.system, other.facts.started):
                raise UsageError(
                    f"{called} is the one at {other.ledger.place} again (system identifier {found.system})",
                    "name different servers",
                )
        if found.standby:
            raise ClusterError(f"{called} is a standby in recovery, where nothing can be made", "name a primary")
        if sql.query("SHOW transaction_read_only") == [("on",)]:
            raise ClusterError(
                f"{called} is read-only (default_transaction_read_only), and nothing can be made there",
                "let its databases be written, or name another server",
            )
        data = found.data_directory if found.here else None
        ledger = AttachedLedger.of(directory, endpoint, found.system, restart, data, found.timeline)
        made = Attachment(endpoint, sql, found, ledger, ServerChanges(sql, ledger, found))
        if not planned:
            found = _take(sql, ledger, found)
            made = Attachment(endpoint, sql, found, ledger, made.changes)
        for what, error in _lacking(sql, found, companions, called):
            missing.name(what, error)
    except BaseException:
        sql.close()
        if ledger is not None:
            ledger.lock.release()
        raise
    return made


def _lacking(sql: Session, found: Facts, companions: Companions, called: str) -> Iterator[tuple[str, BenchError]]:
    """What is in the way of a run, by name."""
    if not found.creates_databases:
        yield (
            f"CREATEDB on {called}",
            ClusterError(
                f'role "{found.role}" of {called} may not create databases, and the load works in some of our own',
                f'ALTER ROLE "{found.role}" CREATEDB',
            ),
        )
    if waiting := unsynced(sql, called):
        yield f"standbys of {called}", waiting
    if others := facts.others(sql, companions=companions):
        yield f"other clients of {called}", other_clients(others, found.role, called)


def _take(sql: Session, ledger: AttachedLedger, found: Facts) -> Facts:
    """Have the server for ourselves, as a killed lab should have left it; it may be another process afterwards."""
    if not ledger.lock.take():
        raise another_lab(ledger.place)
    require_lock(sql, ledger.place)
    for left in ledgers(ledger.path.parent):
        if left.path == ledger.path:
            _settle(sql, left, found)
    require_lock(sql, ledger.place)  # a restart has ended the session that had it
    return facts.ask(sql)


def _settle(sql: Session, ledger: AttachedLedger, found: Facts) -> tuple[str, ...]:
    """What a killed lab owes to this very server, by its own list, which has the command that restarts it."""
    if ledger.system != found.system:
        raise BenchError(
            f"a different server answers at {ledger.place}: the changes to undo were made on system identifier"
            f" {ledger.system}",
            "start that one again at its address, then: pgassay doctor --repair",
        )
    return ServerChanges(sql, ledger, found).give_back()


def repair(directory: Path) -> tuple[tuple[str, ...], tuple[PgassayError, ...]]:
    """Put back what killed labs owe to any server, unless a living one does; what was done, and what could not be."""
    done: list[str] = []
    failed: list[PgassayError] = []
    for ledger in ledgers(directory):
        if not ledger.lock.take():
            continue
        sql = Session(ledger.endpoint, _LOCALLY)
        try:
            done += revive(sql, ledger)
            done += _settle(sql, ledger, facts.ask(sql))
        except QueryError as error:
            failed.append(still_owed(ledger.place, error.message))
        except BenchError as error:
            failed.append(error)
        finally:
            sql.close()
            ledger.lock.release()
    return tuple(done), tuple(failed)


def owed(directory: Path) -> list[Finding]:
    """`attached_servers`: one finding for each server to which something is owed; none where nothing is."""
    found = []
    for ledger in ledgers(directory):
        names = ", ".join(dict.fromkeys(debt.name for debt in ledger.owed())) or "a restart under way"
        if not ledger.lock.take():
            text = f"a running pgassay has changed on the server at {ledger.place}: {names}"
            found.append(Finding("attached_servers", Severity.NOTE, text))
            continue
        ledger.lock.release()
        text = f"a killed pgassay left on the server at {ledger.place}: {names}"
        found.append(Finding("attached_servers", Severity.WARNING, text, "pgassay doctor --repair"))
    return found
