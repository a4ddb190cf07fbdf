"""What a section shows of a run, as tests ask for it."""

from collections.abc import Iterable, Iterator
from typing import Any

from altair.utils.schemapi import debug_mode

from pgassay.report import contents, page
from pgassay.report.charts import specified
from pgassay.report.contents import document
from pgassay.report.findings import Findings
from pgassay.report.json_values import finite
from pgassay.report.page import DrawnFigure
from pgassay.report.section import Block, Drawing, Figure, Folded, Section, Surface, Table, flat


def tables(section: Section, findings: Findings, surface: Surface = Surface.PAGE) -> list[Table]:
    """Its tables on one surface, those behind a fold among them."""
    return list(_tables(section.shown(findings, surface)))


def drawing(section: Section, findings: Findings, name: str) -> Drawing:
    """One of its figures, drawn; fails where there is none of this name, or nothing to draw."""
    shown = section.shown(findings, Surface.PAGE)
    (found,) = (block.draw() for block in shown if isinstance(block, Figure) and block.name == name)
    assert isinstance(found, Drawing)
    return found


def _tables(blocks: Iterable[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Folded):
            yield from _tables(block.blocks)


def figures(findings: Findings) -> tuple[DrawnFigure, ...]:
    """Every figure of the page."""
    return page.figures(page.chapters(findings))


def specification(findings: Findings, name: str) -> dict[str, Any] | None:
    """One figure as the page specifies it, without drawing the others; None where there is nothing to draw."""
    every = (block for section in contents.sections() for block in flat(section.shown(findings, Surface.PAGE)))
    (wanted,) = (block for block in every if isinstance(block, Figure) and block.name == name)
    with debug_mode(False):
        found = wanted.draw()
        return specified(found.chart) if isinstance(found, Drawing) else None


def body(findings: Findings) -> str:
    """The page without its figures and its script, with plain spaces."""
    whole = page.html(findings, page.chapters(findings, drawn=False)).partition('<script type="module">')[0]
    return whole.replace("\u00a0", " ")


def plain(findings: Findings) -> Any:
    """What `--json` prints, read again."""
    return finite(document(findings))
