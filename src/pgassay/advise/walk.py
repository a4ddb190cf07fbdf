"""The way from a space to an advice: screen, search, leave out what earns nothing, and prove the rest afresh.

It holds no state: walked again over what was measured already, it decides the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import exp, log

from pgassay.advise import budget, lines, pace, robust, screening, screenings
from pgassay.advise.constraints import Limits, within
from pgassay.advise.elimination import Compared, Line
from pgassay.advise.failures import Failure, Noted, gathered, lowered
from pgassay.advise.front import SURE, Kept
from pgassay.advise.keeping import Keeping, Slacks
from pgassay.advise.lines import Level
from pgassay.advise.proof import CONFIRMATION, Proved, proved, shares
from pgassay.advise.robust import Tried
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.search import Search
from pgassay.advise.smoothing import Batches, by_configuration, hopeful, promising, smoothed, trimmed
from pgassay.advise.space import Configuration, Space, differing
from pgassay.advise.takeover import Answer, Evidence, Outdone, answered
from pgassay.advise.task import Laboratory, Measure, Task, Tell, relative, whatever_is_kept
from pgassay.analysis.verdicts import Kind
from pgassay.report.words import counted

ELSEWHERE = "elsewhere"
"""The name of the study at other loads."""
WHOLE = "whole"
"""The study of a best configuration of which no line was shown to help: what all of them together do."""
GUESSES = (0.0, 1.0, 2.0)
"""Of each batch so many proposals are where most is expected, or may be hoped for: spreads above what is expected."""
_AGAIN = 4
"""The best of a search are measured once more before one is chosen."""


@dataclass(frozen=True)
class Advice:
    """What was found, from the placebos to the proof."""

    screened: tuple[Screened, ...]
    not_screened: tuple[str, ...]
    """Settings that cannot leave their start within the limits."""
    lines: tuple[Line, ...]
    best: Configuration | None
    """What the search chose; None where there was nothing to search."""
    searched: float | None
    """Its gain over the start as the search saw it, a ratio."""
    trials: int
    """Configurations that the search measured."""
    failed: int
    """Of all configurations tried on the way."""
    chosen: Compared | None
    """The start against `best`, in fresh trials."""
    recommended: Configuration | None
    proof: Mapping[str, Compared]
    """`start`, `default` and `rule of thumb` against `recommended`."""
    robust: tuple[Tried, ...] = ()
    """What is left of it at other loads; only what was confirmed is tried there."""
    seen: tuple[tuple[Configuration, float], ...] = ()
    """What screening and search measured, as ratios to the start: each a trial, and no evidence."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """Lines of the best configuration of which too little was expected to put them to the proof."""
    in_and_out: tuple[Screened, ...] = ()
    """Effects of lines that the screening had not shown to help, each in or out beside the others, and of settings
    that it could not see."""
    study: str = CONFIRMATION
    """The name of the study whose page has the answer."""
    kept: tuple[Kept, ...] = ()
    """The limits that must hold, each with the probability that a further trial of `recommended` keeps it."""
    levels: tuple[Level, ...] = ()
    """Lines of which the search's level was set against the usual one."""
    outdone: Outdone | None = None
    """What was shown to do better than the search's lines, and is recommended instead."""
    taken_in_and_out: tuple[Screened, ...] = ()
    """Effects of its lines, each in or out beside its other ones."""
    refused: tuple[Failure, ...] = ()
    """What was refused or failed on the way."""
    starts: tuple[float, ...] = ()
    """What the start had beside each batch of the screening and the search, in their order."""

    @property
    def known(self) -> tuple[Screened, ...]:
        """What is known of each setting: by the screening, or, where that left it open, by the trials beside lines."""
        beside = {each.name: each for each in self.in_and_out if each.standing is not Standing.OPEN}
        return tuple(beside.get(each.name, each) if each.standing is Standing.OPEN else each for each in self.screened)

    @property
    def confirmed(self) -> bool:
        """Was the recommendation shown to be better than the start, in trials of its own, and does it keep limits?"""
        return self.helps and all(each.probability >= SURE for each in self.kept)

    @property
    def helps(self) -> bool:
        """The same, whatever limits it keeps."""
        found = self.proof.get("start")
        return self.recommended is not None and found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)


def walk(task: Task, laboratory: Laboratory, tell: Tell = lambda text: None) -> Advice:
    """From a task to its advice; takes as long as its budget. Raises `UsageError` where screening tells nothing."""
    noted: list[Noted] = []
    starts: list[float] = []
    found = _walked(task, laboratory, tell, noted, starts)
    return replace(found, refused=gathered(noted, task.space.start), starts=tuple(starts))


def _walked(task: Task, laboratory: Laboratory, tell: Tell, noted: list[Noted], starts: list[float]) -> Advice:
    """The same; what does not fit the limits is `noted`, and the start of each batch kept."""
    start = task.space.start
    slacks = Slacks()
    batches_of = whatever_is_kept(laboratory, slacks)
    asked: list[pace.Asked] = []
    first = screenings.screened(task, pace.noting(task, batches_of, asked), tell, noted, starts)
    task = pace.kept(task, first.task, asked, laboratory.spent_s)
    in_search: list[pace.Asked] = []
    measure = relative(task, pace.noting(task, batches_of, in_search), screenings.ratio, noted, starts)
    plan, values, screened = first.plan, first.values, first.found
    noted.extend(lowered(task.space, plan.levels, task.limits))
    names = screening.worth_searching(screened, budget.SEARCHED_MAX)
    fixed = tuple(each.name for each in task.space.dimensions if each.name not in plan.names)
    failed = len({each for pair in values for each, value in pair.items() if value is None})
    nothing = Advice(screened, fixed, (), None, None, 0, failed, None, None, {})
    if not names:
        return nothing
    tell(f"searching {counted(len(names), 'setting')} that may matter: {', '.join(names)}")
    before, batches = _search(task, first, names, measure, slacks)
    measured = by_configuration(batches)
    failed += sum(None in each for each in measured.values())
    searched = task.space.narrowed(names)
    process, keeping = smoothed(searched, [*before, *batches]), slacks.keeping(searched)
    ranked = keeping.safest(promising(process, batches))
    if not ranked:
        return nothing
    best, gain = _finalist(task, ranked, laboratory)
    whole = best = _whole(task, best, screened, measured, keeping)
    shown = lines.shown(task, best, screened) | lines.contested(task, best, screened)
    least = lines.IDLE * log(1 + task.margin)
    keeps = partial(keeping.as_safe, other=best)
    best = trimmed(process, best, task.limits, measured, least, task.amounts.lines_max, keep=shown, keeps=keeps)
    gain = gain if process is None else process.gain(best)
    if best == start:
        return Advice(screened, fixed, (), None, None, len(measured), failed, None, None, {})
    pairs = partial(screenings.screened_pairs, task, kind="lines", seed=300)
    tried, lines_s = lines.in_and_out(task, best, screened, laboratory, tell, pairs, noted)
    levels = [
        each if keeping.as_safe(best.with_values({each.name: each.taken}), best) else replace(each, taken=each.chosen)
        for each in lines.levels_of(task, best, screened, tried)
    ]
    earned, why = lines.earned(task, best, screened, tried, levels)
    left = budget.spent(task.amounts, lines_s + pace.over_s(in_search, laboratory.spent_s))
    given_s = left.confirmation_s + left.lines_s
    if earned == start:
        found = laboratory.study(WHOLE, best, [start], task.seed + 2, given_s)
        answer = Answer(Proved((), None, {}, found.get(start), WHOLE))
    else:
        gain = gain if process is None else process.gain(earned)
        candidate = proved(task, earned, why, laboratory, tell, shares(task, given_s))
        evidence = Evidence(
            screened, tried, partial(screenings.screened_pairs, task, kind="taken-lines", seed=400), noted
        )
        given_s += task.amounts.restoration_s + budget.unsearched_s(task.amounts, searched.size, task.trial_s(names))
        answer = answered(task, candidate, evidence, laboratory, tell, given_s)
    proof = answer.proved
    known = {each.name for each in levels} | {each.name for each in proof.lines}
    told = (*proof.lines, *lines.unearned(best, earned, start, tried, known))
    seen = (*_seen(values), *_gains(measured, 1 if task.higher else -1))
    advice = Advice(
        screened, fixed, told, best, gain, len(measured), failed, proof.chosen, proof.final, proof.proof, (), seen,
        whole.changes_from(best), tried, proof.study, laboratory.kept(proof.study) if proof.proof else (),
        tuple(levels),
        answer.outdone, answer.tried,
    )  # fmt: skip
    confirmed = advice.confirmed and advice.recommended
    return replace(advice, robust=_elsewhere(task, confirmed, laboratory, tell)) if confirmed else advice


def _whole(
    task: Task,
    best: Configuration,
    screened: Sequence[Screened],
    measured: Mapping[Configuration, Sequence[float | None]],
    keeping: Keeping,
) -> Configuration:
    """The best with all that the screening has shown, or as much of it as does not make it break a limit.

    Where something failed on the way, only what was seen to work.
    """
    found = lines.completed(task, best, screened)
    if not keeping.as_safe(found, best):
        found = best
        for each in screened:
            more = lines.completed(task, found, [each])
            found = more if keeping.as_safe(more, best) else found
    failed = any(None in gains for gains in measured.values())
    return best if failed and (found not in measured or None in measured[found]) else found


def _seen(values: screening.Measured) -> tuple[tuple[Configuration, float], ...]:
    return tuple((each, value) for pair in values for each, value in pair.items() if value is not None)


def _gains(
    measured: Mapping[Configuration, Sequence[float | None]], sign: int
) -> tuple[tuple[Configuration, float], ...]:
    return tuple((each, exp(sign * one)) for each, gains in measured.items() for one in gains if one is not None)


def _search(
    task: Task, screened: screenings.Screening, names: Sequence[str], measure: Measure[float], slacks: Slacks
) -> tuple[Batches, Batches]:
    """What the screening saw in the settings that are searched, and what the search measured: gains by batch.

    The estimator is told that what breaks a limit has failed; the process knows how likely it is to do so.
    """
    space, values = task.space.narrowed(names), screened.values
    sign = 1 if task.higher else -1

    def gain(value: float | None) -> float | None:
        return sign * log(value) if value else None

    search = Search(space, task.limits, task.seed)
    for pair in values:
        for configuration, value in pair.items():
            search.tell(configuration, None if slacks.breaks(configuration) else gain(value))
    before = [
        [(task.space.seen_in(names, each), gain(value)) for at in batch for each, value in values[at].items()]
        for batch in screened.batches
    ]
    usual = {name: each for name, each in task.space.rule_of_thumb.values.items() if name in names}
    first = [
        within(space.dimensions, each, task.limits)
        for each in (
            screening.at_better_levels(space, screened.found, higher=task.higher),
            space.start.with_values(usual),
        )
    ]
    found: list[list[tuple[Configuration, float | None]]] = []
    batches = budget.batches_of(task.amounts, space.size, task.trial_s(names))
    for number in range(1, batches + 1):
        batch = [each for each in dict.fromkeys(first) if each != space.start] if number == 1 else []
        if number == batches:
            best = [each for each, _ in promising(smoothed(space, [*before, *found]), found)]
            batch = slacks.keeping(space).likely(best)[:_AGAIN]
        else:
            keeping = slacks.keeping(space)
            batch += _guesses(space, before, found, task.limits, [*batch, space.start], keeping)
        while len(batch) < (_AGAIN if number == batches and batch else budget.BATCH):
            batch.append(search.ask([*batch, space.start]))
        new = measure(f"search-{number:02d}", batch, task.seed + 200 + number)
        found.append([(configuration, gain(value)) for configuration, value in new.items()])
        for configuration, value in new.items():
            search.tell(configuration, None if slacks.breaks(configuration) else gain(value))
    return before, found


def _guesses(
    space: Space,
    before: Batches,
    found: Batches,
    limits: Limits,
    taken: Sequence[Configuration],
    keeping: Keeping,
) -> list[Configuration]:
    """Where all trials so far let expect or hope for most, of what is likely to keep its limits."""
    process = smoothed(space, [*before, *found])
    seen = keeping.safest(promising(process, found))
    guesses: list[Configuration] = []
    if process is None:
        return guesses
    near = seen[0][0] if seen else taken[0]
    for spreads in GUESSES:
        guess = hopeful(process, near, limits, [*taken, *guesses], spreads, keeping.likely)
        guesses += [] if guess is None else [guess]
    return guesses


def _finalist(
    task: Task, ranked: Sequence[tuple[Configuration, float]], laboratory: Laboratory
) -> tuple[Configuration, float]:
    """The best of the best few, by fresh trials where there are several, with the gain that the search saw."""
    few = ranked[: task.amounts.finalists]
    gains = {each: gain for each, gain in few}
    if len(few) > 1:
        trial_s = task.trial_s(differing(task.space.start, gains))
        found = laboratory.study(
            "finalists",
            task.space.start,
            list(gains),
            task.seed + 1,
            trial_s * budget.BLOCKS_MIN * (len(few) + 1),
        )
        sign = 1 if task.higher else -1
        known = {each: one.effect.estimate for each, one in found.items() if one.effect.estimate > 0}
        best = max(known, key=lambda each: sign * log(known[each]), default=few[0][0])
        return best, gains[best]
    return few[0]


def _elsewhere(task: Task, final: Configuration, laboratory: Laboratory, tell: Tell) -> tuple[Tried, ...]:
    """What is recommended against the start and the default at every condition at which all of them may be run."""
    start, default = task.space.start, task.space.default
    arms = {robust.START: start} if default in (start, final) else {robust.START: start, robust.DEFAULT: default}
    run, kept_out = robust.possible(task.conditions, (final, *arms.values()), task.limits)
    if not run:
        return kept_out
    tell(f"trying what is confirmed at {', '.join(each.name for each in run)}")
    found = laboratory.elsewhere(ELSEWHERE, final, tuple(arms.values()), run, task.seed + 7, task.amounts.robust_s)
    return (*robust.judged(run, found, arms), *kept_out)
