"""Every message about a server that the user names (`--server`), in PostgreSQL's manner."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pgassay.bench.errors import BenchError, ClusterError, DriveError, NotSettableError, QueryError, SettingError
from pgassay.errors import PgassayError, UsageError
from pgassay.postgres.attached.facts import Client
from pgassay.study.units import format_size

_STAGING = "attach only to a staging server that nobody needs meanwhile (docs/your-server.md)"
_FILE = "keep it in ~/.pgpass, in the file that PGPASSFILE names, or in a service (pg_service.conf)"
_LISTED = 5


def not_owned() -> UsageError:
    """--server without --i-own."""
    return UsageError(
        "--server changes settings of that server and makes databases there, and needs your word that you may",
        "say so with --i-own; --dry-run shows without it what would be changed and put back",
    )


def owns_nothing() -> UsageError:
    """--i-own without a device and without --server."""
    return UsageError("--i-own names nothing", "give the device after it, or the server with --server")


def another_than_before(place: str) -> UsageError:
    """Half a run on one server and half on another would be no experiment."""
    return UsageError(f"the server at {place} is not the one that this run began on", "begin a new run there")


def password_given() -> UsageError:
    """A secret on the command line, which the record keeps."""
    return UsageError("--server holds a password, and the record keeps the command", _FILE)


def password_in_environment() -> UsageError:
    """A secret that the programs of a load do not inherit."""
    return UsageError("the password is in PGPASSWORD, which programs of a load do not inherit", _FILE)


def several_hosts() -> UsageError:
    """A string after which nobody knows which server is meant."""
    return UsageError("--server names several hosts", "name the one that may be changed")


def not_a_parameter(name: str) -> UsageError:
    """A parameter that the programs of a load would not have, or that would change what is measured."""
    return UsageError(
        f'--server cannot have the parameter "{name}"',
        "give host, port, dbname, user, service and what encrypts the connection; settings belong to the study",
    )


def no_connection_string(detail: str) -> UsageError:
    """Neither libpq's form."""
    return UsageError(
        f"--server is no connection string: {detail}", 'write "host=staging1 dbname=postgres", or postgresql://…'
    )


def not_reached(detail: str) -> ClusterError:
    """Nobody answers, or we are not let in."""
    return ClusterError(f"could not connect to the server of --server: {detail}", "try the same with psql")


def is_standby() -> ClusterError:
    """Nothing can be made there."""
    return ClusterError("the server of --server is a standby in recovery, where nothing can be made", "name a primary")


def other_clients(found: Sequence[Client]) -> BenchError:
    """Somebody else works there."""
    named = [each.words for each in found[:_LISTED]]
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return BenchError(f"the server of --server has other clients: {'; '.join(named)}{more}", _STAGING)


def visited(found: Sequence[Client], sessions: int) -> str:
    """What makes a window invalid: somebody else was there."""
    named = "; ".join(each.words for each in found[:_LISTED])
    came = f"{sessions} sessions of others began during the window" if sessions else ""
    return "the server had other clients: " + "; ".join(each for each in (named, came) if each)


def attached_already(place: str) -> BenchError:
    """Another lab has it."""
    return BenchError(f"another pgassay is attached to the server at {place}", "wait for its end")


def other_server(place: str) -> BenchError:
    """The address leads elsewhere since."""
    return BenchError(
        f"the server at {place} is not the one that is owed something there",
        "start that one again at its address, then: pgassay doctor --repair",
    )


def no_createdb(role: str) -> ClusterError:
    """The least that it takes."""
    return ClusterError(
        f'role "{role}" may not create databases, and the load works in databases of our own',
        f'ALTER ROLE "{role}" CREATEDB',
    )


def too_few_connections(needed: int, limit: int) -> UsageError:
    """max_connections needs a restart."""
    return UsageError(
        f"the load opens up to {needed} connections, and the server lets an ordinary role have {limit}",
        "use fewer clients (--set load.clients=…): raising max_connections takes a restart, which is not ours to make",
    )


def as_it_is(names: Iterable[str], reasons: Sequence[str] = ()) -> UsageError:
    """For factors that a server which runs already cannot have."""
    listed = "; ".join(reasons) if reasons else ", ".join(names)
    return UsageError(
        f"a server that runs already is taken as it is, and cannot have: {listed}",
        "leave them out, or run the study without --server on clusters of its own",
    )


def no_such_setting(name: str) -> NotSettableError:
    """The server has no such setting."""
    return NotSettableError(f'the server has no setting "{name}"', "SHOW ALL lists the settings", name)


def never_set(name: str, reason: str) -> SettingError:
    """A setting that we do not touch on somebody's server."""
    return SettingError(f"{name} is not changed on a server that is not ours: {reason}")


def needs_restart(name: str, now: str, context: str) -> SettingError:
    """`postmaster` or `internal`."""
    how = "takes a restart, which is not ours to make" if context == "postmaster" else "cannot be changed at all"
    return SettingError(f"{name} {how} (it is {now})")


def on_command_line(name: str) -> SettingError:
    """ALTER SYSTEM would do nothing."""
    return SettingError(f"{name} is given on the server's command line, which goes before ALTER SYSTEM")


def alter_system_off(name: str) -> SettingError:
    """From 17 on a server can forbid it."""
    return SettingError(f"{name} takes ALTER SYSTEM, which allow_alter_system = off forbids")


def no_alter_system(name: str, role: str) -> SettingError:
    """Neither superuser nor granted."""
    return SettingError(f'{name} takes ALTER SYSTEM, which role "{role}" may not use for it')


def not_put_back(name: str, role: str) -> SettingError:
    """We could change it, and not put it back."""
    return SettingError(
        f'{name} could not be put back: role "{role}" lacks pg_read_all_settings (pg_monitor) or pg_reload_conf()'
    )


def role_sets_it(name: str, role: str) -> SettingError:
    """ALTER ROLE … SET goes before ALTER DATABASE … SET."""
    return SettingError(f'{name} is set for role "{role}" by ALTER ROLE, which goes before what a database sets')


def refused(name: str, value: str, detail: str) -> SettingError:
    """The server does not take the value."""
    return SettingError(f"the server refuses {name} = '{value}': {detail}")


def not_varied(errors: Sequence[PgassayError]) -> SettingError:
    """All that cannot be set, in one message."""
    if len(errors) == 1:
        hint = errors[0].hint or _SET_HINT
        return SettingError(errors[0].message, hint)
    return SettingError("; ".join(each.message for each in errors), _SET_HINT)


_SET_HINT = (
    "leave it out, or give the value that the server has; without --server a study varies every setting on clusters of"
    " its own"
)


def no_such_database(name: str) -> UsageError:
    """`init.copy_database` names what is not there."""
    return UsageError(f'the server has no database "{name}" that could be copied', "psql -l lists them")


def connected_to_copied(name: str) -> UsageError:
    """CREATE DATABASE … TEMPLATE refuses while somebody is connected, ourselves included."""
    return UsageError(
        f'the database "{name}" cannot be copied while --server connects to it',
        "name another database of that server in --server, such as dbname=postgres",
    )


def may_not_copy(name: str, role: str) -> UsageError:
    """Not its owner's."""
    return UsageError(
        f'role "{role}" may not copy the database "{name}"',
        "connect as its owner (with CREATEDB) or as a superuser, or let ALTER DATABASE … IS_TEMPLATE allow it",
    )


def no_snapshot(key: str) -> DriveError:
    """A fault of ours."""
    return DriveError(f'there is no prepared database "{key}" on the server')


def not_cloned(error: QueryError) -> DriveError:
    """CREATE DATABASE … TEMPLATE failed."""
    return DriveError(f"the server could not copy a database: {error.message}", error.hint)


def no_reload(seconds: float) -> QueryError:
    """pg_reload_conf() had no effect in time."""
    return QueryError(f"the server has not read its configuration {seconds:.0f} s after pg_reload_conf()")


def still_owed(place: str, detail: str) -> BenchError:
    """Putting back failed."""
    return BenchError(
        f"the server at {place} could not be put back as it was: {detail}",
        "what is owed is kept on this machine; when the server answers again: pgassay doctor --repair",
    )


def set_back(name: str, value: str | None) -> str:
    """What was done, for `doctor --repair`."""
    return f"{name} of the server" if value is None else f"{name} = {value} of the server"


def left_alone(name: str, now: str) -> str:
    """What somebody else has set since."""
    return f"nothing of {name}, which somebody has set to {now} since"


def dropped(name: str) -> str:
    """What was done."""
    return f'database "{name}"'


FIXED = {
    "build": "its programs are built already",
    "init": "its cluster is made already",
    "host": "its machine is not ours to change",
    "drive": "its files are where they are",
}
"""By the stage of a factor."""
OTHER_DRIVER = "only pgbench reaches a server that is not ours"
OTHER_HOST = "its program runs on this machine"
NO_FILES = "the server's files are not ours"
ONE_SERVER = "the treatments are databases of one server, which cannot stand still for one of them"


def unpinned(names: Sequence[str], role: str) -> str:
    """Settings that would pin the regime and stay as they are."""
    return (
        f"{', '.join(names)} stay as the server has them, since ALTER SYSTEM is not for role {role}: a window may hold"
        " no whole checkpoint cycle"
    )


def no_checkpoint(role: str) -> str:
    """Without pg_checkpoint."""
    return f"no CHECKPOINT before a window, since role {role} lacks pg_checkpoint: each begins somewhere in a cycle"


def not_seen(sources: Sequence[str], *, here: bool) -> str:
    """What is not available of the server's machine."""
    why = "the server's data directory is hidden from the role" if here else "the server is not on this machine"
    return f"not available, since {why}: {', '.join(sources)}"


def no_superuser(role: str) -> str:
    """What only a superuser may read or make."""
    return f"role {role} is no superuser: bytes of row versions (pg_statistic) and pg_prewarm are not available"


def no_monitor(role: str) -> str:
    """Without pg_monitor."""
    return f"role {role} lacks pg_monitor: what other sessions do, and the size of pg_wal, are not available"


def will_make(snapshots: int, size_bytes: int, copied: Sequence[str]) -> str:
    """For the plan; `copied` are databases of the user's."""
    kept = "one prepared" if snapshots == 1 else f"{snapshots} prepared"
    size = format_size(size_bytes)
    if copied:
        kept += f" as a copy of {', '.join(copied)}, which is only read,"
    return f"databases pgassay_…: {kept} and one copy at a time, of about {size} each; dropped at the end"


def will_set_databases(names: Sequence[str]) -> str:
    """For the plan."""
    return f"ALTER DATABASE … SET {', '.join(names)}: for databases of our own, and gone with them"


def will_set_system(now: Mapping[str, str]) -> str:
    """For the plan."""
    listed = ", ".join(f"{name} (now {value})" for name, value in now.items())
    return f"ALTER SYSTEM SET {listed}, and a reload: put back after each trial"


def nothing_else(ledger: Path, *, checkpoints: bool) -> str:
    """For the plan."""
    also = "CHECKPOINT before each window; " if checkpoints else ""
    return f"{also}nothing else; what is owed is listed in {ledger}, for pgassay doctor --repair after a crash"
