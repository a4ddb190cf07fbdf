"""The address of a user's server: never with a password, and with all that programs need to get there."""

import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.places import Endpoint
from pgassay.postgres.attached import attachment


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("host=db1 password=secret", "holds a password"),
        ("postgresql://me:secret@db1/app", "holds a password"),
        ("host=db1 sslpassword=secret", "holds a password"),
        ("host=db1,db2", "names several hosts"),
        ("host=db1 options='-c work_mem=1GB'", 'cannot have the parameter "options"'),
        ("host=db1 replication=database", 'cannot have the parameter "replication"'),
        ("host = = db1", "is not a connection string"),
        ("nonsense", "is not a connection string"),
    ],
)
def test_what_may_not_be_used_is_refused(dsn: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        attachment.require_no_secret(dsn)
    assert caught.value.hint
    assert "secret" not in caught.value.message + (caught.value.hint or "")


@pytest.mark.parametrize(
    "dsn", ["", "service=staging", "host=db1 port=5433 dbname=a user=b sslmode=verify-full", "postgresql://me@db1/app"]
)
def test_the_usual_forms_are_taken(dsn: str) -> None:
    attachment.require_no_secret(dsn)


def test_nobody_there_is_said_with_libpqs_own_words(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"could not connect to the server of --server: .*no-such"):
        attachment.resolve(f"host={tmp_path / 'no-such'}", {})


def test_programs_and_sessions_get_the_same_address() -> None:
    found = Endpoint(Path("db1"), 5433, "it's", "back\\slash", more=(("passfile", "/p"), ("sslmode", "verify-full")))
    assert found.environment() == {
        "PGHOST": "db1", "PGPORT": "5433", "PGDATABASE": "it's", "PGUSER": "back\\slash", "PGPASSFILE": "/p",
        "PGSSLMODE": "verify-full",
    }  # fmt: skip
    from psycopg.conninfo import conninfo_to_dict

    told = conninfo_to_dict(found.conninfo())
    assert (told["dbname"], told["user"], told["passfile"]) == ("it's", "back\\slash", "/p")


def test_a_private_server_has_no_variable_more_than_where_it_is() -> None:
    private = Endpoint(Path("/run/x"), 5499, "postgres", "me")
    assert set(private.environment()) == {"PGHOST", "PGPORT", "PGDATABASE", "PGUSER"}


class Answering(Endpoint):
    """A server that asks for a password where its role is called so."""

    def connect(self, **more: Any) -> Any:
        if self.user == "gone":
            raise psycopg.OperationalError
        return nullcontext(SimpleNamespace(pgconn=SimpleNamespace(used_password=self.user == "asked")))


@pytest.mark.parametrize(
    ("place", "role", "alone"),
    [("/run/x", "me", True), ("/run/x", "asked", False), ("db1", "me", False), ("/run/x", "gone", False)],
)
def test_a_program_without_libpq_needs_a_socket_and_no_password(place: str, role: str, alone: bool) -> None:
    none: Any = None
    endpoint = Answering(Path(place), 5432, "postgres", role)
    assert attachment.Attachment(endpoint, none, none, none, none).by_socket_alone() == alone
