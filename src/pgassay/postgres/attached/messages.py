"""Every message about a server that the user names (`--server`), in PostgreSQL's manner."""

from collections.abc import Iterable, Sequence

from pgassay.bench.errors import BenchError, SettingError
from pgassay.errors import PgassayError, UsageError
from pgassay.postgres.attached.facts import Client

_STAGING = "attach only to a staging server that nobody needs meanwhile (docs/your-server.md)"
_FILE = "keep it in ~/.pgpass, in the file that PGPASSFILE names, or in a service (pg_service.conf)"
_LISTED = 5


def password_given() -> UsageError:
    """A secret on the command line, which the record keeps."""
    return UsageError("--server holds a password, and the record keeps the command", _FILE)


def password_in_environment() -> UsageError:
    """A secret that the programs of a load do not inherit."""
    return UsageError("the password is in PGPASSWORD, which programs of a load do not inherit", _FILE)


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


def as_it_is(names: Iterable[str], reasons: Sequence[str] = ()) -> UsageError:
    """For factors that a server which runs already cannot have."""
    listed = "; ".join(reasons) if reasons else ", ".join(names)
    return UsageError(
        f"a server that runs already is taken as it is, and cannot have: {listed}",
        "leave them out, or run the study without --server on clusters of its own",
    )


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


def still_owed(place: str, detail: str) -> BenchError:
    """Putting back failed."""
    return BenchError(
        f"the server at {place} could not be put back as it was: {detail}",
        "what is owed is kept on this machine; when the server answers again: pgassay doctor --repair",
    )


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
