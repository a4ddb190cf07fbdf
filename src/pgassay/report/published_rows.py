"""The rows of a published table, and this run's own figures beside them.

Figures are only set side by side, never computed with each other: machine, load and regime differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pgassay.analysis.claims import needed_parts, parts_of
from pgassay.analysis.effects import Effect
from pgassay.analysis.summary import Summary
from pgassay.report import words
from pgassay.report.own_figures import Own, beside, of_row
from pgassay.report.section import Block, Cell, Listing, Sentences, Surface, Table
from pgassay.study.model import Published

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


def blocks(findings: "Findings") -> Iterator[Block]:
    """The authors' rows; one's own figures beside those that say what they are about."""
    published = findings.study.published
    columns = tuple(dict.fromkeys(column for row in published for column in row.cells))
    beside_cells = {figure.column for row in published for figure in row.figures}
    named = any(row.treatment for row in published)
    heads = [head for column in columns for head in (column, *([_here(column)] if column in beside_cells else []))]
    behind = ("here: avg ± stdev", "here: median", f"here: against {findings.baseline}") if named else ()
    effects: dict[str, tuple[Effect, ...]] = {}
    rows: list[tuple[str | Cell, ...]] = []
    for row in published:
        cells: list[str | Cell] = []
        for column in columns:
            cells.append(row.cells.get(column, ""))
            if column in beside_cells:
                cells.append(_own_cell(findings, row, column))
        rows.append((*cells, *(_ours(findings, row, effects) if named else ())))
    shaded = [place for place, head in enumerate((*heads, *behind)) if head not in columns]
    yield Table((*heads, *behind), rows, shaded=shaded, texts=True, on=Surface.PAGE)
    told = [item for row in published if (item := _told(findings, row))]
    if told:
        yield Listing("Published, and measured here", told, on=Surface.TERMINAL)
    ours = "shaded: this run, on this machine, with the load and regime that it had; all else: " if shaded else ""
    note = f"{ours}the authors' own figures, from their machine and load; not measured here"
    if shaded:
        note += (
            "; a change against the baseline is the mean within blocks, not the quotient of the figures beside it;"
            " in brackets 95 % intervals, each by itself unless a verdict has it"
        )
    yield Sentences((note,), small=True, on=Surface.PAGE)


def _here(column: str) -> str:
    return f"here: {column}"


def _own_cell(findings: "Findings", row: Published, column: str) -> str | Cell:
    """What was measured beside one cell; a dash with the reason where nothing was."""
    found = [each for figure in row.figures if figure.column == column for each in beside(findings, figure)]
    told = "; ".join(each.text for each in found if each.text)
    reasons = "; ".join(dict.fromkeys(each.why for each in found if each.why))
    return Cell(told or words.MISSING, reasons) if reasons else told or words.MISSING


def _told(findings: "Findings", row: Published) -> str:
    """The row in one sentence, for a terminal; empty for one that says nothing of what was measured here."""
    own = [(figure.column, each) for figure in row.figures for each in beside(findings, figure)]
    if not row.figures and row.treatment:
        own = [("", each) for each in of_row(findings, row)]
    if not own:
        return ""
    columns = {column for column, _ in own}
    label = ", ".join(text for column, text in row.cells.items() if column not in columns and text)
    parts = []
    for column in dict.fromkeys(column for column, _ in own):
        said = "; ".join(_said(each) for other, each in own if other == column)
        parts.append(f"{column} {row.cells[column]}, here {said}" if column else f"here {said}")
    return f"{label}: {'; '.join(parts)}" if label else "; ".join(parts)


def _said(own: Own) -> str:
    return own.text or f"not measured ({own.why})"


def _ours(findings: "Findings", row: Published, effects: dict[str, tuple[Effect, ...]]) -> tuple[str | Cell, ...]:
    """This run's cells of a row; `effects` keeps those of each response, which several rows are about."""
    response = findings.responses.get(row.response or findings.study.primary)
    missing = (words.MISSING,) * 3
    if response is None or not row.treatment:
        return missing
    named = needed_parts(row.treatment, findings.study)
    fitting = [each for each in findings.summaries(response) if named <= _levels(each) and each.n]
    if len(fitting) != 1:  # none, or several conditions, of which the authors had one of their own
        return missing
    (mine,) = fitting
    if response.name not in effects:
        effects[response.name] = findings.effects(response)
    effect = next((each for each in effects[response.name] if each.place == mine.place), None)
    mean = next((each.text for each in of_row(findings, row) if each.text), "")
    told = (mine.avg, mine.stdev, mine.min, mine.median, mine.max)
    average, stdev, least, median, greatest = words.quantities(told, response)
    return (
        Cell(f"{average} ± {stdev}", f"mean {mean}; {least} to {greatest}"),
        median,
        words.effect(effect, response) if effect is not None else words.MISSING,
    )


def _levels(summary: Summary) -> frozenset[str]:
    label = summary.place.name
    return parts_of(label)


def plain(findings: "Findings") -> Sequence[Mapping[str, object]]:
    """The rows and what was measured beside them, as JSON has them."""
    return [
        {"cells": dict(row.cells), "here": [_plain(*each) for each in _owned(findings, row)]}
        for row in findings.study.published
    ]


def _owned(findings: "Findings", row: Published) -> Iterator[tuple[str, Own]]:
    """What was measured beside a row, with the column that it is beside; empty for the row as a whole."""
    if row.treatment:
        yield from (("", each) for each in of_row(findings, row))
    for figure in row.figures:
        yield from ((figure.column, each) for each in beside(findings, figure))


def _plain(column: str, own: Own) -> Mapping[str, object]:
    return {
        "column": column,
        "named": own.named,
        "response": own.response,
        "place": own.place,
        "estimate": own.estimate,
        "low": own.low,
        "high": own.high,
        "text": own.text,
        "why": own.why,
    }
