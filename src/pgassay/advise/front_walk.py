"""The way to a front: screen for every objective, search all of them at once, confirm a few points afresh.

As `walk`, it holds no state and decides the same when it is walked again over what was measured. What is confirmed is a
point as a whole; within its confirmation its lines are left out in turn, as many as there is time for, and none goes by
that: it is said of each what it earns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, prod
from string import ascii_uppercase
from typing import Protocol

from pgassay.advise import budget, front, front_costs, pace, screening
from pgassay.advise.constraints import allowed, within
from pgassay.advise.elimination import left_out_in_turn, shown_to_help
from pgassay.advise.failures import Failure, Noted, gathered, lowered
from pgassay.advise.front import Gains, Point, Seen, Standing
from pgassay.advise.lines import IDLE
from pgassay.advise.proof import CONFIRMATION
from pgassay.advise.screening import Screened
from pgassay.advise.screenings import screened_pairs
from pgassay.advise.search import Search
from pgassay.advise.space import Configuration
from pgassay.advise.task import Measure, Task, Tell, relative
from pgassay.report.words import counted

Vectors = Mapping[Configuration, tuple[float, ...] | None]
START, DEFAULT, RULE = "start", "default", "rule of thumb"


class FrontLaboratory(Protocol):
    """What measures several objectives. Every call has a name of its own, as of `walk.Laboratory`."""

    def vectors(
        self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int
    ) -> Mapping[Configuration, tuple[float, ...] | None]:
        """One trial of each, of the start too; None for what failed, and nothing for what was disturbed."""
        ...

    def seen(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> Seen:
        """So many blocks of all of them, whatever they show."""
        ...

    def spent_s(self, name: str) -> float:
        """How long a batch or a study took; 0 where there was none of that name."""
        ...


@dataclass(frozen=True)
class FrontAdvice:
    """What was found for several objectives."""

    screened: tuple[tuple[Screened, ...], ...]
    """Of each objective."""
    not_screened: tuple[str, ...]
    points: tuple[Point, ...]
    """All that was confirmed, references first; empty where there was nothing to confirm."""
    trials: int
    failed: int
    refused: tuple[Failure, ...] = ()
    """What was refused or failed on the way."""
    seen: tuple[tuple[Configuration, tuple[float, ...]], ...] = ()
    """What screening and search measured, of each objective the ratio to the start: each a trial, and no evidence."""
    starts: tuple[tuple[float, ...], ...] = ()
    """What the start had beside each batch of the screening and the search, by objective."""

    @property
    def front(self) -> tuple[Point, ...]:
        """The points to choose from."""
        return tuple(each for each in self.points if each.standing is Standing.FRONT)


def walk_front(
    task: Task, laboratory: FrontLaboratory, objectives: Sequence[str], resolution: float, tell: Tell
) -> FrontAdvice:
    """From a task to points to choose from. Raises `UsageError` where screening tells nothing."""
    noted: list[Noted] = []
    starts: list[tuple[float, ...]] = []
    found = _walked(task, laboratory, objectives, resolution, tell, noted, starts)
    return replace(found, refused=gathered(noted, task.space.start), starts=tuple(starts))


def _walked(
    task: Task,
    laboratory: FrontLaboratory,
    objectives: Sequence[str],
    resolution: float,
    tell: Tell,
    noted: list[Noted],
    starts: list[tuple[float, ...]],
) -> FrontAdvice:
    """The same; what does not fit the limits is `noted`, and the start of each batch kept."""
    plan = screening.plan(task.space, task.limits, task.seed)
    tell(f"screening {len(plan.names)} settings in {2 * len(plan.pairs)} configurations")
    noted.extend(lowered(task.space, plan.levels, task.limits))
    asked: list[pace.Asked] = []
    measure = relative(task, pace.noting(task, laboratory.vectors, asked), _vector_ratio, noted, starts)
    values = screened_pairs(task, plan, measure)
    task = pace.kept(task, task, asked, laboratory.spent_s)
    level = 1 - 0.05 / len(objectives)

    def shown(configuration: Configuration) -> dict[str, tuple[str, ...]]:
        return _shown(task, configuration, screened, objectives)

    screened = tuple(
        screening.effects(plan, _of(values, number), margin=task.margin, level=level)
        for number in range(len(objectives))
    )
    names = worth_searching(screened, budget.LINES_MAX)
    fixed = tuple(each.name for each in task.space.dimensions if each.name not in plan.names)
    failed = len({each for pair in values for each, value in pair.items() if value is None})
    looked = tuple((each, value) for pair in values for each, value in pair.items() if value is not None)
    nothing = FrontAdvice(screened, fixed, (), 0, failed, seen=looked)
    if not names:
        return nothing
    tell(f"searching {counted(len(names), 'setting')} that may matter: {', '.join(names)}")
    before, batches = _search(task, plan, screened, names, values, measure)
    tried = {each for batch in batches for each, _ in batch}
    broken = {each for batch in batches for each, gains in batch if gains is None}
    failed += len(broken)
    nothing = replace(nothing, trials=len(tried), failed=failed, seen=(*looked, *_found(task, batches)))
    process = front.expected(task.space.narrowed(names), before, batches, len(objectives))
    start = {task.space.start: (0.0,) * len(objectives)}
    gains = {**start, **front.promising(process, batches)}
    if process is not None:
        least = IDLE * log(1 + task.margin)
        trim = [
            process.trimmed(each, task.limits, tried - broken, least, bool(failed), keep=_helping(shown(each)))
            for each in gains
        ]
        gains = {**start, **{each: process.gains(each) for each in trim}}
    chosen = [each for each in front.picked(gains, task.amounts.finalists) if each != task.space.start]
    if not chosen:
        return nothing
    labels = _labels(task, chosen)
    own = list(dict.fromkeys([task.space.start, *labels.values()]))
    without = _without(task, chosen, own, {each: shown(each) for each in chosen})
    arms = list(dict.fromkeys([*own, *(each for others in without.values() for each in others.values())]))
    blocks = budget.blocks_of(task.amounts, len(arms))
    left_out = sum(map(len, without.values()))
    theirs = f", and without {counted(left_out, 'line')} of theirs" if left_out else ""
    tell(
        f"confirming {counted(len(chosen), 'point')} of the front beside the start, the default and the rule of thumb"
        f"{theirs}, in {counted(blocks, 'block')}"
    )
    budget_s = task.amounts.confirmation_s
    seen = laboratory.seen(CONFIRMATION, task.space.start, arms[1:], task.seed + 3, blocks, budget_s)
    searched = {each: _ratios(task, gains[each]) for each in chosen}
    points = front.judged(seen, objectives, labels, searched, blocks, resolution)
    lines = front.without_lines(seen, objectives, without, blocks)
    points = tuple(
        replace(each, shown=shown(each.configuration), left_out=lines.get(each.configuration, {})) for each in points
    )
    return replace(nothing, points=_with_costs(points, seen, without, blocks))


def _with_costs(
    points: Sequence[Point], seen: Seen, without: Mapping[Configuration, Mapping[str, Configuration]], blocks: int
) -> tuple[Point, ...]:
    """The points with the costs that surely moved: against the start, and where a line was left out."""
    start = seen.configurations[0]
    mine = [(each.configuration, start) for each in points if each.configuration != start]
    lines = [(other, point) for point, others in without.items() for other in others.values()]
    moved = front_costs.moved(seen, list(dict.fromkeys([*mine, *lines])), blocks)
    return tuple(
        replace(
            each,
            costs=moved.get((each.configuration, start), ()),
            line_costs={
                name: moved[other, each.configuration] for name, other in without.get(each.configuration, {}).items()
            },
        )
        for each in points
    )


def _found(task: Task, batches: front.Trials) -> tuple[tuple[Configuration, tuple[float, ...]], ...]:
    """What a search measured, as ratios to the start."""
    return tuple(
        (each, tuple(map(exp, _ratios(task, gains)))) for batch in batches for each, gains in batch if gains is not None
    )


def _without(
    task: Task,
    chosen: Sequence[Configuration],
    own: Sequence[Configuration],
    shown: Mapping[Configuration, Mapping[str, Sequence[str]]],
) -> dict[Configuration, dict[str, Configuration]]:
    """Each point without each of its lines, as many as there is time for: first those that the screening has not shown.

    Where that is one of the confirmation's `own` arms it takes no time. A point's only line is the point itself.
    """
    wanted = [
        (point, name, without)
        for point in chosen
        for name, without in left_out_in_turn(point, task.space.start).items()
        if without != task.space.start and allowed(without, task.limits)
    ]
    room, arms = budget.left_out(task.amounts, len(own)), set(own)
    found: dict[Configuration, dict[str, Configuration]] = {each: {} for each in chosen}
    for point, name, without in sorted(wanted, key=lambda each: bool(shown[each[0]][each[1]])):
        if without in arms or room:
            room -= without not in arms
            arms.add(without)
            found[point][name] = without
    return found


def _shown(
    task: Task, configuration: Configuration, screened: Sequence[Sequence[Screened]], objectives: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Of each line the objectives for which the screening has shown that it helps."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in configuration.changes_from(task.space.start).items():
        found[name] = tuple(
            objective
            for objective, more, one in zip(objectives, _more(task), screened, strict=True)
            for each in one
            if each.name == name and shown_to_help(task.space, each, value, higher=more)
        )
    return found


def _helping(shown: Mapping[str, Sequence[str]]) -> set[str]:
    """The lines that help in some objective: what a search saw takes none of them away."""
    return {name for name, objectives in shown.items() if objectives}


def worth_searching(screened: Sequence[Sequence[Screened]], most: int) -> tuple[str, ...]:
    """The settings that may matter for an objective, the largest effects on any of them first."""
    sizes: dict[str, float] = {}
    for name, size in (
        (each.name, abs(log(each.effect)))
        for one in screened
        for each in one
        if each.standing is not screening.Standing.PLACEBO
    ):
        sizes[name] = max(size, sizes.get(name, 0.0))
    return tuple(sorted(sizes, key=lambda name: -sizes[name])[:most])


def _labels(task: Task, chosen: Sequence[Configuration]) -> dict[str, Configuration]:
    """The start, what else the points are set against where it is another configuration, and the points."""
    found = {START: task.space.start}
    usual = within(task.space.dimensions, task.space.rule_of_thumb, task.limits)
    for name, each in ((DEFAULT, task.space.default), (RULE, usual)):
        if each not in found.values() and each not in chosen:
            found[name] = each
    return found | dict(zip(ascii_uppercase, chosen, strict=False))


def _more(task: Task) -> tuple[bool, ...]:
    return (task.higher, *task.others)


def _gains(task: Task, values: tuple[float, ...] | None) -> Gains | None:
    """Log-ratios to the start, higher is better."""
    if values is None:
        return None
    return tuple((1 if more else -1) * log(each) for more, each in zip(_more(task), values, strict=True))


def _ratios(task: Task, gains: Gains) -> tuple[float, ...]:
    """Gains in logarithms of the responses themselves."""
    return tuple((1 if more else -1) * gain for more, gain in zip(_more(task), gains, strict=True))


def _of(values: Sequence[Vectors], number: int) -> tuple[Mapping[Configuration, float | None], ...]:
    """One objective's values."""
    return tuple({each: None if value is None else value[number] for each, value in pair.items()} for pair in values)


def _vector_ratio(value: tuple[float, ...] | None, base: tuple[float, ...] | None) -> tuple[float, ...] | None:
    """Of each objective; 0 has no ratio, and fails."""
    if value is None or base is None or min(value) <= 0 or min(base) <= 0:
        return None
    return tuple(mine / its for mine, its in zip(value, base, strict=True))


def _search(
    task: Task,
    plan: screening.Plan,
    screened: Sequence[Sequence[Screened]],
    names: Sequence[str],
    values: Sequence[Vectors],
    measure: Measure[tuple[float, ...]],
) -> tuple[front.Trials, front.Trials]:
    """What the screening saw in the settings that are searched, and what the search measured: gains by batch."""
    space = task.space.narrowed(names)
    search = Search(space, task.limits, task.seed, objectives=len(screened))
    for pair in values:
        for configuration, value in pair.items():
            search.tell(configuration, _gains(task, value))
    usual = {name: each for name, each in task.space.rule_of_thumb.values.items() if name in names}
    better = [
        screening.at_better_levels(space, one, higher=more) for one, more in zip(screened, _more(task), strict=True)
    ]
    first = [within(space.dimensions, each, task.limits) for each in (*better, space.start.with_values(usual))]
    before = [
        [(task.space.seen_in(names, each), _gains(task, value)) for at in batch for each, value in values[at].items()]
        for batch in screening.in_batches(plan.pairs, budget.PAIRS_A_BATCH)
    ]
    found: list[list[tuple[Configuration, Gains | None]]] = []
    batches = budget.batches_of(task.amounts, prod(len(each.levels) for each in space.dimensions))
    for number in range(1, batches + 1):
        batch = [each for each in dict.fromkeys(first) if each != space.start] if number == 1 else []
        if number == batches:  # the most promising once more, before some are chosen
            known = front.promising(front.expected(space, before, found, len(screened)), found)
            batch = [each for each in front.picked(known, budget.BATCH) if each != space.start]
        while len(batch) < budget.BATCH:
            batch.append(search.ask([*batch, space.start]))
        new = measure(f"search-{number:02d}", batch, task.seed + 200 + number)
        found.append([(each, _gains(task, value)) for each, value in new.items()])
        for each, value in new.items():
            search.tell(each, _gains(task, value))
    return before, found
