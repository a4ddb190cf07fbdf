"""Every message of the postgres room that a user may see: lower case, no full stop, with a hint where one helps.

`complaint` picks the sentence that names the cause out of a program's output. Server lines are `[prefix] LEVEL:  text`,
followed by `DETAIL:` and `HINT:` lines (manual, "Error Reporting and Logging").
"""

import re
from collections.abc import Iterable
from pathlib import Path

from pgassay.bench.errors import ClusterError
from pgassay.errors import UsageError

SUPPORTED = "PostgreSQL 13 to 18"

NO_SUCH_SETTING = "there is no such setting"
"""What a server is taken to say of a setting that it does not know."""


def version_not_found(requested: str, found: Iterable[str]) -> UsageError:
    """`postgres.version` asks for what is not here."""
    return UsageError(
        f"PostgreSQL {requested} was not found on this machine",
        f"found: {', '.join(found) or 'none'}; name another with --pg-bindir",
    )


KILLED = "was killed, by another program or by the kernel for want of memory (signal 9)"


def not_started(words: str) -> ClusterError:
    """The server ended while starting, in its own words."""
    return ClusterError(f"server did not start: {words}")


def unreachable_server(detail: str) -> ClusterError:
    """`pgassay init` could not read a server."""
    return ClusterError(
        f"could not read the server: {detail}",
        "give a libpq connection string or URI, as for psql; nothing is changed there",
    )


def unreadable_cluster(path: Path) -> ClusterError:
    """The account may not read it."""
    return ClusterError(f'no permission to read "{path}"', "run as root, or as the account that the server runs under")


def no_data_directory(directory: Path, why: str) -> ClusterError:
    """A copy that is incomplete, or no data directory at all."""
    return ClusterError(
        f'"{directory}" is not a whole data directory: {why}',
        "a base backup has PG_VERSION, global/pg_control and backup_label; one in tar files must be unpacked first",
    )


def unreadable_directory(directory: Path) -> ClusterError:
    """The account may not read it."""
    return ClusterError(f'no permission to read "{directory}"', "run as root, or as the account that owns the copy")


def fixed_by_copy(name: str) -> UsageError:
    """An option of initdb, or other data, for a cluster that is copied."""
    return UsageError(
        f'"{name}" cannot be asked of a cluster that is a copy ("init.copy_of"): it is as its source has it',
        "data that were captured with --data dump are loaded into a new cluster, where it can be varied",
    )


_LINE = re.compile(r"^(?:.*?\s)?(PANIC|FATAL|ERROR|LOG|error|fatal|HINT|DETAIL|hint|detail):\s+(.*)$")
_VAGUE = re.compile(r'configuration file ".*" contains errors')
_SEVERE = ("panic", "fatal", "error")


def complaint(text: str) -> tuple[str, str | None]:
    """The first fatal or error sentence with its detail in brackets, and the hint; the last line if there is none.

    What is wrong in a configuration file stands in the LOG line before the fatal one. A line that begins with a blank
    goes on from the one before it: libpq asks there whether the server is running, once it has said why it asks.
    """
    sentence, detail, hint, logged = "", "", None, ""
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        level, words = found[1].lower(), found[2].strip()
        if level in _SEVERE:
            if sentence:
                break
            sentence = logged if _VAGUE.fullmatch(words) and logged else words
        elif level == "log":
            logged = words
        elif sentence and level == "detail":
            detail = words
        elif sentence and level == "hint":
            hint = words
    if not sentence:
        lines = [line for line in text.splitlines() if line.strip()]
        told = [line for line in lines if not line[0].isspace()] or lines
        return (told[-1].strip() if told else "it printed nothing"), None
    return (f"{sentence} ({detail.rstrip('.')})" if detail else sentence), _as_hint(hint)


def _as_hint(hint: str | None) -> str | None:
    """In our manner: no capital at the start, no full stop at the end."""
    if not hint:
        return None
    start = hint[:1].lower() + hint[1:] if hint[1:2].islower() or hint[1:2] == " " else hint
    return start.rstrip(".")
