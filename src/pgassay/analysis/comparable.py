"""Which comparisons are refused: speeds of two drives of which one is emulated, unless both answered in modelled times.

Without service times emulated drives answer from memory, so their speeds differ only by the CPU time of the codec, and
a verdict on them would mean nothing. With them, both drives must have kept their service times, as measured in every
trial. Space, write amplification and costs can always be compared. See docs/drives.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf, nan

from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import per_cent
from pgassay.study.drives import Canonical, dilation, emulated, timed
from pgassay.study.levels import Place
from pgassay.study.model import Study
from pgassay.study.responses import Response

ACCEPTABLE_ERROR = 0.1
"""How much later than asked a drive may have answered for its speed to be compared, as a share of its service times."""


Levels = Mapping[str, Canonical]
"""By the factor's name."""
Errors = Mapping[Place, float | None]
"""The largest error of the service times that a place's trials measured; None or no entry: not measured."""

_SPEED_UNITS = ("1/s", "1/min", "tps", "us", "ms", "s")


def is_speed(response: Response) -> bool:
    """A rate or a time, and no cost of a transaction; rates of bytes are known by their names."""
    return (response.unit in _SPEED_UNITS or response.name.endswith("_per_s")) and not response.cost


def between_drives(baseline: Levels, levels: Levels) -> bool:
    """Do the two differ in their drives, of which one at least is emulated?"""
    mine, theirs = (
        {name: level.canonical for name, level in one.items() if name.startswith("drive.") and level.canonical}
        for one in (levels, baseline)
    )
    return mine != theirs and (emulated(baseline) or emulated(levels))


def refusal_by_levels(baseline: Levels, levels: Levels) -> str:
    """Why the speeds of these two may not be compared, whatever is measured; empty if they may."""
    both = (baseline, levels)
    if not between_drives(baseline, levels):
        return ""
    if all(map(timed, both)):
        mine, theirs = dilation(levels), dilation(baseline)
        return "" if mine == theirs else f"the clock of one drive is slowed {mine} times, that of the other {theirs}"
    if not all(map(emulated, both)):
        return "the speed of an emulated drive is compared with emulated drives only"
    return "timing is off, so emulated drives differ in speed only by their codec's use of the CPU"


def refusal_of_speed(baseline: Levels, levels: Levels, errors: Iterable[float | None] | None) -> str:
    """Why the speeds of these two may not be compared, by their levels and, if known, by both sides' measured `errors`.

    Empty if they may; None for `errors` leaves it to the levels alone.
    """
    why = refusal_by_levels(baseline, levels)
    return why if why or errors is None or not between_drives(baseline, levels) else refusal_by_errors(errors)


def refusal_by_errors(errors: Iterable[float | None]) -> str:
    """Why drives with these errors of their service times may not be compared in speed; empty if they may."""
    found = list(errors)
    known = [error for error in found if error is not None]
    if len(known) < len(found):
        return "how well the drives kept their service times was not measured"
    worst = max(known, default=0.0)
    if worst <= ACCEPTABLE_ERROR:
        return ""
    return (
        f"a drive answered {per_cent(worst)} later than its service times, and {per_cent(ACCEPTABLE_ERROR)} is the most"
        " allowed: this machine is too slow or too busy for it"
    )


def without_refused(
    effects: Iterable[Effect], study: Study, response: Response, baseline: str, errors: Errors | None = None
) -> tuple[Effect, ...]:
    """The effects, those of refused comparisons without any value and with the reason in `refused`.

    `errors` are what the trials measured; without them only the levels decide.
    """
    if not is_speed(response):
        return tuple(effects)
    levels = {arm.place: study.levels_of(arm) for arm in study.arms}
    found = []
    for effect in effects:
        place, other = effect.place, effect.place._replace(treatment=baseline)
        mine, theirs = levels.get(place), levels.get(other)
        reason = ""
        if mine is not None and theirs is not None:
            measured = None if errors is None else [errors.get(place), errors.get(other)]
            reason = refusal_of_speed(theirs, mine, measured)
        if reason:
            effect = replace(
                effect, estimate=nan, low=-inf, high=inf, inner=None, spread=nan, contrasts=(),
                left_out=(), refused=reason, nothing_in_common="",
            )  # fmt: skip
        found.append(effect)
    return tuple(found)
