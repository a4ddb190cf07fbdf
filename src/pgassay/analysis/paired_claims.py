"""Claims that no comparison of two treatments answers: on two responses of a trial, two conditions, or two changes.

`per` divides the response by another one of the same trial (the WAL's write amplification by the data's). `against`
may name another condition or covariate point (38 threads against 1). `than` holds a change against the same change
with other levels (what FILLFACTOR costs on one drive, by what it costs on the other). All sides are taken from the same
block, so that what moves a whole block cancels, and the interval is that of any other comparison that stands for
itself; of several `than` the weakest is told, and they share an error rate.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pgassay.analysis.claims import ClaimJudgement, Mark, label_parts
from pgassay.analysis.compare import Looks, compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.study.levels import Arm, Place
from pgassay.study.model import Claim, Study
from pgassay.study.responses import Better, Response, Scale

_MINE, _THEIRS = "claimed", "against"
_NOWHERE_ELSE: tuple[Mapping[str, str]] = ({},)


@dataclass(frozen=True)
class Sides:
    """The arm that a claim is about, and the arm that it is held against: the same for two responses of one trial.

    `than` has the two arms of each change that theirs is held against.
    """

    mine: Arm
    theirs: Arm
    than: tuple["Sides", ...] = ()


def is_paired(claim: Claim, study: Study) -> bool:
    """Does the claim divide two responses, hold two changes against each other, or compare conditions or covariates?"""
    elsewhere = {*study.conditions, *study.covariates}
    return bool(claim.per or claim.than) or bool(elsewhere & set(claim.against))


def sides(claim: Claim, study: Study) -> Sides | None:
    """The first arm of the claim's levels that has a partner: the arm that differs in the levels of `against` alone.

    Both must be there with the levels of each `than`, too. None where no arm has all that.
    """
    wanted = label_parts(claim.treatment)
    by_levels = {
        label_parts({name: level.typed for name, level in study.levels_of(arm).items()}): arm for arm in study.arms
    }
    for parts, arm in by_levels.items():
        if not wanted <= parts:
            continue
        levels = {name: level.typed for name, level in study.levels_of(arm).items()}
        met = [_pair(by_levels, levels, {**levels, **claim.against}, other) for other in (*_NOWHERE_ELSE, *claim.than)]
        known = [each for each in met if each is not None]
        if len(known) == len(met):
            first, *others = known
            return replace(first, than=tuple(others))
    return None


def _pair(
    arms: Mapping[frozenset[str], Arm], mine: Mapping[str, str], theirs: Mapping[str, str], other: Mapping[str, str]
) -> Sides | None:
    """The arms of both with the levels of `other` instead; None where one is missing."""
    first, second = (arms.get(label_parts({**levels, **other})) for levels in (mine, theirs))
    return None if first is None or second is None else Sides(first, second)


def paired_effect(
    claim: Claim,
    found: Sides,
    response: Response,
    values: Sequence[Observation],
    divisors: Sequence[Observation] | None,
    *,
    blocks_max: int,
    looks: Looks,
    than: Sides | None = None,
) -> Effect:
    """The effect that the claim is about, of the arm that it is about; of a change, held against that of `than`.

    `values` are those of its response, `divisors` those of `claim.per` in the same trials, in the same order; None
    without one. Without `against`, the two responses of each trial are set against each other.
    """
    mine, theirs = found.mine.place, found.theirs.place
    if divisors is not None and not claim.against:
        sorted_out = [*_at(values, mine, _MINE), *_at(divisors, mine, _THEIRS)]
    else:
        told = (
            values
            if divisors is None
            else [
                each._replace(value=_quotient(each.value, other.value))
                for each, other in zip(values, divisors, strict=True)
            ]
        )
        if than is None:
            sorted_out = [*_at(told, mine, _MINE), *_at(told, theirs, _THEIRS)]
        else:
            scale = response.scale if divisors is None else Scale.RATIO
            sorted_out = [*_changes(told, found, _MINE, scale), *_changes(told, than, _THEIRS, scale)]
    if divisors is not None:
        response = Response(claim.response, f"{response.title} / {claim.per}", "ratio", Better.NEITHER, Scale.RATIO)
    (effect,) = compare(
        sorted_out,
        response,
        _THEIRS,
        blocks_max=blocks_max,
        comparisons=max(1, len(claim.than)),
        looks=looks,
        arms=[Place(_MINE)],
    )
    return replace(effect, treatment=mine.treatment, condition=mine.condition, covariate=mine.covariate)


def weakest(claim: Claim, judged: Sequence[tuple[ClaimJudgement, Effect]]) -> ClaimJudgement:
    """The judgement of a claim about a change that is held against several: it holds where it holds against each.

    One that contradicts decides; `judged` are in the order of the claim's `than`.
    """
    order = (Mark.CONTRADICTED, Mark.NOT_TESTABLE, Mark.REPRODUCED)

    def strength(place: int) -> tuple[int, float]:
        found, effect = judged[place]
        return order.index(found.mark), effect.low if claim.low is not None else -effect.high

    place = min(range(len(judged)), key=strength)
    found, _ = judged[place]
    if len(judged) == 1:
        return found
    levels = ", ".join(f"{name}={typed}" for name, typed in claim.than[place].items())
    return replace(found, text=f"{found.text}; the weakest of {len(judged)}, against {levels}")


def _changes(observations: Sequence[Observation], pair: Sides, name: str, scale: Scale) -> list[Observation]:
    """The change of each block between two arms, under a name of its own; None where one of them has no value."""
    theirs = {each.block: each.value for each in observations if each.place == pair.theirs.place}
    return [
        each._replace(value=_change(each.value, theirs.get(each.block), scale))
        for each in _at(observations, pair.mine.place, name)
    ]


def _change(value: float | None, other: float | None, scale: Scale) -> float | None:
    if scale is Scale.RATIO:
        return _quotient(value, other)
    return value - other if value is not None and other is not None else None


def _at(observations: Iterable[Observation], place: Place, name: str) -> list[Observation]:
    """Those of one place, under a name of its own, as if they were a treatment of one cell."""
    return [Observation(each.block, name, "", "", each.value) for each in observations if each.place == place]


def _quotient(value: float | None, divisor: float | None) -> float | None:
    return value / divisor if value is not None and divisor is not None and divisor > 0 else None
