"""What this run measured of a published figure: the mean of an arm, its change against another one, or part of a fit.

Each has an interval. Where the authors' figure fits several places here (they had one number of threads), a few are
told one by one, of many the lowest and the highest. What this run cannot say has its reason.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis import claims, paired_claims
from pgassay.analysis.claims import NO_SUCH_ARM, absent_levels, no_such_pair, no_such_treatment, not_recorded
from pgassay.analysis.compare import LEVEL
from pgassay.analysis.decide import means
from pgassay.analysis.effects import Certainty, Effect
from pgassay.analysis.verdicts import not_compared
from pgassay.report import decide, words
from pgassay.report.fitted import FITTED, fitted, text_of
from pgassay.study.levels import Arm
from pgassay.study.model import Claim, Published, PublishedFigure
from pgassay.study.responses import Response

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

MOST = 4
"""Places that are told one by one."""


@dataclass(frozen=True)
class Own:
    """A figure of this run at one place, with its interval in `text`; or `why` there is none, and then no text."""

    response: str
    named: str = ""
    place: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    why: str = ""


def of_row(findings: "Findings", row: Published) -> tuple[Own, ...]:
    """What was measured of the row's own treatment."""
    response = row.response or findings.study.primary
    return beside(findings, PublishedFigure("", response=response, treatment=row.treatment))


def beside(findings: "Findings", figure: PublishedFigure) -> tuple[Own, ...]:
    """What was measured of a figure, place by place; at least one, if only with the reason why there is no figure."""
    if figure.unmeasured:
        return (Own("", figure.named, why=figure.unmeasured),)
    asked = Claim("", "", figure.response, figure.treatment, figure.against, per=figure.per)
    found = [each for one in claims.by_role(asked, findings.study) for each in _measured(findings, one)]
    return tuple(_labelled(_few(found), figure.named))


def _measured(findings: "Findings", asked: Claim) -> list[Own]:
    absent = claims.missing_levels(asked, findings.study)
    if absent:
        why = absent_levels(absent, claims.undeclared(asked, findings.study))
        return [Own(asked.response, why=why)]
    if asked.response in FITTED:
        fit = fitted(findings, asked.response, asked.treatment)
        if isinstance(fit, str):
            return [Own(asked.response, why=fit)]
        text = text_of(asked.response, fit)
        return [Own(asked.response, estimate=fit.value, low=fit.low, high=fit.high, text=text)]
    unknown = [each for each in (asked.response, asked.per) if each and each not in findings.responses]
    if unknown:
        return [Own(asked.response, why=not_recorded(unknown))]
    response = findings.responses[asked.response]
    if paired_claims.is_paired(asked, findings.study):
        return list(_pairs(findings, asked, response)) or [_none(asked, no_such_pair(asked.against))]
    if asked.against:
        return list(_changes(findings, asked, response)) or [_none(asked, no_such_treatment(asked.against))]
    return list(_levels(findings, asked, response)) or [_none(asked, NO_SUCH_ARM)]


def _none(asked: Claim, why: str) -> Own:
    return Own(asked.response, why=why)


def _arms(findings: "Findings", asked: Claim) -> list[Arm]:
    wanted = claims.needed_parts(asked.treatment, findings.study)
    return [arm for arm in findings.study.arms if wanted <= claims.parts_of(arm.name)]


def _levels(findings: "Findings", asked: Claim, response: Response) -> Iterator[Own]:
    """The mean over the blocks of each arm."""
    arms = _arms(findings, asked)
    certainty = Certainty(LEVEL, 1, findings.study.design.blocks_max, findings.looks == "every block")
    found = means(findings.observations(response.name), response, [arm.place for arm in arms], certainty)
    for arm, mean in zip(arms, found, strict=True):
        why = findings.failure(arm.place) or decide.objection_to_speed(findings, response, arm.place)
        if not why and not mean.blocks:
            why = "no valid trial has a value"
        if why:
            yield Own(response.name, place=arm.name, why=why)
            continue
        ends = (mean.estimate, mean.low, mean.high)
        shown = words.value_interval(*ends, response)
        yield _own(response, arm.name, ends, shown)


def _changes(findings: "Findings", asked: Claim, response: Response) -> Iterator[Own]:
    """The change of each arm against the same treatment, with a verdict's own interval where there is one."""
    baseline = claims.treatment_of(asked.against, findings.study)
    if baseline is None:
        return
    arms = _arms(findings, asked)
    named = {arm.treatment.name for arm in arms}
    effects = findings.effects(response, None if baseline == findings.baseline else baseline, named)
    by_place = {effect.place: effect for effect in effects}
    for arm in arms:
        if arm.place in by_place:
            yield _change(by_place[arm.place], response, arm.name)


def _pairs(findings: "Findings", asked: Claim, response: Response) -> Iterator[Own]:
    """Two responses of each trial, or two conditions, from the same blocks."""
    seen = findings.observations(asked.response)
    divisors = findings.observations(asked.per) if asked.per else None
    for arm in _arms(findings, asked):
        found = paired_claims.sides(replace(asked, treatment=_typed(findings, arm)), findings.study)
        if found is None:
            continue
        effect = paired_claims.paired_effect(
            asked,
            found,
            response,
            seen,
            divisors,
            blocks_max=findings.study.design.blocks_max,
            looks=findings.looks,
        )
        effect = replace(effect, refused=decide.refusal_of_pair(findings, response, found.mine, found.theirs))
        yield _change(effect, response, arm.name, quotient=bool(asked.per and not asked.against))


def _typed(findings: "Findings", arm: Arm) -> dict[str, str]:
    return {name: level.typed for name, level in findings.study.levels_of(arm).items()}


def _change(effect: Effect, response: Response, place: str, *, quotient: bool = False) -> Own:
    """An effect; a `quotient` of two responses is no change, but a figure of its own."""
    if effect.refused:
        return Own(response.name, place=place, why=not_compared(effect.refused))
    if not effect.blocks:
        return Own(response.name, place=place, why="no block has valid trials of both")
    if not effect.bounded:
        return Own(response.name, place=place, why="no interval yet")
    ends = (effect.estimate, effect.low, effect.high)
    if quotient:
        shown = [words.number(each) for each in ends]
        text = f"{shown[0]} [{shown[1]}, {shown[2]}]"
    else:
        text = words.interval(*ends, effect.scale, response)
    return _own(response, place, ends, text)


def _own(response: Response, place: str, ends: tuple[float, float, float], text: str) -> Own:
    estimate, low, high = (each if isfinite(each) else None for each in ends)
    return Own(response.name, place=place, estimate=estimate, low=low, high=high, text=text)


def _few(found: Sequence[Own]) -> Sequence[Own]:
    """All of a few; of many the lowest and the highest, and what has no figure only where nothing has one."""
    if len({each.why for each in found}) == 1 and not any(each.text for each in found):
        return [replace(found[0], place="")]
    if len(found) <= MOST:
        return found
    told = sorted((each for each in found if each.estimate is not None), key=lambda each: each.estimate or 0.0)
    if not told:
        return [replace(found[0], place="")]
    if len(told) == 1:
        return told
    count = len(told)
    return [
        replace(told[0], named=f"lowest of {count}"),
        replace(told[-1], named=f"highest of {count}"),
    ]


def _labelled(found: Sequence[Own], named: str) -> Iterable[Own]:
    """Each with what tells it from the others in front of its text or its reason."""
    labels = [claims.parts_of(each.place) for each in found]
    common = frozenset[str].intersection(*labels) if labels else frozenset[str]()
    for each in found:
        apart = ", ".join(part for part in each.place.split(", ") if part and part not in common)
        said = ", ".join(part for part in (named, each.named, apart) if part)
        yield replace(
            each,
            named=named,
            text=f"{said}: {each.text}" if said and each.text else each.text,
            why=f"{said}: {each.why}" if said and each.why else each.why,
        )
