"""Why: what a transaction (an I/O, a query) costs with each treatment, a row a cost.

Speed wanders with the machine, costs repeat far better; all costs together have one error control of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import tables
from pgassay.report import formatting, regimes
from pgassay.report.headline import cost_changes
from pgassay.report.json_values import effect_values
from pgassay.report.section import Brief, Cell, Part, Section, Sentences, Surface, Table, Values, folded
from pgassay.study.levels import Cell as Spot
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_NAMED = 2
"""Costs that the folded section names."""
_BOUNDS = ("full_page_bytes_per_transaction",)
"""In older records: an upper bound, often more than all WAL. The images are counted in a row of theirs."""


def explained(findings: "Findings") -> Sequence[str]:
    """Which costs moved with the primary, a sentence for each comparison that has blocks enough for a verdict."""
    pairs = zip(findings.explanations, findings.verdicts, strict=False)
    return [each.text for each, judged in pairs if judged.effect.blocks >= FIRST_LOOK]


def _table(findings: "Findings", place: Spot) -> Table:
    """At one condition and covariate point: a row a cost with its unit, `mean (effect)` for each treatment."""
    treatments = [treatment.name for treatment in findings.study.treatments]
    rows: list[Sequence[str | Cell]] = []
    for response in (each for each in findings.responses.values() if each.cost and each.name not in _BOUNDS):
        summaries = [row for row in findings.summaries(response) if row.place.cell == place]
        if not summaries:
            continue
        title, effects = response.title, dict[str, Effect]()
        means: Mapping[str, float]
        if response.scale is Scale.RATIO and any(row.n and row.min <= 0.0 for row in summaries):
            title += " (averages, since some are 0)"  # of which no ratio and no geometric mean can be made
            means = {row.treatment: row.avg for row in summaries if row.n}
        else:
            mine = (each for each in findings.costs if each.response == response.name and each.place.cell == place)
            effects = {each.treatment: each for each in mine if each.informative}
            means = _means(findings, response, place, effects)
        sized, cells = response.unit in formatting.BYTES, []
        for name in treatments:
            value = means.get(name, nan)
            text = formatting.size(value) if sized and name in means else formatting.quantity(value, response)
            if name in effects:
                text += f" ({formatting.effect(effects[name], response)})"
            cells.append(text)
        rows.append((Cell(title, unit="" if sized else formatting.unit(response)), *cells))
    head = (f"per {findings.work.name}", *(each or "median" for each in treatments))
    return Table(head, rows, place.name, on=Surface.PAGE)


def _means(findings: "Findings", response: Response, place: Spot, effects: Mapping[str, Effect]) -> Mapping[str, float]:
    """Each treatment's mean over its blocks, geometric on a ratio scale; with an effect the baseline's with that.

    In complete blocks the two are the same. A treatment that left early ran in other hours than the baseline did, and
    its own mean would not fit its effect.
    """
    table = tables(findings.observations(response.name), response.scale).get(place)
    ratio = response.scale is Scale.RATIO
    columns = {} if table is None else table.values
    found = {name: (geometric_mean if ratio else fmean)(each.values()) for name, each in columns.items() if each}
    whole = found.get(findings.baseline, nan)
    for name, effect in effects.items():
        found[name] = whole * effect.estimate if ratio else whole + effect.estimate
    return {name: value for name, value in found.items() if isfinite(value)}


def _describe(findings: "Findings") -> Iterator[Part]:
    work, equal = findings.work, regimes.equality(findings.study, findings.work)
    yield Values({"costs": [effect_values(effect) for effect in findings.costs], "equality": equal})
    count = sum(response.cost and bool(findings.summaries(response)) for response in findings.responses.values())
    brief = f"{formatting.counted(count, 'cost')} of {work.article}"
    if surely := tuple(cost_changes(findings)):
        brief = "; ".join(surely[:_NAMED]) + (f"; {len(surely) - _NAMED} more" if len(surely) > _NAMED else "")
    elif findings.verdicts:
        known = "none surely changed" if any(each.bounded for each in findings.costs) else "no intervals yet"
        brief += f", by treatment; {known}"
    yield Brief(brief)
    yield Sentences(explained(findings), on=Surface.PAGE)
    speed = f"speed wanders with the machine; what {work.article} costs repeats far better and explains the speed"
    about = (
        *(() if findings.counted else (speed,)),
        "means over the blocks (geometric ones where changes are in per cent), in brackets the change against the"
        " baseline with its interval, valid for all costs together; a treatment's figure is the baseline's with that"
        " change",
    )
    yield Sentences(about, joined=True, on=Surface.PAGE)
    if not findings.imported:
        yield Sentences((equal,))
    places = dict.fromkeys(arm.place.cell for arm in findings.study.arms)
    yield from folded([table for place in places if (table := _table(findings, place)).rows])


SECTION = Section("why", "Why: the costs", _describe, secondary=True, link="Why")
