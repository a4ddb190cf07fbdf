"""A captured server's log, kept so that it can be played again: queries, changes of rows and what frames them.

It is written as jsonlog, whatever the source's format was, with the sessions of one database. A log is nothing but
literals, so it is kept only where these were asked for; utility statements, calls that name a column of secrets and
values that look like one stay behind, and are counted.

Played once, it is counted as the source's load was: by pg_stat_statements where that was captured, else by the player,
whose statements and times are the log's own kind (planning and all that a call takes).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from pgassay.bench.load import Load as PlayedLoad
from pgassay.bench.load import LoadResult
from pgassay.bench.running import Clock, Runner
from pgassay.bench.server import Server
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Moment, Statement
from pgassay.capture.logs import Event, identifier
from pgassay.capture.playing import Owner, instrument, load_between, snapshot, snapshot_after, watching
from pgassay.capture.privacy import is_query, private_name, secret_in
from pgassay.capture.reads import MARK
from pgassay.capture.scripts import control_of
from pgassay.load.player import ReplayedLog, facts_of
from pgassay.load.replay import FILE as RESULTS
from pgassay.load.replay import PlayedStatement, statements_of

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

    @property
    def note(self) -> str:
        found = f"{self.calls} calls of the log are kept, to be played again"
        if not self.secret:
            return found
        return f"{found}; {self.secret} more seem to hold a secret, or name a column of secrets, and are left out"

    def take(self, event: Event) -> None:
        """Write it if it is kept; raises `OSError`."""
        time_us, session, database, _, kind, text, parameters, _ = event
        is_elsewhere = database and self._database not in ("", database)
        if not (time_us and session) or is_elsewhere or not _is_kept(kind, text):
            return
        if text and (private_name(text) or any(secret_in(each) is not None for each in (text, *parameters) if each)):
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
        raise CaptureError(
            f'the capture "{path}" has no log that could be played again',
            "capture with --log FILE --with-literals, or name a log with --set load.log=FILE "
            "--set load.log_prefix=PREFIX",
        )
    length_s = int(facts_of(ReplayedLog((kept,)), runner).length_ms / 1e3)
    warmup_s = min(WARMUP_S, int(length_s * _WARMUP_SHARE))
    duration_s = min(DURATION_S, length_s - warmup_s)
    if duration_s < 1:
        raise CaptureError(
            f"the capture's log spans {length_s} s, too little to play", "capture a log of several minutes with --log"
        )
    return {"driver": "replay", "log": [str(kept)], "warmup": f"{warmup_s}s", "duration": f"{duration_s}s"}


def play(
    load: PlayedLoad, server: Server, output: Path, clock: Clock, source: Load | None
) -> tuple[LoadResult, Load | None]:
    """Play a log once, with the player's results in `output`: what came of it, and the load that it made.

    That is None where it failed, where the source has no load to compare with, and where that was counted by
    pg_stat_statements and this server has none.
    """
    if source is None:
        return load.run(server, output, 0), None
    by_log = source.logged is not None and not source.counters
    if by_log or not instrument(server):
        result = load.run(server, output, 0)
        if not by_log or result.problems:
            return result, None
        return result, by_player(statements_of((output / RESULTS).read_bytes()), _seconds(result), source)
    moments: list[Moment] = []
    before = snapshot(server)
    with watching(server, clock, moments):
        result = load.run(server, output, 0)
    if result.problems:
        return result, None
    texts = {each.text for each in statements_of((output / RESULTS).read_bytes())}
    after = snapshot_after(server, clock)
    return result, load_between(before, after, _seconds(result), moments, owner_of(source, texts))


def by_player(played: Iterable[PlayedStatement], window_s: float, source: Load) -> Load:
    """The load as the player counted it, with the source's identifiers; a log's calls are those within BEGIN and COMMIT
    and not these themselves."""
    known = _identifiers(source)
    found = [
        Statement(known.get(each.text, identifier(each.text)), each.text, each.calls, each.exec_ms, each.rows)
        for each in played
        if each.calls and not control_of(each.text)
    ]
    return Load(window_s, tuple(found))


def owner_of(source: Load, texts: Iterable[str]) -> Owner:
    """A statement is the source's where both are the same without constants; one that only the log has (its `texts`)
    is its own, and any other is ours."""
    from pgassay._core import normalize_statement

    known, logged = _identifiers(source), frozenset(texts)

    def owner(found: Statement) -> int | None:
        text = normalize_statement(found.text)[0]
        return known.get(text, found.query_id if text in logged or control_of(found.text) else None)

    return owner


def _identifiers(source: Load) -> dict[str, int]:
    """By the text without constants."""
    from pgassay._core import normalize_statement

    found: dict[str, int] = {}
    for each in source.statements:
        if each.text:
            found.setdefault(normalize_statement(each.text)[0], each.query_id)
    return found


def _seconds(result: LoadResult) -> float:
    return (result.finished_monotonic_ns - result.started_monotonic_ns) / 1e9


def _is_kept(kind: str, text: str) -> bool:
    if kind in ("duration", "connect"):
        return True
    return (
        kind in ("statement", "execute", "error") and MARK not in text and bool(is_query(text) or _FRAMES.match(text))
    )


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"
