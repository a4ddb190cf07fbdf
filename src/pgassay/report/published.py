"""What others published, held against this run: their table beside one's own figures, and each claim with its mark.

A claim is judged by the effect of its treatment against the one that it names, or by what was fitted. Where this run
contradicts a claim, the study's own words name the likely cause, with the medians that were measured put into them; the
costs that moved with the response are an association, and said to be no more.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from pgassay.analysis import claims, messages, paired_claims
from pgassay.analysis.claims import ClaimJudgement, Mark, needed_parts, parts_of
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import amount, explain
from pgassay.analysis.messages import per_cent
from pgassay.analysis.verdicts import Verdict
from pgassay.design.risk import UNSAFE
from pgassay.report import decide, power_cuts, published_rows, words
from pgassay.report.fitted import FITTED, fitted
from pgassay.report.section import Block, Cell, Listing, Section, Sentences, Surface, Table
from pgassay.report.trials import middle
from pgassay.study.model import Claim
from pgassay.study.responses import Status
from pgassay.study.units import parse_memory

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SHOWN = 3
"""Costs that are named for a contradicted claim, at most."""
_NAMED = re.compile(r"\{([a-z0-9_]+)\}")
_UNKNOWN = "(not measured)"
_MEMORY = "host.memory"


def judged(findings: "Findings", claim: Claim) -> ClaimJudgement:
    """The claim, marked; with a reason where this run contradicts it."""
    study = findings.study
    if findings.unmeasured and not claim.untestable:
        return claims.not_testable(claim, findings.unmeasured)
    of_fit = _of_fit(findings, claim)
    if of_fit is not None:
        return of_fit
    absent = claims.missing_levels(claim, study)
    if absent and not claim.untestable:
        return claims.not_testable(claim, messages.absent_levels(absent, claims.undeclared(claim, study)))
    if not claim.untestable and (why := claims.beyond(claim, **_size(findings))):
        return ClaimJudgement(claim, Mark.NOT_COMPARABLE, f"{Mark.NOT_COMPARABLE}: {why}")
    if claim.response == UNSAFE and not claim.untestable:
        return _of_cuts(findings, claim)
    if not claim.untestable and paired_claims.is_paired(claim, study):
        return _paired(findings, claim)
    response = findings.responses.get(claim.response)
    baseline, effect = claims.treatment_of(claim.against, study) if claim.against else findings.baseline, None
    if response is not None and not claim.untestable and baseline is not None:
        levels = needed_parts(claim.treatment, study)
        named = {arm.treatment.name for arm in study.arms if levels <= parts_of(arm.name)}
        against = None if baseline == findings.baseline else baseline  # the verdict's own interval, where there is one
        effect = claims.effect_of(claim, findings.effects(response, against, named), levels)
    if baseline is None and not claim.untestable:
        return claims.not_testable(claim, messages.no_such_treatment(claim.against))
    found = claims.judge(
        claim,
        effect,
        blocks_max=study.design.blocks_max,
        verdict=_verdict(findings, effect) if baseline == findings.baseline else None,
        repeatable=not findings.imported,
        points=response is not None and response.unit == "share",
    )
    return replace(found, why=_why(findings, found, effect, baseline or findings.baseline))


class _Size(TypedDict):
    data_bytes: float | None
    memory_bytes: float | None
    window_s: float | None


def _size(findings: "Findings") -> _Size:
    """How large the data, the memory and the window of this run's valid trials were: the middle one of each."""
    valid = [trial for trial in findings.trials if trial.status is Status.VALID]
    memory = findings.run.host.get("memory")
    total = memory.get("total_bytes") if isinstance(memory, Mapping) else None
    limits = [trial.levels[_MEMORY].typed for trial in valid if _MEMORY in trial.levels]
    known = [float(total)] if isinstance(total, int | float) else []
    known += [float(parse_memory(each)) for each in limits if each != "all"]
    windows = (trial.regime.get("window_s") for trial in valid)
    return {
        "data_bytes": middle(trial.responses.get("database_bytes") for trial in valid),
        "memory_bytes": min(known, default=None),
        "window_s": middle(float(each) for each in windows if isinstance(each, int | float)),
    }


def _paired(findings: "Findings", claim: Claim) -> ClaimJudgement:
    """The mark of a claim on two responses of a trial, on two conditions, or on two changes."""
    study = findings.study
    unknown = [each for each in (claim.response, claim.per) if each not in ("", *findings.responses)]
    if unknown:
        return claims.not_testable(claim, messages.not_recorded(unknown))
    sides = paired_claims.sides(claim, study)
    if sides is None:
        return claims.not_testable(claim, messages.no_such_pair(claim.against, claim.than))
    response = findings.responses[claim.response]
    marks = []
    for than in sides.than or (None,):
        effect = paired_claims.paired_effect(
            claim,
            sides,
            response,
            findings.observations(claim.response),
            findings.observations(claim.per) if claim.per else None,
            blocks_max=study.design.blocks_max,
            looks=findings.looks,
            than=than,
        )
        pairs = [(sides.mine, sides.theirs)]
        pairs += [(than.mine, than.theirs), (sides.mine, than.mine)] if than is not None else []
        refusals = (decide.refusal_of_pair(findings, response, *pair) for pair in pairs)
        effect = replace(effect, refused=next(filter(None, refusals), ""))
        marked = claims.judge(
            claim,
            effect,
            blocks_max=study.design.blocks_max,
            repeatable=not findings.imported,
            points=response.unit == "share" and not claim.per,
        )
        marks.append((marked, effect))
    found = paired_claims.weakest(claim, marks)
    return replace(found, why=_foreseen(findings, claim) if found.mark is Mark.CONTRADICTED else "")


def _verdict(findings: "Findings", effect: Effect | None) -> Verdict | None:
    """The verdict that the page has on the same comparison."""
    if effect is None:
        return None
    every = ((findings.primary, findings.verdicts), *findings.secondary_verdicts)
    mine = (each for response, judged in every if response.name == effect.response for each in judged)
    return next((each.verdict for each in mine if each.effect.place == effect.place), None)


def _of_cuts(findings: "Findings", claim: Claim) -> ClaimJudgement:
    """The mark of a claim about damage, by every cut of its treatment.

    One with `high` says that cuts do no damage, one with `low` that they do. Damage decides at once; without any the
    bound does, as soon as it is not above that share, where the cuts met what damage takes.
    """
    levels = needed_parts(claim.treatment, findings.study)
    cut = [each for each in findings.once(power_cuts.arms) if levels <= parts_of(each.name)]
    asked = claim.low if claim.high is None else claim.high
    if not cut or asked is None:
        return claims.not_testable(claim, "no cut was made" if asked is not None else "the claim states no share")
    worst = max(cut, key=lambda each: (bool(each.damage), bool(each.coverage.untried), each.risk.upper))
    found = f"{worst.verdict.text}{power_cuts.pages(worst)}"
    if not worst.damage and worst.coverage.untried:
        return claims.not_testable(claim, found)
    if not worst.damage and worst.risk.upper > asked:
        return claims.not_testable(claim, f"too few cuts to say that below {per_cent(asked)} do damage: {found}")
    mark = Mark.REPRODUCED if bool(worst.damage) == (claim.high is None) else Mark.CONTRADICTED
    why = _foreseen(findings, claim) if mark is Mark.CONTRADICTED else ""
    return ClaimJudgement(claim, mark, f"{mark}: {found}", why=why)


def _of_fit(findings: "Findings", claim: Claim) -> ClaimJudgement | None:
    """The mark of a claim on a fitted figure, by the fit's interval; None for a claim on a response."""
    if claim.response not in FITTED or claim.untestable:
        return None
    found = fitted(findings, claim.response, claim.treatment)
    if isinstance(found, str):
        return claims.not_testable(claim, found)
    return claims.judge_range(claim, found.value, found.low, found.high)


def _why(findings: "Findings", judged: ClaimJudgement, effect: Effect | None, baseline: str) -> str:
    """One sentence for a contradicted claim; empty for any other, or where nothing is known."""
    if judged.mark is not Mark.CONTRADICTED or effect is None:
        return ""
    reasons = [_foreseen(findings, judged.claim), _beside(findings, effect, baseline)]
    return "; ".join(each for each in reasons if each)


def _foreseen(findings: "Findings", claim: Claim) -> str:
    """The study's words, each `{response}` in them as the median that the claim's treatment had here."""
    named = needed_parts(claim.treatment, findings.study)
    mine = [trial for trial in findings.trials if trial.status is Status.VALID and named <= parts_of(trial.place.name)]

    def measured(found: re.Match[str]) -> str:
        response = findings.responses.get(found[1])
        value = middle(trial.responses.get(found[1]) for trial in mine)
        return _UNKNOWN if response is None or value is None else words.quantity(value, response)

    return _NAMED.sub(measured, claim.otherwise)


def _beside(findings: "Findings", effect: Effect, baseline: str) -> str:
    """The costs that moved most between the same two treatments."""
    declared = findings.run.responses
    if baseline == findings.baseline:
        beside: Sequence[Effect] = [each for each in findings.costs if each.place == effect.place]
    else:
        observed = {name: findings.observations(name) for name, each in findings.responses.items() if each.cost}
        beside = cost_effects(
            observed,
            declared,
            baseline,
            blocks_max=findings.study.design.blocks_max,
            looks=findings.looks,
            only=effect.place,
        )
    found = explain(effect, [each for each in beside if each.response != effect.response], declared)
    moved = (*found.along, *found.against)[:SHOWN]
    listed = ", ".join(
        f"{findings.responses[each.response].title} {amount(each, findings.responses[each.response])}" for each in moved
    )
    return f"measured with it: {listed}" if listed else ""


def _chosen_here(findings: "Findings") -> str:
    """Levels of an as-published study that its authors do not give; empty where there are none."""
    study = findings.study
    if not study.ours:
        return ""
    varied = {**study.factors, **study.conditions, **study.covariates}
    held = [f"{name}={study.fixed[name].typed}" if name in study.fixed else name for name in study.ours]
    listed = [f"{name} ({', '.join(each.typed for each in varied[name])})" if name in varied else name for name in held]
    return f"chosen by pgassay, since the authors do not give it: {', '.join(listed)}"


def _otherwise(findings: "Findings") -> str:
    """What an as-published study does not do as its authors did; empty where that is nothing."""
    return f"not as published: {'; '.join(findings.study.differs)}" if findings.study.differs else ""


def _blocks(findings: "Findings") -> Iterator[Block]:
    yield Sentences((_chosen_here(findings), _otherwise(findings)), small=True)
    if findings.study.published:
        yield from published_rows.blocks(findings)
    if not findings.claims:
        return
    rows = []
    model = findings.study.model
    here = "here" if model is None else f"here, {model.label}"
    if model is not None:
        yield Sentences((f"judged on a {model.label}, not at the size that was published",), small=True)
    for judged in findings.claims:
        text = judged.text.removeprefix(f"{judged.mark}: ")
        found = Cell(judged.mark, f"{text}; why: {judged.why}" if judged.why else text, badge=True)
        rows.append((Cell(judged.claim.text, judged.claim.source), judged.claim.published or words.MISSING, found))
        lines = [f"published: {judged.claim.published or 'no figure'}; {judged.text}"]
        lines += [f"why: {judged.why}"] if judged.why else []
        yield Listing(judged.claim.text, lines, on=Surface.TERMINAL)
    yield Table(("claim", "published", here), rows, on=Surface.PAGE)


def _brief(findings: "Findings") -> str:
    marks = Counter(str(judged.mark) for judged in findings.claims)
    model = f" (on a {findings.study.model.label})" if findings.study.model is not None else ""
    return f"claims: {', '.join(f'{count} {mark}' for mark, count in marks.items())}{model}" if marks else ""


def _plain(findings: "Findings") -> Mapping[str, object]:
    return {
        "claims": [
            {
                "text": judged.claim.text,
                "source": judged.claim.source,
                "mark": judged.mark,
                "found": judged.text,
                "magnitude": judged.claim.magnitude,
                "low": judged.claim.low,
                "high": judged.claim.high,
                "why": judged.why,
            }
            for judged in findings.claims
        ],
        "published": published_rows.plain(findings),
    }


SECTION = Section("published", "Published figures", _blocks, _plain, link="Published figures", brief=_brief)
