"""The screening as it goes: which pairs are measured together, by servers in turns or one after the other, and when it
begins again.

Servers in turns (docs/statistics.md) tell a pair apart in a third of the time, so settings whose effect shows in slices
are screened so. Those whose effect does not (shared buffers, the background writer) have pairs of their own.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, replace
from math import exp, log, prod
from statistics import fmean

from pgassay.advise import budget, screening
from pgassay.advise.screening import Plan, Screened, of_objective
from pgassay.advise.space import Configuration, Space
from pgassay.advise.task import Measure, Noted, Notify, Task, Trials, Values, fitting, relative
from pgassay.lab.catalogue import every_factor
from pgassay.report.formatting import counted

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
    known = every_factor()
    found = ((each.name, each.setting.factor, known.find(each.setting.factor)) for each in space.dimensions)
    said = ((name, None if factor is None else factor.turns(full)) for name, full, factor in found)
    return tuple(name for name, turns in said if turns is not None and not turns.refusal)


def screened(
    task: Task,
    trials: Trials,
    notify: Notify = lambda text: None,
    noted: MutableSequence[Noted] | None = None,
) -> Screening:
    """The screening of a task; raises `UsageError` where it tells nothing."""
    if task.turned:
        return _apart(task, trials, notify, noted)
    first, looked, hiding, plan, values = _looked(
        task, task.space, relative(task, trials, noted), notify, screening.LOOK
    )
    if hiding:
        # The time of the first pairs is that of lines in and out: hidden settings need not be tried with them any more.
        batches = -(-len(first.pairs) // budget.PAIRS_A_BATCH)  # each with a trial of the start
        spent_s = task.amounts.trial_s * (2 * len(first.pairs) + batches)
        shown = screening.effects(plan, of_objective(values, 0), margin=task.margin, level=screening.BESIDE_LEVEL)
        return Screening(
            replace(task, amounts=budget.spent(task.amounts, spent_s)),
            screening.joined(first, plan),
            (*looked, *values),
            (*hiding, *shown),
            (len(first.pairs), len(plan.pairs)),
        )
    count = len(task.more)
    level = 1 - (1 - (screening.LEVEL if task.others else screening.BESIDE_LEVEL)) / count
    found = (
        each
        for at in range(count)
        for each in screening.effects(plan, of_objective(values, at), margin=task.margin, level=level, objective=at)
    )
    return Screening(task, plan, values, tuple(found))


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


def _looked(
    task: Task, space: Space, measure: Measure, notify: Notify, look: int
) -> tuple[Plan, tuple[Values, ...], tuple[Screened, ...], Plan, tuple[Values, ...]]:
    """The first pairs with their values, what by these hides all other settings, and the pairs that count with theirs.

    Where something hides them, the screening begins again with that at its better level: under its worse level it
    leaves the others little to show, and what they show there is of no use. Else the pairs that count are all of them.
    """
    whole = screening.plan(space, task.limits, task.seed)
    turned = ", by servers in turns" if task.turned else ""
    notify(f"screening {counted(len(whole.names), 'setting')} in {2 * len(whole.pairs)} configurations{turned}")
    first, rest = screening.begun(whole, budget.PAIRS_A_BATCH, look)
    looked = screened_pairs(task, first, measure)
    hiding = () if task.others else screening.hiding(first, of_objective(looked, 0))
    if not hiding:
        batches = len(screening.in_batches(first.pairs, budget.PAIRS_A_BATCH))
        values = (*looked, *screened_pairs(task, rest, measure, before=batches))
        return first, looked, (), screening.joined(first, rest), values
    plan = screening.plan_others(space, task.limits, hiding, task.seed, higher=task.higher)
    many = f"{len(plan.names)} settings in {2 * len(plan.pairs)} configurations"
    notify(f"along with {plan.along_with} the others show: screening {many}")
    return first, looked, hiding, plan, screened_pairs(task, plan, measure, "screening-beside", 170)


def _apart(task: Task, trials: Trials, notify: Notify, noted: MutableSequence[Noted] | None) -> Screening:
    """Settings in turns first, then the others, both with what hides them at its better level.

    The intervals of both parts hold for all settings of both together.
    """

    def absolute(name: str, wanted: Sequence[Configuration], seed: int) -> Values:
        """Measures as they are, without the start: in a pair what servers in turns share cancels."""
        tried = fitting(wanted, task.limits, noted)
        values = trials(name, tried[0], tried[1:], seed) if len(tried) > 1 else {}
        return {each: None for each in wanted if each not in tried} | dict(values)

    space, left = task.space, task
    first, looked, hiding, plan, values = _looked(task, space.narrowed(task.turned), absolute, notify, _TURNED_LOOK)
    if hiding:
        turns = task.amounts.least.turns
        assert turns is not None, "a task with settings in turns has their time"
        left = replace(task, amounts=budget.spent(task.amounts, turns.trial_s * 2 * len(first.pairs)))
    others, slow = _others(task, hiding, notify), tuple[Values, ...]()
    if others:  # relative to the start with each hiding setting at its better level
        better = space.start.with_values(screening.better_levels(hiding, higher=task.higher))
        measure = relative(replace(task, space=replace(space, start=better)), trials, noted)
        slow = screened_pairs(task, others, measure, "screening-apart", 190)
    count = len(plan.names) + (len(others.names) if others else 0)

    def effects(part: Plan, of_part: Sequence[Values]) -> tuple[Screened, ...]:
        """Each part has its part of the error rate."""
        level = 1 - (1 - screening.BESIDE_LEVEL) * (len(part.names) / count)
        return screening.effects(part, of_objective(of_part, 0), margin=task.margin, level=level)

    in_turn, apart = effects(plan, values), effects(others, slow) if others else ()
    gain = prod(each.effect for each in hiding if (each.effect > 1) == task.higher)
    parts = [(plan, _relative(plan, values, in_turn, gain))]
    if hiding:
        parts.insert(0, (first, _relative(first, looked, hiding, 1.0)))
    if others:
        parts.append((others, tuple(_scaled(each, gain) for each in slow)))
    joined, everything = parts[0]
    for more, values_of_more in parts[1:]:
        joined, everything = screening.joined(joined, more), (*everything, *values_of_more)
    sizes = tuple(len(each.pairs) for each, _ in parts)
    return Screening(left, joined, everything, (*hiding, *in_turn, *apart), sizes)


def _others(task: Task, hiding: Sequence[Screened], notify: Notify) -> Plan | None:
    """The pairs of the settings that do not show in slices; None where there are none."""
    names = [each.name for each in task.space.dimensions if each.name not in task.turned]
    if not names:
        return None
    space, spare = task.space.narrowed(names), screening.SPARE_APART
    found = screening.plan_others(space, task.limits, hiding, task.seed, higher=task.higher, spare=spare)
    if not found.names:
        return None
    where = f", along with {found.along_with}" if found.along_with else ""
    notify(
        f"screening {', '.join(found.names)} in {2 * len(found.pairs)} configurations, one server after the other"
        f"{where}"
    )
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
