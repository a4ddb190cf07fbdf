"""The user's thresholds in a report: each with every treatment as pass, fail or not known, and whether they all hold.

They come from the study's `[decide]` and from `--weigh`. The baseline's own values are shown and do not count where
there is something to compare with it: thresholds ask what a change may cost.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.comparable import is_speed, refusal_by_errors, refusal_of_speed
from pgassay.analysis.decide import Judgement, Outcome, judge_change, judge_value, means
from pgassay.analysis.effects import Certainty
from pgassay.analysis.numbers import per_cent
from pgassay.report import words
from pgassay.report.case import Standing
from pgassay.report.section import Block, Cell, Table
from pgassay.study.drives import emulated, timed
from pgassay.study.levels import Arm, Level, Place
from pgassay.study.responses import Response
from pgassay.study.thresholds import Limit

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_FROM_MEMORY = "timing is off, so the emulated drive answers from memory and its speed says nothing"


def judgements(findings: "Findings") -> tuple[Judgement, ...]:
    """Every threshold at every place, in the order of the thresholds."""
    limits = findings.limits
    places = [arm.place for arm in findings.study.arms]
    values = list(dict.fromkeys(limit.response.name for limit in limits if not limit.change))
    certainty = Certainty(
        LEVEL,
        max(1, len(values) * len(places)),
        findings.study.design.blocks_max,
        findings.looks == "every block",
    )
    found: list[Judgement] = []
    for limit in limits:
        found += _of_changes(findings, limit) if limit.change else _of_values(findings, limit, places, certainty)
    return tuple(found)


def _of_changes(findings: "Findings", limit: Limit) -> Iterator[Judgement]:
    for effect in findings.effects(limit.response):
        yield judge_change(limit, effect, _objection(findings, limit.response, effect.place))


def _of_values(
    findings: "Findings", limit: Limit, places: Sequence[Place], certainty: Certainty
) -> Iterator[Judgement]:
    for mean in means(findings.observations(limit.response.name), limit.response, places, certainty):
        why = _objection(findings, limit.response, mean.place)
        yield judge_value(limit, mean, why or objection_to_speed(findings, limit.response, mean.place))


def objection_to_speed(findings: "Findings", response: Response, place: Place) -> str:
    """Why a speed that was measured at a place says nothing; empty where it does, and for what is no speed."""
    mine = findings.once(_levels)[place]
    if not is_speed(response) or not emulated(mine):
        return ""
    return refusal_by_errors([findings.service_errors.get(place)]) if timed(mine) else _FROM_MEMORY


def _levels(findings: "Findings") -> Mapping[Place, Mapping[str, Level]]:
    return {arm.place: findings.study.levels_of(arm) for arm in findings.study.arms}


def refusal_of_pair(findings: "Findings", response: Response, mine: Arm, theirs: Arm) -> str:
    """Why the speeds of two arms may not be compared: they are on different drives, of which one is emulated."""
    if not is_speed(response):
        return ""
    levels = [findings.study.levels_of(arm) for arm in (theirs, mine)]
    errors = [findings.service_errors.get(arm.place) for arm in (theirs, mine)]
    return refusal_of_speed(levels[0], levels[1], errors)


def _objection(findings: "Findings", response: Response, place: Place) -> str:
    """Why a place has nothing to judge: it failed, or lint objects to runs that others made."""
    failure = findings.failure(place)
    if failure:
        return f"failed: {failure}"
    return "; ".join(findings.objections(response)) if findings.imported else ""


def counted(findings: "Findings", judgement: Judgement) -> bool:
    """Does it count? The baseline's own do not, where something is compared with it."""
    return len(findings.study.treatments) < 2 or judgement.place.treatment != findings.baseline


def holds(findings: "Findings") -> bool:
    """Is every threshold shown to hold, with every treatment that counts?"""
    mine = [each for each in findings.once(judgements) if counted(findings, each)]
    return all(each.outcome is Outcome.PASS for each in mine)


def standings(findings: "Findings") -> Sequence[Standing]:
    """What became of the thresholds with each treatment, in all of its places; of a curve at each of its points."""
    groups: dict[str, list[Judgement]] = {}
    for each in findings.once(judgements):
        if counted(findings, each):
            groups.setdefault(each.place.treatment or each.place.name, []).append(each)
    return [_standing(name, mine) for name, mine in groups.items()]


def _standing(name: str, mine: Sequence[Judgement]) -> Standing:
    by_text: dict[str, set[Outcome]] = {}
    for each in mine:
        by_text.setdefault(each.limit.text, set()).add(each.outcome)
    failed = [text for text, found in by_text.items() if Outcome.FAIL in found]
    unknown = [text for text, found in by_text.items() if Outcome.UNKNOWN in found and text not in failed]
    return Standing(name, len(by_text) - len(failed) - len(unknown), failed, unknown)


def blocks(findings: "Findings") -> Iterator[Block]:
    """A row a threshold and place; nothing without thresholds."""
    found = findings.once(judgements)
    if not found:
        return
    rows = [
        (
            each.limit.text,
            _name(findings, each),
            here(each),
            Cell(each.outcome.value, each.why, badge=True),
        )
        for each in found
    ]
    yield Table(("threshold", "treatment", "here", "outcome"), rows, "Thresholds", texts=True)


def _name(findings: "Findings", judgement: Judgement) -> str:
    name = judgement.place.name or "the load"
    return name if counted(findings, judgement) else f"{name} (baseline, does not count)"


def here(judgement: Judgement) -> str:
    """What was measured, as a change or as a value, with its interval."""
    response = judgement.limit.response
    if not judgement.bounded:
        return words.MISSING
    ends = (judgement.estimate, judgement.low, judgement.high)
    if judgement.limit.change:
        return words.interval(*ends, response.scale, response)
    return words.value_interval(*ends, response)


def basis(findings: "Findings") -> Iterator[str]:
    """How thresholds are judged, in the words of a note; nothing without any."""
    found = findings.once(judgements)
    if found:
        yield _basis(found)


def _basis(found: Sequence[Judgement]) -> str:
    text = (
        "thresholds: "
        "pass: the whole interval is on the good side of the threshold; fail: all of it is on the other; not known:"
        " it holds both"
    )
    values = [each for each in found if not each.limit.change]
    if values:
        together = values[0].comparisons
        text += (
            f"; values are means over the blocks, with {per_cent(values[0].level)} intervals"
            f"{f' for all {together} of them together' if together > 1 else ''}"
        )
    if len(values) < len(found):
        text += "; changes have the intervals of their effects"
    return text


def plain(findings: "Findings") -> list[Mapping[str, object]]:
    """As JSON has them."""
    return [
        {
            "text": each.limit.text,
            "response": each.limit.response.name,
            "kind": "change" if each.limit.change else "value",
            "relation": each.limit.relation.value,
            "threshold": each.limit.value,
            "unit": each.limit.response.scale.value if each.limit.change else each.limit.response.unit,
            "treatment": each.place.treatment,
            "condition": each.place.condition,
            "covariate": each.place.covariate,
            "counts": counted(findings, each),
            "outcome": each.outcome.value,
            "blocks": each.blocks,
            "estimate": each.estimate,
            "low": each.low if each.bounded else None,
            "high": each.high if each.bounded else None,
            "level": each.level,
            "comparisons": each.comparisons,
            "method": each.method,
            "why": each.why,
        }
        for each in findings.once(judgements)
    ]
