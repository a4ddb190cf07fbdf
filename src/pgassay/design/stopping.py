"""The verdicts so far, by arm: what the schedule stops by.

A study of covariates alone (one treatment, a curve) has nothing to compare; its arms are settled when the mean of the
curve is known to the asked resolution at that point.
"""

from collections.abc import Sequence
from math import exp, inf, isfinite, nan, sqrt

import numpy as np

from pgassay.analysis import messages as words
from pgassay.analysis.boundaries import FIRST_LOOK, critical
from pgassay.analysis.comparable import screened
from pgassay.analysis.compare import LEVEL, compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Cell, Observation, arrange
from pgassay.analysis.verdicts import Kind, Verdict, margin, verdict
from pgassay.design.schedule import baseline_name
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Response, Scale


def effects_of(study: Study, response: Response, observations: Sequence[Observation]) -> dict[str, Effect]:
    """The primary's effects by the arm's label, for every arm but the baselines."""
    arms = {_place(arm): arm for arm in study.arms}
    compared = compare(
        observations,
        response,
        baseline_name(study),
        blocks_max=study.design.blocks_max,
        primary=True,
        arms=list(arms),
    )
    effects = screened(compared, study, response, baseline_name(study))
    return {arms[effect.treatment, effect.condition, effect.covariate].name: effect for effect in effects}


def verdicts_of(
    study: Study,
    response: Response,
    observations: Sequence[Observation],
    *,
    block_s: float | None = None,
) -> dict[str, Verdict]:
    """The verdict on each arm by its label."""
    effects = effects_of(study, response, observations)
    if not effects:
        return {arm.name: _precision(study, response, observations, arm) for arm in study.arms}
    return {
        name: verdict(
            effect,
            response,
            resolution=study.design.resolution,
            blocks_max=study.design.blocks_max,
            block_s=block_s,
        )
        for name, effect in effects.items()
    }


def _precision(study: Study, response: Response, observations: Sequence[Observation], arm: Arm) -> Verdict:
    """Settled when the interval of the arm's own mean, over all looks and arms, is within ± the resolution."""
    table = arrange(observations, Cell(arm.condition.name, arm.covariate.name), response.scale)
    values = np.asarray(list(table.values.get(arm.treatment.name, {}).values()), dtype=np.float64)
    ratio = response.scale is Scale.RATIO
    sample = np.log(values) if ratio else values
    n = len(sample)
    width = margin(float(values.mean()) if n else nan, response, study.design.resolution)
    half = inf
    if n >= FIRST_LOOK:
        alpha = (1.0 - LEVEL) / len(study.arms)
        half = critical(n, study.design.blocks_max, alpha) * float(sample.std(ddof=1)) / sqrt(n)
    if half <= width:
        known = words.percent(exp(half) - 1.0) if ratio else f"{half:.3g} {response.unit}".strip()
        return Verdict(Kind.EQUIVALENT, f"known within ±{known}")
    needed = max(1, round(n * (half / width) ** 2) - n) if isfinite(half) and width > 0.0 else max(1, FIRST_LOOK - n)
    return Verdict(Kind.UNRESOLVED, words.unresolved(needed, None), needed)


def _place(arm: Arm) -> tuple[str, str, str]:
    return arm.treatment.name, arm.condition.name, arm.covariate.name
