"""Two runs side by side: what differs in study, host and settings, and their effects against each other.

Runs of one study are compared as `pgassay show RUN RUN` does; of others each has its own headline and effects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgassay.errors import PgassayError
from pgassay.record.reading import Run
from pgassay.report import words
from pgassay.report.environments import (
    Fact,
    SideBySide,
    drawing,
    hosts_of,
    settings_of,
    side_by_side,
    written_of,
)
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of

FIGURE = "difference"


@dataclass(frozen=True)
class Line:
    """One comparison of the primary response in each of both runs; empty where a run does not have it."""

    place: str
    effects: tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """A response of the second run against the first, with its interval."""

    place: str
    response: str
    secondary: bool
    text: str


@dataclass(frozen=True)
class Table:
    """What differs, in a table of three columns: its name, then both runs' values."""

    title: str
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Pair:
    """All of it. `refused` says why the runs cannot be set against each other; `figure` is Vega-Lite's, or empty."""

    headlines: tuple[Sequence[str], Sequence[str]]
    lines: Sequence[Line]
    differences: Sequence[Difference]
    refused: str
    tables: Sequence[Table]
    figure: Mapping[str, Any]
    caption: str = ""


def pair_of(first: Run, second: Run) -> Pair:
    """Compare two runs; raises `RecordError` where one cannot be read."""
    runs = (first, second)
    mine, other = (Findings(run) for run in runs)
    refused, found = "", None
    try:
        found = side_by_side((mine, other))
    except PgassayError as failure:
        refused = failure.message
    tables = (
        Table("Study", written_of(runs)),
        Table("Host", hosts_of(runs)),
        Table("Settings, as the servers said them", settings_of(runs)),
    )
    figure, caption = _figure(found) if found is not None else ({}, "")
    return Pair(
        (headline_of(mine).sentences, headline_of(other).sentences),
        _lines(mine, other),
        tuple(_differences(found)) if found is not None else (),
        refused,
        tuple(table for table in tables if table.facts),
        figure,
        caption,
    )


def _lines(mine: Findings, other: Findings) -> list[Line]:
    told = [
        {each.effect.place.name: words.effect(each.effect, findings.primary) for each in findings.verdicts}
        for findings in (mine, other)
    ]
    names = dict.fromkeys((*told[0], *told[1]))
    return [Line(name, (told[0].get(name, ""), told[1].get(name, ""))) for name in names]


def _differences(found: SideBySide) -> list[Difference]:
    listed = []
    for row in found.rows:
        (each,) = row.differences
        if each is None:
            continue
        known = each.low == each.low  # not NaN: of one trial no interval is known
        text = words.interval(each.estimate, each.low, each.high, each.scale, row.response) if known else words.MISSING
        told = f"{text}{'' if each.told_apart or not known else ' (cannot be distinguished)'}"
        listed.append(Difference(row.place, words.capital(row.response.title), not row.primary, told))
    return listed


def _figure(found: SideBySide) -> tuple[Mapping[str, Any], str]:
    from pgassay.report.charts import specified

    drawn = drawing(found)
    if drawn is None:
        return {}, ""
    return {**specified(drawn.chart), "description": drawn.title}, f"{drawn.title}. {drawn.caption}"
