"""What was refused or failed on the way to an advice, by its reason: what, why, how often.

A search that keeps away from part of its space without a word looks as if it had seen all of it. Reasons that differ
only in their numbers (a process, a port) are one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pgassay.advise.space import Configuration, Limits, Space, objections
from pgassay.record.values import TrialRecord
from pgassay.report.section import Folded, Table
from pgassay.report.words import counted
from pgassay.study.thresholds import Limit

_CHANGES_SHOWN, _WHY_SHOWN = 3, 240


class Cause(StrEnum):
    """Who says no."""

    UNFIT = "left out, it does not fit"
    """This machine's memory, the load's clients, or two settings each other."""
    REFUSED = "refused before any trial"
    """PostgreSQL does not take it, or the rules of a study."""
    FAILED = "failed in its trial"
    LIMIT = "broke a limit in its trial"


@dataclass(frozen=True)
class Failure:
    """What failed for one reason."""

    changes: Mapping[str, str]
    """What all these configurations change of the start."""
    configurations: int
    cause: Cause
    why: str
    times: int
    """Configurations that were left out, or trials."""


Noted = tuple[Configuration, Cause, str]


def gathered(noted: Iterable[Noted], start: Configuration) -> tuple[Failure, ...]:
    """The same by cause and reason, in the order of causes, the most frequent first.

    What never had a trial counts once a configuration, however often it was proposed.
    """
    found: dict[tuple[Cause, str], list[tuple[Configuration, str]]] = {}
    for each, cause, why in noted:
        seen = found.setdefault((cause, re.sub(r"\d+", "#", why)), [])
        if cause in (Cause.FAILED, Cause.LIMIT) or each not in [one for one, _ in seen]:
            seen.append((each, why))
    grouped = []
    for (cause, _), seen in found.items():
        configurations = list(dict.fromkeys(each for each, _ in seen))
        first, *others = (each.changes_from(start) for each in configurations)
        common = {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}
        grouped.append(Failure(common, len(configurations), cause, seen[0][1], len(seen)))
    return tuple(sorted(grouped, key=lambda each: (list(Cause).index(each.cause), -each.times)))


def lowered(space: Space, levels: Mapping[str, tuple[str, str]], limits: Limits) -> Iterator[Noted]:
    """Far levels that are not screened, since all of them together would not fit: `levels` are start and far of each.

    A setting that is none of them stays at its start.
    """
    whys = list(objections(space.start.with_values({each.name: each.far for each in space.dimensions}), limits))
    for each in space.dimensions:
        if each.name not in levels or levels[each.name][1] != each.far:
            why = next((one for one in whys if each.name in one), whys[0] if whys else "no room is left for it")
            taken = f"up to {levels[each.name][1]}" if each.name in levels else "not at all"
            reason = f"{why}, so {each.name} is screened {taken}"
            yield space.start.with_values({each.name: each.far}), Cause.UNFIT, reason


def broken(trial: TrialRecord, limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """The limits that a trial does not keep, of those that are no changes against a baseline."""
    return tuple(
        limit
        for limit in limits
        if not limit.change
        and (value := trial.responses.get(limit.response.name)) is not None
        and not limit.relation.holds(value, limit.value)
    )


def sentences(failures: Sequence[Failure]) -> Iterator[str]:
    """What was refused or failed, a line each; nothing where nothing was."""
    if failures:
        yield "refused or failed:"
    for each in failures:
        yield f"  {_what(each)}: {each.cause}, {often(each)}: {_short(each.why)}"


def table(failures: Sequence[Failure]) -> tuple[Folded, ...]:
    rows = [[_what(each), each.cause.value, _short(each.why), often(each)] for each in failures]
    shown = Table(["what", "what became of it", "why", "how often"], rows, texts=True)
    title = f"Refused or failed: {counted(len(rows), 'reason')}"
    return (Folded(title, (shown,)),) if rows else ()


def values(failures: Sequence[Failure]) -> list[dict[str, Any]]:
    return [
        {
            "changes": dict(each.changes), "configurations": each.configurations, "cause": each.cause.value,
            "why": each.why, "times": each.times,
        }
        for each in failures
    ]  # fmt: skip


def often(failure: Failure) -> str:
    tried = failure.cause in (Cause.FAILED, Cause.LIMIT)
    return counted(failure.times, "trial") if tried else counted(failure.configurations, "configuration")


def _what(failure: Failure) -> str:
    """What the configurations have in common, or how many they are."""
    changes = [f"{name} = {value}" for name, value in failure.changes.items()]
    more = [f"and {len(changes) - _CHANGES_SHOWN} more"] if len(changes) > _CHANGES_SHOWN else []
    if not changes:
        return "the start" if failure.configurations == 1 else f"{failure.configurations} different configurations"
    return ", ".join([*changes[:_CHANGES_SHOWN], *more])


def _short(why: str) -> str:
    line = " ".join(why.split())
    return line if len(line) <= _WHY_SHOWN else f"{line[: _WHY_SHOWN - 1]}…"
