"""What a server answers to each script, and by which plan: asked alike of every variant, on clones of the same data.

Each script is played alone, with the same seed and as often, so that every variant is asked with the same values: where
one gives another number of rows, its answer is another one. Plans come from auto_explain, as the statement was really
sent and planned; it is loaded by the sessions of the player alone, and only here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.bench.errors import BenchError, QueryError
from pgassay.bench.server import Server
from pgassay.capture.mixture import CapturedScript
from pgassay.capture.playing import Stage, reason_of
from pgassay.load.player import PlayedLoad, PlayedScript, Player

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
    """By name of the script; raises `LoadError` where the player itself fails."""
    explained = _explain(stage.server)
    return {each.name: _examined(each, stage, explained=explained) for each in scripts}


def calls_of(script: CapturedScript) -> int:
    """How often it is played: for about the same time, whatever the variant makes of it."""
    mean_ms = script.mean_ms
    return max(1, min(CALLS_MAX, round(_TOTAL_MS / mean_ms) if mean_ms > 0 else CALLS_MAX))


def _examined(script: CapturedScript, stage: Stage, *, explained: bool) -> Examined:
    calls = calls_of(script)
    load = PlayedLoad((PlayedScript(script.name, script.text),), protocol=stage.protocol, seed=_SEED)
    try:
        with Player(load, stage.server.endpoint, stage.runner, stage.clock) as player:
            ended = player.play(transactions=calls)
    except BenchError as error:
        return Examined(calls, failed=error.message)
    if reason := reason_of(ended):
        return Examined(calls, failed=reason)
    plan = plan_in(stage.server.log_text(), len(script.statements)) if explained else ""
    return Examined(calls, sum(each.rows for each in ended.statements), plan)


def plan_in(log: str, count: int = 1) -> str:
    """The last plans in a server's log, without the texts of the queries; empty where there is none."""
    return "\n\n".join(map(_bare, _PLAN.findall(log)[-count:]))[:_PLAN_MAX]


def _bare(plan: str) -> str:
    lines = [line.removeprefix("\t") for line in plan.splitlines()]
    first = next((place for place, line in enumerate(lines) if "  (cost=" in line), len(lines))
    return "\n".join(lines[first:])


def _explain(server: Server) -> bool:
    """Have plans logged of every session that begins from now on; False where this PostgreSQL has no auto_explain."""
    try:
        server.execute(_LOAD)
        for name, value in _EXPLAINED.items():
            server.execute(f"ALTER DATABASE \"{server.endpoint.database}\" SET {name} = '{value}'")
    except QueryError:
        return False
    return True
