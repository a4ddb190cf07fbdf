"""What is known of one setting: by the manual, and what an advice found: its effect, its company, its costs, its slice.

A slice is what screening and search saw at each of its levels, over whatever the other settings were: trials of one
look, which show a shape and prove nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from typing import Any

from pgassay.advise import robust, text
from pgassay.advise.elimination import Line, inverted
from pgassay.advise.knowledge import known_settings, unknown_setting
from pgassay.advise.screening import Screened
from pgassay.advise.space import Configuration, Space, index_of
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


def slice_of(name: str, task: Task, advice: Advice) -> tuple[AtLevel, ...]:
    """The levels of a setting at which something was seen, in their order."""
    advised = [each.value for each in advice.lines if each.kept and each.name == name]
    return at_levels(name, task.space, advice.seen, advised)


def at_levels(
    name: str, space: Space, seen: Iterable[tuple[Configuration, float]], advised: Collection[str]
) -> tuple[AtLevel, ...]:
    """The same of any trials, with the levels that are `advised`."""
    levels = space.dimension(name).levels
    ratios: dict[int, list[float]] = {}
    for configuration, ratio in seen:
        ratios.setdefault(index_of(levels, configuration.values[name]), []).append(ratio)
    chosen = set(map(canonical, advised))
    return tuple(AtLevel(levels[at], tuple(ratios[at]), canonical(levels[at]) in chosen) for at in sorted(ratios))


def sliced(task: Task, advice: Advice) -> dict[str, tuple[AtLevel, ...]]:
    """The slices of all settings that the search varied, those of advised lines first."""
    names = [each.name for each in sorted(advice.lines, key=lambda each: not each.kept)]
    names += [each.name for each in advice.screened if each.name not in names]
    found = {name: slice_of(name, task, advice) for name in names}
    return {name: levels for name, levels in found.items() if len(levels) > 2}


def require_known(name: str, task: Task | None) -> None:
    """Raise `UsageError` for a name of which neither we nor the advice know anything."""
    own = {each.name for each in task.space.dimensions} | set(task.space.left_out) if task else set[str]()
    known = {*known_settings(), *own}
    if name not in known:
        raise unknown_setting(name, known)


def explain(name: str, task: Task | None, advice: Advice | None, found: Iterable[str] = ()) -> str:
    """What is known of a setting, and what an advice found of it; see `require_known`.

    `found` are sentences of another kind of advice.
    """
    if task and name in task.space.left_out and name not in known_settings():
        return f"{name}: not tried: {task.space.left_out[name]}\n"
    setting = text.setting_in(task, name) if task else known_settings()[name]
    told = [f"{name}: {setting.reason or 'no reason is known'}", f"takes effect by {setting.apply}"]
    levels = f"{setting.low} to {setting.high}" if setting.low else ", ".join(setting.levels)
    told.append(f"default {setting.default}; tried: {levels}")
    if setting.rule:
        told.append(f"rule of thumb: {setting.rule}")
    if setting.risks:
        told.append(f"risk ({setting.risk}): {setting.risks}")
    if task and name in task.space.left_out:
        told.append(f"not tried: {task.space.left_out[name]}")
    if task and advice:
        told += _found(name, task, advice)
    return "\n".join([*told, *found, f"manual: {setting.manual}"]) + "\n"


def _found(name: str, task: Task, advice: Advice) -> Iterator[str]:
    screened = next((each for each in advice.screened if each.name == name), None)
    if screened:
        yield f"screening: {text.screened_words(screened)}: {screened.standing}"
    known = next((each for each in advice.known if each.name == name), None)
    if known and known != screened:
        yield f"since then: {text.screened_words(known)}: {known.standing}"
    for line in advice.lines:
        if line.name == name:
            yield f"{line.name} = {line.value}: {'kept' if line.kept else 'removed'}; {text.without(line)}"
            yield from company(line, screened)
            yield from costs(line)
    if advice.seen and _tried(name, task):
        yield "seen by screening and search, whatever the other settings were; single trials, no evidence:"
        for each in slice_of(name, task, advice):
            yield f"  {level_words(each)}{', advised' if each.advised else ''}"


def level_words(each: AtLevel) -> str:
    """What was seen at a level."""
    return f"{each.level}: {_percent(each.mean)} in the mean of {counted(len(each.ratios), 'trial')}"


def known_values(name: str) -> dict[str, Any]:
    """What is known of a setting without an advice, for scripts."""
    setting = known_settings()[name]
    return {
        "name": name, "default": setting.default, "low": setting.low or None, "high": setting.high or None,
        "levels": list(setting.levels), "rule_of_thumb": setting.rule or None, "risk": setting.risk.value,
        "risks": setting.risks or None, "reason": setting.reason or None, "applies_by": setting.apply,
        "manual": setting.manual,
    }  # fmt: skip


def values(name: str, task: Task, advice: Advice) -> dict[str, Any]:
    """What an advice found of a setting, for scripts."""
    return {
        "name": name,
        "not_tried": task.space.left_out.get(name),
        "known": [text.screened_values(each) for each in advice.known if each.name == name],
        "lines": [
            {
                "value": each.value, "kept": each.kept,
                "without": robust.compared_values(each.without) if each.without else None,
                "costs": list(each.without.costs) if each.without else [],
            }
            for each in advice.lines
            if each.name == name
        ],
        "slice": slice_values(slice_of(name, task, advice)) if _tried(name, task) else [],
    }  # fmt: skip


def slice_values(levels: Iterable[AtLevel]) -> list[Mapping[str, Any]]:
    """A slice for scripts: of each level every trial as a ratio to the start."""
    return [{"level": each.level, "ratios": list(each.ratios), "advised": each.advised} for each in levels]


def _tried(name: str, task: Task) -> bool:
    return any(each.name == name for each in task.space.dimensions)


def company(line: Line, screened: Screened | None) -> Iterator[str]:
    """Does a line act otherwise beside the other lines than in the screening? A sentence where it is known."""
    if line.without is None or screened is None or not line.without.effect.bounded:
        return
    if canonical(screened.far) != canonical(line.value):
        return
    yield f"interaction: {interaction(inverted(line.without), screened)}"


def interaction(gain: tuple[float, float, float], screened: Screened) -> str:
    """What a line does beside the other lines (estimate, low, high) against what it does in the screening."""
    told = f"{ratio_interval(*gain)} beside the other lines"
    alone = f"{ratio_interval(screened.effect, screened.low, screened.high)} {text.where(screened)}"
    if gain[1] > screened.high or gain[2] < screened.low:
        return f"{told}, {alone}: it acts otherwise in this company"
    return f"none shown: {told}, {alone}"


def costs(line: Line) -> Iterator[str]:
    """Which costs moved surely when the line was left out: why it may help, and no proof. At most one sentence."""
    if line.without is not None and line.without.costs:
        yield f"without it: {'; '.join(line.without.costs)}"


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.3g} %"
