"""What is known of one setting: by the manual, and what an advice found: its effect, its lines, their costs."""

from collections.abc import Iterator, Sequence
from typing import Any

from pgassay.advise import robust, text
from pgassay.advise.elimination import Line
from pgassay.advise.front import Point
from pgassay.advise.knowledge import known_settings, unknown_setting
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice


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
            yield from costs(line)
    for point in points_with(name, task, advice):
        said = text.line_words(task, point, name, objectives)
        yield f"point {point.label}: {name} = {point.configuration.values[name]}: {said}"
        yield from (f"  {each}" for each in costs_in_point(name, task, point))


def known_values(name: str) -> dict[str, Any]:
    setting = known_settings()[name]
    return {
        "name": name, "default": setting.default, "low": setting.low or None, "high": setting.high or None,
        "levels": list(setting.levels), "rule_of_thumb": setting.rule or None, "risk": setting.risk.value,
        "risks": setting.risks or None, "reason": setting.reason or None, "applies_by": setting.apply,
        "manual": setting.manual,
    }  # fmt: skip


def values(name: str, task: Task, advice: Advice, objectives: Sequence[str]) -> dict[str, Any]:
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
    }  # fmt: skip


def points_with(name: str, task: Task, advice: Advice) -> tuple[Point, ...]:
    """All points that the search proposed and that have a line of a setting, whether they are to choose from or not."""
    start = task.space.start
    return tuple(each for each in advice.points if each.searched and name in each.configuration.changes_from(start))


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
