"""Effects on every response that the study names: a table below the verdicts, and a forest of all of them.

The primary's comparisons are one family, those of responses that the run was to settle beside it a second one, those of
the other secondary responses a third; costs of a transaction have theirs (see `costs`), also where a study names them.
A comparison has the same interval wherever a page shows it, and the run was ended by the same.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.analysis.effects import Effect
from pgassay.analysis.messages import per_cent
from pgassay.design.stopping import family
from pgassay.report import words
from pgassay.report.case import joined
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
    if shown:
        yield Figure("responses", lambda: _drawing(findings), key=1)


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


def _drawing(findings: "Findings") -> Drawing | None:
    """A forest of the primary and all secondary responses, a panel for each arm; None without an interval."""
    from pgassay.report import charts
    from pgassay.report.forest import forest, forest_row

    every = ((findings.primary, findings.verdicts), *findings.secondary_verdicts)
    rows: list[dict[str, Any]] = []
    for response, judged in every:
        shown = response.scale is Scale.RATIO or response.unit == "share"
        for each in judged if shown else ():
            row = forest_row(each.effect, words.capital(of(response).name))
            if row:
                rows.append({**row, "panel": each.effect.place.name})
    names = list(dict.fromkeys(row["label"] for row in rows))
    panels = {row["panel"] for row in rows}
    shown_panels = tuple(arm.place.name for arm in findings.study.arms if arm.place.name in panels)
    if len(names) < 2 or not 0 < len(shown_panels) <= _PANELS_MAX:
        return None
    colours = charts.colour(tuple(treatment.name for treatment in findings.study.treatments), legend=False)
    title = f"change against {findings.baseline}, % (shares: points)"
    return Drawing(
        "Effect on every response that the study names",
        f"Point: estimate; bar: interval. {words.capital(findings.primary.title)} is the primary response, all others"
        " are secondary. A bar that reaches the edge goes beyond it, and what is not known is not drawn.",
        forest(rows, names, title, colours, most=_REACH, field="panel", names=shown_panels),
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
