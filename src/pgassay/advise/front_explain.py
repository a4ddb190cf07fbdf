"""What an advice for several objectives found of one setting: by each objective its effect, its lines, its slice.

As of one objective (`explain`): the screening's effect and what leaving a line out did are shown with intervals; costs
tell why it may be so; a slice is a shape and no evidence.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pgassay.advise.explain import AtLevel, at_levels, interaction, level_words, slice_values
from pgassay.advise.front import Point
from pgassay.advise.front_text import line_standing, line_words
from pgassay.advise.front_walk import FrontAdvice
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.task import Task
from pgassay.advise.text import screened_values, screened_words
from pgassay.report.json_values import effect_values
from pgassay.study.units import canonical


def sentences(name: str, task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> Iterator[str]:
    """All that was found of a setting; nothing where it was not tried."""
    for objective, each in screened_by(name, advice, objectives).items():
        yield f"screening by {objective}: {screened_words(each)}: {each.standing}"
    yield from of_lines(name, task, advice, objectives)
    shapes = slices_of(name, task, advice, objectives)
    if shapes:
        yield "seen by screening and search, whatever the other settings were; single trials, no evidence:"
    for objective, levels in shapes.items():
        yield f"  {objective}:"
        yield from (f"    {level_words(each)}{_points(name, each, advice)}" for each in levels)


def of_lines(name: str, task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> Iterator[str]:
    """What its line does in each point that has one, beside the others there, and with which costs."""
    screened = screened_by(name, advice, objectives)
    for point in points_with(name, task, advice):
        told = line_words(task, point, name, objectives)
        yield f"point {point.label}: {name} = {point.configuration.values[name]}: {told}"
        yield from (f"  {each}" for each in company(name, point, screened))
        yield from (f"  {each}" for each in costs(name, task, point))


def _points(name: str, each: AtLevel, advice: FrontAdvice) -> str:
    """The points to choose from that have a level."""
    mine = [
        point.label
        for point in advice.front
        if canonical(point.configuration.values.get(name, "")) == canonical(each.level)
    ]
    return f"; {'points' if len(mine) > 1 else 'point'} {', '.join(mine)}" if mine else ""


def screened_by(name: str, advice: FrontAdvice, objectives: Sequence[str]) -> dict[str, Screened]:
    """What the screening found of a setting, by objective."""
    return {
        objective: each
        for objective, one in zip(objectives, advice.screened, strict=True)
        for each in one
        if each.name == name
    }


def points_with(name: str, task: Task, advice: FrontAdvice) -> tuple[Point, ...]:
    """All points that the search proposed and that have a line of a setting, whether they are to choose from or not."""
    start = task.space.start
    return tuple(each for each in advice.points if each.searched and name in each.configuration.changes_from(start))


def company(name: str, point: Point, screened: Mapping[str, Screened]) -> Iterator[str]:
    """Does a line act otherwise beside the others of its point? By objective, where the level is the screened one."""
    effects = dict(zip(screened, point.left_out.get(name, ()), strict=False))
    for objective, effect in effects.items():
        each = screened[objective]
        if effect.bounded and canonical(each.far) == canonical(point.configuration.values[name]):
            yield f"interaction by {objective}: {interaction((effect.estimate, effect.low, effect.high), each)}"


def costs(name: str, task: Task, point: Point) -> Iterator[str]:
    """Which costs surely moved where the line was left out: why it may help, and no proof.

    Where it is the only line they are those of its point.
    """
    alone = len(point.configuration.changes_from(task.space.start)) == 1
    if alone and point.costs:
        yield f"against the start: {'; '.join(point.costs)}"
    elif point.line_costs.get(name):
        yield f"without it: {'; '.join(point.line_costs[name])}"


def slices_of(name: str, task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> dict[str, tuple[AtLevel, ...]]:
    """By objective what was seen at each level; advised is a level that a point to choose from changes the start to."""
    if not advice.seen or all(each.name != name for each in task.space.dimensions):
        return {}
    lines = [each.configuration.changes_from(task.space.start) for each in advice.front]
    advised = [each[name] for each in lines if name in each]
    return {
        objective: at_levels(name, task.space, [(each, ratios[at]) for each, ratios in advice.seen], advised)
        for at, objective in enumerate(objectives)
    }


def settings(task: Task, advice: FrontAdvice) -> tuple[str, ...]:
    """The settings of which there is most to say, first: lines of points, then what may matter for an objective."""
    lines = [name for each in advice.front for name in each.configuration.changes_from(task.space.start)]
    open_ = [each.name for one in advice.screened for each in one if each.standing is not Standing.PLACEBO]
    return tuple(dict.fromkeys([*lines, *open_]))


def values(name: str, task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "name": name,
        "not_tried": task.space.left_out.get(name),
        "screened": {
            objective: screened_values(each) for objective, each in screened_by(name, advice, objectives).items()
        },
        "lines": [
            {
                "point": point.label, "value": point.configuration.values[name],
                "standing": line_standing(task, point, name, objectives),
                "effects": [effect_values(each) for each in point.left_out.get(name, ())],
                "costs_without": list(point.line_costs.get(name, ())),
            }
            for point in points_with(name, task, advice)
        ],
        "slices": {
            objective: slice_values(levels)
            for objective, levels in slices_of(name, task, advice, objectives).items()
        },
    }  # fmt: skip


def by_setting(task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> dict[str, Any]:
    """That of all settings that were tried."""
    return {each.name: values(each.name, task, advice, objectives) for each in task.space.dimensions}
