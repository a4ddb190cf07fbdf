"""A captured server's log, kept so that it can be played again: queries, changes of rows and what frames them.

It is written as jsonlog, whatever the source's format was, with the sessions of one database. A log is nothing but
literals, so it is kept only where these were asked for; utility statements, calls that name a column of secrets and
values that look like one stay behind, and are counted.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from pgassay.bench.running import Runner
from pgassay.capture import messages
from pgassay.capture.logs import Event
from pgassay.capture.privacy import is_query, private_name, secret_in
from pgassay.capture.reads import MARK
from pgassay.load.player import ReplayedLog, facts_of

FILE = "log.json"
WARMUP_S, DURATION_S = 10, 60
"""At most, where the log is longer."""
_WARMUP_SHARE = 0.1
_FRAMES = re.compile(
    r"^\s*(begin|start|commit|end|rollback|abort|savepoint|release|set|reset|show|declare|fetch|move|close|lock)\b",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class KeptLog:
    """A file of what can be played of the logs that are read: each event is taken as it comes by."""

    def __init__(self, file: TextIO, database: str) -> None:
        self._file = file
        self._database = database
        self.calls = 0
        """Those that were kept."""
        self.secret = 0
        """Those that were not because they seem to hold a secret."""

    def take(self, event: Event) -> None:
        """Write it if it is kept; raises `OSError`."""
        time_us, session, database, _, kind, text, parameters, _ = event
        is_elsewhere = database and self._database not in ("", database)
        if not (time_us and session) or is_elsewhere or not _is_kept(kind, text):
            return
        if text and _is_secret(text, parameters):
            self.secret += 1
            return
        self.calls += kind in ("statement", "execute")
        self._file.write(line_of(event))


@contextmanager
def keeping(path: Path, database: str) -> Iterator[KeptLog]:
    """Keep the sessions of `database` in the file at `path`, of all where it is empty."""
    with path.open("w", encoding="utf-8") as file:
        yield KeptLog(file, database)


def line_of(event: Event) -> str:
    """An event as PostgreSQL writes it into a jsonlog."""
    time_us, session, database, _, kind, text, parameters, duration_ms = event
    timed = "" if duration_ms is None else f"duration: {duration_ms:.3f} ms"
    what = {
        "statement": f"statement: {text}",
        "execute": f"execute s: {text}",
        "connect": "connection authorized: user=",
    }.get(kind, "")
    found = {
        "timestamp": f"{_EPOCH + timedelta(microseconds=time_us):%Y-%m-%d %H:%M:%S.%f} UTC",
        "dbname": database,
        "session_id": session,
        "error_severity": "ERROR" if kind == "error" else "LOG",
        "message": "error" if kind == "error" else "  ".join(part for part in (timed, what) if part),
    }
    if kind == "error":
        found["statement"] = text
    if parameters:
        values = ", ".join(f"${place} = {_quoted(value)}" for place, value in enumerate(parameters, start=1))
        found["detail"] = f"parameters: {values}"
    return json.dumps(found) + "\n"


def load_table(path: Path, runner: Runner, log: Path | None = None) -> Mapping[str, Any]:
    """The options of the load `replay` for the capture at `path`; `log` is one that the user names instead.

    Warm-up and window are as long as the log allows. Raises `CaptureError` where none was kept, or where it is too
    short, and `UsageError` for one that cannot be played.
    """
    if log is not None:
        return {"driver": "replay"}
    kept = path.absolute() / FILE
    if not kept.is_file():
        raise messages.no_kept_log(path)
    length_s = int(facts_of(ReplayedLog((kept,)), runner).length_ms / 1e3)
    warmup_s = min(WARMUP_S, int(length_s * _WARMUP_SHARE))
    duration_s = min(DURATION_S, length_s - warmup_s)
    if duration_s < 1:
        raise messages.short_kept_log(length_s)
    return {"driver": "replay", "log": [str(kept)], "warmup": f"{warmup_s}s", "duration": f"{duration_s}s"}


def _is_kept(kind: str, text: str) -> bool:
    if kind in ("duration", "connect"):
        return True
    return (
        kind in ("statement", "execute", "error") and MARK not in text and bool(is_query(text) or _FRAMES.match(text))
    )


def _is_secret(text: str, parameters: Iterable[str | None]) -> bool:
    return private_name(text) or any(secret_in(each) is not None for each in (text, *parameters) if each)


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"
