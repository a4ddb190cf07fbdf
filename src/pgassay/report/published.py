"""The published table with one's own figures beside it, row by row, where a row says which treatment it is about.

Only set side by side, never computed with each other: machine, load and regime differ.
"""

from dataclasses import dataclass

from pgassay.analysis.claims import needed_parts
from pgassay.analysis.summary import Summary
from pgassay.report import words
from pgassay.report.findings import Findings
from pgassay.study.model import Published


@dataclass(frozen=True)
class Row:
    """The authors' cells, and one's own (dashes where this run has no such treatment)."""

    cells: tuple[str, ...]
    ours: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Both heads, then the rows; `ours` is empty where no row names a treatment."""

    columns: tuple[str, ...]
    ours: tuple[str, ...]
    rows: tuple[Row, ...]


def beside(findings: Findings) -> Table:
    """The table; without rows where the study has none."""
    rows = findings.study.published
    columns = tuple(dict.fromkeys(column for row in rows for column in row.cells))
    told = any(row.treatment for row in rows)
    heads = ("here: avg ± stdev", "here: median", f"here: against {findings.baseline}") if told else ()
    found = []
    for row in rows:
        cells = tuple(row.cells.get(column, "") for column in columns)
        found.append(Row(cells, _ours(findings, row) if told else ()))
    return Table(columns, heads, tuple(found))


def _ours(findings: Findings, row: Published) -> tuple[str, ...]:
    response = findings.responses.get(row.response or findings.study.primary)
    missing = (words.MISSING,) * 3
    if response is None or not row.treatment:
        return missing
    named = needed_parts(row.treatment, findings.study)
    fitting = [each for each in findings.summaries(response) if named <= _levels(each) and each.n]
    if len(fitting) != 1:  # none, or several conditions, of which the authors had one of their own
        return missing
    (mine,) = fitting
    effect = next((each for each in findings.effects(response) if each.place == mine.place), None)
    return (
        f"{words.quantity(mine.avg, response)} ± {words.quantity(mine.stdev, response)}",
        words.quantity(mine.median, response),
        words.effect(effect, response) if effect is not None else words.MISSING,
    )


def _levels(summary: Summary) -> frozenset[str]:
    label = summary.place.name
    return frozenset(label.split(", "))
