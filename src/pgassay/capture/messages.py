"""What `capture` and `ask` say to people, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from collections.abc import Iterable, Sequence

from pgassay.bench.errors import BenchError


class CaptureError(BenchError):
    """A server that cannot be captured, or a capture that cannot be used."""


def unreachable(detail: str) -> CaptureError:
    """No connection, or one that ended."""
    return CaptureError(f"could not read the server: {detail}", hint_for(detail, _CONNECTING, _AS_FOR_PSQL))


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


def hint_for(detail: str, known: Iterable[tuple[str, str]], otherwise: str) -> str:
    """The hint of the first words that stand in `detail`, else `otherwise`."""
    return next((hint for words, hint in known if words in detail), otherwise)


def refused(what: str, detail: str) -> CaptureError:
    """The server refused one of the reads."""
    return CaptureError(
        f"could not read {what}: {detail}", "the role needs pg_read_all_stats, and pg_read_all_data for a dump"
    )


LACKS_STATISTICS = (
    "the role lacks pg_read_all_stats, so pg_stat_statements shows it no statements but its own: a superuser can"
    " grant it, GRANT pg_read_all_stats TO …"
)


def nothing_ran(window_s: float, *, sees_all: bool = True) -> str:
    """A warning: an idle server, or a role that sees nothing of it."""
    why = "capture a longer time, or when the application is busy" if sees_all else LACKS_STATISTICS
    return f"no statement ended in {window_s:.0f} s{'' if sees_all else ' that the role may see'}: {why}"


def replica() -> str:
    """A warning: what a standby does not show."""
    return "this server is a read replica: its load has no writes, which run on the primary"


def dump_failed(detail: str) -> CaptureError:
    """pg_dump ended with an error."""
    return CaptureError(
        f"pg_dump failed: {detail}",
        hint_for(detail, _DUMPING, "these are its own words; nothing is left of the capture"),
    )


_DUMPING = (
    ("No space left on device", "free room there, or name a directory on another file system with --out"),
    ("permission denied", "the role must be able to read every table: grant pg_read_all_data to it"),
    ("terminating connection", "the server was stopped or restarted: capture again when it is back"),
    ("server closed the connection", "the server was stopped or restarted: capture again when it is back"),
    ("connection to server", "the server was stopped or restarted: capture again when it is back"),
    ("row-level security", "the role must see every row: ALTER ROLE … BYPASSRLS, or capture as a superuser"),
    ("lock timeout", "another session holds a lock on the table, a change of its schema say: capture again after it"),
    (
        "conflict with recovery",
        "on a replica changes of the primary end long reads: hot_standby_feedback = on prevents that, or"
        " max_standby_streaming_delay = -1 while it is read; --data synthetic reads no table",
    ),
)
"""What the server says in English, and what helps."""


def kept_log(calls: int, secret: int) -> str:
    """What of the log stays in a capture."""
    left = f"; {secret} more seem to hold a secret, or name a column of secrets, and are left out" if secret else ""
    return f"{calls} calls of the log are kept, to be played again{left}"


_NAMED = 5
"""As many objects are named."""


def missing_extensions(names: Iterable[str], version: str, tables: Sequence[str] = ()) -> CaptureError:
    """Extensions without which the data cannot be loaded, and that a PostgreSQL of the study does not have."""
    used = f" (columns or defaults of {_some(tables)})" if tables else ""
    return CaptureError(
        f"the data need extensions that this PostgreSQL {version} does not have: {', '.join(names)}{used}",
        "install them, or name another PostgreSQL with --pg-bindir",
    )


def extensions_left_out(names: Iterable[str], objects: Sequence[str]) -> str:
    """A warning: extensions of the server that a PostgreSQL of the study does not have, and what needs them."""
    needed = f"; and what needs them: {_some(objects)}" if objects else ""
    return f"left out of the data, because it is not installed here: extension {', '.join(names)}{needed}"


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return "; ".join(words[:_NAMED]) + more
