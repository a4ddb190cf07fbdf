"""A capture's load played: its scripts on a server with its data (which fail, what load they make, what they answer),
and its log.

Each script is tried alone first, for a moment: one that fails (a key that is there already, a function that is missing)
would end its client in every trial. What pg_stat_statements shows of it then tells which of the entries are its own,
since query identifiers differ between clusters. Then all are played together between two snapshots, as a capture is
taken: on another clone of the same data, since a moment of updates alone leaves room in every page, and makes later
ones HOT that the source's were not. Then every variant is asked the same, each script alone, with the same seed and as
often, so that where one gives another number of rows, its answer is another one. Plans come from auto_explain, as the
statement was really sent and planned; it is loaded by the sessions of the player alone, and only here.

A captured server's log is kept so that it can be played again: queries, changes of rows and what frames them.

It is written as jsonlog, whatever the source's format was, with the sessions of one database. A log is nothing but
literals, so it is kept only where these were asked for; utility statements, calls that name a column of secrets and
values that look like one stay behind, and are counted.

Played once, it is counted as the source's load was: by pg_stat_statements where that was captured, else by the player,
whose statements and times are the log's own kind (planning and all that a call takes).
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from pgassay.capture import reads
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Moment, Statement
from pgassay.capture.logs import Event, identifier
from pgassay.capture.privacy import is_query, private_name, secret_in
from pgassay.capture.reads import MARK, between, plus
from pgassay.capture.scripts import CapturedScript, control_of
from pgassay.interfaces.errors import BenchError, QueryError
from pgassay.interfaces.load import Load as DrivenLoad
from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.running import Clock, Runner
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import Slice
from pgassay.load.player import PlayedLoad, PlayedScript, Player, ReplayedLog, await_sessions_end, facts_of
from pgassay.load.replay import FILE as RESULTS
from pgassay.load.replay import PlayedStatement, statements_of

LIBRARY = {"shared_preload_libraries": "pg_stat_statements"}
"""With which a server is started to be counted."""
Owner = Callable[[Statement], int | None]
"""The identifier by which a statement of this server is compared; None where it is no part of the load."""
_SAMPLE_S = 0.1
_CREATE = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"


@dataclass(frozen=True)
class Snapshot:
    statements: Sequence[tuple[object, ...]]
    counters: Mapping[str, float]


def instrument(server: Server) -> bool:
    try:
        server.execute(_CREATE)
        statements(server)
    except QueryError:
        return False
    return True


def statements(server: Server) -> Sequence[tuple[object, ...]]:
    ((schema,),) = server.query(
        "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'pg_stat_statements'"
    )
    return server.query(reads.statements(schema, server.version.major, texts=True))


def snapshot(server: Server) -> Snapshot:
    counted, sql = statements(server), reads.counters(server.version.major, replica=False)
    server.query("SELECT pg_stat_clear_snapshot()")
    ((found,),) = server.query(f"SELECT to_jsonb(x) FROM ({sql}) x")
    return Snapshot(counted, {name: float(value) for name, value in found.items() if value is not None})


def snapshot_after(server: Server, clock: Clock) -> Snapshot:
    """The snapshot after a load whose program has ended: a session hands in its counters when it ends, at the latest
    (manual, "The Cumulative Statistics System"), and a server ends it a moment after its client."""
    await_sessions_end(server, clock)
    return snapshot(server)


def load_between(
    before: Snapshot, after: Snapshot, window_s: float, moments: Sequence[Moment], owner_of: Owner
) -> Load:
    """The load that was played between two snapshots, with the identifiers of `owner_of`."""
    found: dict[int, Statement] = {}
    for each in between(before.statements, after.statements):
        owner = owner_of(each)
        if owner is not None:
            own = replace(each, query_id=owner)
            found[owner] = plus(found[owner], own) if owner in found else own
    earlier = before.counters
    differences = {name: value - earlier[name] for name, value in after.counters.items() if name in earlier}
    return Load(window_s, tuple(found.values()), tuple(moments), differences)


@contextmanager
def watching(server: Server, clock: Clock, moments: list[Moment]) -> Iterator[None]:
    """Look at the sessions while a load, which needs the main thread, is played."""
    ended = threading.Event()
    sql, began_ns = reads.ACTIVITY, clock.monotonic_ns()

    def look() -> None:
        while not ended.wait(_SAMPLE_S):
            try:
                rows = server.query(sql)
            except QueryError:
                return
            moments.append(Moment.of((clock.monotonic_ns() - began_ns) / 1e9, rows))

    thread = threading.Thread(target=look, name="sessions")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


SETTINGS = {**LIBRARY, "statement_timeout": "60s"}
"""With which the server is started for it: our instrument, and an end for statements that never do."""
_ALONE_MS = 200
_SLICE_MS = 500
_ERROR_TEXT_MAX = 160


@dataclass(frozen=True)
class TriedAlone:
    """What trying each script alone came to: by name why scripts failed, and whose statements are whose.

    `owners` has the source's identifier for each of the server's own; None where it has no pg_stat_statements.
    """

    failed: Mapping[str, str]
    owners: Mapping[int, int] | None


@dataclass(frozen=True)
class Stage:
    """Where and how it is played: the server, `clients`, the protocol, for `most_ms` at most."""

    server: Server
    runner: Runner
    clock: Clock
    clients: int = 1
    protocol: str = "simple"
    most_ms: int = 30_000
    rate_tps: float | None = None
    """At which transactions are due; None: as many as possible."""


def try_each(scripts: Sequence[CapturedScript], stage: Stage) -> TriedAlone:
    counted = instrument(stage.server)
    failed: dict[str, str] = {}
    owners: dict[int, int] = {}
    for each in scripts:
        before = statements(stage.server) if counted else ()
        _, reason = _played_alone(each, stage, duration_ms=_ALONE_MS)
        if reason:
            failed[each.name] = reason[:_ERROR_TEXT_MAX]
        elif counted and not each.transaction:  # its statements are tried alone, too, which tells them apart
            own = between(before, statements(stage.server))
            owners.update({found.query_id: each.statements[0].query_id for found in own})
    return TriedAlone(failed, owners if counted else None)


def _played_alone(
    script: CapturedScript,
    stage: Stage,
    seed: int = 0,
    *,
    duration_ms: int | None = None,
    transactions: int | None = None,
) -> tuple[Slice | None, str]:
    """The slice that came of it, and why the script failed; that is empty where it did not."""
    load = PlayedLoad((PlayedScript(script.name, script.text),), protocol=stage.protocol, seed=seed)
    try:
        with Player(load, stage.server.endpoint, stage.runner, stage.clock) as player:
            ended = player.play(duration_ms=duration_ms, transactions=transactions)
    except BenchError as error:
        return None, error.message
    if ended.aborted:
        return ended, ended.aborted[0][:_ERROR_TEXT_MAX]
    return ended, f"it fails with SQLSTATE {', '.join(ended.failed)}" if ended.failed else ""


def play_alone(scripts: Sequence[CapturedScript], stage: Stage, owners: Mapping[int, int]) -> Load | None:
    """The load that all of them make together, with the source's identifiers; None where nothing can be counted.

    As many calls are played as the source made, if the time suffices: updated pages fill and are pruned as they go on.
    The server is another clone of the data that they were tried on, where identifiers are the same. Raises `LoadError`.
    """
    if not scripts or not instrument(stage.server):
        return None
    server, clock = stage.server, stage.clock
    load = PlayedLoad(
        tuple(PlayedScript(each.name, each.text, each.weight) for each in scripts),
        clients=stage.clients,
        threads=min(stage.clients, 2),
        protocol=stage.protocol,
        rate_tps=stage.rate_tps,
    )
    lengths = [len(each.statements) for each in scripts]
    calls = sum(each.weight * length for each, length in zip(scripts, lengths, strict=True))
    played = spent_ms = 0
    moments: list[Moment] = []
    with Player(load, server.endpoint, stage.runner, clock) as player:
        before, began_ns = snapshot(server), clock.monotonic_ns()
        with watching(server, clock, moments):
            while played < calls and spent_ms < stage.most_ms:
                ended = player.play(duration_ms=_SLICE_MS)
                played += sum(each.count * length for each, length in zip(ended.scripts, lengths, strict=True))
                spent_ms += _SLICE_MS
        ended_ns = clock.monotonic_ns()
    return load_between(
        before,
        snapshot_after(server, clock),
        (ended_ns - began_ns) / 1e9,
        moments,
        lambda found: owners.get(found.query_id, found.query_id if control_of(found.text) else None),
    )


CALLS_MAX = 50
_TOTAL_MS = 200.0
"""About how long a script is played, by the source's mean time."""
_SEED = 20
_LOAD = "LOAD 'auto_explain'"
_EXPLAINED: Mapping[str, str] = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_buffers": "on",
}
_PLAN = re.compile(r"duration: [\d.]+ ms  plan:\n((?:\t.*\n)+)")
_PLAN_MAX = 8_000


@dataclass(frozen=True)
class Examined:
    """One script: the rows that so many calls returned or changed, the plan of the last, or why it failed."""

    calls: int
    rows: int = 0
    plan: str = ""
    failed: str = ""


def examine(scripts: Sequence[CapturedScript], stage: Stage) -> dict[str, Examined]:
    """By name of the script; plans only where this PostgreSQL has auto_explain."""
    found, server = {}, stage.server
    explained = True
    try:  # plans are logged of every session that begins from now on
        server.execute(_LOAD)
        for name, value in _EXPLAINED.items():
            server.execute(f"ALTER DATABASE \"{server.endpoint.database}\" SET {name} = '{value}'")
    except QueryError:
        explained = False
    for each in scripts:
        calls = calls_of(each)
        ended, failed = _played_alone(each, stage, _SEED, transactions=calls)
        if ended is None or failed:
            found[each.name] = Examined(calls, failed=failed)
            continue
        plan = plan_in(server.log_text(), len(each.statements)) if explained else ""
        found[each.name] = Examined(calls, sum(statement.rows for statement in ended.statements), plan)
    return found


def calls_of(script: CapturedScript) -> int:
    """How often it is played: for about the same time, whatever the variant makes of it."""
    mean_ms = script.mean_ms
    return max(1, min(CALLS_MAX, round(_TOTAL_MS / mean_ms) if mean_ms > 0 else CALLS_MAX))


def plan_in(log: str, count: int = 1) -> str:
    """The last plans in a server's log, without the texts of the queries; empty where there is none."""
    bare = []
    for plan in _PLAN.findall(log)[-count:]:
        lines = [line.removeprefix("\t") for line in plan.splitlines()]
        first = next((place for place, line in enumerate(lines) if "  (cost=" in line), len(lines))
        bare.append("\n".join(lines[first:]))
    return "\n\n".join(bare)[:_PLAN_MAX]


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
    """A file of what can be played of the logs that are read: each event is taken as it comes by, if it is of the
    `database`; of all where that is empty."""

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
        is_call = kind in ("statement", "execute", "error") and MARK not in text
        is_played = is_call and (is_query(text) or _FRAMES.match(text) is not None)
        if not (time_us and session) or is_elsewhere or not (is_played or kind in ("duration", "connect")):
            return
        if text and (private_name(text) or any(secret_in(each) is not None for each in (text, *parameters) if each)):
            self.secret += 1
            return
        self.calls += kind in ("statement", "execute")
        self._file.write(line_of(event))


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
        quoted = ("NULL" if value is None else "'" + value.replace("'", "''") + "'" for value in parameters)
        found["detail"] = f"parameters: {', '.join(f'${place} = {each}' for place, each in enumerate(quoted, start=1))}"
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
    load: DrivenLoad, server: Server, output: Path, clock: Clock, source: Load | None
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
