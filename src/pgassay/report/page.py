"""The report as one self-contained HTML file that opens offline, and each figure as PNG and SVG beside it.

The page carries Vega and every specification inside; it fetches nothing. `templates/page.html` knows kinds of blocks
and no section.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from pgassay.report import contents, vega, words
from pgassay.report.section import Block, Figure, Folded, Section, Surface

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

PAGE = "report.html"
FIGURES = "figures"
SCALE = 2
"""Pixels of a PNG per point: sharp on a projector."""
CHECKED_TRIALS = 1000
"""Altair checks every row of inline data against Vega-Lite's schema; beyond this that takes most of the time and finds
nothing that a smaller run had not shown."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with the name of its files and what it shows; `specification` is Vega-Lite's."""

    name: str
    title: str
    caption: str
    specification: Mapping[str, Any]


@dataclass(frozen=True)
class Chapter:
    """A section as the page has it."""

    section: Section
    blocks: Sequence[Block]
    figures: Mapping[str, DrawnFigure] = field(default_factory=dict)


def write(findings: "Findings", directory: Path, *, pictures: bool = True) -> Path:
    """Write `report.html` (and `figures/*.png`, `*.svg`) into `directory`; returns the page's path."""
    made = chapters(findings)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / PAGE
    path.write_text(html(findings, made), encoding="utf-8")
    if pictures:
        write_pictures(figures(made), directory / FIGURES)
    return path


def chapters(findings: "Findings", *, drawn: bool = True) -> tuple[Chapter, ...]:
    """Every section that has something for the page, its figures drawn if `drawn`."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(len(findings.trials) <= CHECKED_TRIALS):
        found = []
        for section in contents.sections():
            blocks = section.shown(findings, Surface.PAGE)
            mine = {each.name: each for each in _drawn(blocks)} if drawn else {}
            shown = [block for block in blocks if not isinstance(block, Figure) or block.name in mine]
            if shown:
                found.append(Chapter(section, shown, mine))
        return tuple(found)


def figures(made: Iterable[Chapter]) -> tuple[DrawnFigure, ...]:
    """All figures of a page, in order."""
    return tuple(figure for chapter in made for figure in chapter.figures.values())


def _drawn(blocks: Iterable[Block]) -> Iterator[DrawnFigure]:
    from pgassay.report.charts import specified

    for block in blocks:
        if isinstance(block, Folded):
            yield from _drawn(block.blocks)
        elif isinstance(block, Figure) and (found := block.draw()) is not None:
            yield DrawnFigure(block.name, found.title, found.caption, specified(found.chart))


def write_pictures(made: Sequence[DrawnFigure], folder: Path) -> None:
    """Write each figure as NAME.png and NAME.svg into `folder`, which is made."""
    import vl_convert  # a renderer of its own, which a page alone does not need

    folder.mkdir(exist_ok=True)
    for figure in made:
        specification = dict(figure.specification)
        (folder / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(specification, scale=SCALE))
        (folder / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(specification), encoding="utf-8")


def html(findings: "Findings", made: Sequence[Chapter]) -> str:
    """The page as text, with everything that it needs inside."""
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_template),
    )
    environment.filters["sentence"] = words.sentence
    template = environment.from_string(_template("page.html"))
    specifications = json.dumps({figure.name: figure.specification for figure in figures(made)}).replace("</", "<\\/")
    return template.render(
        study=findings.study,
        chapters=made,
        style=_template("page.css"),
        specifications=specifications,
        bundle=vega.script().replace("</script", "<\\/script"),
    )


def _template(name: str) -> str:
    return (resources.files("pgassay.report") / "templates" / name).read_text(encoding="utf-8")
