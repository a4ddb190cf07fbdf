"""The scripts of a capture on a server with its data: which of them fail, what load they make, what they answer.

Each script is tried alone first, for a moment: one that fails (a key that is there already, a function that is missing)
would end its client in every trial. What pg_stat_statements shows of it then tells which of the entries are its own,
since query identifiers differ between clusters. Then all are played together between two snapshots, as a capture is
taken: on another clone of the same data, since a moment of updates alone leaves room in every page, and makes later
ones HOT that the source's were not.

Then every variant is asked the same, on clones of the same data: each script is played alone, with the same seed and as
often, so that where one gives another number of rows, its answer is another one. Plans come from auto_explain, as the
statement was really sent and planned; it is loaded by the sessions of the player alone, and only here.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pgassay.bench.errors import BenchError, QueryError
from pgassay.bench.running import Clock, Runner
from pgassay.bench.server import Server
from pgassay.bench.slices import Slice
from pgassay.capture import reads
from pgassay.capture.format import Load, Moment, Statement
from pgassay.capture.reads import between, plus
from pgassay.capture.scripts import CapturedScript, control_of
from pgassay.load.player import PlayedLoad, PlayedScript, Player

LIBRARY = {"shared_preload_libraries": "pg_stat_statements"}
"""With which a server is started to be counted."""
Owner = Callable[[Statement], int | None]
"""The identifier by which a statement of this server is compared; None where it is no part of the load."""
_SAMPLE_S = 0.1
_SESSIONS = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgassay-player'"
_SESSION_END_S, _POLL_S = 60.0, 0.01
_CREATE = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"


@dataclass(frozen=True)
class Snapshot:
    """Counters of statements and of the database at one moment."""

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
    deadline_ns = clock.monotonic_ns() + int(_SESSION_END_S * 1e9)
    while server.query(_SESSIONS) and clock.monotonic_ns() < deadline_ns:
        clock.sleep(_POLL_S)
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


def play(scripts: Sequence[CapturedScript], stage: Stage, owners: Mapping[int, int]) -> Load | None:
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

    def owner_of(found: Statement) -> int | None:
        return owners.get(found.query_id, found.query_id if control_of(found.text) else None)

    return load_between(before, snapshot_after(server, clock), (ended_ns - began_ns) / 1e9, moments, owner_of)


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
    explained, found = _explain(stage.server), {}
    for each in scripts:
        calls = calls_of(each)
        ended, failed = _played_alone(each, stage, _SEED, transactions=calls)
        if ended is None or failed:
            found[each.name] = Examined(calls, failed=failed)
            continue
        plan = plan_in(stage.server.log_text(), len(each.statements)) if explained else ""
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


def _explain(server: Server) -> bool:
    """Have plans logged of every session that begins from now on; False where this PostgreSQL has no auto_explain."""
    try:
        server.execute(_LOAD)
        for name, value in _EXPLAINED.items():
            server.execute(f"ALTER DATABASE \"{server.endpoint.database}\" SET {name} = '{value}'")
    except QueryError:
        return False
    return True
