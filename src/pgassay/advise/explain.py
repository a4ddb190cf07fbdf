"""What is known of one setting: by the manual, and what an advice found: its effect, its company, its costs, its slice.

A slice is what screening and search saw at each of its levels, over whatever the other settings were: trials of one
look, which show a shape and prove nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from pgassay.advise import messages, text
from pgassay.advise.elimination import Line, inverted
from pgassay.advise.knowledge import known_settings
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


def slice_of(name: str, task: Task, advice: Advice) -> tuple[AtLevel, ...]:
    """The levels of a setting at which something was seen, in their order."""
    levels = task.space.dimension(name).levels
    ratios: dict[int, list[float]] = {}
    for configuration, ratio in advice.seen:
        ratios.setdefault(index_of(levels, configuration.values[name]), []).append(ratio)
    advised = {canonical(each.value) for each in advice.lines if each.kept and each.name == name}
    return tuple(AtLevel(levels[at], tuple(ratios[at]), canonical(levels[at]) in advised) for at in sorted(ratios))


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
        raise messages.unknown_setting(name, known)


def explain(name: str, task: Task | None, advice: Advice | None) -> str:
    """What is known of a setting, and what an advice found of it; see `require_known`."""
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
    return "\n".join([*told, f"manual: {setting.manual}"]) + "\n"


def _found(name: str, task: Task, advice: Advice) -> Iterator[str]:
    screened = next((each for each in advice.screened if each.name == name), None)
    if screened:
        yield f"screening: {text.screened_words(screened)}: {screened.standing}"
    for line in advice.lines:
        if line.name == name:
            yield f"{line.name} = {line.value}: {'kept' if line.kept else 'removed'}; {text.without(line)}"
            yield from company(line, screened)
            yield from costs(line)
    if advice.seen and any(each.name == name for each in task.space.dimensions):
        yield "seen by screening and search, whatever the other settings were; single trials, no evidence:"
        for each in slice_of(name, task, advice):
            mark = ", advised" if each.advised else ""
            yield f"  {each.level}: {_percent(each.mean)} in the mean of {counted(len(each.ratios), 'trial')}{mark}"


def company(line: Line, screened: Screened | None) -> Iterator[str]:
    """Does a line act otherwise beside the other lines than over all of the screening? A sentence where it is known."""
    if line.without is None or screened is None or not line.without.effect.bounded:
        return
    if canonical(screened.far) != canonical(line.value):
        return
    gain, low, high = inverted(line.without)
    told = f"{ratio_interval(gain, low, high)} beside the other lines"
    alone = f"{ratio_interval(screened.effect, screened.low, screened.high)} over all of the screening"
    if low > screened.high or high < screened.low:
        yield f"interaction: {told}, {alone}: it acts otherwise in this company"
    else:
        yield f"interaction: none shown: {told}, {alone}"


def costs(line: Line) -> Iterator[str]:
    """Which costs moved surely when the line was left out: why it may help, and no proof. At most one sentence."""
    if line.without is not None and line.without.costs:
        yield f"without it: {'; '.join(line.without.costs)}"


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.3g} %"
