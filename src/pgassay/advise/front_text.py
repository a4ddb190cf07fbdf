"""An advice for several objectives in words: which configuration for which trade, and what each of them risks.

Numbers are the confirmation's, against the start; the search's stand beside them only as shrinkage.
"""

from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

from pgassay.advise import drift, failures
from pgassay.advise.front import Point, Standing, helps
from pgassay.advise.front_walk import FrontAdvice
from pgassay.advise.knowledge import Risk
from pgassay.advise.laboratory import REPORT
from pgassay.advise.proof import CONFIRMATION
from pgassay.advise.screening import Screened
from pgassay.advise.screening import Standing as Effectiveness
from pgassay.advise.task import Task
from pgassay.advise.text import chance, screened_words, setting_in
from pgassay.analysis.effects import Effect
from pgassay.report.json_values import effect_values
from pgassay.report.page import PAGE
from pgassay.report.words import counted, number, ratio_interval

_PLAIN = (Effectiveness.PLACEBO, Effectiveness.OPEN, Effectiveness.ACTIVE)


def headline(advice: FrontAdvice, objectives: Sequence[str]) -> str:
    """The answer in one sentence."""
    both = " and ".join(objectives)
    if not advice.points:
        return f"nothing to choose: nothing was found that may be better by {both}"
    front = advice.front
    if not front:
        return f"no point to choose from: none was confirmed to be better than the start by {both}"
    if len(front) == 1:
        return f"one point, {front[0].label}: {_effects(front[0], objectives)} against the start"
    return f"{len(front)} points to choose from by {both}: {', '.join(each.label for each in front)}"


def render(task: Task, advice: FrontAdvice, objectives: Sequence[str], folder: str) -> str:
    """All of it, for a terminal."""
    return "\n".join(_sentences(task, advice, objectives, folder)) + "\n"


def auto_conf(task: Task, point: Point, objectives: Sequence[str]) -> str:
    """The lines of a point for postgresql.auto.conf."""
    told = [f"# point {point.label}: {_effects(point, objectives)} against the start, all lines together"]
    for name, value in point.configuration.changes_from(task.space.start).items():
        setting = setting_in(task, name)
        why = f"{line_words(task, point, name, objectives)}; {setting.reason or 'no reason is known'}"
        told.append(f"# {why}; takes effect by {setting.apply}")
        told.append(setting.line(value))
    return "\n".join(told) + "\n"


def line_words(task: Task, point: Point, name: str, objectives: Sequence[str]) -> str:
    """What a line of a point does, and what shows it."""
    seen = [f"{of} {words}" for of, words in zip(objectives, line_effects(point, name, objectives), strict=True)]
    told = f": with it {', '.join(seen)}" if name in point.left_out else ""
    return f"{line_standing(task, point, name, objectives)}{told}"


def line_effects(point: Point, name: str, objectives: Sequence[str]) -> list[str]:
    """The point against itself without a line, by each objective."""
    found = point.left_out.get(name)
    return ["–" for _ in objectives] if found is None else [effect_words(each) for each in found]


def line_standing(task: Task, point: Point, name: str, objectives: Sequence[str]) -> str:
    """Does a line earn its place in a point, and by what is that shown?"""
    if len(point.configuration.changes_from(task.space.start)) == 1:
        return "its only line"
    shown = f"shown by the screening to help {' and '.join(point.shown[name])}" if point.shown.get(name) else ""
    if name not in point.left_out:
        return shown or "not shown to help: no time to leave it out"
    effects = point.left_out[name]
    if not any(each.bounded for each in effects):
        return "without it there is no result"
    more = (task.higher, *task.others)
    good = [of for of, each, higher in zip(objectives, effects, more, strict=True) if helps(each, higher)]
    bad = [of for of, each, higher in zip(objectives, effects, more, strict=True) if helps(each, not higher)]
    harms = f"harms {' and '.join(bad)}" if bad else ""
    if good:
        return f"earns its place by {' and '.join(good)}{f', and {harms}' if harms else ''}"
    return "; ".join(each for each in (harms or "not shown to help beside the others", shown) if each)


def table(advice: FrontAdvice, objectives: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: every configuration that was confirmed, with its intervals against the start."""
    limits = [each.limit for each in advice.points[0].kept] if advice.points else []
    head = ["point", *objectives, *(f"keeps {each}" for each in limits), "standing"]
    rows = []
    for point in advice.points:
        effects = [effect_words(each) for each in point.effects] or ["the start" for _ in objectives]
        chances = [chance(each.probability) for each in point.kept]
        rows.append([point.label, *effects, *chances, standing(point)])
    return head, rows


def standing(point: Point) -> str:
    """In words, with what is better where something is."""
    return f"{point.standing.value} by {point.by}" if point.standing is Standing.DOMINATED else point.standing.value


def changes(task: Task, point: Point) -> str:
    """What a point changes."""
    told = point.configuration.changes_from(task.space.start)
    return ", ".join(f"{name} = {value}" for name, value in told.items()) or "nothing"


def costs(point: Point) -> tuple[str, ...]:
    """Which costs surely moved against the start; nothing where none did, or none was measured."""
    return ("; ".join(point.costs),) if point.costs else ()


def effect_words(effect: Effect) -> str:
    """A ratio with its interval, or that there is none."""
    return ratio_interval(effect.estimate, effect.low, effect.high) if effect.bounded else "not measured"


def _effects(point: Point, objectives: Sequence[str]) -> str:
    both = zip(objectives, point.effects, strict=True)
    return ", ".join(f"{name} {effect_words(each)}" for name, each in both)


def _sentences(task: Task, advice: FrontAdvice, objectives: Sequence[str], folder: str) -> Iterator[str]:
    yield headline(advice, objectives)
    yield from task.remarks
    yield ""
    if advice.points:
        yield from _aligned(*table(advice, objectives))
        yield "against the start; intervals hold for all of these points and objectives together, at 95 %"
        yield ""
        for point in advice.points:
            if point.searched:
                yield f"{point.label}: {changes(task, point)}"
                yield from (f"  costs against the start: {each}" for each in costs(point))
        yield from _shrinkage(advice, objectives)
    if advice.front:
        yield f"risks: {_risks(task, advice) or 'none of these points trades durability'}"
        yield "a point is confirmed as a whole; its lines by trials without each, whose intervals hold for all of them:"
        for each in advice.front:
            for name, value in each.configuration.changes_from(task.space.start).items():
                yield f"  {each.label}: {name} = {value}: {line_words(task, each, name, objectives)}"
    for objective, screened in zip(objectives, advice.screened, strict=True):
        yield from _screened(objective, screened, task.margin)
    yield f"searched: {counted(advice.trials, 'configuration')}; {counted(advice.failed, 'trial')} without a result"
    yield from drift.sentences(starts(advice, objectives))
    yield from failures.sentences(advice.refused)
    if task.space.left_out:
        yield f"not tried: {', '.join(task.space.left_out)} (pgassay advise --explain NAME says why)"
    if advice.points:
        yield f"picture: {folder}/{CONFIRMATION}/{REPORT}/{PAGE}"
    yield f"record: {folder}"


def starts(advice: FrontAdvice, objectives: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """What the start had beside each batch, by objective."""
    return {objective: tuple(each[at] for each in advice.starts) for at, objective in enumerate(objectives)}


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _shrinkage(advice: FrontAdvice, objectives: Sequence[str]) -> Iterator[str]:
    for point in advice.front:
        seen = ", ".join(f"{name} ×{number(exp(each))}" for name, each in zip(objectives, point.searched, strict=True))
        yield f"shrinkage of {point.label}: the search expected {seen}"


def _risks(task: Task, advice: FrontAdvice) -> str:
    found: dict[str, str] = {}
    for point in advice.front:
        for name in point.configuration.changes_from(task.space.start):
            setting = setting_in(task, name)
            if setting.risk is not Risk.SAFE:
                found[name] = f"{name}: {setting.risks}"
    return "; ".join(found.values())


def _screened(objective: str, screened: Sequence[Screened], margin: float) -> Iterator[str]:
    of = {kind: [each for each in screened if each.standing is kind] for kind in _PLAIN}
    placebos, open_, active = (of[kind] for kind in _PLAIN)
    names = f": {', '.join(each.name for each in placebos)}" if placebos else ""
    yield f"do not matter for {objective} within ±{100 * margin:.3g} %: {counted(len(placebos), 'setting')}{names}"
    if open_:
        yield f"open for {objective}: {', '.join(each.name for each in open_)}"
    if active:
        yield f"matter for {objective}:"
        yield from (f"  {screened_words(each)}" for each in active)


def values(task: Task, advice: FrontAdvice, objectives: Sequence[str], folder: str) -> dict[str, Any]:
    """The same for scripts, numbers unrounded."""
    return {
        "format": 1,
        "objectives": list(objectives),
        "confirmed": bool(advice.front),
        "front": [each.label for each in advice.front],
        "points": [
            {
                "label": each.label, "standing": each.standing.value, "by": each.by or None,
                "settings": each.configuration.changes_from(task.space.start),
                "shown": {name: list(of) for name, of in each.shown.items()},
                "lines": [
                    {
                        "name": name, "value": value, "standing": line_standing(task, each, name, objectives),
                        "effects": [effect_values(effect) for effect in each.left_out.get(name, ())],
                        "costs_without": list(each.line_costs.get(name, ())),
                    }
                    for name, value in each.configuration.changes_from(task.space.start).items()
                ],
                "effects": [effect_values(effect) for effect in each.effects], "costs": list(each.costs),
                "keep": {one.limit: one.probability for one in each.kept},
                "searched": {name: exp(seen) for name, seen in zip(objectives, each.searched, strict=False)},
            }
            for each in advice.points
        ],
        "screened": {
            objective: [
                {
                    "name": each.name, "start": each.start, "far": each.far, "effect": each.effect, "low": each.low,
                    "high": each.high, "standing": each.standing.value,
                }
                for each in screened
            ]
            for objective, screened in zip(objectives, advice.screened, strict=True)
        },
        "refused": failures.values(advice.refused),
        "drift": drift.values(starts(advice, objectives)),
        "left_out": dict(task.space.left_out),
        "start": dict(task.space.start.values),
        "study": CONFIRMATION if advice.points else None,
        "record": folder,
    }  # fmt: skip
