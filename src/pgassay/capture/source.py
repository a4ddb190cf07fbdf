"""A session on the user's server that can only read, gives up soon, and measures what it costs.

Every read is a short transaction of its own, READ ONLY, with a statement_timeout and a lock_timeout that end with it: a
pooler may hand our session to the application afterwards, and a long transaction would hold back VACUUM. The role's
rights are not trusted to be few: the server itself refuses a write in such a transaction (manual, "SET TRANSACTION").
"""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from pgassay.capture.errors import CaptureError, hint_for
from pgassay.capture.reads import MARK
from pgassay.interfaces.proc import process_of

if TYPE_CHECKING:
    import psycopg
_AS_FOR_PSQL = "give a libpq connection string or URI, as for psql; nothing is changed there"
_CONNECTING = (
    ("Connection refused", "is the server running, and are host and port those that psql takes?"),
    ("No such file or directory", "is the server running, and are host and port those that psql takes?"),
    ("timeout expired", "is the host up, and does its firewall let this machine reach the port?"),
    ("could not translate host name", "the name of the host is not known here; give its address, or check the name"),
    ("failed to resolve host", "the name of the host is not known here; give its address, or check the name"),
    ("password authentication failed", "give the password in PGPASSWORD, ~/.pgpass or the connection string"),
    ("no password supplied", "give the password in PGPASSWORD, ~/.pgpass or the connection string"),
    ("no pg_hba.conf entry", "pg_hba.conf of the server must let this role connect to this database from here"),
    ("authentication failed", "pg_hba.conf of the server says how this role may connect; user=NAME names another"),
    ("permission denied for database", "the role needs CONNECT on this database"),
    ("the database system is", "the server is starting or stopping, or is a standby without hot_standby; try later"),
    ("too many", "no connection is free; a superuser, or a role with pg_use_reserved_connections, may have one"),
    ("remaining connection slots", "no connection is free; a superuser may have one of those that are reserved"),
    ("role ", "user=NAME names another role: it is the account's own name where none is given"),
    ("database ", "dbname=NAME names another database; psql -l lists them"),
)
"""What libpq and the server say in English, the first that fits, and what helps."""

CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 1_000
_BEGIN = (
    f"BEGIN READ ONLY /* {MARK} */; SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS} /* {MARK} */;"
    f" SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS} /* {MARK} */;"
    f" SET LOCAL datestyle = 'ISO' /* {MARK} */; SET LOCAL intervalstyle = 'postgres' /* {MARK} */"
)
"""Dates and intervals as any server reads them, whatever the style of this one: values are played elsewhere."""
_END = f"ROLLBACK /* {MARK} */"
_PASSED_ON = ("hostaddr", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile", "gssencmode")
"""Parameters that every pg_dump takes; ours are those of a newer libpq."""
_HERTZ = 100
"""Of the times in /proc (USER_HZ, fixed by the kernel's interface: proc(5))."""

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    names: tuple[str, ...]
    rows: tuple[Row, ...]


class Readable(Protocol):
    """What a capture asks: the real server, or a fake in a test."""

    def read(self, what: str, sql: str) -> Rows:
        """The rows of one statement; `what` names it in an error. Raises `CaptureError`."""


@dataclass
class ReadCost:
    statements: int = 0
    in_server_ms: float = 0.0
    received_bytes: int = 0


class Session(AbstractContextManager["Session"]):
    """Implements `Readable` over one connection; use it in a `with`."""

    def __init__(self, conninfo: str) -> None:
        import psycopg

        self.spent = ReadCost()
        try:
            self._connection: psycopg.Connection[Row] = psycopg.connect(
                conninfo,
                connect_timeout=CONNECT_TIMEOUT_S,
                application_name=MARK,
                prepare_threshold=None,
                client_encoding="UTF8",
            )
        except psycopg.Error as error:
            detail = _first_line(error)
            raise CaptureError(
                f"could not read the server: {detail}", hint_for(detail, _CONNECTING, _AS_FOR_PSQL)
            ) from None
        self._connection.autocommit = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def read(self, what: str, sql: str) -> Rows:
        import psycopg
        from psycopg import errors

        # By the mark a capture knows our own reads, behind the first word, where every version keeps it.
        if MARK not in sql:
            sql = re.sub(r"^\w+", rf"\g<0> /* {MARK} */", sql, count=1)
        began = monotonic()
        try:
            self._connection.execute(_BEGIN)
            try:
                cursor = self._connection.execute(sql.encode())
                rows = tuple(cursor.fetchall())
            finally:
                if not self._connection.broken:  # else its own error would hide the one that ended the connection
                    self._connection.execute(_END)
        except psycopg.Error as error:
            if self._connection.broken:
                raise CaptureError(
                    f"the server ended the connection: {_first_line(error)}",
                    "nothing of the capture was kept; start it again when the server is back",
                ) from None
            if isinstance(error, (errors.QueryCanceled, errors.LockNotAvailable, errors.SerializationFailure)):
                raise CaptureError(
                    f"could not read {what}: {_first_line(error)}",
                    "reads give up soon, so that they disturb nobody: try again when the server is less busy",
                ) from None
            raise refused(what, _first_line(error)) from None
        except UnicodeDecodeError as error:
            raise refused(what, f"it holds bytes that are not UTF-8 ({error.reason})") from None
        result = cursor.pgresult
        self.spent.statements += 1
        self.spent.in_server_ms += (monotonic() - began) * 1e3
        if result is not None:
            lengths = (
                result.get_value(row, column) for row in range(result.ntuples) for column in range(result.nfields)
            )
            self.spent.received_bytes += sum(len(value) for value in lengths if value is not None)
        return Rows(tuple(each.name for each in cursor.description or ()), rows)

    @property
    def pid(self) -> int:
        return self._connection.info.backend_pid

    @property
    def parameters(self) -> dict[str, str]:
        """What leads another program to the same database, as libpq's parameters without the password."""
        info = self._connection.info
        where = {"host": info.host, "port": str(info.port), "user": info.user, "dbname": info.dbname}
        given = {name: value for name, value in info.get_parameters().items() if name in _PASSED_ON}
        return {**given, **{name: value for name, value in where.items() if value}}

    @property
    def password(self) -> str:
        return self._connection.info.password

    @property
    def local(self) -> bool:
        """Is the server on this machine, so that its processes can be seen?"""
        host = self._connection.info.host
        return host.startswith("/") or self._connection.info.hostaddr in ("127.0.0.1", "::1")


def cpu_ms(pid: int, proc: Path = Path("/proc")) -> float | None:
    """The processor time of a process so far; None where there is no process of PostgreSQL with this id."""
    try:
        if b"postgres" not in (proc / str(pid) / "cmdline").read_bytes():
            return None
    except OSError:
        return None
    found = process_of(pid, proc)
    return None if found is None else found.cpu_ticks * 1e3 / _HERTZ


def server_cpu_ms(pid: int, proc: Path = Path("/proc")) -> float | None:
    """The processor time of the server of backend `pid`: of its postmaster, the children, and those that have ended."""
    mine = process_of(pid, proc)
    parent = process_of(mine.parent, proc) if mine else None
    if mine is None or parent is None:
        return None
    everyone = [found for each in proc.glob("[0-9]*") if (found := process_of(each.name, proc))]
    children = sum(each.cpu_ticks for each in everyone if each.parent == mine.parent)
    ended = parent.reaped_user_ticks + parent.reaped_system_ticks
    return (children + parent.cpu_ticks + ended) * 1e3 / _HERTZ


def _first_line(error: "psycopg.Error") -> str:
    return (error.diag.message_primary or str(error).strip() or "the connection was lost").splitlines()[0]


def refused(what: str, detail: str) -> CaptureError:
    return CaptureError(
        f"could not read {what}: {detail}", "the role needs pg_read_all_stats, and pg_read_all_data for a dump"
    )
