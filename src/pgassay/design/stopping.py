"""The verdicts so far, by arm, for the primary response and for those in `design.settle`: they say when to stop.

Speeds of emulated drives are not compared with each other: an arm whose drive keeps it from the baseline is held
against the baseline's levels on its own drive. A study of covariates alone (one treatment, a curve) has nothing to
compare; its arms are settled when the mean of the curve is known to the asked resolution at that point.

Over several hosts whichever is free takes the next block, so the first blocks may all come from one while the others
prepare, hang or are cut off. Their verdict would be that host's. So arms stay in play until enough hosts have given
blocks (`design.hosts`), unless the others are gone: the journal then says how many are left, and a replay decides as
the run did.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import exp, isfinite, nan

import numpy as np

from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL
from pgassay.analysis.compare import compare, without_refused
from pgassay.analysis.effects import Certainty, Effect, mean_of
from pgassay.analysis.numbers import percent
from pgassay.analysis.observations import Observation, arrange
from pgassay.analysis.verdicts import Kind, Verdict, margin, unresolved, verdict, with_precision
from pgassay.design.schedule import baseline_name, blocks_needed, own_baseline
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Response, Scale


def family(study: Study, response: str) -> int | None:
    """How many comparisons with the baseline share an error rate with those of a response that decides; else None.

    The primary's are one family, those of all responses in `design.settle` another one (by the rules before 3 each
    comparison stood for itself). A report takes the same, so that no page calls open what the run called settled.
    """
    compared = sum(arm.treatment.name != baseline_name(study) for arm in study.arms)
    if response == study.primary:
        return compared
    further = {*study.design.settle} - {study.primary}
    if response not in further:
        return None
    return compared * len(further) if study.design.together else 1


def effects_of(study: Study, response: Response, observations: Sequence[Observation]) -> dict[str, Effect]:
    """The effects on a response by the arm's label, for every arm but the baselines."""
    arms, primary = {arm.place: arm for arm in study.arms}, response.name == study.primary
    compared = compare(
        observations,
        response,
        baseline_name(study),
        blocks_max=study.design.horizon or study.design.blocks_max,
        comparisons=family(study, response.name),
        primary=primary,
        arms=list(arms),
        stage=study.design.stage,
        inner=study.design.inner,
        moderated=study.design.moderated and primary,
    )
    effects = without_refused(compared, study, response, baseline_name(study))
    return {arms[effect.place].name: effect for effect in effects}


def verdicts_of(
    study: Study,
    response: Response,
    observations: Sequence[Observation],
    *,
    block_s: float | None = None,
    gone: Collection[str] = (),
) -> dict[str, Verdict]:
    """The verdict on each arm by its label. `block_s` is the length of a block.

    `gone` are the arms out of play, which no other arm can be compared with from now on.
    """
    effects = effects_of(study, response, observations)
    if not effects:
        return {arm.name: _precision(study, response, observations, arm) for arm in study.arms}
    apart = _on_own_drives(study, response, observations, effects, gone)
    found = {}
    for name, effect in effects.items():
        other, mine = apart.get(name, (None, effect))
        judged = verdict(
            mine,
            response,
            resolution=study.design.resolution,
            blocks_max=study.design.blocks_max,
            block_s=block_s,
        )
        if response.name == study.primary:
            judged = with_precision(judged, mine, response, study.design.precision)
        found[name] = judged if other is None else replace(judged, against=(other.name,))
    return found


def merged(judged: Sequence[tuple[Response, Mapping[str, Verdict]]]) -> dict[str, Verdict]:
    """One verdict for each arm out of several responses' (the primary first): unresolved while one of them is."""
    (_, primary), *others = judged
    found = dict(primary)
    for response, verdicts in others:
        found = {arm: _both(one, verdicts[arm], response) for arm, one in found.items()}
    return found


def _both(one: Verdict, other: Verdict, response: Response) -> Verdict:
    named = replace(
        other,
        text=other.text if response.title in other.text else f"{response.title} {other.text}",
        precise=one.precise,
    )
    if one.settled and other.settled:
        return one if other.kind is Kind.NOT_COMPARED else replace(one, text=f"{one.text}; {named.text}")
    if one.settled or other.settled:
        return named if one.settled else one
    longer = max(one, named, key=blocks_needed)
    against = tuple(dict.fromkeys((*one.against, *named.against)))
    return replace(longer, text=f"{one.text}; {named.text}", against=against)


def _on_own_drives(
    study: Study,
    response: Response,
    observations: Sequence[Observation],
    effects: Mapping[str, Effect],
    gone: Collection[str],
) -> dict[str, tuple[Arm, Effect]]:
    """For arms that may not be compared with the baseline: the arm to compare with instead, and the effect."""
    partners = {
        arm: other
        for arm in study.arms
        if arm.name in effects and effects[arm.name].refused and arm.name not in gone
        if (other := own_baseline(study, arm)) is not None and other.name not in gone
    }
    found = {}
    for treatment in dict.fromkeys(other.treatment.name for other in partners.values()):
        mine = {arm.place: arm for arm, other in partners.items() if other.treatment.name == treatment}
        design = study.design
        compared = compare(
            observations,
            response,
            treatment,
            blocks_max=design.horizon or design.blocks_max,
            stage=design.stage,
            inner=design.inner,
            arms=list(mine),
        )
        for effect in compared:
            arm = mine[effect.place]
            found[arm.name] = partners[arm], effect
    return found


def _precision(study: Study, response: Response, observations: Sequence[Observation], arm: Arm) -> Verdict:
    """Settled when the interval of the arm's own mean, over all looks and arms, is within ± the resolution."""
    table = arrange(observations, arm.place.cell, response.scale)
    design = study.design
    values = np.asarray(list(table.values.get(arm.treatment.name, {}).values()), dtype=np.float64)
    ratio = response.scale is Scale.RATIO
    planned = design.horizon or design.blocks_max
    certainty = Certainty(LEVEL, len(study.arms), planned, every_block=True, stage=design.stage)
    mean = mean_of(values, response.scale, certainty)
    n, half = mean.blocks, mean.half
    width = margin(float(values.mean()) if n else nan, response, design.resolution)
    if half <= width:
        known = percent(exp(half) - 1.0) if ratio else f"{half:.3g} {response.unit}".strip()
        return Verdict(Kind.EQUIVALENT, f"known within ±{known}")
    needed = max(1, round(n * (half / width) ** 2) - n) if isfinite(half) and width > 0.0 else max(1, FIRST_LOOK - n)
    return Verdict(Kind.UNRESOLVED, unresolved(needed, None), needed)


ENOUGH = 3
"""Hosts that a run over three or more waits for. Two tell how far apart they are, but not which of them is odd."""


def withheld(verdicts: Mapping[str, Verdict], heard: int, wanted: int) -> Mapping[str, Verdict]:
    """The verdicts, but none settled while `heard` hosts have given blocks and `wanted` shall.

    A run on one machine names no host: nothing is withheld from it.
    """
    if not 0 < heard < wanted:
        return verdicts
    text = f"unresolved: blocks of {heard} hosts so far, and of {wanted} are wanted"
    return {
        arm: replace(each, kind=Kind.UNRESOLVED, text=text, more_blocks=wanted - heard, more_s=None)
        if each.settled
        else each
        for arm, each in verdicts.items()
    }
