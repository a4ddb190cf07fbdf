"""A question to a capture as the document of a study: what is varied, and all else as the server has it; pure.

The load runs as fast as it can with as many clients as the server had active sessions; the source's own rate is an
option (`--set load.rate=N`). Checkpoints go by WAL, since servers that take turns cannot have them by the clock.
Settings that belong to the server's place were left out when it was captured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from pgassay.bench.kinds import NONE
from pgassay.capture import messages
from pgassay.capture.format import Load, Source

CHANGE = "schema.change"
OBJECTIVE = "tps"


@dataclass(frozen=True)
class Question:
    """What is varied: factors with their levels, the baseline first, and changes of the schema against none."""

    factors: Mapping[str, tuple[str, ...]]
    changes: tuple[str, ...] = ()
    objective: str = OBJECTIVE

    @property
    def named(self) -> str:
        """The question in a few words."""
        parts = [f"{name.removeprefix('server.')} {', '.join(levels)}" for name, levels in self.factors.items()]
        return "; ".join([*parts, *self.changes])


def parse(words: Sequence[str], changes: Sequence[str], objective: str | None) -> Question:
    """`work_mem=4MB,64MB` and statements of SQL as a question; a name without a dot is a setting of the server.

    Raises `UsageError`.
    """
    factors: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        levels = tuple(dict.fromkeys(level.strip() for level in text.split(",") if level.strip()))
        if not equals or not name or not levels:
            raise messages.not_a_question(word)
        if len(levels) == 1:
            raise messages.one_level(name)
        factors[name if "." in name else f"server.{name}"] = levels
    if not factors and not changes:
        raise messages.nothing_asked()
    return Question(factors, tuple(changes), objective or OBJECTIVE)


def clients_of(load: Load) -> int:
    """How many clients play it: as many as sessions were active at once on average, rounded up."""
    active = [each.states.get("active", 0) for each in load.moments]
    mean = sum(active) / len(active) if active else 0.0
    return max(1, ceil(mean), ceil(load.exec_ms / 1e3 / load.window_s))


def protocol_of(load: Load) -> str:
    """`prepared` where the server planned far fewer statements than it ran (pg_stat_statements.track_planning)."""
    calls, plans = (sum(getattr(each, name) for each in load.statements) for name in ("calls", "plans"))
    return "prepared" if plans and plans < calls / 2 else "simple"


def document(
    source: Source, load: Load | None, data: Path, scripts: Mapping[Path, int], question: Question
) -> dict[str, Any]:
    """The tables of a study file: `data` is what `load.init` takes, `scripts` are files with their weights."""
    factors: dict[str, list[str]] = {name: list(levels) for name, levels in question.factors.items()}
    if question.changes:
        factors[CHANGE] = [NONE, *question.changes]
    settings = {f"server.{name}": value for name, value in source.settings.items()}
    played: dict[str, Any] = {
        "driver": "pgbench",
        "init": str(data),
        "duration": "20s",
        "warmup": "2s",
        "jobs": "clients",
        "checkpoint": "wal",
    }
    if scripts:
        played["script"] = [f"{path}@{weight}" for path, weight in scripts.items()]
    if load is not None:
        played |= {"clients": clients_of(load), "protocol": protocol_of(load)}
    return {
        "study": {
            "format": 1,
            "title": f"{source.database}: {question.named}",
            "question": f"What does {question.named} do to the load of {source.database}?",
        },
        "factors": factors,
        "fixed": {name: value for name, value in settings.items() if name not in factors},
        "load": {name: value for name, value in played.items() if f"load.{name}" not in factors},
        "responses": {"primary": question.objective},
        "design": {
            "baseline": {name: levels[0] for name, levels in factors.items()},
            "resolution": "5%",
            "blocks": {"min": 5, "max": 20},
            "budget": "1h",
        },
    }
