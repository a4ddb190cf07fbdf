"""Every treatment against the baseline, inside each condition and at each covariate point.

Randomised complete blocks (Fisher): contrasts are made within a block, so what moves a whole block (drift, a busy
neighbour) cancels. Intervals hold at every look and, for the primary, for all comparisons together.
"""

from collections.abc import Sequence
from typing import Literal

from pgassay.analysis.effects import Certainty, Effect, estimate
from pgassay.analysis.observations import Observation, arrange, contrast
from pgassay.analysis.observed import arms as arms_of
from pgassay.analysis.observed import tables
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Response

Looks = Literal["every block", "once"]
"""`every block`: the data are looked at after each block; `once`: they were complete before anyone looked."""

LEVEL = 0.95


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
    equivalence: bool = True,
) -> tuple[Effect, ...]:
    """An effect for each treatment but the baseline, in each cell, in the order of first trials.

    `comparisons` is the number that share the error rate: all of them for the primary when None, 1 for a secondary
    response. `arms` names every (treatment, condition, covariate) of the study, so that one without any trial is still
    named and still counted. Without `equivalence` effects have no inner interval.
    """
    pairs = arms if arms is not None else arms_of(observations)
    wanted = [
        (treatment, Cell(condition, covariate))
        for treatment, condition, covariate in dict.fromkeys(pairs)
        if treatment != baseline
    ]
    shared = comparisons if comparisons is not None else (len(wanted) if primary else 1)
    certainty = Certainty(level, max(1, shared), blocks_max, looks == "every block", equivalence)
    known = tables(observations, response.scale)
    effects: list[Effect] = []
    for treatment, cell in wanted:
        table = known.get(cell) or arrange((), cell, response.scale)
        pairing = contrast(table, treatment, baseline, response.scale)
        effects.append(estimate(pairing, treatment, cell, response, certainty, primary=primary))
    return tuple(effects)
