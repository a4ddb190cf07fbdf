"""What a server counted while a load was played on it here: snapshots as a capture takes them, and sessions meanwhile.

A statement of this server belongs to the load where its owner is known: the identifier that the source has for it,
since identifiers differ between clusters. What is left are our own queries.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pgassay.bench.errors import QueryError
from pgassay.bench.running import Clock
from pgassay.bench.server import Server
from pgassay.capture import reads
from pgassay.capture.format import Load, Moment, Statement
from pgassay.capture.statements import between, plus

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
    """Is pg_stat_statements there? It is made in this cluster where it can be."""
    try:
        server.execute(_CREATE)
        statements(server)
    except QueryError:
        return False
    return True


def statements(server: Server) -> Sequence[tuple[object, ...]]:
    """The rows of `reads.statements` as they are now."""
    ((schema,),) = server.query(
        "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'pg_stat_statements'"
    )
    return server.query(reads.statements(schema, server.version.major, texts=True))


def snapshot(server: Server) -> Snapshot:
    """All counters as they are now."""
    return Snapshot(statements(server), _counters(server))


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
    sql, began_ns = reads.activity(), clock.monotonic_ns()

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


def _counters(server: Server) -> dict[str, float]:
    sql = reads.counters(server.version.major, replica=False)
    server.query("SELECT pg_stat_clear_snapshot()")
    ((found,),) = server.query(f"SELECT to_jsonb(x) FROM ({sql}) x")
    return {name: float(value) for name, value in found.items() if value is not None}
