"""Which comparisons are refused: speed between drives of which one is emulated without service times.

Such drives answer from memory, so their speeds differ only by what the codec takes of the CPU; a verdict on them would
be one on nothing. Space, write amplification and costs compare always. See docs/drives.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf, nan

from pgassay.analysis.effects import Effect
from pgassay.study.levels import Level
from pgassay.study.model import Study
from pgassay.study.responses import Response

NOT_COMPARED = "not compared: timing is off"
"""How the reason of a refused comparison begins."""

_SPEED_UNITS = ("1/s", "tps", "us", "ms", "s")
_EMULATED = ("ssd", "csd")


def is_speed(response: Response) -> bool:
    """A rate or a time, and no cost of a transaction."""
    return response.unit in _SPEED_UNITS and not response.cost


def emulated(levels: Mapping[str, Level]) -> bool:
    """Is any drive of these levels a program?"""
    drives = [level.canonical for name, level in levels.items() if name in ("drive.data", "drive.wal")]
    return any(each in _EMULATED or ".toml" in each for each in drives)


def refusal(baseline: Mapping[str, Level], levels: Mapping[str, Level]) -> str:
    """Why the speeds of these two may not be compared; empty if they may."""
    apart = {name for name in (*baseline, *levels) if name.startswith("drive.")}
    same = all(_canonical(baseline, name) == _canonical(levels, name) for name in apart)
    untimed = any(emulated(each) and _canonical(each, "drive.timing") in ("", "off") for each in (baseline, levels))
    if same or not untimed:
        return ""
    return f"{NOT_COMPARED}, so emulated drives differ in speed only by their codec's use of the CPU"


def screened(effects: Iterable[Effect], study: Study, response: Response, baseline: str) -> tuple[Effect, ...]:
    """The effects, those of refused comparisons without any value and with the reason in `left_out`."""
    if not is_speed(response):
        return tuple(effects)
    levels = {(arm.treatment.name, arm.condition.name, arm.covariate.name): study.levels_of(arm) for arm in study.arms}
    found = []
    for effect in effects:
        place = (effect.condition, effect.covariate)
        mine, theirs = levels.get((effect.treatment, *place)), levels.get((baseline, *place))
        reason = refusal(theirs, mine) if mine is not None and theirs is not None else ""
        found.append(_blank(effect, reason) if reason else effect)
    return tuple(found)


def _blank(effect: Effect, reason: str) -> Effect:
    return replace(
        effect, estimate=nan, low=-inf, high=inf, inner_low=-inf, inner_high=inf, spread=nan, contrasts=(),
        left_out=(reason,),
    )  # fmt: skip


def _canonical(levels: Mapping[str, Level], name: str) -> str:
    level = levels.get(name)
    return level.canonical if level is not None else ""
