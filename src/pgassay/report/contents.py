"""The contents of a report: every section, in the order in which page, terminal, JSON and CSV have them.

A section of somebody else's package (entry points `pgassay.sections`) takes its place by itself. One that is broken, or
that fails on a run, is named in the report and takes nothing from the others. For scripts there are JSON with unrounded
numbers, and every table as CSV.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from pgassay import plugins
from pgassay.errors import UsageError
from pgassay.outgoing import cell
from pgassay.report import (
    bottleneck,
    cache,
    costs,
    curves,
    disk,
    drives,
    factors,
    functions,
    headline,
    hosts,
    likeness,
    measurements,
    network,
    power_cuts,
    provenance,
    published,
    scale_model,
    servers,
    space,
    statements,
    tradeoff,
    trials,
    turns,
    verdict,
    warnings,
)
from pgassay.report.section import Part, Section, Sentences, Surface, Table, Values, flat

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SECTIONS: tuple[Section, ...] = (
    headline.SECTION,
    verdict.SECTION,
    functions.SECTION,
    hosts.SECTION,
    servers.SECTION,
    power_cuts.SECTION,
    warnings.SECTION,
    statements.SECTION,
    likeness.SECTION,
    measurements.SECTION,
    cache.SECTION,
    costs.SECTION,
    bottleneck.SECTION,
    network.SECTION,
    factors.SECTION,
    curves.SECTION,
    curves.FITS,
    disk.SECTION,
    tradeoff.SECTION,
    drives.SECTION,
    space.COMPRESSION,
    space.SECTION,
    scale_model.SECTION,
    published.SECTION,
    headline.APPLYING,
    turns.SECTION,
    trials.SECTION,
    provenance.CONFIGURATION,
    provenance.MACHINE,
    provenance.REPETITION,
)
TRUST = warnings.SECTION.name
"""Before this a page has its key figures."""
_BEFORE = trials.SECTION.name
"""Where a section of another package comes that does not say behind which."""


def sections(only: str = "") -> tuple[Section, ...]:
    """All sections in order, those of other packages among them, or `only` the one of this name."""
    found = plugins.load(plugins.Group.SECTIONS, Section, [each.name for each in SECTIONS])
    order = list(SECTIONS)
    for each in found.objects.values():
        names = [other.name for other in order]
        place = names.index(each.after) + 1 if each.after in names else names.index(_BEFORE)
        order.insert(place, _guarded(each))
    if found.broken:
        reasons = tuple(error.message for error in found.broken)
        missing = Section("missing", "Sections that are missing", lambda _: (Sentences(reasons),))
        order.insert([other.name for other in order].index(_BEFORE), missing)
    return tuple(each for each in order if only in ("", each.name))


def headline_instead(sentences: Sequence[str]) -> Section:
    """The headline of a page whose answer is not this run's alone; as an own section it takes the other's place."""

    def describe(findings: "Findings") -> Iterator[Part]:
        yield Sentences(tuple(sentences))
        yield Sentences((headline.facts(findings).line,), small=True)

    return replace(headline.SECTION, describe=describe)


def _guarded(section: Section) -> Section:
    """One that says what is wrong with it instead of ending the report."""

    def describe(findings: "Findings") -> Iterator[Part]:
        try:
            yield from tuple(section.describe(findings))
        except Exception as error:
            failed = f'section "{section.name}" of another package failed: {type(error).__name__}: {error}'
            yield Sentences((failed,))
            yield Values({section.name: {"error": failed}})

    return replace(section, describe=describe)


FORMAT = 1
CSV_HEAD = ("section", "table", "row", "column", "value")


def document(findings: "Findings", only: str = "") -> dict[str, Any]:
    """What `--json` prints, before it is encoded: all sections' parts, or `only` those of one, by key.

    Values may be dataclasses, numpy's numbers, NaN: see `json_values`. Raises `UsageError` where two sections have the
    same key for what are no mappings.
    """
    found: dict[str, Any] = {"format": FORMAT}
    for section in sections(only):
        _join(found, section.plain(findings), section.name)
    return found


def _join(whole: dict[str, Any], part: Mapping[str, object], name: str) -> None:
    for key, value in part.items():
        if isinstance(value, Mapping) and isinstance(known := whole.setdefault(key, {}), dict):
            _join(known, value, name)  # copied, since a section's own are kept
        elif key in whole:
            raise UsageError(
                f'section "{name}" writes "{key}" to --json, which another section has', "give it another key"
            )
        else:
            whole[key] = value


def write_csv(findings: "Findings", file: TextIO, only: str = "") -> None:
    """Every table of the report or of one section, a line a cell and as a reader sees it; `row` is its first cell."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for section in sections(only):
        tables = (block for block in flat(section.shown(findings, Surface.PAGE)) if isinstance(block, Table))
        for table in tables:
            for row in table.rows:
                first, *others = map(str, row)
                for column, shown in zip(table.head[1:], others, strict=False):
                    writer.writerow(map(cell, (section.name, table.title, first, column, shown)))
