"""The contents of a report: every section, in the order in which page, terminal, JSON and CSV have them.

A section of somebody else's package (entry points `pgassay.sections`) takes its place by itself. One that is broken, or
that fails on a run, is named in the report and takes nothing from the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay import plugins
from pgassay.report import (
    applying,
    bottleneck,
    bounds,
    cache,
    compression,
    configuration,
    costs,
    curves,
    disk,
    doubts,
    drift,
    drives,
    factors,
    headline,
    hosts,
    ladder,
    likeness,
    measurements,
    network,
    power_cuts,
    provenance,
    published,
    scale_model,
    scaling,
    sensitivity,
    space,
    statements,
    tradeoff,
    trials,
    turns,
    verdict,
)
from pgassay.report.section import Block, Section, Sentences

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SECTIONS: tuple[Section, ...] = (
    headline.SECTION,
    verdict.SECTION,
    hosts.SECTION,
    drift.SECTION,
    power_cuts.SECTION,
    doubts.SECTION,
    statements.SECTION,
    likeness.SECTION,
    measurements.SECTION,
    cache.SECTION,
    costs.SECTION,
    ladder.SECTION,
    bottleneck.SECTION,
    network.SECTION,
    bounds.SECTION,
    sensitivity.SECTION,
    factors.SECTION,
    curves.SECTION,
    scaling.SECTION,
    disk.SECTION,
    tradeoff.SECTION,
    drives.SECTION,
    compression.SECTION,
    space.SECTION,
    scale_model.SECTION,
    published.SECTION,
    applying.SECTION,
    turns.SECTION,
    trials.SECTION,
    configuration.SECTION,
    provenance.MACHINE,
    provenance.REPETITION,
)
TRUST = doubts.SECTION.name
"""Before this a page has its key figures."""
_BEFORE = trials.SECTION.name
"""Where a section of another package comes that does not say behind which."""


def sections() -> tuple[Section, ...]:
    """All sections in order, those of other packages among them."""
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
    return tuple(order)


def headline_instead(sentences: Sequence[str]) -> Section:
    """The headline of a page whose answer is not this run's alone; as an own section it takes the other's place."""

    def blocks(findings: "Findings") -> Iterator[Block]:
        yield Sentences(tuple(sentences))
        yield Sentences((findings.once(headline.facts).line,), small=True)

    return replace(headline.SECTION, blocks=blocks)


def _guarded(section: Section) -> Section:
    """One that says what is wrong with it instead of ending the report."""

    def blocks(findings: "Findings") -> Iterator[Block]:
        try:
            yield from tuple(section.blocks(findings))
        except Exception as error:
            yield Sentences((_section_failed(section.name, error),))

    def plain(findings: "Findings") -> Mapping[str, object]:
        try:
            return dict(section.plain(findings))
        except Exception as error:
            return {section.name: {"error": _section_failed(section.name, error)}}

    return replace(section, blocks=blocks, plain=plain)


def _section_failed(name: str, error: Exception) -> str:
    """A section of another package that cannot cope with a run."""
    return f'section "{name}" of another package failed: {type(error).__name__}: {error}'
