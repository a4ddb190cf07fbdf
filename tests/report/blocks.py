"""What a section shows of a run, as tests ask for it."""

from collections.abc import Iterable, Iterator
from typing import Any

from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.report.forms import document
from pgassay.report.json_values import finite
from pgassay.report.page import DrawnFigure
from pgassay.report.section import Block, Drawing, Figure, Folded, Section, Surface, Table


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


def body(findings: Findings) -> str:
    """The page without its figures and its script."""
    return page.html(findings, page.chapters(findings, drawn=False)).partition('<script type="module">')[0]


def plain(findings: Findings) -> Any:
    """What `--json` prints, read again."""
    return finite(document(findings))
