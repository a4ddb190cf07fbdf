"""The way from a space to an advice: screen, search, leave out what earns nothing, and prove the rest afresh.

All that measures is a `Laboratory`, so that the whole way is tried on simulated servers whose truth is known
(benchmarks/advise.py). It holds no state: walked again over what was measured already, it decides the same.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, prod
from typing import Protocol, TypeVar

from pgassay.advise import budget, messages, robust, screening
from pgassay.advise.budget import Amounts
from pgassay.advise.constraints import Limits, allowed, within
from pgassay.advise.elimination import (
    Compared,
    Line,
    judged,
    kept_together,
    left_out_in_turn,
    put_back_in_turn,
    reduced,
    restored,
    supported,
)
from pgassay.advise.robust import Condition, Tried
from pgassay.advise.screening import Screened
from pgassay.advise.search import Search
from pgassay.advise.smoothing import Batches, by_configuration, promising, smoothed, trimmed
from pgassay.advise.space import Configuration, Space
from pgassay.analysis.verdicts import Kind

Values = Mapping[Configuration, float | None]
Tell = Callable[[str], None]
CONFIRMATION = "confirmation"
"""The name of the study whose page has the answer."""
ELSEWHERE = "elsewhere"
"""The name of the study at other loads."""
V = TypeVar("V")
Trials = Callable[[str, Configuration, Sequence[Configuration], int], Mapping[Configuration, V | None]]
"""One trial of each and of the start, by name and seed: `Laboratory.batch`, or its like for several objectives."""
Measure = Callable[[str, Sequence[Configuration], int], Mapping[Configuration, V | None]]
"""Values of a batch relative to its start, by name and seed."""
_IN_TURN, _BACK = 0.8, 0.8
"""Of the elimination's time: leaving out each line; of the restoration's: putting back. Else: what is left at once."""
_AGAIN = 4
"""The best of a search are measured once more before one is chosen."""
IDLE = 0.5
"""A line of which less than this share of the margin is expected is not put to the proof."""


class Laboratory(Protocol):
    """What measures. Every call has a name of its own, by which what was measured is found again."""

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each, of the start too; None for what failed, and nothing for what was disturbed."""
        ...

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """Blocks of all of them until every verdict is settled or the budget is used."""
        ...

    def elsewhere(
        self,
        name: str,
        baseline: Configuration,
        arms: Sequence[Configuration],
        conditions: Sequence[Condition],
        seed: int,
        budget_s: float,
    ) -> robust.Found:
        """Each of `arms` against `baseline` at each condition, in blocks as of a study."""
        ...


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
    """Is more better, of each further objective? See `front_walk`."""
    conditions: tuple[Condition, ...] = ()
    """Where the advice is tried again; nowhere where that was not asked for."""
    remarks: tuple[str, ...] = ()
    """What is to be said of the load beside every answer."""


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

    @property
    def confirmed(self) -> bool:
        """Was the recommendation shown to be better than the start, in trials of its own?"""
        found = self.proof.get("start")
        return self.recommended is not None and found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)


def walk(task: Task, laboratory: Laboratory, tell: Tell = lambda text: None) -> Advice:
    """From a task to its advice; takes as long as its budget. Raises `UsageError` where screening tells nothing."""
    start = task.space.start
    plan = screening.plan(task.space, task.limits, task.seed)
    tell(messages.screens(len(plan.names), 2 * len(plan.pairs)))
    measure = relative(task, laboratory.batch, _ratio)
    values = screened_pairs(task, plan, measure)
    screened = screening.effects(plan, values, margin=task.margin)
    names = screening.worth_searching(screened, budget.LINES_MAX)
    fixed = tuple(each.name for each in task.space.dimensions if each.name not in plan.names)
    failed = len({each for pair in values for each, value in pair.items() if value is None})
    nothing = Advice(screened, fixed, (), None, None, 0, failed, None, None, {})
    if not names:
        return nothing
    tell(messages.searches(names))
    before, batches = _search(task, plan, screened, names, values, measure)
    measured = by_configuration(batches)
    failed += sum(None in each for each in measured.values())
    ranked = promising(task.space.narrowed(names), before, batches)
    if not ranked:
        return nothing
    best, gain = _finalist(task, ranked, laboratory)
    whole, process = best, smoothed(task.space.narrowed(names), [*before, *batches])
    best = trimmed(process, best, task.limits, measured, IDLE * log(1 + task.margin))
    gain = gain if process is None else process.gain(best)
    if best == start:
        return Advice(screened, fixed, (), None, None, len(measured), failed, None, None, {})
    tell(messages.eliminates(len(best.changes_from(start))))
    arms = list(dict.fromkeys([*left_out_in_turn(best, start).values(), start]))
    share_s = task.amounts.elimination_s / (2 if task.amounts.finalists > 1 else 1)
    compared = laboratory.study("elimination", best, arms, task.seed + 2, share_s * _IN_TURN)
    shown = {each.name for each in screened if each.standing is screening.Standing.ACTIVE}
    lines = supported(judged(best, start, compared), screened, task.space, higher=task.higher)
    lines = _minimal(task, best, lines, compared.get(start), laboratory, share_s, shown)
    final = reduced(start, lines)
    proof = {} if final == start else _proof(task, final, laboratory, tell)
    chosen = compared.get(start)
    recommended = None if final == start else final
    seen = (*_seen(values), *_gains(measured, 1 if task.higher else -1))
    idle = whole.changes_from(best)
    advice = Advice(
        screened, fixed, lines, best, gain, len(measured), failed, chosen, recommended, proof, (), seen, idle
    )
    return replace(advice, robust=_elsewhere(task, final, laboratory, tell)) if advice.confirmed else advice


def _seen(values: screening.Measured) -> tuple[tuple[Configuration, float], ...]:
    return tuple((each, value) for pair in values for each, value in pair.items() if value is not None)


def _gains(
    measured: Mapping[Configuration, Sequence[float | None]], sign: int
) -> tuple[tuple[Configuration, float], ...]:
    return tuple((each, exp(sign * one)) for each, gains in measured.items() for one in gains if one is not None)


def _minimal(
    task: Task,
    best: Configuration,
    lines: tuple[Line, ...],
    whole: Compared | None,
    laboratory: Laboratory,
    share_s: float,
    shown: Collection[str],
) -> tuple[Line, ...]:
    """The lines, those that went put back as far as all of them together are missed.

    The one that is shown to help most by itself, if that is enough and there is time to look; or else those together
    that the screening has `shown` to matter. A line that neither shows stays out, whatever the whole is worth.
    """
    amounts = task.amounts

    def missed(left: tuple[Line, ...], name: str, seed: int, budget_s: float) -> bool:
        rest = reduced(task.space.start, left)
        if rest == best:
            return False
        again = laboratory.study(name, best, [rest], seed, budget_s) if rest != task.space.start else {}
        found = whole if rest == task.space.start else again.get(rest)
        return found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)

    if sum(not each.kept for each in lines) < 2:
        return lines
    if not missed(lines, "reduction", task.seed + 4, share_s * (1 - _IN_TURN)):
        return lines
    if amounts.restoration_s:
        rest = reduced(task.space.start, lines)
        arms = [each for each in put_back_in_turn(rest, lines).values() if each != best]
        back_s = amounts.restoration_s
        found = laboratory.study("restoration", rest, [*arms, best], task.seed + 5, back_s * _BACK)
        more = restored(rest, lines, found, higher=task.higher)
        if more != lines and not missed(more, "reduction-again", task.seed + 6, back_s * (1 - _BACK)):
            return more
    return kept_together(lines, shown)


def screened_pairs(
    task: Task, plan: screening.Plan, measure: Measure[V]
) -> tuple[Mapping[Configuration, V | None], ...]:
    """Values of each pair's row and mirror, relative to the start of their batch."""
    found: dict[int, Mapping[Configuration, V | None]] = {}
    for number, batch in enumerate(screening.in_batches(plan.pairs, budget.PAIRS_A_BATCH), start=1):
        wanted = [each for index in batch for each in (plan.pairs[index].row, plan.pairs[index].mirror)]
        values = measure(f"screening-{number:02d}", wanted, task.seed + 100 + number)
        for index in batch:
            pair = plan.pairs[index]
            found[index] = {each: values[each] for each in (pair.row, pair.mirror) if each in values}
    return tuple(found[index] for index in range(len(plan.pairs)))


def relative(task: Task, trials: Trials[V], ratio: Callable[[V | None, V | None], V | None]) -> Measure[V]:
    """Measures a batch as `ratio`s to its start; what may not be tried has failed without a trial.

    What other programs disturbed is missing: it has not failed, and teaches nothing. `ratio` is None for what failed.
    """
    start = task.space.start

    def measure(name: str, wanted: Sequence[Configuration], seed: int) -> dict[Configuration, V | None]:
        tried = [each for each in dict.fromkeys(wanted) if each != start and allowed(each, task.limits)]
        values = trials(name, start, tried, seed) if tried else {}
        base = values.get(start)
        found: dict[Configuration, V | None] = {each: None for each in wanted if each != start and each not in tried}
        itself = ratio(base, base)
        if itself is not None:
            found |= {each: ratio(values[each], base) for each in tried if each in values}
            if start in wanted:
                found[start] = itself
        return found

    return measure


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value and base else None


def _search(
    task: Task,
    plan: screening.Plan,
    screened: Sequence[Screened],
    names: Sequence[str],
    values: screening.Measured,
    measure: Measure[float],
) -> tuple[Batches, Batches]:
    """What the screening saw in the settings that are searched, and what the search measured: gains by batch."""
    space = task.space.narrowed(names)
    sign = 1 if task.higher else -1

    def gain(value: float | None) -> float | None:
        return sign * log(value) if value else None

    search = Search(space, task.limits, task.seed)
    for pair in values:
        for configuration, value in pair.items():
            search.tell(configuration, gain(value))
    before = [
        [(task.space.seen_in(names, each), gain(value)) for at in batch for each, value in values[at].items()]
        for batch in screening.in_batches(plan.pairs, budget.PAIRS_A_BATCH)
    ]
    usual = {name: each for name, each in task.space.rule_of_thumb.values.items() if name in names}
    first = [
        within(space.dimensions, each, task.limits)
        for each in (
            screening.at_better_levels(space, screened, higher=task.higher),
            space.start.with_values(usual),
        )
    ]
    found: list[list[tuple[Configuration, float | None]]] = []
    batches = budget.batches_of(task.amounts, prod(len(each.levels) for each in space.dimensions))
    for number in range(1, batches + 1):
        batch = [each for each in dict.fromkeys(first) if each != space.start] if number == 1 else []
        if number == batches:
            batch = [each for each, _ in promising(space, before, found)[:_AGAIN]]
        while len(batch) < (_AGAIN if number == batches and batch else budget.BATCH):
            batch.append(search.ask([*batch, space.start]))
        new = measure(f"search-{number:02d}", batch, task.seed + 200 + number)
        found.append([(configuration, gain(value)) for configuration, value in new.items()])
        for configuration, value in new.items():
            search.tell(configuration, gain(value))
    return before, found


def _finalist(
    task: Task, ranked: Sequence[tuple[Configuration, float]], laboratory: Laboratory
) -> tuple[Configuration, float]:
    """The best of the best few, by fresh trials where there are several, with the gain that the search saw."""
    few = ranked[: task.amounts.finalists]
    gains = {each: gain for each, gain in few}
    if len(few) > 1:
        found = laboratory.study(
            "finalists", task.space.start, list(gains), task.seed + 1, task.amounts.elimination_s / 2
        )
        sign = 1 if task.higher else -1
        known = {each: one.effect.estimate for each, one in found.items() if one.effect.estimate > 0}
        best = max(known, key=lambda each: sign * log(known[each]), default=few[0][0])
        return best, gains[best]
    return few[0]


def _proof(task: Task, final: Configuration, laboratory: Laboratory, tell: Tell) -> dict[str, Compared]:
    others = {"start": task.space.start, "default": task.space.default}
    usual = within(task.space.dimensions, task.space.rule_of_thumb, task.limits)
    others["rule of thumb"] = usual
    arms = [each for each in dict.fromkeys(others.values()) if each != final]
    tell(messages.confirms())
    compared = laboratory.study(CONFIRMATION, final, arms, task.seed + 3, task.amounts.confirmation_s)
    return {name: compared[each] for name, each in others.items() if each in compared}


def _elsewhere(task: Task, final: Configuration, laboratory: Laboratory, tell: Tell) -> tuple[Tried, ...]:
    """What is recommended against the start and the default at every condition at which all of them may be run."""
    start, default = task.space.start, task.space.default
    arms = {robust.START: start} if default in (start, final) else {robust.START: start, robust.DEFAULT: default}
    run, kept_out = robust.possible(task.conditions, (final, *arms.values()), task.limits)
    if not run:
        return kept_out
    tell(messages.tries_elsewhere([each.name for each in run]))
    found = laboratory.elsewhere(ELSEWHERE, final, tuple(arms.values()), run, task.seed + 7, task.amounts.robust_s)
    return (*robust.judged(run, found, arms), *kept_out)
