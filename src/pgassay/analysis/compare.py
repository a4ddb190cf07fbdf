"""Every treatment against the baseline, inside each condition and at each covariate point.

Randomised complete blocks (Fisher): contrasts are made within a block, so what moves a whole block (drift, a busy
neighbour) cancels. Intervals hold at every look and, for the primary response, for all comparisons together. Costs of a
transaction are one family of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.effects import Certainty, Effect, Peers, estimate
from pgassay.analysis.observations import Contrasts, Observation, Table, arrange, contrast, tables
from pgassay.analysis.observations import places as arms_of
from pgassay.study.levels import Cell, Place
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
