"""Every treatment against the baseline, inside each condition and at each covariate point; and what may be compared.

Randomised complete blocks (Fisher): contrasts are made within a block, so what moves a whole block (drift, a busy
neighbour) cancels. Intervals hold at every look and, for the primary response, for all comparisons together. Costs of a
transaction are one family of their own.

Speeds of two drives of which one is emulated are compared only where both answered in modelled times. Without service
times emulated drives answer from memory, so their speeds differ only by the CPU time of the codec, and a verdict on
them would mean nothing. With them, both drives must have kept their service times, as measured in every trial. Space,
write amplification and costs can always be compared. See docs/drives.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, nan
from typing import Literal

import numpy as np

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.effects import Certainty, Effect, Peers, estimate
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.observations import Contrasts, Observation, Table, arrange, contrast, tables
from pgassay.analysis.observations import places as arms_of
from pgassay.study.drives import Canonical, dilation, emulated, timed
from pgassay.study.levels import Cell, Place
from pgassay.study.model import Study
from pgassay.study.responses import Response, Scale

Looks = Literal["every block", "once"]
"""`every block`: the data are looked at after each block; `once`: they were complete before anyone looked."""


def compare(
    observations: Sequence[Observation],
    response: Response,
    baseline: str,
    *,
    blocks_max: int,
    comparisons: int | None = None,
    looks: Looks = "every block",
    level: float = LEVEL,
    primary: bool = False,
    arms: Sequence[Place] | None = None,
    inner: bool = False,
    stage: int | None = None,
    moderated: bool = False,
) -> tuple[Effect, ...]:
    """An effect for each treatment but the baseline, in each cell, in the order of first trials.

    `comparisons` is the number that share the error rate: all of them for the primary when None, 1 for a secondary
    response. `arms` names every (treatment, condition, covariate) of the study, so that one without any trial is still
    named and still counted. `inner`: with the interval that rules before 4 judge equivalence by. `stage` is the first
    of two stages of looks (`boundaries.spent`). `moderated`: where several comparisons share the error rate, treatments
    of a cell tell about each other's noise (`effects.Peers`).
    """
    pairs = arms if arms is not None else arms_of(observations)
    compared = [
        (treatment, Cell(condition, covariate))
        for treatment, condition, covariate in dict.fromkeys(pairs)
        if treatment != baseline
    ]
    shared = comparisons if comparisons is not None else (len(compared) if primary else 1)
    certainty = Certainty(level, max(1, shared), blocks_max, looks == "every block", inner, stage, moderated)
    known = tables(observations, response.scale)
    effects: list[Effect] = []
    for treatment, cell in compared:
        table = known.get(cell) or arrange((), cell, response.scale)
        pairing = contrast(table, treatment, baseline, response.scale)
        peers = _peers(table, pairing, treatment, baseline, response.scale) if moderated and shared > 1 else None
        effects.append(estimate(pairing, treatment, cell, response, certainty, primary=primary, peers=peers))
    return tuple(effects)


def _peers(table: Table, mine: Contrasts, treatment: str, baseline: str, scale: Scale) -> Peers | None:
    """What the other treatments of the cell tell about the noise of `mine`, by the blocks that `mine` has.

    A treatment that lacks one of these blocks (it left, or a trial has no value) tells nothing, so what it did later
    changes no interval that was looked at before.
    """
    count = len(mine.blocks)
    if count < 2:
        return None
    blocks, others = set(mine.blocks), [name for name in table.treatments if name not in (treatment, baseline)]
    theirs = [table.values[name] for name in others if blocks <= table.values[name].keys()]
    columns = [np.fromiter(map(column.__getitem__, mine.blocks), np.float64, count) for column in theirs]
    ratio = scale is Scale.RATIO
    contrasts = [np.log(each / mine.baseline) if ratio else each - mine.baseline for each in columns]
    variances = [float(np.var(each, ddof=1)) for each in (mine.values, *contrasts)]
    return Peers(sum(variances) / len(variances), len(variances), len(others) + 1)


def cost_effects(
    observations: Mapping[str, Sequence[Observation]],
    responses: Sequence[Response],
    baseline: str,
    *,
    blocks_max: int,
    looks: Looks = "every block",
    only: Place | None = None,
) -> tuple[Effect, ...]:
    """Effects on every response with `cost=True` that has observations (by name), simultaneous over all of them.

    Costs are steadier than speed, and explain it. The explanation picks the ones that moved, and picking among twenty
    intervals of 95 % would find one that moved by chance, so all costs of a study form one family. They stay labelled
    secondary, since the error control of the primary is its own.

    `only` names the one (treatment, condition, covariate) to give, with intervals as wide as among all.
    """
    chosen = [response for response in responses if response.cost and observations.get(response.name)]
    places = [place for response in chosen for place in arms_of(observations[response.name])]
    family = sum(place.treatment != baseline for place in places)
    return tuple(
        effect
        for response in chosen
        for effect in compare(
            observations[response.name],
            response,
            baseline,
            blocks_max=blocks_max,
            comparisons=max(1, family),
            looks=looks,
            arms=None if only is None else [only],
        )
    )


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
