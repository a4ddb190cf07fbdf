"""Which lines of a configuration earn their place: each is left out once, and stays only if that is shown to be worse.

Backward elimination by the lab's own verdicts, which hold for all lines together: the chance that a setting without any
effect stays is at most that of the family (5 %). What is equivalent goes back to the start, and what is not resolved,
too, unless the screening has shown that the setting helps: that is an experiment by itself, with intervals for all
settings together. Each of both errs to that side for at most one advice in forty, so both together for one in twenty.
Two lines of which either one is enough would both go: so the rest is set against the whole, and where it is worse,
those stay that the screening has shown to matter, and it is said that they are missed only together.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf

from pgassay.advise.screening import Screened
from pgassay.advise.screening import Standing as Shown
from pgassay.advise.space import Configuration, Space, index_of, is_level
from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.study.units import canonical


@dataclass(frozen=True)
class Compared:
    """A configuration against the baseline of its study."""

    effect: Effect
    verdict: Verdict
    costs: tuple[str, ...] = ()
    """Costs of a transaction that surely moved, in words, the largest first; none where none is known."""


def inverted(found: Compared) -> tuple[float, float, float]:
    """Estimate and interval of the other way round: of the baseline against the treatment."""
    effect = found.effect
    low, high = (1 / end if 0 < end < inf else other for end, other in ((effect.high, 0.0), (effect.low, inf)))
    return (1 / effect.estimate if effect.estimate > 0 else float("nan")), low, high


@dataclass(frozen=True)
class Line:
    """A changed setting with what leaving it out does: the configuration without it against that with it."""

    name: str
    value: str
    start: str
    without: Compared | None
    kept: bool
    together: bool = False
    """Was it kept only because all lines that would have gone are missed together?"""
    screened: Screened | None = None
    """What keeps it, where leaving it out alone was not resolved."""
    taken_from: str = ""
    """The default or the rule of thumb, where it came with that, which was shown to do better as a whole."""


def left_out_in_turn(best: Configuration, start: Configuration) -> dict[str, Configuration]:
    """The configuration without each of its changes, by the setting's name."""
    return {name: Configuration({**best.values, name: start.values[name]}) for name in best.changes_from(start)}


def judged(best: Configuration, start: Configuration, compared: Mapping[Configuration, Compared]) -> tuple[Line, ...]:
    """Each change of `best` with its verdict, those that stay first."""
    lines = []
    for name, without in left_out_in_turn(best, start).items():
        found = compared.get(without)
        kept = found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)
        lines.append(Line(name, best.values[name], start.values[name], found, kept))
    return tuple(sorted(lines, key=lambda each: not each.kept))


def shown_to_help(space: Space, screened: Screened, value: str, *, higher: bool) -> bool:
    """Has the screening shown that this level helps? It has of its far level, and so of what is on the way there."""
    if screened.standing is not Shown.ACTIVE or (screened.effect > 1) != higher:
        return False
    if canonical(value) == canonical(screened.far):
        return True
    dimension = space.dimension(screened.name)
    if not all(is_level(dimension.levels, each) for each in (screened.start, screened.far, value)):
        return False
    start, far, here = (index_of(dimension.levels, each) for each in (screened.start, screened.far, value))
    return dimension.ordered and min(start, far) < here < max(start, far)


def supported(lines: tuple[Line, ...], screened: Iterable[Screened], space: Space, *, higher: bool) -> tuple[Line, ...]:
    """The lines, those kept that were not resolved and of which the screening has shown that they help."""
    shown = {each.name: each for each in screened}

    def helps(line: Line) -> bool:
        open_ = line.without is not None and line.without.verdict.kind is Kind.UNRESOLVED
        return open_ and line.name in shown and shown_to_help(space, shown[line.name], line.value, higher=higher)

    found = (replace(each, kept=True, screened=shown[each.name]) if helps(each) else each for each in lines)
    return tuple(sorted(found, key=lambda each: not each.kept))


def kept_together(lines: tuple[Line, ...], shown: Collection[str]) -> tuple[Line, ...]:
    """The lines, those of `shown` settings that went by themselves kept as a group."""
    found = (
        replace(each, kept=True, together=True) if not each.kept and each.name in shown else each for each in lines
    )
    return tuple(sorted(found, key=lambda each: not each.kept))


def reduced(start: Configuration, lines: tuple[Line, ...]) -> Configuration:
    return start.with_values({each.name: each.value for each in lines if each.kept})
