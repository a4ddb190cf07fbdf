"""The scripts of a capture played once on a server with its data: which of them fail here, and what load they make.

Each script is tried alone first, for a moment: one that fails (a key that is there already, a function that is missing)
would end its client in every trial. What pg_stat_statements shows of it then tells which of the entries are its own,
since query identifiers differ between clusters. Then all are played together between two snapshots, as a capture is
taken: on another clone of the same data, since a moment of updates alone leaves room in every page, and makes later
ones HOT that the source's were not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.bench.errors import BenchError
from pgassay.bench.running import Clock, Runner
from pgassay.bench.server import Server
from pgassay.bench.slices import Slice
from pgassay.capture.counting import (
    LIBRARY,
    instrument,
    load_between,
    snapshot,
    snapshot_after,
    statements,
    watching,
)
from pgassay.capture.format import Load, Moment, Statement
from pgassay.capture.mixture import CapturedScript, control_of
from pgassay.capture.statements import between
from pgassay.load.player import PlayedLoad, PlayedScript, Player

SETTINGS = {**LIBRARY, "statement_timeout": "60s"}
"""With which the server is started for it: our instrument, and an end for statements that never do."""
_ALONE_MS = 200
_SLICE_MS = 500
_ERROR_TEXT_MAX = 160


@dataclass(frozen=True)
class Alone:
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


def try_each(scripts: Sequence[CapturedScript], stage: Stage) -> Alone:
    """Play each script by itself; raises `LoadError` where the player itself fails."""
    counted = instrument(stage.server)
    failed: dict[str, str] = {}
    owners: dict[int, int] = {}
    for each in scripts:
        before = statements(stage.server) if counted else ()
        reason = _alone(each, stage)
        if reason:
            failed[each.name] = reason
        elif counted and not each.transaction:  # its statements are tried alone, too, which tells them apart
            own = between(before, statements(stage.server))
            owners.update({found.query_id: each.statements[0].query_id for found in own})
    return Alone(failed, owners if counted else None)


def _alone(script: CapturedScript, stage: Stage) -> str:
    """Why the script fails; empty where it does not."""
    load = PlayedLoad((PlayedScript(script.name, script.text),), protocol=stage.protocol)
    try:
        with Player(load, stage.server.endpoint, stage.runner, stage.clock) as player:
            ended = player.play(duration_ms=_ALONE_MS)
    except BenchError as error:
        return error.message[:_ERROR_TEXT_MAX]
    return reason_of(ended)


def reason_of(ended: Slice) -> str:
    """Why a script that was played alone failed; empty where it did not."""
    if ended.aborted:
        return ended.aborted[0][:_ERROR_TEXT_MAX]
    return f"it fails with SQLSTATE {', '.join(ended.failed)}" if ended.failed else ""


def play(scripts: Sequence[CapturedScript], stage: Stage, owners: Mapping[int, int]) -> Load | None:
    """The load that all of them make together, with the source's identifiers; None where nothing can be counted.

    The server is another clone of the data that they were tried on, where identifiers are the same. Raises `LoadError`.
    """
    if not scripts or not instrument(stage.server):
        return None
    calls = sum(each.weight * len(each.statements) for each in scripts)
    server, clock = stage.server, stage.clock
    played = PlayedLoad(
        tuple(PlayedScript(each.name, each.text, each.weight) for each in scripts),
        clients=stage.clients,
        threads=min(stage.clients, 2),
        protocol=stage.protocol,
        rate_tps=stage.rate_tps,
    )
    moments: list[Moment] = []
    with Player(played, server.endpoint, stage.runner, clock) as player:
        before, began_ns = snapshot(server), clock.monotonic_ns()
        with watching(server, clock, moments):
            _until_like(player, calls, [len(each.statements) for each in scripts], stage.most_ms)
        ended_ns = clock.monotonic_ns()

    def owner_of(found: Statement) -> int | None:
        return owners.get(found.query_id, found.query_id if control_of(found.text) else None)

    return load_between(before, snapshot_after(server, clock), (ended_ns - began_ns) / 1e9, moments, owner_of)


def _until_like(player: Player, calls: int, lengths: Sequence[int], most_ms: int) -> None:
    """Play as many calls as the source made, if the time suffices: updated pages fill and are pruned as they go on."""
    played = spent_ms = 0
    while played < calls and spent_ms < most_ms:
        ended = player.play(duration_ms=_SLICE_MS)
        played += sum(each.count * length for each, length in zip(ended.scripts, lengths, strict=True))
        spent_ms += _SLICE_MS
