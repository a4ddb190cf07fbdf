"""The screening as it goes: which pairs are measured together, by servers in turns or one after the other, and when it
begins again.

Servers in turns (docs/statistics.md) tell a pair apart in a third of the time, so settings whose effect shows in slices
are screened so. Those whose effect does not (shared buffers, the background writer) have pairs of their own.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, log
from statistics import fmean

from pgassay.advise import budget, screening
from pgassay.advise.failures import Noted
from pgassay.advise.screening import Plan, Screened, of_objective
from pgassay.advise.space import Configuration, Space
from pgassay.advise.task import Measure, Task, Tell, Trials, Values, fitting, relative
from pgassay.design.validity import rule_of
from pgassay.report.words import counted

_TURNED_LOOK = 6
"""Pairs of servers in turns after which it is asked whether one setting hides the others; `screening.LOOK` pairs one
after the other find two such settings as well."""


@dataclass(frozen=True)
class Screening:
    """What a screening came to."""

    task: Task
    """With what is left for the steps after it."""
    plan: Plan
    values: Sequence[Values]
    """Of each pair of the plan, relative to the start."""
    found: tuple[Screened, ...]
    """Every setting by the first objective, then by each further one."""
    parts: tuple[int, ...] = ()
    """How many pairs each of the plans has that were measured after each other; none where it was one."""

    @property
    def batches(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the pairs that were measured together."""
        found: list[tuple[int, ...]] = []
        at = 0
        for size in self.parts or (len(self.plan.pairs),):
            part = screening.in_batches(self.plan.pairs[at : at + size], budget.PAIRS_A_BATCH)
            found += [tuple(at + number for number in batch) for batch in part]
            at += size
        return tuple(found)


def in_turns(space: Space) -> tuple[str, ...]:
    """The settings of a space whose effect shows in slices, so that servers that differ in them may take turns."""
    rules = ((each.name, rule_of(each.setting.factor)) for each in space.dimensions)
    return tuple(name for name, rule in rules if rule is not None and not rule.alternating)


def screened(
    task: Task,
    trials: Trials,
    tell: Tell = lambda text: None,
    noted: MutableSequence[Noted] | None = None,
    starts: MutableSequence[tuple[float, ...]] | None = None,
) -> Screening:
    """The screening of a task; raises `UsageError` where it tells nothing.

    What the start had in each batch goes to `starts`; batches in turns have no start.
    """
    if task.turned:
        return _Apart(task, trials, tell, noted).screened()
    return _at_once(task, relative(task, trials, noted, starts), tell)


def screened_pairs(
    task: Task, plan: Plan, measure: Measure, kind: str = "screening", seed: int = 100, before: int = 0
) -> tuple[Values, ...]:
    """Values of each pair's row and mirror, as `measure` gives them; `before` batches are measured."""
    found: dict[int, Values] = {}
    for number, batch in enumerate(screening.in_batches(plan.pairs, budget.PAIRS_A_BATCH), start=before + 1):
        wanted = [each for index in batch for each in (plan.pairs[index].row, plan.pairs[index].mirror)]
        values = measure(f"{kind}-{number:02d}", wanted, task.seed + seed + number)
        for index in batch:
            pair = plan.pairs[index]
            found[index] = {each: values[each] for each in (pair.row, pair.mirror) if each in values}
    return tuple(found[index] for index in range(len(plan.pairs)))


def _at_once(task: Task, measure: Measure, tell: Tell) -> Screening:
    """All settings together; of one objective once more as long, where that shows what does not matter.

    Whether it may go on is known beforehand, and then each of its two looks has its part of the error rate.
    """

    def found_at(level: float) -> tuple[Screened, ...]:
        count = len(task.more)
        return tuple(
            each
            for at in range(count)
            for each in screening.effects(
                plan, of_objective(values, at), margin=task.margin, level=1 - (1 - level) / count, objective=at
            )
        )

    plan = screening.plan(task.space, task.limits, task.seed)
    tell(f"screening {len(plan.names)} settings in {2 * len(plan.pairs)} configurations")
    first, rest = screening.begun(plan, budget.PAIRS_A_BATCH)
    values = screened_pairs(task, first, measure)
    hiding = () if task.others else screening.hiding(first, of_objective(values, 0))
    if hiding:
        return _beside(task, first, values, hiding, measure, tell)
    batches = len(screening.in_batches(first.pairs, budget.PAIRS_A_BATCH))
    values = (*values, *screened_pairs(task, rest, measure, before=batches))
    plan = screening.joined(first, rest)
    if task.others:
        return Screening(task, plan, values, found_at(screening.LEVEL))
    after = budget.screened_again(task.amounts, len(plan.names))
    if after is None:
        return Screening(task, plan, values, found_at(screening.BESIDE_LEVEL))
    found = found_at(screening.FIRST_LEVEL)
    if not screening.worth_more(plan, found, task.margin):
        return Screening(task, plan, values, found)
    more = screening.extended(plan, task.space, task.seed)
    tell(f"screening {len(plan.names)} settings in {2 * len(more.pairs)} configurations")
    values = (*values, *screened_pairs(task, more, measure, "screening-again", 150))
    plan = screening.joined(plan, more)
    parts = (len(plan.pairs) - len(more.pairs), len(more.pairs))
    return Screening(replace(task, amounts=after), plan, values, found_at(screening.SECOND_LEVEL), parts)


def _beside(
    task: Task, first: Plan, values: Sequence[Values], hiding: tuple[Screened, ...], measure: Measure, tell: Tell
) -> Screening:
    """The screening begins again with settings that hide all others at their better level.

    Under its worse level such a setting leaves the others little to show, and what they show there is of no use. The
    time of the first pairs is that of lines in and out: hidden settings need not be tried with them any more.
    """
    plan = screening.plan_beside(task.space, task.limits, hiding, task.seed, higher=task.higher)
    _say_beside(plan, tell)
    own = screened_pairs(task, plan, measure, "screening-beside", 170)
    found = screening.effects(plan, of_objective(own, 0), margin=task.margin, level=screening.BESIDE_LEVEL)
    left = replace(task, amounts=budget.spent(task.amounts, task.amounts.trial_s * budget.trials_of(len(first.pairs))))
    parts = (len(first.pairs), len(plan.pairs))
    return Screening(left, screening.joined(first, plan), (*values, *own), (*hiding, *found), parts)


@dataclass(frozen=True)
class _Apart:
    """Settings in turns first, then the others, both with what hides them at its better level."""

    task: Task
    trials: Trials
    tell: Tell
    noted: MutableSequence[Noted] | None

    def screened(self) -> Screening:
        """Both parts; their intervals hold for all settings of both together."""
        task, space = self.task, self.task.space
        turned = space.narrowed(task.turned)
        whole = screening.plan(turned, task.limits, task.seed)
        self.tell(
            f"screening {counted(len(whole.names), 'setting')} in {2 * len(whole.pairs)} "
            "configurations, by servers in turns"
        )
        first, rest = screening.begun(whole, budget.PAIRS_A_BATCH, _TURNED_LOOK)
        looked = screened_pairs(task, first, self._absolute)
        hiding = screening.hiding(first, of_objective(looked, 0))
        if hiding:
            plan = screening.plan_beside(turned, task.limits, hiding, task.seed, higher=task.higher)
            _say_beside(plan, self.tell)
            values = screened_pairs(task, plan, self._absolute, "screening-beside", 170)
            turns = task.amounts.least.turns
            assert turns is not None, "a task with settings in turns has their time"
            task = replace(task, amounts=budget.spent(task.amounts, turns.trial_s * 2 * len(first.pairs)))
        else:
            plan = screening.joined(first, rest)
            batches = len(screening.in_batches(first.pairs, budget.PAIRS_A_BATCH))
            values = (*looked, *screened_pairs(task, rest, self._absolute, before=batches))
        others = self._others(hiding)
        slow = screened_pairs(task, others, self._beside(hiding), "screening-apart", 190) if others else ()
        count = len(plan.names) + (len(others.names) if others else 0)
        effects = partial(self._effects, count=count, level=screening.BESIDE_LEVEL)
        in_turn, apart = effects(plan, values), effects(others, slow) if others else ()
        gain = _gain(hiding, higher=task.higher)
        parts = [(plan, _relative(plan, values, in_turn, gain))]
        if hiding:
            parts.insert(0, (first, _relative(first, looked, hiding, 1.0)))
        if others:
            parts.append((others, tuple(_scaled(each, gain) for each in slow)))
        joined, everything = parts[0]
        for more, values_of_more in parts[1:]:
            joined, everything = screening.joined(joined, more), (*everything, *values_of_more)
        sizes = tuple(len(each.pairs) for each, _ in parts)
        return Screening(task, joined, everything, (*hiding, *in_turn, *apart), sizes)

    def _effects(self, plan: Plan, values: Sequence[Values], *, count: int, level: float) -> tuple[Screened, ...]:
        """Of a part of the settings, at its part of the error rate."""
        share = len(plan.names) / count
        return screening.effects(plan, of_objective(values, 0), margin=self.task.margin, level=1 - (1 - level) * share)

    def _others(self, hiding: Sequence[Screened]) -> Plan | None:
        """The pairs of the settings that do not show in slices; None where there are none."""
        names = [each.name for each in self.task.space.dimensions if each.name not in self.task.turned]
        if not names:
            return None
        space = self.task.space.narrowed(names)
        found = screening.plan_beside(
            space, self.task.limits, hiding, self.task.seed, higher=self.task.higher, spare=screening.SPARE_APART
        )
        if not found.names:
            return None
        where = f", along with {found.along_with}" if found.along_with else ""
        self.tell(
            f"screening {', '.join(found.names)} in {2 * len(found.pairs)} configurations, one server after the other"
            f"{where}"
        )
        return found

    def _beside(self, hiding: Sequence[Screened]) -> Measure:
        """Measures relative to the start with each hiding setting at its better level."""
        better = screening.better_levels(hiding, higher=self.task.higher)
        space = replace(self.task.space, start=self.task.space.start.with_values(better))
        return relative(replace(self.task, space=space), self.trials, self.noted)

    def _absolute(self, name: str, wanted: Sequence[Configuration], seed: int) -> Values:
        """Measures as they are, without the start: in a pair what servers in turns share cancels."""
        tried = fitting(wanted, self.task.limits, self.noted)
        values = self.trials(name, tried[0], tried[1:], seed) if len(tried) > 1 else {}
        return {each: None for each in wanted if each not in tried} | dict(values)


def _say_beside(plan: Plan, tell: Tell) -> None:
    tell(
        f"along with {plan.along_with} the others show: screening {len(plan.names)} settings in {2 * len(plan.pairs)}"
        " configurations"
    )


def _gain(hiding: Sequence[Screened], *, higher: bool) -> float:
    """What the better levels of the hiding settings do to the start, a ratio."""
    found = 1.0
    for each in hiding:
        found *= each.effect if (each.effect > 1) == higher else 1.0
    return found


def _relative(plan: Plan, values: Sequence[Values], found: Sequence[Screened], gain: float) -> tuple[Values, ...]:
    """Values of a batch without a start, relative to it as far as the effects that were found tell.

    Each value says by them what the start would have had in its batch; `gain` is what the plan is along with.
    """
    far = {each.name: log(each.effect) for each in found}
    scaled: dict[int, Values] = {}
    for batch in screening.in_batches(plan.pairs, budget.PAIRS_A_BATCH):
        starts = [
            log(value[0])
            - log(gain)
            - sum(far.get(n, 0.0) for n, sign in zip(plan.names, signs, strict=True) if sign > 0)
            for index in batch
            for signs, each in plan.pairs[index].signed
            if (value := values[index].get(each)) and value[0]
        ]
        if starts:
            scaled |= {index: _scaled(values[index], exp(-fmean(starts))) for index in batch}
    return tuple(scaled.get(index, dict.fromkeys(values[index])) for index in range(len(plan.pairs)))


def _scaled(values: Values, by: float) -> Values:
    return {each: (value[0] * by,) if value and value[0] else None for each, value in values.items()}
