"""The user's thresholds in a report: each with every treatment as pass, fail or not known, and whether they all hold.

They come from the study's `[decide]` and from `--weigh`. The baseline's own values are shown and do not count where
there is something to compare with it: thresholds ask what a change may cost.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.compare import is_speed, refusal_by_errors, refusal_of_speed
from pgassay.analysis.effects import Certainty
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.verdicts import Judgement, Outcome, judge_change, judge_value, means
from pgassay.report import formatting
from pgassay.report.answer import Standing
from pgassay.report.section import Block, Cell, Table
from pgassay.report.trials import grouped
from pgassay.study.drives import emulated, timed
from pgassay.study.levels import Arm
from pgassay.study.responses import Response

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_FROM_MEMORY = "timing is off, so the emulated drive answers from memory and its speed says nothing"


def judgements(findings: "Findings") -> tuple[Judgement, ...]:
    """Every threshold at every place, in the order of the thresholds."""
    places = [arm.place for arm in findings.study.arms]
    values = {limit.response.name for limit in findings.limits if not limit.change}
    together, most = max(1, len(values) * len(places)), findings.study.design.blocks_max
    certainty = Certainty(LEVEL, together, most, findings.looks == "every block")
    found: list[Judgement] = []
    for limit in findings.limits:
        response = limit.response
        others = "; ".join(findings.objections(response)) if findings.imported else ""
        objections = {at: f"failed: {why}" if (why := findings.failure(at)) else others for at in places}
        if limit.change:
            found += (judge_change(limit, each, objections[each.place]) for each in findings.effects(response))
            continue
        for mean in means(findings.observations(response.name), response, places, certainty):
            objection, levels = objections[mean.place], findings.levels[mean.place]
            if not objection and is_speed(response) and emulated(levels):
                errors = [findings.service_errors.get(mean.place)]
                objection = refusal_by_errors(errors) if timed(levels) else _FROM_MEMORY
            found.append(judge_value(limit, mean, objection))
    return tuple(found)


def refusal_of_pair(findings: "Findings", response: Response, mine: Arm, theirs: Arm) -> str:
    """Why the speeds of two arms may not be compared: they are on different drives, of which one is emulated."""
    if not is_speed(response):
        return ""
    levels = [findings.study.levels_of(arm) for arm in (theirs, mine)]
    errors = [findings.service_errors.get(arm.place) for arm in (theirs, mine)]
    return refusal_of_speed(levels[0], levels[1], errors)


def counted(findings: "Findings", judgement: Judgement) -> bool:
    """Does it count? The baseline's own do not, where something is compared with it."""
    return len(findings.study.treatments) < 2 or judgement.found.place.treatment != findings.baseline


def holds(findings: "Findings") -> bool:
    """Is every threshold shown to hold, with every treatment that counts?"""
    mine = [each for each in findings.once(judgements) if counted(findings, each)]
    return all(each.outcome is Outcome.PASS for each in mine)


def standings(findings: "Findings") -> Sequence[Standing]:
    """What became of the thresholds with each treatment, in all of its places; of a curve at each of its points."""
    mine = (each for each in findings.once(judgements) if counted(findings, each))
    groups = grouped(mine, lambda each: each.found.place.treatment or each.found.place.name)
    found = []
    for name, group in groups.items():
        by_text: dict[str, set[Outcome]] = {}
        for each in group:
            by_text.setdefault(each.limit.text, set()).add(each.outcome)
        failed = [text for text, outcomes in by_text.items() if Outcome.FAIL in outcomes]
        unknown = [text for text, outcomes in by_text.items() if Outcome.UNKNOWN in outcomes and text not in failed]
        found.append(Standing(name, len(by_text) - len(failed) - len(unknown), failed, unknown))
    return found


def blocks(findings: "Findings") -> Iterator[Block]:
    """A row a threshold and place; nothing without thresholds."""
    found = findings.once(judgements)
    if not found:
        return
    rows = []
    for each in found:
        name = each.found.place.name or "the load"
        place = name if counted(findings, each) else f"{name} (baseline, does not count)"
        rows.append((each.limit.text, place, here(each), Cell(each.outcome.value, each.why, badge=True)))
    yield Table(("threshold", "treatment", "here", "outcome"), rows, "Thresholds", texts=True)


def here(judgement: Judgement) -> str:
    """What was measured, as a change or as a value, with its interval."""
    response = judgement.limit.response
    if not judgement.bounded:
        return formatting.MISSING
    ends = (judgement.found.estimate, judgement.found.low, judgement.found.high)
    if judgement.limit.change:
        return formatting.interval(*ends, response.scale, response)
    return formatting.value_interval(*ends, response)


def basis(findings: "Findings") -> Iterator[str]:
    """How thresholds are judged, in the words of a note; nothing without any."""
    found = findings.once(judgements)
    if not found:
        return
    text = (
        "thresholds: "
        "pass: the whole interval is on the good side of the threshold; fail: all of it is on the other; not known:"
        " it holds both"
    )
    values = [each for each in found if not each.limit.change]
    if values:
        together = values[0].found.comparisons
        text += (
            f"; values are means over the blocks, with {per_cent(values[0].found.level)} intervals"
            f"{f' for all {together} of them together' if together > 1 else ''}"
        )
    if len(values) < len(found):
        text += "; changes have the intervals of their effects"
    yield text


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
            **each.found.place._asdict(),
            "counts": counted(findings, each),
            "outcome": each.outcome.value,
            "blocks": each.found.blocks,
            "estimate": each.found.estimate,
            "low": each.found.low if each.bounded else None,
            "high": each.found.high if each.bounded else None,
            "level": each.found.level,
            "comparisons": each.found.comparisons,
            "method": each.found.method,
            "why": each.why,
        }
        for each in findings.once(judgements)
    ]
