"""The answer: each treatment against the baseline with its verdict, how sure it is, why, and what it is true for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.numbers import per_cent
from pgassay.report import comparison, costs, curves, decide, power_cuts, responses, scaling_figure, words
from pgassay.report.case import not_judged
from pgassay.report.json_values import effect_values
from pgassay.report.section import Block, Folded, Section, Sentences, Surface, Table, VerdictRow, Verdicts
from pgassay.report.trials import median_s
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_SECONDARY = (
    "sections marked secondary decide nothing, and their intervals are not part of the primary's error control: see"
    " docs/statistics.md"
)


def _blocks(findings: "Findings") -> Iterator[Block]:
    if power_cuts.decide(findings):
        yield from power_cuts.verdict_blocks(findings)
        yield from _beside(tuple(responses.blocks(findings)))
    else:
        yield from power_cuts.verdict_table(findings)
        yield from _curves(findings) if not findings.verdicts and findings.study.covariates else _comparisons(findings)
    yield from decide.blocks(findings)
    yield Sentences(tuple(_regime(findings)), small=True)
    basis = (power_cuts.HOW,) if power_cuts.decide(findings) else _basis(findings)
    method = (*basis, *responses.basis(findings), *decide.basis(findings))
    yield Sentences(method, small=True, on=Surface.TERMINAL)
    yield Folded("How this was judged", (Sentences((*method, _SECONDARY), small=True),))


def _beside(blocks: Sequence[Block]) -> Iterator[Block]:
    """Comparisons beside verdicts that compare nothing: folded on a page."""
    yield from (replace(each, on=Surface.TERMINAL) for each in blocks if isinstance(each, Table))
    if blocks:
        yield Folded("Other responses against the baseline (secondary)", blocks)


def _curves(findings: "Findings") -> Iterator[Block]:
    """Of a study that varies covariates alone: its verdict is what the curve says."""
    study = findings.study
    along = f"{words.capital(findings.primary.title)} along {', '.join(study.covariates)}"
    subject = (
        f"{along}: one treatment, so there is a curve and nothing to compare;"
        f" each point was asked to ±{study.design.resolution * 100:.3g} %"
    )
    yield Sentences((subject,))
    yield Sentences(tuple(curves.sentences(findings)))
    yield scaling_figure.figure(findings)
    yield curves.figure(findings)


def _comparisons(findings: "Findings") -> Iterator[Block]:
    study, primary = findings.study, findings.primary
    none = f"less than ±{study.design.resolution * 100:.3g} % counts as no difference"
    yield Sentences(
        (f"{words.capital(primary.title)}: each treatment against the baseline {findings.baseline}; {none}",)
    )
    yield Verdicts(
        tuple(
            VerdictRow(
                judged.effect.place.name,
                "" if judged.effect.refused else words.effect(judged.effect, primary),
                judged.verdict.kind,
                judged.verdict.text,
                words.counted(judged.effect.blocks, "block"),
            )
            for judged in findings.verdicts
        )
    )
    yield from responses.blocks(findings)
    if findings.explanations:
        yield Sentences(costs.explained(findings), on=Surface.TERMINAL)  # a page has them before the costs
    elif findings.verdicts:
        yield Sentences((words.NO_COST,))


def _basis(findings: "Findings") -> Iterator[str]:
    """How effects and their intervals were computed, in the words of a note."""
    study = findings.study
    for judged in findings.verdicts[:1]:
        effect = judged.effect
        once = findings.imported or (study.design.horizon or study.design.blocks_max) <= FIRST_LOOK
        looks = "" if once else ", valid although the data were looked at after every block"
        if not all(map(not_judged, findings.verdicts)):
            level = per_cent(effect.level)
            yield f"in brackets: {level} intervals, for all comparisons together{looks} ({effect.method})"
        if not findings.imported:
            yield (
                f"effects are taken within blocks, where {comparison.order(study)}; the load program's own"
                " summary gives each trial's speed"
            )
    if layout := comparison.layout(findings.study):
        yield f"factors {layout}"


def _regime(findings: "Findings") -> Iterator[str]:
    """What the numbers are true for, and who made them."""
    if findings.imported:
        yield findings.imported
    if findings.regimes:
        yield f"true for: {'; '.join(findings.regimes)}"
    elif not any(trial.status is Status.VALID for trial in findings.trials):
        yield "no trial is valid yet"
    if findings.trials and not findings.imported:
        regime = findings.trials[-1].regime
        warmed = f", {findings.work.warmed}" if findings.work.warmed else ""
        window, warmup = (words.duration(median_s(findings.trials, name)) for name in ("window_s", "warmup_s"))
        yield (
            f"window {window} after a warm-up of {warmup}; cache:"
            f" {regime.get('cache', words.MISSING)}{warmed}; data age: {regime.get('age', words.MISSING)}"
        )


def _plain(findings: "Findings") -> Mapping[str, object]:
    return {
        "primary": findings.study.primary,
        "baseline": findings.baseline,
        "verdicts": [
            {
                **effect_values(judged.effect),
                "unit": findings.primary.unit,
                "verdict": judged.verdict.kind,
                "text": judged.verdict.text,
                "more_blocks": judged.verdict.more_blocks,
                "more_s": judged.verdict.more_s,
            }
            for judged in findings.verdicts
        ],
        "secondary": responses.plain(findings),
        "decide": decide.plain(findings),
        "explanations": [explanation.text for explanation in findings.explanations],
        "regimes": list(findings.regimes),
        "layout": comparison.layout(findings.study),
        "order": "" if findings.imported else comparison.order(findings.study),
    }


SECTION = Section("verdict", "Verdict", _blocks, _plain, link="Verdict", open=True)
