"""What is known of one setting: by the manual, and what an advice found: its effect, its company, its costs, its slice.

A slice is what screening and search saw at each of its levels, over whatever the other settings were: trials of one
look, which show a shape and prove nothing. Of several objectives there is one of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from typing import Any

from pgassay.advise import robust, text
from pgassay.advise.elimination import Line, inverted
from pgassay.advise.front import Point
from pgassay.advise.knowledge import known_settings, unknown_setting
from pgassay.advise.screening import Screened
from pgassay.advise.space import index_of
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice
from pgassay.report.words import counted, ratio_interval
from pgassay.study.units import canonical


@dataclass(frozen=True)
class AtLevel:
    """What was seen at a level of a setting: ratios to the start, each of a trial."""

    level: str
    ratios: tuple[float, ...]
    advised: bool

    @property
    def mean(self) -> float:
        """Their geometric mean."""
        return exp(fmean(map(log, self.ratios)))


def slice_of(name: str, task: Task, advice: Advice, objective: int = 0) -> tuple[AtLevel, ...]:
    """The levels of a setting at which something was seen, in their order; none of a setting that was not tried.

    Advised is the level of a line that was kept, or of a line of a point to choose from.
    """
    if all(each.name != name for each in task.space.dimensions):
        return ()
    levels = task.space.dimension(name).levels
    ratios: dict[int, list[float]] = {}
    for configuration, seen in advice.seen:
        ratios.setdefault(index_of(levels, configuration.values[name]), []).append(seen[objective])
    advised = {canonical(value) for one, value in advised_lines(task, advice) if one == name}
    return tuple(AtLevel(levels[at], tuple(ratios[at]), canonical(levels[at]) in advised) for at in sorted(ratios))


def advised_lines(task: Task, advice: Advice) -> Iterator[tuple[str, str]]:
    """The lines that were kept, or all lines of points to choose from."""
    yield from ((each.name, each.value) for each in advice.lines if each.kept)
    for point in advice.front:
        yield from point.configuration.changes_from(task.space.start).items()


def sliced(task: Task, advice: Advice, objective: int = 0) -> dict[str, tuple[AtLevel, ...]]:
    """The slices of all settings that the search varied, those of advised lines first."""
    names = [name for name, _ in advised_lines(task, advice)]
    names += [each.name for each in advice.lines] + [each.name for each in advice.screened]
    found = {name: slice_of(name, task, advice, objective) for name in names}
    return {name: levels for name, levels in found.items() if len(levels) > 2}


def require_known(name: str, task: Task | None) -> None:
    """Raise `UsageError` for a name of which neither we nor the advice know anything."""
    own = {each.name for each in task.space.dimensions} | set(task.space.left_out) if task else set[str]()
    known = {*known_settings(), *own}
    if name not in known:
        raise unknown_setting(name, known)


def explain(name: str, task: Task | None, advice: Advice | None, objectives: Sequence[str] = ()) -> str:
    """What is known of a setting, and what an advice found of it; see `require_known`."""
    if task and name in task.space.left_out and name not in known_settings():
        return f"{name}: not tried: {task.space.left_out[name]}\n"
    setting = text.setting_in(task, name) if task else known_settings()[name]
    lines = [f"{name}: {setting.reason or 'no reason is known'}", f"takes effect by {setting.apply}"]
    levels = f"{setting.low} to {setting.high}" if setting.low else ", ".join(setting.levels)
    lines.append(f"default {setting.default}; tried: {levels}")
    if setting.rule:
        lines.append(f"rule of thumb: {setting.rule}")
    if setting.risks:
        lines.append(f"risk ({setting.risk}): {setting.risks}")
    if task and name in task.space.left_out:
        lines.append(f"not tried: {task.space.left_out[name]}")
    if task and advice:
        lines += _found(name, task, advice, objectives)
    return "\n".join([*lines, f"manual: {setting.manual}"]) + "\n"


def _found(name: str, task: Task, advice: Advice, objectives: Sequence[str]) -> Iterator[str]:
    by = [f" by {each}" if task.others else "" for each in objectives]
    screened = {each.objective: each for each in advice.screened if each.name == name}
    for at, each in screened.items():
        yield f"screening{by[at]}: {text.screened_words(each)}: {each.standing}"
    for each in advice.known:
        if each.name == name and each not in screened.values():
            yield f"since then: {text.screened_words(each)}: {each.standing}"
    for line in advice.lines:
        if line.name == name:
            yield f"{line.name} = {line.value}: {'kept' if line.kept else 'removed'}; {text.without(line)}"
            yield from company(line, screened.get(0))
            yield from costs(line)
    for point in points_with(name, task, advice):
        said = text.line_words(task, point, name, objectives)
        yield f"point {point.label}: {name} = {point.configuration.values[name]}: {said}"
        yield from (f"  {each}" for each in company_in_point(name, point, screened, objectives))
        yield from (f"  {each}" for each in costs_in_point(name, task, point))
    if advice.seen and slice_of(name, task, advice):
        yield "seen by screening and search, whatever the other settings were; single trials, no evidence:"
        for at, objective in enumerate(objectives):
            if task.others:
                yield f"  {objective}:"
            yield from (f"  {'  ' if task.others else ''}{each}" for each in _slice_words(name, task, advice, at))


def _slice_words(name: str, task: Task, advice: Advice, objective: int) -> Iterator[str]:
    for each in slice_of(name, task, advice, objective):
        having = [
            point.label
            for point in advice.front
            if canonical(point.configuration.values.get(name, "")) == canonical(each.level)
        ]
        points = f"; {'points' if len(having) > 1 else 'point'} {', '.join(having)}" if having else ""
        mean = f"{100 * (each.mean - 1):+.3g} % in the mean of {counted(len(each.ratios), 'trial')}"
        yield f"{each.level}: {mean}{points}{', advised' if each.advised and not task.others else ''}"


def known_values(name: str) -> dict[str, Any]:
    """What is known of a setting without an advice, for scripts."""
    setting = known_settings()[name]
    return {
        "name": name, "default": setting.default, "low": setting.low or None, "high": setting.high or None,
        "levels": list(setting.levels), "rule_of_thumb": setting.rule or None, "risk": setting.risk.value,
        "risks": setting.risks or None, "reason": setting.reason or None, "applies_by": setting.apply,
        "manual": setting.manual,
    }  # fmt: skip


def values(name: str, task: Task, advice: Advice, objectives: Sequence[str]) -> dict[str, Any]:
    """What an advice found of a setting, for scripts; of several objectives a slice of each."""
    slices = {
        objective: [
            {"level": each.level, "ratios": list(each.ratios), "advised": each.advised}
            for each in slice_of(name, task, advice, at)
        ]
        for at, objective in enumerate(objectives)
    }
    return {
        "name": name,
        "not_tried": task.space.left_out.get(name),
        "known": [text.screened_values(each, objectives) for each in advice.known if each.name == name],
        "lines": [
            {
                "value": each.value, "kept": each.kept,
                "without": robust.compared_values(each.without) if each.without else None,
                "costs": list(each.without.costs) if each.without else [],
            }
            for each in advice.lines
            if each.name == name
        ] + [
            {
                "point": point.label, "value": point.configuration.values[name],
                **text.line_values(task, point, name, objectives),
            }
            for point in points_with(name, task, advice)
        ],
        **({"slices": slices} if task.others else {"slice": slices[objectives[0]]}),
    }  # fmt: skip


def points_with(name: str, task: Task, advice: Advice) -> tuple[Point, ...]:
    """All points that the search proposed and that have a line of a setting, whether they are to choose from or not."""
    start = task.space.start
    return tuple(each for each in advice.points if each.searched and name in each.configuration.changes_from(start))


def company(line: Line, screened: Screened | None) -> Iterator[str]:
    """Does a line act otherwise along with the other lines than in the screening? A sentence where it is known."""
    if line.without is None or screened is None or not line.without.effect.bounded:
        return
    if canonical(screened.far) != canonical(line.value):
        return
    yield f"interaction: {interaction(inverted(line.without), screened)}"


def company_in_point(
    name: str, point: Point, screened: Mapping[int, Screened], objectives: Sequence[str]
) -> Iterator[str]:
    """The same of a line of a point, by each objective."""
    for (at, each), effect in zip(screened.items(), point.left_out.get(name, ()), strict=False):
        if effect.bounded and canonical(each.far) == canonical(point.configuration.values[name]):
            gain = effect.estimate, effect.low, effect.high
            yield f"interaction by {objectives[at]}: {interaction(gain, each)}"


def interaction(gain: tuple[float, float, float], screened: Screened) -> str:
    """What a line does along with the other lines (estimate, low, high) against what it does in the screening."""
    here = f"{ratio_interval(*gain)} along with the other lines"
    alone = f"{ratio_interval(screened.effect, screened.low, screened.high)} {text.where(screened)}"
    if gain[1] > screened.high or gain[2] < screened.low:
        return f"{here}, {alone}: it acts otherwise in this company"
    return f"none shown: {here}, {alone}"


def costs(line: Line) -> Iterator[str]:
    """Which costs moved surely when the line was left out: why it may help, and no proof. At most one sentence."""
    if line.without is not None and line.without.costs:
        yield f"without it: {'; '.join(line.without.costs)}"


def costs_in_point(name: str, task: Task, point: Point) -> Iterator[str]:
    """The same of a line of a point; where it is the only line they are those of its point."""
    alone = len(point.configuration.changes_from(task.space.start)) == 1
    if alone and point.costs:
        yield f"against the start: {'; '.join(point.costs)}"
    elif point.line_costs.get(name):
        yield f"without it: {'; '.join(point.line_costs[name])}"
