"""The contents of a report: every section, in the order in which page, terminal, JSON and CSV have them.

A section of somebody else's package (entry points `pgassay.sections`) takes its place by itself. One that is broken, or
that fails on a run, is named in the report and takes nothing from the others. For scripts there are JSON with unrounded
numbers, and every table as CSV.

Sections of a page that its run alone does not give are kept with the run: `own-sections.json`. What an advice says of
its confirmation comes from many runs. It is kept as blocks, with what they draw, so that the page is whole however
often it is made again, without what made them. A run that has got more trials since then has other intervals: what was
kept is not shown with them.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from pgassay import plugins
from pgassay.errors import UsageError
from pgassay.outgoing import cell
from pgassay.record.disk import replace_file
from pgassay.record.errors import damaged
from pgassay.report import (
    bottleneck,
    cache,
    curves,
    drives,
    factors,
    functions,
    headline,
    hosts,
    likeness,
    measurements,
    power_cuts,
    provenance,
    published,
    servers,
    statements,
    trials,
    verdict,
    warnings,
)
from pgassay.report.json_values import to_json
from pgassay.report.section import (
    Block,
    Code,
    Drawing,
    Figure,
    Folded,
    Listing,
    Part,
    Section,
    Sentences,
    Surface,
    Table,
    Values,
    Verdicts,
    flat,
)

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
    verdict.WHY,
    bottleneck.SECTION,
    servers.NETWORK,
    factors.SECTION,
    curves.SECTION,
    curves.FITS,
    drives.DISK,
    drives.SECTION,
    measurements.COMPRESSION,
    measurements.SPACE,
    likeness.SCALE_MODEL,
    published.SECTION,
    headline.APPLYING,
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


KEPT_FILE = "own-sections.json"
KEPT_FORMAT = 1
_KINDS: Mapping[str, type[Sentences | Table | Verdicts | Listing | Code]] = {
    each.kind: each for each in (Sentences, Table, Verdicts, Listing, Code)
}


def keep_sections(findings: "Findings", sections: Sequence[Section]) -> tuple[Section, ...]:
    """Write what these sections show of the run, with it, and return them as `kept_sections` does."""
    from altair.utils.schemapi import debug_mode

    run = findings.run
    with debug_mode(False):
        shown = [
            {
                "name": each.name, "title": each.title, "link": each.link, "open": each.open,
                "blocks": _encoded(each.shown(findings, Surface.PAGE)),
            }
            for each in sections
        ]  # fmt: skip
    whole = {"format": KEPT_FORMAT, "trials": len(findings.trials), "sections": shown}
    replace_file(run.disk, run.path / KEPT_FILE, (to_json(whole) + "\n").encode())
    return kept_sections(findings)


def kept_sections(findings: "Findings") -> tuple[Section, ...]:
    """The sections that were kept; none where there are none, or of another state of the run. Raises `DamagedError`."""
    run = findings.run
    path = run.path / KEPT_FILE
    if not run.disk.exists(path):
        return ()
    try:
        found = msgspec.json.decode(run.disk.read(path))
        if (found["format"], found["trials"]) != (KEPT_FORMAT, len(findings.trials)):
            return ()
        return tuple(
            Section(each["name"], each["title"], partial(lambda blocks, _: blocks, _decoded(each["blocks"])),
                    link=each["link"], open=each["open"])
            for each in found["sections"]
        )  # fmt: skip
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as failure:
        raise damaged(run.path, f"{KEPT_FILE}: {failure}") from failure


def _encoded(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    from pgassay.report.charts import specified

    found: list[dict[str, Any]] = []
    for each in blocks:
        if isinstance(each, Folded):
            values: dict[str, Any] = {"summary": each.summary, "blocks": _encoded(each.blocks)}
        elif isinstance(each, Figure):
            drawn: object = each.draw()
            if isinstance(drawn, Drawing):
                drawn = {"title": drawn.title, "caption": drawn.caption, "chart": specified(drawn.chart)}
            values = {"name": each.name, "key": each.key, "drawn": drawn}
        else:
            values = asdict(each)
            values.pop("on", None)
        found.append({"kind": each.kind, **values})
    return found


def _decoded(written: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    found: list[Block] = []
    for values in written:
        kind = values["kind"]
        if kind == Folded.kind:
            found.append(Folded(values["summary"], _decoded(values["blocks"])))
        elif kind == Figure.kind:
            drawn = values["drawn"]
            drawing = Drawing(**drawn) if isinstance(drawn, dict) else drawn
            found.append(Figure(values["name"], lambda drawing=drawing: drawing, values["key"]))  # type: ignore[misc]
        else:
            found.append(msgspec.convert(values, _KINDS[kind]))
    return tuple(found)
