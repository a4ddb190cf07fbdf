"""A question to a capture as the document of a study: what is varied, and all else as the server has it; pure.

The load runs as fast as it can with as many clients as the server had active sessions; the source's own pace is an
option, and makes it an open loop. Checkpoints go by WAL, since servers that take turns cannot have them by the clock.
Settings that belong to the server's place were left out when it was captured.

Versions are compared with the server's own; so is a single build, but with a build of that version made in the same
way, since a distribution compiles with other options.

At the source's own pace a script is drawn as often as the source ran its statement or transaction in the window, so the
rate is that of all scripts that are played, and what cannot be played is no part of it. How busy a minute was is known
from a log alone: the busiest minute's calls over the mean's. Transactions come at random (exponential gaps) to
whichever session is free, so a session's pauses between two of them follow from the rate and are not played.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Source
from pgassay.capture.scripts import CapturedScript
from pgassay.errors import UsageError
from pgassay.interfaces import versions
from pgassay.interfaces.kinds import NONE
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.study.document import COUNTED_LOAD
from pgassay.study.responses import full_name
from pgassay.study.units import format_number

FULL, SOURCE, BUSIEST = "full", "source", "busiest"
"""As fast as it goes with the clients that there are; the mean rate of the window; the rate of the busiest minute."""
_DIGITS = 3


@dataclass(frozen=True)
class Pace:
    """Transactions a second: what is played, the mean, and the busiest minute's (None without a log)."""

    rate_tps: float
    mean_tps: float
    busiest_tps: float | None
    alone: bool = False
    """Is each statement a transaction by itself, since nothing tells which the source had in one?"""

    @property
    def multiple(self) -> float:
        return self.rate_tps / self.mean_tps


def require_pace(pace: str, load: Load | None) -> None:
    """Raise `CaptureError` where the capture does not report the pace that is asked for."""
    if pace == FULL:
        return
    if load is None or not sum(each.calls for each in load.statements):
        raise CaptureError(
            f'the capture has no load, so the pace "{pace}" is not known',
            "capture with pg_stat_statements or --log FILE, or name a rate with --set load.rate=N",
        )
    if pace == BUSIEST and burst(load) is None:
        raise CaptureError(
            "the capture has no log, so its busiest minute is not known",
            "capture with --log FILE; --pace source plays the mean rate of the window",
        )


def pace_of(pace: str, load: Load | None, played: Iterable[CapturedScript]) -> Pace | None:
    """The rate for the scripts that are `played`; None at full pace, and where nothing is played."""
    scripts = list(played)
    drawn = sum(each.weight for each in scripts)
    if pace == FULL or load is None or not drawn:
        return None
    mean_tps = drawn / load.window_s
    most = burst(load)
    busiest_tps = None if most is None else mean_tps * most
    rate_tps = busiest_tps if pace == BUSIEST and busiest_tps is not None else mean_tps
    return Pace(rate_tps, mean_tps, busiest_tps, alone=not any(each.transaction for each in scripts))


def burst(load: Load) -> float | None:
    """The calls of the log's busiest minute over those of a minute on average; None without a log, and 1 for one of
    less than a minute, in which no minute is whole."""
    logged = load.logged
    if logged is None or not logged.calls or not logged.calls_by_minute:
        return None
    most = max(calls for _, calls in logged.calls_by_minute)
    return max(1.0, most / 60 / (logged.calls / logged.window_s))


def level(rate_tps: float) -> str:
    return format_number(max(round(rate_tps, _DIGITS), 10**-_DIGITS))


def pace_line(found: Pace) -> str:
    mean, rate = level(found.mean_tps), level(found.rate_tps)
    rate += f" {'statements, each a transaction,' if found.alone else 'transactions'}"
    if found.busiest_tps is None:
        return f"pace: {rate} a second are due, the source's mean\n"
    busiest = level(found.busiest_tps)
    if found.rate_tps == found.mean_tps:
        return f"pace: {rate} a second are due, the source's mean ({busiest} in its busiest minute)\n"
    return f"pace: {rate} a second are due, as in the source's busiest minute ({mean} on average)\n"


CHANGE = "schema.change"
OBJECTIVE = "tps"
AT_OWN_PACE = "latency_ms"
"""What decides where a load is played in the source's own time: calls per second are the source's own then."""
INSTALLED, BUILT, BUILD = "postgres.version", "build.version", "build.source"
"""The factors of `--version`, of versions that are not all installed, and of `--build`."""
CHECKSUMS = "init.data_checksums"
RATE = "load.rate"
_SPARE = 4
"""Clients for each that is busy on average, where transactions are due at a rate."""
_COUNTED_S = 0.05
"""An instrument is thirty to seventy times slower: this becomes two to four seconds."""
COUNTED_LEAST = 5
"""Of which one is in the shorter window."""


@dataclass(frozen=True)
class Question:
    """What is varied: factors with their levels, the baseline first, and changes of the schema against none.

    `versions` and `builds` are as asked for; `programs` are the PostgreSQLs that they come to (`with_programs`), each a
    factor and its level, the baseline first.
    """

    factors: Mapping[str, tuple[str, ...]]
    changes: tuple[str, ...] = ()
    objective: str = OBJECTIVE
    versions: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> str:
        parts = [f"{name.removeprefix('server.')} {', '.join(levels)}" for name, levels in self.factors.items()]
        programs = (
            [f"PostgreSQL {', '.join(self.versions)}"] if self.versions else [f"build {each}" for each in self.builds]
        )
        return "; ".join([*programs, *parts, *self.changes])


def parse(
    words: Sequence[str],
    changes: Sequence[str],
    objective: str | None,
    versions: Sequence[str] = (),
    builds: Sequence[str] = (),
) -> Question:
    """`work_mem=4MB,64MB` and statements of SQL as a question; a name without a dot is a setting of the server.
    Settings of extensions, which have a dot, come with `server.` before them (`study.levels.full_name`).

    `versions` are words such as `17` or `16,17`, `builds` sources as for `build.source`, or directories. Raises
    `UsageError`.
    """
    factors: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        levels = tuple(dict.fromkeys(level.strip() for level in text.split(",") if level.strip()))
        if not equals or not name or not levels:
            raise UsageError(f'ask wants NAME=VALUE,VALUE, not "{word}"', "for example work_mem=4MB,64MB")
        if len(levels) == 1:
            name = name.removeprefix("server.")
            raise UsageError(f'"{name}" has one level, so there is nothing to compare', f"for example {name}=4MB,64MB")
        factors[name if "." in name else f"server.{name}"] = levels
    if not (factors or changes or versions or builds):
        raise UsageError("nothing is asked", "for example: pgassay ask app.capture work_mem=4MB,64MB")
    given = [bool(versions), bool(builds), INSTALLED in factors, any(name.startswith("build.") for name in factors)]
    if (versions or builds) and sum(given) > 1:
        raise UsageError(
            "the PostgreSQLs to compare are given twice",
            "give --version, --build, or a factor such as postgres.version",
        )
    numbers = dict.fromkeys(each.strip() for word in versions for each in word.split(",") if each.strip())
    sources = dict.fromkeys(
        str(parse_spec(f"directory:{each}" if Path(each).expanduser().is_dir() else each)) for each in builds
    )
    return Question(factors, tuple(changes), full_name(objective or OBJECTIVE), tuple(numbers), tuple(sources))


def with_programs(question: Question, source: Source, installed: Callable[[str], bool]) -> Question:
    """The question with the PostgreSQLs that it asks for; `installed` says whether this machine has a version.

    Where one is not installed all are built, so that they differ in nothing but their source. Raises `UsageError`.
    """
    own = str(source.major)
    if question.builds:
        sources = tuple((BUILD, each) for each in question.builds)
        return replace(question, programs=sources if len(sources) > 1 else ((BUILT, own), *sources))
    if not question.versions:
        return question
    if any(each.startswith(f"{own}.") for each in question.versions):
        own = source.version.split()[0]  # the minor version is what is asked
    versions = tuple(dict.fromkeys((own, *question.versions)))
    if len(versions) == 1:
        raise UsageError(
            f"the server is PostgreSQL {own} itself, so there is nothing to compare", "name another version"
        )
    name = INSTALLED if all(map(installed, versions)) else BUILT
    return replace(question, programs=tuple((name, each) for each in versions))


def clients_of(load: Load, *, pauses: bool = False, multiple: float | None = None) -> int:
    """How many clients play it: as many as sessions were active at once on average, rounded up.

    With `pauses` within transactions, sessions that paused there count too. At a rate of `multiple` times the source's
    they are as many as at the busiest moment that was seen, at least `_SPARE` times the mean, so that a transaction
    that is due seldom waits for a client.
    """
    states = ("active", "idle in transaction") if pauses else ("active",)
    active = [sum(each.states.get(state, 0) for state in states) for each in load.moments]
    mean = sum(active) / len(active) if active else 0.0
    busy = load.exec_ms / 1e3 / load.window_s
    if pauses and load.logged is not None:
        busy += sum(each.pause_ms for each in load.logged.transactions) / 1e3 / load.logged.window_s
    if multiple is not None:
        return max(_SPARE, *active, ceil(_SPARE * multiple * max(mean, busy)))
    return max(1, ceil(mean), ceil(busy))


def document(
    source: Source,
    load: Load | None,
    data: Path,
    scripts: Mapping[Path, int],
    question: Question,
    *,
    pauses: bool = False,
    replayed: Mapping[str, Any] | None = None,
    pace: Pace | None = None,
    counted: Load | None = None,
    least: int = COUNTED_LEAST,
) -> dict[str, Any]:
    """The tables of a study file: `data` is what `load.init` takes; `scripts` are files with their weights, with or
    without the clients' `pauses` within transactions; `replayed` is the load of a log that is played in their place,
    `pace` the rate at which scripts are due. Where instructions are counted, `counted` is the load as it was tried: a
    count plays as many transactions as that made calls in `_COUNTED_S`, but `least` at least.
    """
    factors: dict[str, list[str]] = {}
    kinds = {name for name, _ in question.programs}
    if len(kinds) == 1:
        factors[question.programs[0][0]] = [level for _, level in question.programs]
    factors |= {name: list(levels) for name, levels in question.factors.items()}
    if question.changes:
        factors[CHANGE] = [NONE, *question.changes]
    held = {f"server.{name}": value for name, value in source.settings.items()}
    if question.programs:  # else a version would be compared with its initdb's default
        held[CHECKSUMS] = "on" if source.major >= versions.CHECKSUMS_BY_DEFAULT else "off"
    played: dict[str, Any] = {"init": str(data)}
    if replayed is None:
        played |= {"driver": "pgbench", "duration": "20s", "warmup": "2s", "jobs": "clients"}
    else:
        played |= replayed
    played["checkpoint"] = "wal"
    if scripts:
        played["script"] = [f"{path}@{weight}" for path, weight in scripts.items()]
    if load is not None and replayed is None:
        clients = clients_of(load, pauses=pauses, multiple=None if pace is None else pace.multiple)
        calls, plans = (sum(getattr(each, name) for each in load.statements) for name in ("calls", "plans"))
        # By pg_stat_statements.track_planning: the server planned far fewer statements than it ran.
        played |= {"clients": clients, "protocol": "prepared" if plans and plans < calls / 2 else "simple"}
    if pace is not None:
        played["rate"] = level(pace.rate_tps)
    if counted is not None:
        calls = sum(each.calls for each in counted.statements)
        within = round(_COUNTED_S * 1e3 * calls / max(counted.exec_ms, 1e-3))
        played["transactions"] = str(min(int(COUNTED_LOAD["transactions"]), max(least, within)))
    varied: dict[str, Any] = {"factors": factors}
    baseline = {name: levels[0] for name, levels in factors.items()}
    if len(kinds) > 1:  # the PostgreSQLs have their levels in different factors: a list of treatments
        others = [dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())]
        varied = {"treatments": [{name: level, **other} for name, level in question.programs for other in others]}
        baseline = varied["treatments"][0]
    return {
        "study": {
            "format": 1,
            "title": f"{source.database}: {question.named}",
            "question": f"What does {question.named} do to the load of {source.database}?",
        },
        **varied,
        "fixed": {name: value for name, value in held.items() if name not in factors},
        "load": {name: value for name, value in played.items() if f"load.{name}" not in factors},
        "responses": {"primary": question.objective},
        "design": {"baseline": baseline, "resolution": "5%", "blocks": {"min": 5, "max": 20}, "budget": "1h"},
    }
