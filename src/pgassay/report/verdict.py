"""The answer: each treatment against the baseline with its verdict, how sure it is, why, and what it is true for.

Below the verdicts stand the effects on every other response that the study names, in a table and a forest. The
primary's comparisons are one family, those of responses that the run was to settle along with it a second one, those of
the other secondary responses a third; costs of a transaction have theirs, also where a study names them.
A comparison has the same interval wherever a page shows it, and the run was ended by the same.

What a transaction (an I/O, a query) costs with each treatment stands in "Why": speed wanders with the machine, costs
repeat far better. All costs together have one error control of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite, nan
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.observations import tables
from pgassay.design.stopping import family
from pgassay.report import curves, decide, formatting, power_cuts, regimes
from pgassay.report.answer import joined, not_judged, phrase_of
from pgassay.report.headline import changes, cost_changes
from pgassay.report.json_values import effect_values
from pgassay.report.section import (
    Block,
    Brief,
    Cell,
    Drawing,
    Figure,
    Folded,
    Part,
    Section,
    Sentences,
    Surface,
    Table,
    Values,
    VerdictRow,
    Verdicts,
    folded,
)
from pgassay.report.trials import median_s
from pgassay.study.levels import Cell as Spot
from pgassay.study.responses import Response, Scale, Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_PANELS_MAX = 12
"""Of a forest, a panel an arm: more are for the tables."""
_SECONDARY = (
    "sections marked secondary decide nothing, and their intervals are not part of the primary's error control: see"
    " docs/statistics.md"
)


def _describe(findings: "Findings") -> Iterator[Part]:
    yield Values(_values(findings))
    cuts, cut = power_cuts.decide(findings), findings.once(power_cuts.arms)
    if cuts:
        yield Sentences((power_cuts.question(findings),))
        said = [(each.name, each.verdict, formatting.counted(each.blocks, "block")) for each in cut]
        yield Verdicts([VerdictRow(name, "", found.kind, found.text, blocks) for name, found, blocks in said])
        others = tuple(response_blocks(findings))  # comparisons along with verdicts that compare nothing
        yield from (replace(each, on=Surface.TERMINAL) for each in others if isinstance(each, Table))
        if others:
            yield Folded("Other responses against the baseline (secondary)", others)
    else:
        if cut:
            rows = [(power_cuts.called(findings, each), each.verdict.text) for each in cut]
            yield Table(("", "power cuts"), rows, texts=True, whole=True)
        yield from _curves(findings) if not findings.verdicts and findings.study.covariates else _comparisons(findings)
    yield from decide.blocks(findings)
    yield Sentences(tuple(_regime(findings)), small=True)
    basis = (power_cuts.HOW,) if cuts else _basis(findings)
    method = (*basis, *_family(findings), *decide.basis(findings))
    yield Sentences(method, small=True, on=Surface.TERMINAL)
    yield Folded("How this was judged", (Sentences((*method, _SECONDARY), small=True),))


def _curves(findings: "Findings") -> Iterator[Block]:
    study = findings.study
    along = f"{formatting.capital(findings.primary.title)} along {', '.join(study.covariates)}"
    subject = (
        f"{along}: one treatment, so there is a curve and nothing to compare;"
        f" each point was asked to ±{study.design.resolution * 100:.3g} %"
    )
    yield Sentences((subject,))
    yield Sentences(tuple(curves.sentences(findings)))
    yield Figure("scaling", lambda: curves.fit_drawing(findings))
    yield Figure("curve", lambda: curves.drawing(findings))


def _comparisons(findings: "Findings") -> Iterator[Block]:
    study, primary = findings.study, findings.primary
    none = f"less than ±{study.design.resolution * 100:.3g} % counts as no difference"
    yield Sentences(
        (f"{formatting.capital(primary.title)}: each treatment against the baseline {findings.baseline}; {none}",)
    )
    rows = []
    for each in findings.verdicts:
        effect, kind, said = each.effect, each.verdict.kind, each.verdict.text
        shown = "" if effect.refused else formatting.effect(effect, primary)
        rows.append(VerdictRow(effect.place.name, shown, kind, said, formatting.counted(effect.blocks, "block")))
    yield Verdicts(rows)
    yield from response_blocks(findings)
    if findings.explanations:
        yield Sentences(explained(findings), on=Surface.TERMINAL)  # a page has them before the costs
    elif findings.verdicts:
        yield Sentences((formatting.NO_COST,))


def _basis(findings: "Findings") -> Iterator[str]:
    study = findings.study
    for judged in findings.verdicts[:1]:
        effect = judged.effect
        once = findings.imported or (study.design.horizon or study.design.blocks_max) <= FIRST_LOOK
        looks = "" if once else ", valid although the data were looked at after every block"
        if not all(map(not_judged, findings.verdicts)):
            level = per_cent(effect.level)
            yield f"in brackets: {level} intervals, for all comparisons together{looks} ({effect.method})"
        if not findings.imported:
            speed = "" if findings.counted else "; the load program's own summary gives each trial's speed"
            yield f"effects are taken within blocks, where {regimes.order(study)}{speed}"
    if layout := regimes.layout(findings.study):
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
        window, warmup = (formatting.duration(median_s(findings.trials, name)) for name in ("window_s", "warmup_s"))
        length = "" if findings.counted else f"window {window} after a warm-up of {warmup}; "
        yield (
            f"{length}cache: {regime.get('cache', formatting.MISSING)}{warmed};"
            f" data age: {regime.get('age', formatting.MISSING)}"
        )


def response_blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each place, a row a secondary response and a column a treatment; nothing before five blocks."""
    cells = dict.fromkeys(arm.place.cell for arm in findings.study.arms)
    shown = [table for cell in cells if (table := _response_table(findings, cell)).rows]
    yield from shown
    if shown or any(each.effect.bounded for each in findings.verdicts):
        yield Figure("responses", lambda: drawing(findings), key=1)


def _response_table(findings: "Findings", cell: Spot) -> Table:
    treatments = [each.name for each in findings.study.treatments if each.name != findings.baseline]
    rows: list[Sequence[str | Cell]] = []
    for response, judged in findings.secondary_verdicts:
        here = {each.effect.treatment: each for each in judged if each.effect.place.cell == cell}
        if any(each.effect.bounded for each in here.values()):
            cells = [
                Cell(formatting.effect(each.effect, response), each.verdict.kind.value)
                if (each := here.get(name)) and each.effect.bounded
                else Cell(formatting.MISSING)
                for name in treatments
            ]
            rows.append((formatting.capital(response.title), *cells))
    place = f" at {cell.name}" if cell.name else ""
    return Table((f"against {findings.baseline}", *treatments), rows, f"Other responses{place} (secondary)")


def _family(findings: "Findings") -> Iterator[str]:
    """Which comparisons share an error rate: those that the run was to settle, too, other responses, and costs.

    In the words of a note; nothing before five blocks.
    """
    if not any(each.effect.bounded for _, judged in findings.secondary_verdicts for each in judged):
        return
    settled: dict[str, Effect] = {}
    others: list[Effect] = []
    costs = False
    for response, judged in findings.secondary_verdicts:
        if family(findings.study, response.name) is not None:
            settled.update({phrase_of(response).name: each.effect for each in judged[:1]})
        elif response.cost:
            costs = True
        else:
            others += [each.effect for each in judged]
    parts = []
    if settled:
        parts.append(f"{joined([*settled])}, which the run was to settle, too: {_level([*settled.values()])}")
    if others:
        named = "other secondary responses" if settled else "secondary responses"
        parts.append(f"{named}: {_level(others)}, apart from the primary's")
    if costs:
        parts.append("costs of a transaction hold together with all other costs")
    yield "; ".join(parts)


def _level(effects: Sequence[Effect]) -> str:
    first, count = effects[0], effects[0].comparisons
    together = f"for all their {count} comparisons together" if count > 1 else "for each comparison by itself"
    return f"{per_cent(first.level)} intervals {together}"


def drawing(findings: "Findings") -> Drawing | None:
    """The main figure: the primary, what the headline names with it, and every secondary response.

    A panel for each arm; of a single response a row for each. None without an interval.
    """
    from pgassay.report import charts
    from pgassay.report.charts import forest, forest_row

    secondary = [(response, [each.effect for each in judged]) for response, judged in findings.secondary_verdicts]
    named = dict.fromkeys(each.response for each in changes(findings) if each.response.cost)
    costs = [
        (response, [each for each in findings.costs if each.response == response.name])
        for response in named
        if response not in dict(secondary)
    ]
    every = [(findings.primary, [each.effect for each in findings.verdicts]), *costs, *secondary]
    rows: list[dict[str, Any]] = []
    for response, effects in every:
        shown = response.scale is Scale.RATIO or response.unit == "share"
        for effect in effects if shown else ():
            name = formatting.capital(phrase_of(response).name)
            if row := forest_row(effect, name, response, findings.study.design.resolution):
                rows.append({**row, "panel": effect.place.name})
    order = list(dict.fromkeys(row["label"] for row in rows))
    panels = {row["panel"] for row in rows}
    arms = tuple(arm.place.name for arm in findings.study.arms if arm.place.name in panels)
    treatments = tuple(treatment.name for treatment in findings.study.treatments)
    title = f"change against {findings.baseline}, % (shares: points)"
    if len(order) == 1:
        labels = charts.short_labels(arms)[1]
        rows = [{**row, "label": labels[row["panel"]]} for row in rows]
        title, order, arms = f"{order[0]}: {title}", list(labels.values()), ()
    if not rows or len(arms) > _PANELS_MAX:
        return None
    colours = charts.colour(treatments, legend=False)
    return Drawing(
        f"What changed against {findings.baseline}",
        f"Point: estimate; bar: interval; grey: within ±{findings.study.design.resolution * 100:.3g} %, which counts as"
        f" the same. {formatting.capital(findings.primary.title)} is the primary response, all others are secondary. A"
        " bar that reaches the edge goes beyond it, and what is not known is not drawn.",
        forest(rows, order, title, colours, arms),
    )


def _values(findings: "Findings") -> dict[str, object]:
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
        "secondary": [
            {
                **effect_values(each.effect),
                "unit": response.unit,
                "comparisons": each.effect.comparisons,
                "verdict": each.verdict.kind,
                "text": each.verdict.text,
            }
            for response, judged in findings.secondary_verdicts
            for each in judged
        ],
        "decide": decide.plain(findings),
        "explanations": [explanation.text for explanation in findings.explanations],
        "regimes": list(findings.regimes),
        "layout": regimes.layout(findings.study),
        "order": "" if findings.imported else regimes.order(findings.study),
    }


SECTION = Section("verdict", "Verdict", _describe, link="Verdict", open=True)


_NAMED = 2
"""Costs that the folded section names."""
_BOUNDS = ("full_page_bytes_per_transaction",)
"""In older records: an upper bound, often more than all WAL. The images are counted in a row of theirs."""


def explained(findings: "Findings") -> Sequence[str]:
    """Which costs moved with the primary, a sentence for each comparison that has blocks enough for a verdict."""
    pairs = zip(findings.explanations, findings.verdicts, strict=False)
    return [each.text for each, judged in pairs if judged.effect.blocks >= FIRST_LOOK]


def _cost_table(findings: "Findings", place: Spot) -> Table:
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


def _costs(findings: "Findings") -> Iterator[Part]:
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
    yield from folded([table for place in places if (table := _cost_table(findings, place)).rows])


WHY = Section("why", "Why: the costs", _costs, secondary=True, link="Why")
