"""What `capture` and `ask` say to people, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.errors import UsageError


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


def connection_lost(detail: str) -> CaptureError:
    """The server, or what lies between, ended the connection."""
    return CaptureError(
        f"the server ended the connection: {detail}", "nothing is left of the capture; start it again when it is back"
    )


def gave_up(what: str, detail: str) -> CaptureError:
    """A read that took longer than it may, or that a standby cancelled."""
    return CaptureError(
        f"could not read {what}: {detail}",
        "reads give up soon, so that they disturb nobody: try again when the server is less busy",
    )


def refused(what: str, detail: str) -> CaptureError:
    """The server refused one of the reads."""
    return CaptureError(
        f"could not read {what}: {detail}", "the role needs pg_read_all_stats, and pg_read_all_data for a dump"
    )


def too_old(version: str) -> CaptureError:
    """A server before the oldest that we read."""
    return CaptureError(f"the server is PostgreSQL {version}", "PostgreSQL 13 and later can be captured")


def no_statements(preloaded: bool) -> CaptureError:
    """The extension is not in this database."""
    how = (
        "a superuser can create it without a restart: CREATE EXTENSION pg_stat_statements"
        if preloaded
        else "add it to shared_preload_libraries, restart, then CREATE EXTENSION pg_stat_statements"
    )
    return CaptureError(
        "pg_stat_statements is not available in this database, so the load cannot be read",
        f"{how}; without it, --log captures the load from the server's log, and --without-load settings and data alone",
    )


LACKS_STATISTICS = (
    "the role lacks pg_read_all_stats, so pg_stat_statements shows it no statements but its own: a superuser can"
    " grant it, GRANT pg_read_all_stats TO …"
)


def nothing_ran(window_s: float, *, sees_all: bool = True) -> str:
    """A warning: an idle server, or a role that sees nothing of it."""
    why = "capture a longer time, or when the application is busy" if sees_all else LACKS_STATISTICS
    return f"no statement ended in {window_s:.0f} s{'' if sees_all else ' that the role may see'}: {why}"


def hidden_statements(count: int) -> str:
    """A warning: statements of other roles whose text the server hides."""
    return f"the text of {count} statements is hidden from this role: grant pg_read_all_stats to it"


def replica() -> str:
    """A warning: what a standby does not show."""
    return "this server is a read replica: its load has no writes, which run on the primary"


def there_already(path: Path) -> UsageError:
    """`--out` that exists."""
    return UsageError(f'"{path}" exists already', "name another directory with --out")


def not_a_capture(path: Path, why: str) -> CaptureError:
    """A directory that is no capture, or a damaged one."""
    return CaptureError(f'"{path}" is not a capture: {why}', "pgassay capture writes one (docs/your-server.md)")


def newer_format(path: Path, found: object) -> CaptureError:
    """A capture of a later pgassay."""
    return CaptureError(f'"{path}" has format {found}, which this version does not read', "a newer pgassay wrote it")


def no_dump_program(major: int) -> CaptureError:
    """No pg_dump of the server's version or a later one."""
    return CaptureError(
        f"no pg_dump of PostgreSQL {major} or later is on this machine",
        "install the client programs, or name them with --pg-bindir; --data none captures no data",
    )


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


def no_data(path: Path) -> CaptureError:
    """A question to a capture without data."""
    return CaptureError(f'"{path}" holds no data, so nothing can be run on it', "capture again with --data dump")


def nothing_asked() -> UsageError:
    """`ask` without levels and without an index."""
    return UsageError("nothing is asked", "for example: pgassay ask app.capture work_mem=4MB,64MB")


def one_level(name: str) -> UsageError:
    """A factor with a single level."""
    return UsageError(f'"{name}" has one level, so there is nothing to compare', f"for example {name}=4MB,64MB")


def not_a_question(text: str) -> UsageError:
    """A word of `ask` that is not NAME=A,B."""
    return UsageError(f'ask wants NAME=VALUE,VALUE, not "{text}"', "for example work_mem=4MB,64MB")


def no_kept_log(path: Path) -> CaptureError:
    """`--replay` of a capture without a log."""
    return CaptureError(
        f'the capture "{path}" has no log that could be played again',
        "capture with --log FILE --with-literals, or name a log with --set load.log=FILE --set load.log_prefix=PREFIX",
    )


def short_kept_log(length_s: int) -> CaptureError:
    """The log of a capture is too short for a trial."""
    return CaptureError(
        f"the capture's log spans {length_s} s, too little to play", "capture a log of several minutes with --log"
    )


def kept_log(calls: int, secret: int) -> str:
    """What of the log stays in a capture."""
    left = f"; {secret} more seem to hold a secret, or name a column of secrets, and are left out" if secret else ""
    return f"{calls} calls of the log are kept, to be played again{left}"


def cannot_replay(code: str, detail: str) -> CaptureError:
    """The log failed when it was played once on the baseline."""
    hints = {
        "failed_transactions": (
            "data first, then the log: capture the data (--without-load), and play a log that begins afterwards, by"
            " --set load.log=FILE"
        ),
        "fell_behind": "--set load.speed=0.5x plays it slower",
    }
    return CaptureError(f"the log cannot be played on the baseline: {detail}", hints.get(code))


def no_pace(pace: str) -> CaptureError:
    """`--pace` of a capture without a load."""
    return CaptureError(
        f'the capture has no load, so the pace "{pace}" is not known',
        "capture with pg_stat_statements or --log FILE, or name a rate with --set load.rate=N",
    )


def no_minutes() -> CaptureError:
    """`--pace busiest` of a capture without a log."""
    return CaptureError(
        "the capture has no log, so its busiest minute is not known",
        "capture with --log FILE; --pace source plays the mean rate of the window",
    )


def programs_twice() -> UsageError:
    """Versions and builds at once."""
    return UsageError(
        "the PostgreSQLs to compare are given twice", "give --version, --build, or a factor such as postgres.version"
    )


def same_version(version: str) -> UsageError:
    """`--version` with the server's own."""
    return UsageError(
        f"the server is PostgreSQL {version} itself, so there is nothing to compare", "name another version"
    )


def other_version(source: int, here: int) -> str:
    """A warning: the lab's PostgreSQL is not the server's."""
    return f"the server is PostgreSQL {source}, and the study runs on {here}; --pg-bindir names another"


def other_collation(source: str) -> str:
    """A warning: the lab's clusters sort by bytes."""
    return (
        f"the server's collation is {source}, and the study runs with C: sorts and comparisons of text are cheaper here"
    )


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


def settings_left_out(names: Iterable[str], versions: Iterable[str]) -> str:
    """A warning: settings of the server that a PostgreSQL of the study does not know."""
    unknown = " and ".join(versions)
    return f"left out of the settings, because PostgreSQL {unknown} does not know them: {', '.join(names)}"


def libraries_left_out(reasons: Mapping[str, str]) -> str:
    """A warning: preloaded libraries of the server that the study's do not load."""
    said = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
    return f"left out of shared_preload_libraries: {said}"


def settings_of_nothing(names: Iterable[str]) -> str:
    """A warning: settings are asked about that belong to nothing which the server has."""
    return f"no extension and no preloaded library of the server is called {', '.join(names)}: its settings do nothing"


def left_out(objects: Iterable[str]) -> str:
    """A warning: what a new cluster does not take."""
    return f"left out of the data, because a new cluster has no use for it: {'; '.join(objects)}"
