"""Claims that no comparison of two treatments answers: on two responses of one trial, or on two conditions.

`per` divides the response by another one of the same trial (the WAL's write amplification by the data's). `against`
may name another condition or covariate point (38 threads against 1). Both sides are still taken from the same block, so
that what moves a whole block cancels, and the interval is that of any other comparison that stands for itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pgassay.analysis.claims import label_parts
from pgassay.analysis.compare import Looks, compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.study.levels import Arm, Place
from pgassay.study.model import Claim, Study
from pgassay.study.responses import Better, Response, Scale

_MINE, _THEIRS = "claimed", "against"


@dataclass(frozen=True)
class Sides:
    """The arm that a claim is about, and the arm that it is held against: the same for two responses of one trial."""

    mine: Arm
    theirs: Arm


def is_paired(claim: Claim, study: Study) -> bool:
    """Does the claim divide two responses, or compare conditions or covariate points?"""
    elsewhere = {*study.conditions, *study.covariates}
    return bool(claim.per) or bool(elsewhere & set(claim.against))


def sides(claim: Claim, study: Study) -> Sides | None:
    """The first arm of the claim's levels that has a partner: the arm that differs in the levels of `against` alone.

    None where no arm has one.
    """
    wanted = label_parts(claim.treatment)
    by_levels = {_parts(study, arm): arm for arm in study.arms}
    for parts, arm in by_levels.items():
        if not wanted <= parts:
            continue
        levels = {name: level.typed for name, level in study.levels_of(arm).items()}
        theirs = by_levels.get(label_parts({**levels, **claim.against}))
        if theirs is not None:
            return Sides(arm, theirs)
    return None


def _parts(study: Study, arm: Arm) -> frozenset[str]:
    return label_parts({name: level.typed for name, level in study.levels_of(arm).items()})


def paired_effect(
    claim: Claim,
    found: Sides,
    response: Response,
    values: Sequence[Observation],
    divisors: Sequence[Observation] | None,
    *,
    blocks_max: int,
    looks: Looks,
) -> Effect:
    """The effect that the claim is about, of the arm that it is about.

    `values` are those of its response, `divisors` those of `claim.per` in the same trials, in the same order; None
    without one. Without `against`, the two responses of each trial are set against each other.
    """
    mine, theirs = found.mine.place, found.theirs.place
    if divisors is None:
        sorted_out = [*_at(values, mine, _MINE), *_at(values, theirs, _THEIRS)]
    elif claim.against:
        quotients = _quotients(values, divisors)
        sorted_out = [*_at(quotients, mine, _MINE), *_at(quotients, theirs, _THEIRS)]
    else:
        sorted_out = [*_at(values, mine, _MINE), *_at(divisors, mine, _THEIRS)]
    if divisors is not None:
        response = Response(claim.response, f"{response.title} / {claim.per}", "ratio", Better.NEITHER, Scale.RATIO)
    (effect,) = compare(
        sorted_out, response, _THEIRS, blocks_max=blocks_max, comparisons=1, looks=looks, arms=[Place(_MINE)]
    )
    return replace(effect, treatment=mine.treatment, condition=mine.condition, covariate=mine.covariate)


def _at(observations: Iterable[Observation], place: Place, name: str) -> list[Observation]:
    """Those of one place, under a name of its own, as if they were a treatment of one cell."""
    return [Observation(each.block, name, "", "", each.value) for each in observations if each.place == place]


def _quotients(values: Sequence[Observation], divisors: Sequence[Observation]) -> list[Observation]:
    """One response over the other, trial by trial; None where one is missing or the divisor is not above zero."""
    return [
        each._replace(value=_quotient(each.value, other.value)) for each, other in zip(values, divisors, strict=True)
    ]


def _quotient(value: float | None, divisor: float | None) -> float | None:
    return value / divisor if value is not None and divisor is not None and divisor > 0 else None
