"""What others published, held against this run: their table next to one's own figures, and each claim with its mark.

A claim is judged by the effect of its treatment against the one that it names, or by what was fitted. Where this run
contradicts a claim, the study's own words name the likely cause, with the medians that were measured put into them; the
costs that moved with the response are an association, and said to be no more.

Figures are only set side by side, never computed with each other: machine, load and regime differ.

Each has an interval. Where the authors' figure fits several places here (they had one number of threads), a few are
given one by one, of many the lowest and the highest. What this run cannot say has its reason. Claims and rows may name
figures of a fit as well as responses: the kink of a curve, the gain beyond it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis import claims
from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.claims import (
    NO_SUCH_ARM,
    ClaimJudgement,
    Mark,
    Sides,
    absent_levels,
    needed_parts,
    no_such_pair,
    no_such_treatment,
    not_recorded,
    parts_of,
)
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.curves import Estimate
from pgassay.analysis.effects import Certainty, Effect
from pgassay.analysis.explanation import amount, explain
from pgassay.analysis.numbers import per_cent, plural
from pgassay.analysis.verdicts import Verdict, means, not_compared
from pgassay.design.risk import UNSAFE
from pgassay.report import decide, formatting, power_cuts
from pgassay.report.curves import describes
from pgassay.report.section import Block, Brief, Cell, Listing, Part, Section, Sentences, Surface, Table, Values
from pgassay.report.trials import median_s, middle
from pgassay.study.levels import Arm
from pgassay.study.model import Claim, Published, PublishedFigure
from pgassay.study.responses import Response, Status
from pgassay.study.units import parse_memory

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

MOST = 4
"""Places that are given one by one."""


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


def own_figures(findings: "Findings", figure: PublishedFigure) -> tuple[Own, ...]:
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
    if claims.is_paired(asked, findings.study):
        return list(_pairs(findings, asked, response)) or [Own(asked.response, why=no_such_pair(asked.against))]
    if asked.against:
        return list(_changes(findings, asked, response)) or [Own(asked.response, why=no_such_treatment(asked.against))]
    return list(_own_levels(findings, asked, response)) or [Own(asked.response, why=NO_SUCH_ARM)]


def _arms(findings: "Findings", asked: Claim) -> list[Arm]:
    wanted = claims.needed_parts(asked.treatment, findings.study)
    return [arm for arm in findings.study.arms if wanted <= claims.parts_of(arm.name)]


def _own_levels(findings: "Findings", asked: Claim, response: Response) -> Iterator[Own]:
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
        shown = formatting.value_interval(*ends, response)
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
    for arm in _arms(findings, asked):
        typed = {name: level.typed for name, level in findings.levels[arm.place].items()}
        found = claims.sides(replace(asked, treatment=typed), findings.study)
        if found is not None:
            effect = _paired_effect(findings, asked, found, response)
            yield _change(effect, response, arm.name, quotient=bool(asked.per and not asked.against))


def _paired_effect(
    findings: "Findings", asked: Claim, sides: Sides, response: Response, than: Sides | None = None
) -> Effect:
    effect = claims.paired_effect(
        asked,
        sides,
        response,
        findings.observations(asked.response),
        findings.observations(asked.per) if asked.per else None,
        blocks_max=findings.study.design.blocks_max,
        looks=findings.looks,
        than=than,
    )
    pairs = [(sides.mine, sides.theirs)]
    pairs += [(than.mine, than.theirs), (sides.mine, than.mine)] if than is not None else []
    refusals = (decide.refusal_of_pair(findings, response, *pair) for pair in pairs)
    return replace(effect, refused=next(filter(None, refusals), ""))


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
        shown = [formatting.number(each) for each in ends]
        text = f"{shown[0]} [{shown[1]}, {shown[2]}]"
    else:
        text = formatting.interval(*ends, effect.scale, response)
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
    known = sorted((each for each in found if each.estimate is not None), key=lambda each: each.estimate or 0.0)
    if not known:
        return [replace(found[0], place="")]
    if len(known) == 1:
        return known
    count = len(known)
    return [
        replace(known[0], named=f"lowest of {count}"),
        replace(known[-1], named=f"highest of {count}"),
    ]


def _labelled(found: Sequence[Own], named: str) -> Iterable[Own]:
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


def measured_rows(findings: "Findings") -> Sequence[tuple[Published, Sequence[tuple[str, Own]]]]:
    """The authors' rows with what was measured of each, by column; no column where it is of the row as a whole."""
    found = []
    for row in findings.study.published:
        whole = PublishedFigure("", response=row.response or findings.study.primary, treatment=row.treatment)
        asked = (*((whole,) if row.treatment else ()), *row.figures)
        own = [(figure.column, each) for figure in asked for each in own_figures(findings, figure)]
        found.append((row, own))
    return found


def blocks(findings: "Findings") -> Iterator[Block]:
    """The authors' rows; one's own figures next to those that say what they are about."""
    published = findings.study.published
    columns = tuple(dict.fromkeys(column for row in published for column in row.cells))
    own_columns = {figure.column for row in published for figure in row.figures}
    named = any(row.treatment for row in published)
    heads = [head for column in columns for head in (column, *([f"here: {column}"] if column in own_columns else []))]
    behind = ("here: avg ± stdev", "here: median", f"here: against {findings.baseline}") if named else ()
    effects: dict[str, tuple[Effect, ...]] = {}
    rows: list[tuple[str | Cell, ...]] = []
    lines: list[str] = []
    for row, own in findings.once(measured_rows):
        cells: list[str | Cell] = []
        for column in columns:
            cells.append(row.cells.get(column, ""))
            if column in own_columns:
                mine = [each for other, each in own if other == column]
                said = "; ".join(each.text for each in mine if each.text) or formatting.MISSING
                reasons = "; ".join(dict.fromkeys(each.why for each in mine if each.why))
                cells.append(Cell(said, reasons) if reasons else said)
        rows.append((*cells, *(_ours(findings, row, own, effects) if named else ())))
        if own:
            lines.append(_line(row, [each for each in own if each[0]] or own))
    shaded = [place for place, head in enumerate((*heads, *behind)) if head not in columns]
    yield Table((*heads, *behind), rows, shaded=shaded, texts=True, on=Surface.PAGE)
    if lines:
        yield Listing("Published, and measured here", lines, on=Surface.TERMINAL)
    ours = "shaded: this run, on this machine, with the load and regime that it had; all else: " if shaded else ""
    note = f"{ours}the authors' own figures, from their machine and load; not measured here"
    if shaded:
        note += (
            "; a change against the baseline is the mean within blocks, not the quotient of the figures beside it;"
            " in brackets 95 % intervals, each by itself unless a verdict has it"
        )
    yield Sentences((note,), small=True, on=Surface.PAGE)


def _line(row: Published, own: Sequence[tuple[str, Own]]) -> str:
    columns = dict.fromkeys(column for column, _ in own)
    label = ", ".join(text for column, text in row.cells.items() if column not in columns and text)
    parts = []
    for column in columns:
        said = "; ".join(each.text or f"not measured ({each.why})" for other, each in own if other == column)
        parts.append(f"{column} {row.cells[column]}, here {said}" if column else f"here {said}")
    return f"{label}: {'; '.join(parts)}" if label else "; ".join(parts)


def _ours(
    findings: "Findings", row: Published, own: Sequence[tuple[str, Own]], effects: dict[str, tuple[Effect, ...]]
) -> tuple[str | Cell, ...]:
    """This run's cells of a row; `effects` keeps those of each response, which several rows are about."""
    response = findings.responses.get(row.response or findings.study.primary)
    missing = (formatting.MISSING,) * 3
    if response is None or not row.treatment:
        return missing
    named = needed_parts(row.treatment, findings.study)
    fitting = [each for each in findings.summaries(response) if named <= parts_of(each.place.name) and each.n]
    if len(fitting) != 1:  # none, or several conditions, of which the authors had one of their own
        return missing
    (mine,) = fitting
    if response.name not in effects:
        effects[response.name] = findings.effects(response)
    effect = next((each for each in effects[response.name] if each.place == mine.place), None)
    mean = next((each.text for column, each in own if each.text and not column), "")
    values = (mine.avg, mine.stdev, mine.min, mine.median, mine.max)
    average, stdev, least, median, greatest = formatting.quantities(values, response)
    return (
        Cell(f"{average} ± {stdev}", f"mean {mean}; {least} to {greatest}"),
        median,
        formatting.effect(effect, response) if effect is not None else formatting.MISSING,
    )


SHOWN = 3
"""Costs that are named for a contradicted claim, at most."""
_NAMED = re.compile(r"\{([a-z0-9_]+)\}")
_UNKNOWN = "(not measured)"
_MEMORY = "host.memory"


def judged(findings: "Findings", claim: Claim) -> ClaimJudgement:
    """The claim, marked; with a reason where this run contradicts it."""
    study = findings.study
    if (unmeasured := findings.unmeasured or _untimed(findings, claim)) and not claim.untestable:
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
        return claims.not_testable(claim, absent_levels(absent, claims.undeclared(claim, study)))
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
        return claims.not_testable(claim, no_such_treatment(claim.against))
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
    reasons = (_foreseen(findings, claim), _beside(findings, effect, baseline or findings.baseline))
    return replace(found, why="; ".join(filter(None, reasons)))


def _untimed(findings: "Findings", claim: Claim) -> str:
    known = any(trial.responses.get(claim.response) is not None for trial in findings.trials)
    return not_recorded([claim.response]) if findings.counted and not known else ""


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
        return claims.not_testable(claim, no_such_pair(claim.against, claim.than))
    response = findings.responses[claim.response]
    marks = []
    for than in sides.than or (None,):
        effect = _paired_effect(findings, claim, sides, response, than)
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
        return "the record does not tell the physical cores"
    if not of_kink and (threads or 0.0) <= 1.0:
        return "this machine shows one hardware thread a core"
    if not kink.located:
        return f"no kink is located up to {curve.upto:g} clients"
    found, unit = (kink.at, cores or 1) if of_kink else (kink.gain, 1)
    return Estimate(found.value / unit, found.low / unit, found.high / unit)


def text_of(name: str, found: Estimate) -> str:
    """The figure as a reader sees it."""
    if name in (KINK, YARDSTICK_KINK):
        shown = [formatting.number(each) for each in (found.value, found.low, found.high)]
        return f"{shown[0]} [{shown[1]}, {shown[2]}] of the physical cores"
    shown = [f"{100 * each:.0f}" for each in (found.value, found.low, found.high)]
    return f"{shown[0]} % [{shown[1]}, {shown[2]}]"


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
    rows_here = [
        {
            "cells": dict(row.cells),
            "here": [{"column": column, "named": each.named, **asdict(each)} for column, each in own],
        }
        for row, own in findings.once(measured_rows)
    ]
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
    yield Values({"claims": claims, "published": rows_here})
    differs = f"not as published: {'; '.join(study.differs)}" if study.differs else ""
    yield Sentences((_chosen_here(findings), differs), small=True)
    if study.published:
        yield from blocks(findings)
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


SECTION = Section("published", "Published figures", _describe, link="Published figures")
