"""Several objectives at once: which configurations are worth a user's choice, and how sure that is.

A search proposes; from what it saw a few points are picked across its front, and a study of blocks that are fixed
beforehand says what they are. Intervals hold for all its configurations and objectives together. What is confirmed is
a point as a whole; of its lines the screening alone says which help.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import hypot, inf, log
from string import ascii_uppercase

from pgassay.advise import budget, proof
from pgassay.advise.proof import CONFIRMATION, references
from pgassay.advise.screening import Screened
from pgassay.advise.smoothing import SURE, Gains, LimitChance, kept_limits
from pgassay.advise.space import Configuration
from pgassay.advise.task import Laboratory, Notify, PointTrials, Task
from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import moved_in_words
from pgassay.report.formatting import counted
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Scale


class Standing(StrEnum):
    """What the confirmation says of a configuration."""

    FRONT = "front"
    DOMINATED = "dominated"
    OPEN = "no gain shown"
    BREAKS = "breaks a limit"
    FAILED = "failed"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Point:
    """A configuration of the confirmation. `label` is a letter, or the name of what it is set against."""

    label: str
    configuration: Configuration
    effects: tuple[Effect, ...]
    """Of each objective, against the start."""
    kept: tuple[LimitChance, ...]
    standing: Standing
    by: str = ""
    """Which other one is at least as good in everything."""
    searched: tuple[float, ...] = ()
    """What the search expected, as ratios to the start; nothing of a reference."""
    shown: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of each line the numbers of the objectives for which the screening has shown that it helps."""
    costs: tuple[str, ...] = ()
    """Costs that surely moved against the start, in words, the largest first."""


def dominates(one: Gains, other: Gains, width: float = 0.0) -> bool:
    """Is the first better in something, and as good in everything? Differences within `width` count for nothing."""
    differences = [mine - theirs for mine, theirs in zip(one, other, strict=True)]
    return max(differences) > width and min(differences) >= -width


def picked(gains: Mapping[Configuration, Gains], most: int) -> list[Configuration]:
    """At most so many points across the front: the best of each objective, then what is furthest from those chosen.

    Distances are in shares of the front's extent in each objective.
    """
    front = [each for each, mine in gains.items() if not any(dominates(theirs, mine) for theirs in gains.values())]
    if not front:
        return []
    columns = list(zip(*(gains[each] for each in front), strict=True))
    widths = [max(column) - min(column) or 1.0 for column in columns]

    def apart(one: Configuration, other: Configuration) -> float:
        both = zip(gains[one], gains[other], widths, strict=True)
        return hypot(*((mine - theirs) / width for mine, theirs, width in both))

    chosen = list(dict.fromkeys(max(front, key=lambda each: gains[each][at]) for at in range(len(columns))))[:most]
    while len(chosen) < min(most, len(front)):
        rest = [each for each in front if each not in chosen]
        chosen.append(max(rest, key=lambda each: min(apart(each, other) for other in chosen)))
    return sorted(chosen, key=lambda each: gains[each], reverse=True)


def confirmed(
    task: Task,
    expected: Mapping[Configuration, Gains],
    screened: Sequence[Screened],
    laboratory: Laboratory,
    notify: Notify,
) -> tuple[Point, ...]:
    """A few points across the front of what is `expected` (the start among them), by fresh trials; references first.

    None where nothing is expected to be better than the start.
    """
    start = task.space.start
    chosen = [each for each in picked(expected, task.amounts.least.finalists) if each != start]
    if not chosen:
        return ()
    labels: dict[str, Configuration] = {}
    for name, each in references(task).items():
        if each not in labels.values() and each not in chosen:
            labels[name] = each
    labels |= zip(ascii_uppercase, chosen, strict=False)
    own = [*labels.values()]
    blocks = budget.blocks_of(task.amounts, len(own))
    notify(
        f"confirming {counted(len(chosen), 'point')} of the front with the start, the default and the rule of thumb"
        f", in {counted(blocks, 'block')}"
    )
    seen = laboratory.points(CONFIRMATION, start, own[1:], task.seed + 3, blocks, task.amounts.confirmation_s)
    points = judged(seen, labels, {each: task.turned_round(expected[each]) for each in chosen}, blocks)
    shown: dict[Configuration, Mapping[str, tuple[int, ...]]] = {}
    for point in chosen:
        shown[point] = {  # of each line the objectives for which the screening has shown that it helps
            name: tuple(each.objective for each in screened if each.name == name and proof.helps(task, each, value))
            for name, value in point.changes_from(start).items()
        }
    moved = moved_costs(seen, [each.configuration for each in points if each.configuration != start], blocks)
    return tuple(
        replace(each, shown=shown.get(each.configuration, {}), costs=moved.get(each.configuration, ()))
        for each in points
    )


def judged(
    seen: PointTrials, labels: Mapping[str, Configuration], searched: Mapping[Configuration, Gains], blocks: int
) -> tuple[Point, ...]:
    """Every configuration of a study by its label, the start first; those that were searched have a standing."""
    start, *arms = seen.configurations
    numbers = {each: number for number, each in enumerate(seen.configurations)}
    responses = [seen.responses[name] for name in seen.objectives]
    effects = _effects(seen, seen.objectives, arms, blocks, primary=True)
    kept = {each: kept_limits(seen.limits, seen.observations, str(numbers[each]), "0") for each in (start, *arms)}
    own = {
        each: Standing.FAILED
        for each in (start, *arms)
        if each in seen.failed or any(not one.bounded or one.blocks < FIRST_LOOK for one in effects.get(each, ()))
    }
    own |= {
        each: Standing.BREAKS
        for each, limits in kept.items()
        if each not in own and any(not limit.probability >= SURE for limit in limits)
    }
    higher = [each.better is Better.HIGHER for each in responses]
    gains = {each: tuple(map(_gain, found, higher)) for each, found in effects.items() if each not in own}
    if start not in own:
        gains[start] = (0.0,) * len(responses)
    betters = _betters(labels, gains, log(1 + seen.resolution))
    found = []
    for label, each in labels.items():
        by = betters.get(label, "")
        standing = own.get(each) or (Standing.DOMINATED if by else Standing.FRONT)
        if standing is Standing.FRONT and not any(map(helps, effects.get(each, ()), higher)):
            standing = Standing.OPEN
        if each not in searched:
            standing = Standing.REFERENCE
        found.append(Point(label, each, effects.get(each, ()), kept[each], standing, by, searched.get(each, ())))
    return tuple(found)


def _betters(labels: Mapping[str, Configuration], gains: Mapping[Configuration, Gains], width: float) -> dict[str, str]:
    """Of each label another one that is better in something by more than `width`, and nowhere worse by more.

    The largest sums of gains come first, and only what nothing beats beats others: so something always stays.
    """
    known = sorted((name for name in labels if labels[name] in gains), key=lambda name: -sum(gains[labels[name]]))
    found: dict[str, str] = {}
    stay: list[str] = []
    for name in known:
        by = next((each for each in stay if dominates(gains[labels[each]], gains[labels[name]], width)), "")
        if by:
            found[name] = by
        else:
            stay.append(name)
    return found


def moved_costs(
    seen: PointTrials, configurations: Sequence[Configuration], blocks: int
) -> dict[Configuration, tuple[str, ...]]:
    """Of each the costs that surely moved against the start, in words, the largest first.

    All costs of all of them are one family, at 95 %, as the lab has it of a study's costs: why it may be, and no proof.
    """
    found = _effects(seen, seen.costs, configurations, blocks, primary=False)
    return {arm: moved_in_words(effects, seen.responses) for arm, effects in found.items()}


def _effects(
    seen: PointTrials, names: Sequence[str], configurations: Sequence[Configuration], blocks: int, *, primary: bool
) -> dict[Configuration, tuple[Effect, ...]]:
    """Of each its effects on these responses against the start, all of them one family."""
    numbers = {each: str(number) for number, each in enumerate(seen.configurations)}
    return {
        arm: tuple(
            effect
            for name in names
            for effect in compare(
                seen.observations[name], seen.responses[name], "0", blocks_max=blocks,
                comparisons=len(configurations) * len(names), looks="once", primary=primary,
                arms=[Place(numbers[arm], "", "")],
            )
        )
        for arm in configurations
    }  # fmt: skip


def _gain(effect: Effect, higher: bool) -> float:
    sign = 1 if higher else -1
    if effect.scale is Scale.DIFFERENCE:
        return sign * effect.estimate
    return sign * log(effect.estimate) if effect.estimate > 0 else -inf


def helps(effect: Effect, higher: bool) -> bool:
    return effect.bounded and (effect.low > effect.none if higher else effect.high < effect.none)
