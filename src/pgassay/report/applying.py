"""How to apply what the advice gives a reason to take: the steps of each level, and what they risk."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pgassay.analysis.verdicts import Kind
from pgassay.report import words
from pgassay.report.adoption import adopted_by, advice
from pgassay.report.advice import choices
from pgassay.report.answer import found_of
from pgassay.report.case import listed
from pgassay.report.headline import case_of
from pgassay.report.section import Block, Listing, Section, Sentences, Surface

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


def _blocks(findings: "Findings") -> Iterator[Block]:
    """The treatments that the advice names, each once with what was found of it and how to apply it."""
    treatments = {each.name: each for each in findings.study.treatments}
    for name in _taken(findings):
        mine = [each for each in findings.verdicts if each.effect.treatment == name]
        won = [each for each in mine if each.verdict.kind is Kind.BETTER]
        about = []
        for each in won or mine:
            place = words.place(each.effect.condition, each.effect.covariate)
            said = each.verdict.text if won else ", ".join(found_of(findings.once(case_of), each))
            about.append(f"{place}: {said}" if place else said)
        adopted = adopted_by(trial for trial in findings.trials if trial.treatment == name)
        yield Listing(name, advice(treatments[name], adopted), "; ".join(about))
    if why := _nothing(findings):
        yield Sentences((why,))


def _taken(findings: "Findings") -> Sequence[str]:
    return choices(findings.once(case_of)) if findings.verdicts else ()


def _nothing(findings: "Findings") -> str:
    """Why there is nothing to apply; empty where there is something."""
    if _taken(findings):
        return ""
    if len(findings.study.treatments) < 2:
        return "one treatment was run, so there is nothing to choose between"
    better = {each.effect.treatment for each in findings.verdicts if each.verdict.kind is Kind.BETTER}
    if not better:
        return f"no treatment was shown to be better than {findings.baseline}, so there is nothing to apply"
    unsafe = better <= {*findings.once(case_of).unsafe}
    why = "is not crash-safe" if unsafe else "does not pass your thresholds, or answers statements otherwise"
    return f"none of these treatments is one to recommend: what was better {why}"


def _brief(findings: "Findings") -> str:
    """Which treatments it tells how to apply, or why none."""
    return _nothing(findings) or f"how to set {listed(_taken(findings), 'or')}, and what that risks"


SECTION = Section("apply", "Applying it", _blocks, link="Applying it", on=Surface.PAGE, brief=_brief)
