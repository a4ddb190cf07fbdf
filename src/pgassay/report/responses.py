"""Effects on every response that the study names: a table below the verdicts, and a forest of all of them.

The primary's comparisons are one family, those of responses that the run was to settle beside it a second one, those of
the other secondary responses a third; costs of a transaction have theirs (see `costs`), also where a study names them.
A comparison has the same interval wherever a page shows it, and the run was ended by the same.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import per_cent
from pgassay.design.stopping import family
from pgassay.report import words
from pgassay.report.case import joined
from pgassay.report.headline import changes
from pgassay.report.json_values import effect_values
from pgassay.report.phrases import of
from pgassay.report.section import Block, Cell, Drawing, Figure, Table
from pgassay.study.levels import Cell as Spot
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Findings, Judged

_PANELS_MAX = 12
"""Of a forest, a panel an arm: more are for the tables."""
_REACH = 300.0
"""Per cent beyond which an effect is drawn at the edge."""


def blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each place, a row a secondary response and a column a treatment; nothing before five blocks."""
    shown = [table for cell in _cells(findings) if (table := _table(findings, cell)).rows]
    yield from shown
    if shown or any(each.effect.bounded for each in findings.verdicts):
        yield Figure("responses", lambda: drawing(findings), key=1)


def _cells(findings: "Findings") -> Sequence[Spot]:
    return tuple(dict.fromkeys(arm.place.cell for arm in findings.study.arms))


def _table(findings: "Findings", cell: Spot) -> Table:
    treatments = [each.name for each in findings.study.treatments if each.name != findings.baseline]
    rows: list[Sequence[str | Cell]] = []
    for response, judged in findings.secondary_verdicts:
        here = {each.effect.treatment: each for each in judged if each.effect.place.cell == cell}
        if any(each.effect.bounded for each in here.values()):
            cells = [_cell(here.get(name), response) for name in treatments]
            rows.append((words.capital(response.title), *cells))
    place = f" at {cell.name}" if cell.name else ""
    return Table((f"against {findings.baseline}", *treatments), rows, f"Other responses{place} (secondary)")


def _cell(judged: "Judged | None", response: Response) -> Cell:
    if judged is None or not judged.effect.bounded:
        return Cell(words.MISSING)
    kind = judged.verdict.kind
    return Cell(words.effect(judged.effect, response), kind.value)


def basis(findings: "Findings") -> Iterator[str]:
    """What the intervals hold for, in the words of a note; nothing before five blocks."""
    if any(each.effect.bounded for _, judged in findings.secondary_verdicts for each in judged):
        yield _family(findings)


def _family(findings: "Findings") -> str:
    """Which comparisons share an error rate: those that the run was to settle, too, other responses, and costs."""
    settled: dict[str, Effect] = {}
    beside: list[Effect] = []
    costs = False
    for response, judged in findings.secondary_verdicts:
        if family(findings.study, response.name) is not None:
            settled.update({of(response).name: each.effect for each in judged[:1]})
        elif response.cost:
            costs = True
        else:
            beside += [each.effect for each in judged]
    parts = []
    if settled:
        parts.append(f"{joined([*settled])}, which the run was to settle, too: {_level([*settled.values()])}")
    if beside:
        named = "other secondary responses" if settled else "secondary responses"
        parts.append(f"{named}: {_level(beside)}, apart from the primary's")
    if costs:
        parts.append("costs of a transaction hold together with all other costs")
    return "; ".join(parts)


def _level(effects: Sequence[Effect]) -> str:
    """What the intervals of a family hold for."""
    first, count = effects[0], effects[0].comparisons
    together = f"for all their {count} comparisons together" if count > 1 else "for each comparison by itself"
    return f"{per_cent(first.level)} intervals {together}"


def drawing(findings: "Findings") -> Drawing | None:
    """The main figure: the primary, what the headline names beside it, and every secondary response.

    A panel for each arm; of a single response a row for each. None without an interval.
    """
    from pgassay.report import charts
    from pgassay.report.forest import forest, forest_row

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
            name = words.capital(of(response).name)
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
        f" the same. {words.capital(findings.primary.title)} is the primary response, all others are secondary. A bar"
        " that reaches the edge goes beyond it, and what is not known is not drawn.",
        forest(rows, order, title, colours, most=_REACH, field="panel", names=arms),
    )


def plain(findings: "Findings") -> list[dict[str, object]]:
    """Every secondary comparison with its verdict, as JSON has them."""
    return [
        {
            **effect_values(each.effect),
            "unit": response.unit,
            "comparisons": each.effect.comparisons,
            "verdict": each.verdict.kind,
            "text": each.verdict.text,
        }
        for response, judged in findings.secondary_verdicts
        for each in judged
    ]
