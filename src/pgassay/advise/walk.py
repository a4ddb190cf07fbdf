"""The way from a space to an advice: screen, search, leave out what earns nothing, and prove the rest afresh.

Of one objective the best configuration is proved line by line (proof.py); of several a few points across their front
are confirmed (front.py). It holds no state: walked again over what was measured already, it decides the same.

Where the trials of the screening took longer than their forecast, all that follows shares the time that is left, at the
pace that was seen. Records tell the pace, so an advice that was cut short decides the same when it goes on.
"""

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import log

from pgassay.advise import budget, front, proof, screening, screenings
from pgassay.advise.front import Point
from pgassay.advise.front import Standing as PointStanding
from pgassay.advise.proof import CONFIRMATION, Level, Line, Outdone, Proved, answered, proved
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.search import searched
from pgassay.advise.smoothing import (
    SURE,
    ConstraintModel,
    Expected,
    Gained,
    Gains,
    LimitChance,
    Slacks,
    by_configuration,
    expected,
    promising,
    trimmed,
)
from pgassay.advise.space import Configuration, Space, differing
from pgassay.advise.task import (
    Compared,
    Failure,
    Laboratory,
    Noted,
    Notify,
    Task,
    Trials,
    Values,
    gathered,
    ignoring_limits,
    lowered,
    relative,
)
from pgassay.report.formatting import counted

WHOLE = "whole"
"""The study of a best configuration of which no line was shown to help: what all of them together do."""
SLOWER = 1.1
"""Trials that took less than so many times their forecast change nothing: that much the plan holds."""


@dataclass(frozen=True)
class Advice:
    """What was found, from the placebos to the proof: of one objective lines, of several points to choose from."""

    screened: tuple[Screened, ...]
    """Every setting by the first objective, then by each further one."""
    failed: int
    """Of all configurations tried on the way."""
    trials: int = 0
    """Configurations that the search measured."""
    points: tuple[Point, ...] = ()
    """All that was confirmed of several objectives, references first; none where there was nothing to confirm."""
    lines: tuple[Line, ...] = ()
    best: Configuration | None = None
    """What the search chose; None where there was nothing to search."""
    searched: float | None = None
    """Its gain over the start as the search saw it, a ratio."""
    chosen: Compared | None = None
    """The start against `best`, in fresh trials."""
    recommended: Configuration | None = None
    proof: Mapping[str, Compared] = field(default_factory=dict)
    """`start`, `default` and `rule of thumb` against `recommended`."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """Lines of the best configuration of which too little was expected to put them to the proof."""
    in_and_out: tuple[Screened, ...] = ()
    """Effects of lines that the screening had not shown to help, each in or out along with the others."""
    study: str = CONFIRMATION
    """The name of the study whose page has the answer."""
    kept: tuple[LimitChance, ...] = ()
    """The limits that must hold, each with the probability that a further trial of `recommended` keeps it."""
    levels: tuple[Level, ...] = ()
    """Lines of which the search's level was set against the usual one."""
    outdone: Outdone | None = None
    """What was shown to do better than the search's lines, and is recommended instead."""
    refused: tuple[Failure, ...] = ()
    """What was refused or failed on the way."""

    @property
    def known(self) -> tuple[Screened, ...]:
        """What is known of each setting: by the screening, or, where that left it open, by lines in and out."""
        by_lines = {each.name: each for each in self.in_and_out if each.standing is not Standing.OPEN}
        return tuple(
            by_lines.get(each.name, each) if each.standing is Standing.OPEN else each for each in self.screened
        )

    @property
    def front(self) -> tuple[Point, ...]:
        return tuple(each for each in self.points if each.standing is PointStanding.FRONT)

    @property
    def confirmed(self) -> bool:
        """Was the recommendation shown to be better than the start, in trials of its own, and does it keep limits?"""
        return self.helps and all(each.probability >= SURE for each in self.kept)

    @property
    def helps(self) -> bool:
        """The same, whatever limits it keeps."""
        return self.recommended is not None and proof.worse(self.proof.get("start"))


@dataclass(frozen=True)
class _Search:
    """What screening and search have seen, and what that lets expect."""

    task: Task
    """With the time that is left."""
    space: Space
    """Of the settings that were searched."""
    screened: tuple[Screened, ...]
    process: Expected | None
    measured: Gained
    candidates: Mapping[Configuration, Gains]
    """What was measured and is likely enough to keep the limits, with what is expected of it."""
    constraints: ConstraintModel
    over_s: float
    """What the search took beyond its forecast."""
    noted: MutableSequence[Noted]

    def trimmed(self, found: Configuration, shown: Sequence[str]) -> Configuration:
        """Without lines that are not worth their proof; those that are `shown` to help stay."""
        task = self.task
        least = proof.IDLE * log(1 + task.margin)
        keeps = partial(self.constraints.as_safe, other=found)
        most = task.amounts.least.lines_max
        return trimmed(self.process, found, task.limits, self.measured, least, most, keep=shown, keeps=keeps)


def walk(task: Task, laboratory: Laboratory, notify: Notify = lambda text: None) -> Advice:
    """From a task to its advice; takes as long as its budget. Raises `UsageError` where screening has no result."""
    noted: list[Noted] = []
    return replace(_found(task, laboratory, notify, noted), refused=gathered(noted, task.space.start))


def _found(task: Task, laboratory: Laboratory, notify: Notify, noted: list[Noted]) -> Advice:
    """The same; what does not fit the limits is `noted`."""
    slacks, asked, in_search = Slacks(), list[PlannedBatch](), list[PlannedBatch]()
    trials = ignoring_limits(laboratory, slacks)
    first = screenings.screened(task, noting(task, trials, asked), notify, noted)
    task = paced(task, first.task, asked, laboratory.spent_s)
    noted.extend(lowered(task.space, first.plan.levels, task.limits))
    names = screening.worth_searching(first.found, budget.SEARCHED_MAX)
    failed = len({each for pair in first.values for each, value in pair.items() if value is None})
    nothing = Advice(first.found, failed)
    if not names:
        return nothing
    notify(f"searching {counted(len(names), 'setting')} that may matter: {', '.join(names)}")
    measure = relative(task, noting(task, trials, in_search), noted)
    before, batches = searched(task, first, names, measure, slacks)
    measured, space = by_configuration(batches), task.space.narrowed(names)
    failed += sum(None in each for each in measured.values())
    nothing = Advice(first.found, failed, len(measured))
    process, constraints = expected(space, [*before, *batches]), slacks.constraint_model(space)
    known = promising(process, batches)
    candidates = dict(constraints.safest(sorted(known.items(), key=lambda each: -each[1][0])))
    longer_s = over_s(in_search, laboratory.spent_s)
    found = _Search(task, space, first.found, process, measured, candidates, constraints, longer_s, noted)
    return (_points if task.others else _line_by_line)(found, nothing, laboratory, notify)


def _points(found: _Search, nothing: Advice, laboratory: Laboratory, notify: Notify) -> Advice:
    task = found.task
    known = {task.space.start: (0.0,) * len(task.more), **found.candidates}
    if found.process is not None:
        fewer = {}
        for each in known:
            one = found.trimmed(each, [*proof.shown(task, each, found.screened)])
            fewer[one] = found.process.gains(one)
        known = {task.space.start: known[task.space.start], **fewer}
    return replace(nothing, points=front.confirmed(task, known, found.screened, laboratory, notify))


def _line_by_line(found: _Search, nothing: Advice, laboratory: Laboratory, notify: Notify) -> Advice:
    task, start, screened, noted = found.task, found.task.space.start, found.screened, found.noted
    process, constraints = found.process, found.constraints
    if not found.candidates:
        return nothing
    best, gain = _finalist(task, [*found.candidates.items()], laboratory)
    whole = best = _whole(task, best, screened, found.measured, constraints)
    best = found.trimmed(best, [*proof.shown(task, best, screened), *proof.contested(task, best, screened)])
    gain = gain if process is None else process.gains(best)[0]
    if best == start:
        return nothing
    tried, lines_s = proof.in_and_out(task, best, screened, laboratory, notify, noted)
    levels = [
        each
        if constraints.as_safe(best.with_values({each.name: each.taken}), best)
        else replace(each, taken=each.chosen)
        for each in proof.levels_of(task, best, screened, tried)
    ]
    earned, why = proof.earned(task, best, screened, tried, levels)
    left = budget.spent(task.amounts, lines_s + found.over_s)
    given_s = left.confirmation_s + left.lines_s
    if earned == start:
        against = laboratory.study(WHOLE, best, [start], task.seed + 2, given_s)
        proven, outdone = Proved((), None, {}, against.get(start), WHOLE), None
    else:
        gain = gain if process is None else process.gains(earned)[0]
        candidate = proved(task, earned, why, laboratory, notify, given_s)
        trial_s = task.trial_s([each.name for each in found.space.dimensions])
        given_s += budget.unsearched_s(task.amounts, found.space.size, trial_s)
        proven, outdone = answered(task, candidate, laboratory, notify, given_s)
    known = {each.name for each in levels} | {each.name for each in proven.lines}
    return replace(
        nothing,
        lines=(*proven.lines, *proof.unproven(best, earned, start, tried, known)),
        best=best,
        searched=gain,
        chosen=proven.chosen,
        recommended=proven.final,
        proof=proven.proof,
        idle=whole.changes_from(best),
        in_and_out=tried,
        study=proven.study,
        kept=laboratory.kept(proven.study) if proven.proof else (),
        levels=tuple(levels),
        outdone=outdone,
    )


def _whole(
    task: Task,
    best: Configuration,
    screened: Sequence[Screened],
    measured: Gained,
    constraints: ConstraintModel,
) -> Configuration:
    """The best with all that the screening has shown, or as much of it as does not make it break a limit.

    Where something failed on the way, only what was seen to work.
    """
    found = proof.completed(task, best, screened)
    if not constraints.as_safe(found, best):
        found = best
        for each in screened:
            more = proof.completed(task, found, [each])
            found = more if constraints.as_safe(more, best) else found
    failed = any(None in gains for gains in measured.values())
    return best if failed and (found not in measured or None in measured[found]) else found


def _finalist(
    task: Task, ranked: Sequence[tuple[Configuration, Gains]], laboratory: Laboratory
) -> tuple[Configuration, float]:
    """The best of the best few, by fresh trials where there are several, with the gain that the search saw."""
    few = ranked[: task.amounts.least.finalists]
    gains, best = {each: gain for each, (gain,) in few}, few[0][0]
    if len(few) > 1:
        trial_s = task.trial_s(differing(task.space.start, gains))
        seconds = trial_s * budget.BLOCKS_MIN * (len(few) + 1)
        found = laboratory.study("finalists", task.space.start, list(gains), task.seed + 1, seconds)
        sign = 1 if task.higher else -1
        known = {each: one.effect.estimate for each, one in found.items() if one.effect.estimate > 0}
        best = max(known, key=lambda each: sign * log(known[each]), default=best)
    return best, gains[best]


@dataclass(frozen=True)
class PlannedBatch:
    """A batch that was asked for, and how long it should have taken."""

    name: str
    forecast_s: float
    turned: bool
    """Did its servers take turns?"""


def noting(task: Task, trials: Trials, asked: MutableSequence[PlannedBatch]) -> Trials:
    """The same trials; each batch goes to `asked`."""

    def measure(name: str, start: Configuration, wanted: Sequence[Configuration], seed: int) -> Values:
        names = differing(start, wanted)
        asked.append(PlannedBatch(name, task.trial_s(names) * (1 + len(wanted)), task.in_turns(names)))
        return trials(name, start, wanted, seed)

    return measure


def over_s(asked: Sequence[PlannedBatch], spent_s: Callable[[str], float]) -> float:
    taken = ((each, spent_s(each.name)) for each in asked)
    return max(0.0, sum(took_s - each.forecast_s for each, took_s in taken if took_s))


def paced(planned: Task, screened: Task, asked: Sequence[PlannedBatch], spent_s: Callable[[str], float]) -> Task:
    """The task after its screening, with the time that is left where these batches took longer than was `planned`."""
    taken = [(each, spent_s(each.name)) for each in asked]  # a record is read for each, once
    if _times(taken) <= SLOWER:
        return screened
    usual = _times([each for each in taken if not each[0].turned] or taken)
    turned = _times([each for each in taken if each[0].turned] or taken)
    took_s = sum(took_s for _, took_s in taken)
    return replace(screened, amounts=budget.at_pace(planned.amounts, took_s, max(usual, 1.0), max(turned, 1.0)))


def _times(taken: Sequence[tuple[PlannedBatch, float]]) -> float:
    """How many times their forecast these batches took together; 1 where nobody knows."""
    forecast_s, took_s = sum(each.forecast_s for each, _ in taken), sum(took_s for _, took_s in taken)
    return took_s / forecast_s if forecast_s and took_s else 1.0
