"""What others published, held against this run: each claim with its mark.

A claim is judged by the effect of its treatment against the one that it names, or by what was fitted. Where this run
contradicts a claim, the study's own words name the likely cause, with the medians that were measured put into them; the
costs that moved with the response are an association, and said to be no more. What this run cannot say has its reason.
A claim may name figures of a fit as well as responses: the kink of a curve, the gain beyond it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.analysis import claims
from pgassay.analysis.claims import (
    ClaimJudgement,
    Mark,
    needed_parts,
    not_recorded,
    parts_of,
)
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.curves import Estimate
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import amount, explain
from pgassay.analysis.numbers import per_cent, plural
from pgassay.analysis.verdicts import Verdict
from pgassay.design.risk import UNSAFE
from pgassay.report import decide, formatting, power_cuts
from pgassay.report.curves import describes
from pgassay.report.section import Brief, Cell, Listing, Part, Section, Sentences, Surface, Table, Values
from pgassay.report.trials import median_s, middle
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
    unmeasured = findings.unmeasured
    if findings.counted and all(trial.responses.get(claim.response) is None for trial in findings.trials):
        unmeasured = unmeasured or not_recorded([claim.response])
    if unmeasured and not claim.untestable:
        return claims.not_testable(claim, unmeasured)
    if claim.response in FITTED and not claim.untestable:
        fit = fitted(findings, claim.response, claim.treatment)
        return (
            claims.not_testable(claim, fit)
            if isinstance(fit, str)
            else claims.judge_range(claim, fit.value, fit.low, fit.high)
        )
    absent = claims.missing_levels(claim, study)
    if absent and not claim.untestable:
        why = f"it is about {', '.join(absent)}, which this run did not have"
        if undeclared := claims.undeclared(claim, study):
            why += f"; is {' or '.join(undeclared)} such a drive? declare it as normal=… or compressing=…"
        return claims.not_testable(claim, why)
    if not claim.untestable and (why := _beyond(findings, claim)):
        return ClaimJudgement(claim, Mark.NOT_COMPARABLE, f"{Mark.NOT_COMPARABLE}: {why}")
    if claim.response == UNSAFE and not claim.untestable:
        return _of_cuts(findings, claim)
    if not claim.untestable and claims.is_paired(claim, study):
        return _paired(findings, claim)
    response = findings.responses.get(claim.response)
    baseline, effect = claims.treatment_of(claim.against, study) if claim.against else findings.baseline, None
    if response is not None and not claim.untestable and baseline is not None:
        levels = needed_parts(claim.treatment, study)
        named = {arm.treatment.name for arm in study.arms if levels <= parts_of(arm.name)}
        against = None if baseline == findings.baseline else baseline  # the verdict's own interval, where there is one
        effect = claims.effect_of(claim, findings.effects(response, against, named), levels)
    if baseline is None and not claim.untestable:
        return claims.not_testable(claim, f"no treatment of this run is {_listed(claim.against)} and no more")
    found = claims.judge(
        claim,
        effect,
        blocks_max=study.design.blocks_max,
        verdict=_verdict(findings, effect) if baseline == findings.baseline else None,
        repeatable=not findings.imported,
        points=response is not None and response.unit == "share",
    )
    if found.mark is not Mark.CONTRADICTED or effect is None:
        return found
    reasons = (_foreseen(findings, claim), _costs_with(findings, effect, baseline or findings.baseline))
    return replace(found, why="; ".join(filter(None, reasons)))


def _beyond(findings: "Findings", claim: Claim) -> str:
    """Why a claim is not about data, memory and windows as large as this run's valid trials had; empty where it is."""
    valid = [trial for trial in findings.trials if trial.status is Status.VALID]
    memory = findings.run.host.get("memory")
    total = memory.get("total_bytes") if isinstance(memory, Mapping) else None
    limits = [trial.levels[_MEMORY].typed for trial in valid if _MEMORY in trial.levels]
    known = [float(total)] if isinstance(total, int | float) else []
    known += [float(parse_memory(each)) for each in limits if each != "all"]
    return claims.beyond(
        claim,
        data_bytes=middle(trial.responses.get("database_bytes") for trial in valid),
        memory_bytes=min(known, default=None),
        window_s=median_s(valid, "window_s"),
    )


def _paired(findings: "Findings", claim: Claim) -> ClaimJudgement:
    study = findings.study
    unknown = [each for each in (claim.response, claim.per) if each not in ("", *findings.responses)]
    if unknown:
        return claims.not_testable(claim, not_recorded(unknown))
    sides = claims.sides(claim, study)
    if sides is None:
        why = "no arm of this run has these levels"
        if claim.against:
            there = f", and do so with {' or '.join(map(_listed, claim.than))}, too" if claim.than else ""
            why = f"no two arms of this run differ in {_listed(claim.against)} alone{there}"
        return claims.not_testable(claim, why)
    response = findings.responses[claim.response]
    marks = []
    for than in sides.than or (None,):
        effect = claims.paired_effect(
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
    found = claims.weakest(claim, marks)
    return replace(found, why=_foreseen(findings, claim) if found.mark is Mark.CONTRADICTED else "")


def _listed(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={typed}" for name, typed in levels.items())


def _verdict(findings: "Findings", effect: Effect | None) -> Verdict | None:
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
    found = worst.verdict.text
    if in_flight := [cut.page for cut in worst.cuts if cut.page]:
        torn = sum(bool(page.get("torn")) for page in in_flight)
        of_them = f"{torn:,} of {len(in_flight):,} {plural('page', len(in_flight))}"
        found += f"; {of_them} in flight {'was' if torn == 1 else 'were'} torn"
    if not worst.damage and worst.coverage.untried:
        return claims.not_testable(claim, found)
    if not worst.damage and worst.risk.upper > asked:
        return claims.not_testable(claim, f"too few cuts to say that below {per_cent(asked)} do damage: {found}")
    mark = Mark.REPRODUCED if bool(worst.damage) == (claim.high is None) else Mark.CONTRADICTED
    why = _foreseen(findings, claim) if mark is Mark.CONTRADICTED else ""
    return ClaimJudgement(claim, mark, f"{mark}: {found}", why=why)


def _foreseen(findings: "Findings", claim: Claim) -> str:
    """The study's words, each `{response}` in them as the median that the claim's treatment had here."""
    named = needed_parts(claim.treatment, findings.study)
    mine = [trial for trial in findings.trials if trial.status is Status.VALID and named <= parts_of(trial.place.name)]

    def measured(found: re.Match[str]) -> str:
        response = findings.responses.get(found[1])
        value = middle(trial.responses.get(found[1]) for trial in mine)
        return _UNKNOWN if response is None or value is None else formatting.quantity(value, response)

    return _NAMED.sub(measured, claim.otherwise)


def _costs_with(findings: "Findings", effect: Effect, baseline: str) -> str:
    """The costs that moved most between the same two treatments."""
    declared = findings.run.responses
    if baseline == findings.baseline:
        costs: Sequence[Effect] = [each for each in findings.costs if each.place == effect.place]
    else:
        observed = {name: findings.observations(name) for name, each in findings.responses.items() if each.cost}
        costs = cost_effects(
            observed,
            declared,
            baseline,
            blocks_max=findings.study.design.blocks_max,
            looks=findings.looks,
            only=effect.place,
        )
    found = explain(effect, [each for each in costs if each.response != effect.response], declared)
    moved = (*found.along, *found.against)[:SHOWN]
    listed = ", ".join(
        f"{findings.responses[each.response].title} {amount(each, findings.responses[each.response])}" for each in moved
    )
    return f"measured with it: {listed}" if listed else ""


KINK, YARDSTICK_KINK = "kink_per_core", "kink_per_core_of_yardstick"
GAIN, YARDSTICK_GAIN = "smt_gain", "smt_gain_of_yardstick"
FITTED = (KINK, GAIN, YARDSTICK_GAIN, YARDSTICK_KINK)
"""Their names."""
_OF_YARDSTICK = (YARDSTICK_KINK, YARDSTICK_GAIN)


def fitted(findings: "Findings", name: str, treatment: Mapping[str, str]) -> Estimate | str:
    """The figure of this name, of the first curve that has these levels; or why there is none.

    A machine without a second hardware thread to a core cannot speak to hyper-threading, whatever its curve looks like.
    """
    curves = findings.yardsticks if name in _OF_YARDSTICK else findings.scalings
    wanted, of_kink = needed_parts(treatment, findings.study), name in (KINK, YARDSTICK_KINK)
    known = (each for each in curves if wanted <= parts_of(each.treatment) | parts_of(each.condition))
    curve = next(known, None)
    if curve is None or curve.kink is None:
        return "this run has too few points of that curve"
    kink, cores, threads = curve.kink, findings.processors.cores, findings.processors.threads_per_core
    if not describes(kink):
        return f"two lines fit that curve badly, points lie {per_cent(kink.misfit)} off them"
    if of_kink and cores is None:
        return "the record does not report the physical cores"
    if not of_kink and (threads or 0.0) <= 1.0:
        return "this machine shows one hardware thread a core"
    if not kink.located:
        return f"no kink is located up to {curve.upto:g} clients"
    found, unit = (kink.at, cores or 1) if of_kink else (kink.gain, 1)
    return Estimate(found.value / unit, found.low / unit, found.high / unit)


def _chosen_here(findings: "Findings") -> str:
    """Levels of an as-published study that its authors do not give; empty where there are none."""
    study = findings.study
    if not study.ours:
        return ""
    varied = {**study.factors, **study.conditions, **study.covariates}
    held = [f"{name}={study.fixed[name].typed}" if name in study.fixed else name for name in study.ours]
    listed = [f"{name} ({', '.join(each.typed for each in varied[name])})" if name in varied else name for name in held]
    return f"chosen by pgassay, since the authors do not give it: {', '.join(listed)}"


def _describe(findings: "Findings") -> Iterator[Part]:
    study = findings.study
    claims = [
        {
            "text": each.claim.text,
            "source": each.claim.source,
            "mark": each.mark,
            "found": each.text,
            "magnitude": each.claim.magnitude,
            "low": each.claim.low,
            "high": each.claim.high,
            "why": each.why,
        }
        for each in findings.claims
    ]
    yield Values({"claims": claims})
    differs = f"not as published: {'; '.join(study.differs)}" if study.differs else ""
    yield Sentences((_chosen_here(findings), differs), small=True)
    if not findings.claims:
        return
    marks = Counter(str(judged.mark) for judged in findings.claims)
    on_model = f" (on a {study.model.label})" if study.model is not None else ""
    yield Brief(f"claims: {', '.join(f'{count} {mark}' for mark, count in marks.items())}{on_model}")
    if study.model is not None:
        yield Sentences((f"judged on a {study.model.label}, not at the size that was published",), small=True)
    rows = []
    for judged in findings.claims:
        text = judged.text.removeprefix(f"{judged.mark}: ")
        found = Cell(judged.mark, f"{text}; why: {judged.why}" if judged.why else text, badge=True)
        rows.append((Cell(judged.claim.text, judged.claim.source), judged.claim.published or formatting.MISSING, found))
        lines = [f"published: {judged.claim.published or 'no figure'}; {judged.text}"]
        lines += [f"why: {judged.why}"] if judged.why else []
        yield Listing(judged.claim.text, lines, on=Surface.TERMINAL)
    here = "here" if study.model is None else f"here, {study.model.label}"
    yield Table(("claim", "published", here), rows, on=Surface.PAGE)


SECTION = Section("published", "Published claims", _describe, link="Published claims")
