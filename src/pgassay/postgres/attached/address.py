"""The address of a server that a user names: libpq's string or URI, a service or variables, and never a password.

The command is kept in a run's record, and the address in the list of what is owed, so neither may hold a secret. Who
needs a password has it in a file (manual, "The Password File"), where client programs find it, too.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.errors import ClusterError
from pgassay.bench.places import VARIABLES, Endpoint
from pgassay.errors import UsageError

_FILE = "keep it in ~/.pgpass, in the file that PGPASSFILE names, or in a service (pg_service.conf)"

CONNECT_S = 10
_PASSWORD = "PGPASSWORD"
_OURS = ("application_name", "connect_timeout", "fallback_application_name")
_FILES = ("passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl")
_OWN_FIELDS = ("host", "port", "dbname", "user")


def require_no_secret(dsn: str) -> None:
    """Raise `UsageError` for what is no connection string, and for one that holds a password or leads elsewhere."""
    given = _parsed(dsn)
    if "password" in given or "sslpassword" in given:
        raise password_given()
    if "," in given.get("host", "") or "," in given.get("port", ""):
        raise UsageError("--server names several hosts", "name the one that may be changed")
    for name in given:
        if name not in (*VARIABLES, *_OURS, *_OWN_FIELDS):
            raise UsageError(
                f'--server cannot have the parameter "{name}"',
                "give host, port, dbname, user, service and what encrypts the connection; settings belong to the study",
            )


def resolve(dsn: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Connect once and tell where that led, with all that programs need to get there, too.

    Raises `UsageError` for a string that may not be used, `ClusterError` where no server answers.
    """
    import psycopg

    require_no_secret(dsn)
    try:
        with psycopg.connect(dsn, connect_timeout=CONNECT_S, application_name="pgassay", autocommit=True) as connection:
            found = connection.info
            if connection.pgconn.used_password and environment.get(_PASSWORD):
                raise password_in_environment()
            given = {**found.get_parameters(), **_of_environment(environment)}
            more = {name: _from_root(name, value) for name, value in given.items() if name in VARIABLES}
            more.setdefault("sslmode", "prefer")
            more["client_encoding"] = "UTF8"  # else psycopg has no texts from a server of SQL_ASCII, but bytes
            return Endpoint(Path(found.host), found.port, found.dbname, found.user, more=tuple(sorted(more.items())))
    except psycopg.Error as error:
        raise ClusterError(
            f"could not connect to the server of --server: {str(error).strip().splitlines()[0]}",
            "try the same with psql",
        ) from None


def _parsed(dsn: str) -> dict[str, str]:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        return {name: str(value) for name, value in conninfo_to_dict(dsn).items() if value is not None}
    except psycopg.ProgrammingError as error:
        raise UsageError(
            f"--server is no connection string: {str(error).strip()}",
            'write "host=staging1 dbname=postgres", or postgresql://…',
        ) from None


def _from_root(name: str, value: str) -> str:
    """A file by its whole path: whoever repairs may stand elsewhere."""
    return str(Path(value).expanduser().absolute()) if name in _FILES else value


def _of_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Where the password file is: it is no parameter of a connection that names none."""
    named = environment.get(VARIABLES["passfile"])
    return {"passfile": named} if named else {}


def password_given() -> UsageError:
    """A secret on the command line, which the record keeps."""
    return UsageError("--server holds a password, and the record keeps the command", _FILE)


def password_in_environment() -> UsageError:
    """A secret that the programs of a load do not inherit."""
    return UsageError("the password is in PGPASSWORD, which programs of a load do not inherit", _FILE)
