"""What is asked of an advice: the question, the studies that ask it, the task; and what measures for it.

Every batch and every study of an advice is a study document (configurations are its treatments), so anyone can run it
again by itself. All that measures is a `Laboratory`, so that the whole way is tried on simulated servers whose truth is
known (benchmarks/advise.py).

What was refused or failed on the way is named by its reason: a search that keeps away from part of its space without a
word looks as if it had seen all of it. Reasons that differ only in their numbers (a process, a port) are one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, log
from typing import Any, Protocol

from pgassay.advise.budget import Amounts
from pgassay.advise.knowledge import OF_THE_HOST, factor_name
from pgassay.advise.smoothing import Gains, Holding, LimitChance, Slacks
from pgassay.advise.space import Configuration, Limits, Space, objections
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Verdict
from pgassay.record.values import TrialRecord
from pgassay.report.formatting import counted
from pgassay.report.section import Folded, Table
from pgassay.study.document import Document
from pgassay.study.responses import Response
from pgassay.study.thresholds import Limit, split
from pgassay.study.units import canonical

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


def refused_table(failures: Sequence[Failure]) -> tuple[Folded, ...]:
    rows = refused_rows(failures)
    shown = Table(["what", "what became of it", "why", "how often"], rows, texts=True)
    title = f"Refused or failed: {counted(len(rows), 'reason')}"
    return (Folded(title, (shown,)),) if rows else ()


def refused_rows(failures: Sequence[Failure]) -> list[list[str]]:
    """What the configurations of each have in common, or how many they are; what became of them, why, how often."""
    rows = []
    for each in failures:
        what = "the start" if each.configurations == 1 else f"{each.configurations} different configurations"
        if each.changes:
            changes = [f"{name} = {value}" for name, value in each.changes.items()]
            more = [f"and {len(changes) - _CHANGES_SHOWN} more"] if len(changes) > _CHANGES_SHOWN else []
            what = ", ".join([*changes[:_CHANGES_SHOWN], *more])
        tried = each.cause in (Cause.FAILED, Cause.LIMIT)
        often = counted(each.times, "trial") if tried else counted(each.configurations, "configuration")
        why = " ".join(each.why.split())
        rows.append([what, each.cause.value, why if len(why) <= _WHY_SHOWN else f"{why[: _WHY_SHOWN - 1]}…", often])
    return rows


@dataclass(frozen=True)
class Question:
    """What all studies of an advice have in common: the load, what decides, what must hold."""

    load: Mapping[str, Any]
    objective: str
    keep: tuple[str, ...] = ()
    """Thresholds such as `latency_p99_ms < 10 ms`."""
    resolution: float = 0.02
    others: tuple[str, ...] = ()
    """Further objectives."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Factors that every trial has at one level, such as the drive."""

    @property
    def objectives(self) -> tuple[str, ...]:
        return (self.objective, *self.others)


def names_of(
    configurations: Sequence[Configuration],
    start: Configuration,
    named: Mapping[Configuration, str],
    *,
    against_first: bool,
) -> list[str]:
    """What the configurations of a study are called: by all their settings nobody could tell them apart."""
    first, known, found = configurations[0], {**named, start: "start"}, list[str]()
    for number, each in enumerate(configurations):
        changed = each.changes_from(first)
        name = known.get(each, f"candidate {number}")
        if each not in known and against_first and number == 0:
            name = "advised"
        elif each not in known and against_first and len(changed) == 1:
            [(setting, value)] = changed.items()
            back = canonical(value) == canonical(start.values[setting])
            name = f"without {setting}" if back else f"with {setting}"
        found.append(name)
    return found


def document(
    question: Question,
    space: Space,
    name: str,
    configurations: Sequence[Configuration],
    design: Mapping[str, Any],
    called: Sequence[str] = (),
) -> Document:
    """A study of these configurations, `called` so; the first is the baseline."""
    decide: dict[str, list[str]] = {}
    for each in question.keep:
        response, condition = split(each)
        decide.setdefault(response, []).append(condition)
    responses: dict[str, Any] = {"primary": question.objective}
    if question.others:
        responses["secondary"] = list(question.others)
    found: Document = {
        "study": {
            "format": 1,
            "title": f"Advice: {name}",
            "question": f"Which configuration is better by {' and '.join(question.objectives)}?",
        },
        "treatments": [_treatment(space, each) for each in configurations],
        "fixed": dict(question.held),
        "load": dict(question.load),
        "responses": responses,
        "design": {"resolution": question.resolution, **design},
    }
    if called:
        found["study"]["called"] = list(called)
    return {**found, "decide": decide} if decide else found


def _treatment(space: Space, configuration: Configuration) -> dict[str, str]:
    """What is not PostgreSQL's default, what the lab would else pin, what the host has; at least one setting."""
    own = {each.name: each.setting for each in space.dimensions}
    always = {name for name, each in own.items() if each.window_s or name.startswith(OF_THE_HOST)}
    set_ = {
        name: value
        for name, value in configuration.values.items()
        if name not in own or name in always or canonical(value) != canonical(own[name].default)
    }
    first = space.dimensions[0].name
    shown = set_ or {first: configuration.values[first]}
    return {factor_name(name): value for name, value in shown.items()}


Values = Mapping[Configuration, tuple[float, ...] | None]
"""Of each objective one; None for what failed, nothing for what was disturbed."""
Notify = Callable[[str], None]
Trials = Callable[[str, Configuration, Sequence[Configuration], int], Values]
"""One trial of each and of the start, by name and seed: `Laboratory.batch`, or its like."""
Measure = Callable[[str, Sequence[Configuration], int], Values]
"""Values of a batch relative to its start, by name and seed."""


@dataclass(frozen=True)
class PointTrials:
    """What a study saw: observations by response, in which a treatment is the place of its configuration (0: start)."""

    objectives: Sequence[str]
    configurations: Sequence[Configuration]
    observations: Mapping[str, Sequence[Observation]]
    responses: Mapping[str, Response]
    limits: Sequence[Limit]
    resolution: float
    """The smallest difference of interest, a share."""
    failed: Mapping[Configuration, str] = field(default_factory=dict)
    costs: Sequence[str] = ()
    """Those of the responses that are costs of a transaction and no objectives; they decide nothing."""


@dataclass(frozen=True)
class Compared:
    """A configuration against the baseline of its study."""

    effect: Effect
    verdict: Verdict
    costs: tuple[str, ...] = ()
    """Costs of a transaction that surely moved, in words, the largest first; none where none is known."""


def inverted(found: Compared) -> tuple[float, float, float]:
    """Estimate and interval of the other way round: of the baseline against the treatment."""
    effect = found.effect
    low, high = (1 / end if 0 < end < inf else other for end, other in ((effect.high, 0.0), (effect.low, inf)))
    return (1 / effect.estimate if effect.estimate > 0 else float("nan")), low, high


class Laboratory(Protocol):
    """What measures. Every call has a name of its own, by which what was measured is found again."""

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each, of the start too; what breaks a limit has failed, but for `held`."""

    def held(self, name: str) -> Holding:
        """What the trials of a batch have that had a result, and how far each is from the limits, kept or broken.

        Nothing where there are no limits.
        """

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """Blocks of all of them until every verdict is settled or the budget is used."""

    def spent_s(self, name: str) -> float:
        """How long a batch or a study took; 0 where there was none of that name."""

    def kept(self, name: str) -> tuple[LimitChance, ...]:
        """Of each limit how probable it is that one more trial of a study's baseline keeps it, by that study.

        A limit on a change is held against the study's first arm.
        """

    def points(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> PointTrials:
        """So many blocks of all of them, whatever they show: of several objectives."""


@dataclass(frozen=True)
class Task:
    """What is asked for."""

    space: Space
    limits: Limits
    amounts: Amounts
    higher: bool
    """Is more of the objective better?"""
    margin: float
    """The share within which a setting does not matter."""
    seed: int
    others: tuple[bool, ...] = ()
    """The same of each further objective: then points to choose from are asked for."""
    turned: tuple[str, ...] = ()
    """Settings that are screened by servers in turns; none where all are screened one server after the other."""
    remarks: tuple[str, ...] = ()
    """What every answer says of the load."""
    budget_s: float = 0.0
    """What all runs may take together; 0 where an earlier version did not keep it."""

    @property
    def more(self) -> tuple[bool, ...]:
        return (self.higher, *self.others)

    def gains(self, ratios: tuple[float, ...] | None) -> Gains | None:
        return None if ratios is None else self.turned_round(tuple(map(log, ratios)))

    def turned_round(self, gains: Gains) -> Gains:
        """Those of which less is better with the other sign."""
        return tuple(gain if more else -gain for more, gain in zip(self.more, gains, strict=True))

    def trial_s(self, names: Iterable[str]) -> float:
        """How long a trial is expected to take in a batch that differs in these settings: in turns it is longer."""
        turns = self.amounts.least.turns
        return turns.trial_s if turns and self.in_turns(names) else self.amounts.trial_s

    def in_turns(self, names: Iterable[str]) -> bool:
        """Do servers that differ in these settings take turns?"""
        return set(names) <= set(self.turned)


def ignoring_limits(laboratory: Laboratory, slacks: Slacks | None = None) -> Trials:
    """The batches of a laboratory, in which a trial that breaks a limit has its value all the same.

    How far each is from the limits goes to `slacks`.
    """

    def measure(name: str, start: Configuration, wanted: Sequence[Configuration], seed: int) -> Values:
        found = laboratory.batch(name, start, wanted, seed)
        held = laboratory.held(name)
        if slacks is not None:
            slacks.add(start, held)
        return {**found, **{each: one.values for each, one in held.items()}}

    return measure


def fitting(
    wanted: Iterable[Configuration], limits: Limits, noted: MutableSequence[Noted] | None
) -> list[Configuration]:
    """Those that may be tried, each once; what may not goes to `noted`, with the reason."""
    found = []
    for each in dict.fromkeys(wanted):
        why = next(objections(each, limits), None)
        if why is None:
            found.append(each)
        elif noted is not None:
            noted.append((each, Cause.UNFIT, why))
    return found


def relative(task: Task, trials: Trials, noted: MutableSequence[Noted] | None = None) -> Measure:
    """Measures a batch as ratios to its start; what may not be tried has failed without a trial, and is `noted`.

    What other programs disturbed is missing: it has not failed, and teaches nothing. A value of 0 has no ratio, and
    fails.
    """
    start = task.space.start

    def measure(name: str, wanted: Sequence[Configuration], seed: int) -> Values:
        tried = [each for each in fitting(wanted, task.limits, noted) if each != start]
        values = trials(name, start, tried, seed) if tried else {}
        base = values.get(start)
        found: dict[Configuration, tuple[float, ...] | None] = {
            each: None for each in wanted if each != start and each not in tried
        }
        found |= {each: None for each in tried if each in values and values[each] is None}
        if base is None:
            return found
        if min(base) > 0:
            for each in (*tried, *([start] if start in wanted else ())):
                value = values.get(each)
                if value is not None:
                    ratios = tuple(mine / its for mine, its in zip(value, base, strict=True))
                    found[each] = ratios if min(value) > 0 else None
        return found

    return measure
