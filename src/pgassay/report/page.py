"""The report as one HTML file that opens offline: the answer at once, everything else folded behind one line.

What decides is open (`Section.open`, and the key figures); all other sections are unfolded by their reader, by a link
to them, or all at once. What is not available is in one list at the end. The page carries Vega and every specification
inside and fetches nothing; without JavaScript it can be read, and its figures are the pictures beside it.
`templates/page.html` knows kinds of blocks and no section.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from pgassay.files import Directory
from pgassay.outgoing import visible
from pgassay.report import contents, own_sections, vega, words
from pgassay.report.arrangement import arranged, contained, flat
from pgassay.report.colours import dark_style
from pgassay.report.files import DATA, FIGURES, write_data, write_pictures
from pgassay.report.section import Block, Figure, Folded, Section, Sentences, Surface, Table

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

PAGE = "report.html"
KEY_FIGURES = 2
"""So many are drawn before the reader opens anything, those of open sections among them."""
KEY_PIXELS = 1000.0
"""Of their panels together: a screen and a little more."""
_HEADER, _HEIGHT = 40.0, 300.0
"""Pixels of a panel's title with its axis, and of a panel that does not say how high it is."""
BRIEF_LETTERS = 150
"""Of the line before a folded section: two lines on a wide screen."""
VERDICTS_OPEN = 12
"""More comparisons than these are behind a fold."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with the name of its files and what it shows; `specification` is Vega-Lite's."""

    name: str
    title: str
    caption: str
    specification: Mapping[str, Any]


@dataclass(frozen=True)
class Chapter:
    """A section as the page has it: its blocks as a reader sees them, in one line what they hold, and its tables whole.

    `missing` are the names of what is not available. `tables` are as the section gave them, for their files.
    """

    section: Section
    blocks: Sequence[Block]
    figures: Mapping[str, DrawnFigure] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    brief: str = ""
    missing: Sequence[str] = ()


def write(
    findings: "Findings",
    directory: Path,
    *,
    pictures: bool = True,
    menu: Sequence[tuple[str, str]] = (),
    own: Sequence[Section] = (),
) -> Path:
    """Write `report.html`, the data of its tables and figures, with `pictures` PNG and SVG; returns the page's path.

    `menu` are names and addresses of pages around it, where it is served. `own` sections stand before all others, and
    in place of those that have their names; without them those that were kept beside the run.
    Raises `UntrustedError` where `directory` is a link: a run may come from anyone.
    """
    made = chapters(findings, own=own)
    directory.mkdir(parents=True, exist_ok=True)
    with Directory.open(directory) as place:
        place.replace(PAGE, html(findings, made, pictures=pictures, menu=menu), mode=None)
        with place.made(DATA) as data:
            write_data([table for chapter in made for table in chapter.tables], figures(made), data)
        if not pictures:
            return directory / PAGE
        with place.made(FIGURES) as drawn:
            lost = write_pictures(figures(made), drawn)
        if lost:
            place.replace(PAGE, html(findings, made, pictures=pictures, menu=menu, lost=lost), mode=None)
    return directory / PAGE


def chapters(findings: "Findings", *, drawn: bool = True, own: Sequence[Section] = ()) -> tuple[Chapter, ...]:
    """Every section that has something for the page, its figures drawn if `drawn`.

    Key figures stand before "What to distrust", and not in their sections; what is not available comes last. `own` as
    of `write`.
    """
    from altair.utils.schemapi import debug_mode

    own = own or own_sections.kept(findings)
    with debug_mode(False):  # each part by itself; `specified` checks the whole
        named = {section.name for section in own}
        others = (section for section in contents.sections() if section.name not in named)
        made = [_chapter(findings, section, drawn=drawn) for section in (*own, *others)]
    found = [_told(findings, chapter) for chapter in _with_key_figures(made)]
    return tuple(chapter for chapter in (*found, _missing(found)) if chapter.blocks)


def figures(made: Iterable[Chapter]) -> tuple[DrawnFigure, ...]:
    """All figures of a page, in order."""
    return tuple(figure for chapter in made for figure in chapter.figures.values())


def _chapter(findings: "Findings", section: Section, *, drawn: bool) -> Chapter:
    blocks = _named(section.shown(findings, Surface.PAGE), section.name)
    made = dict(_drawn(blocks)) if drawn else {}
    mine = {name: each for name, each in made.items() if isinstance(each, DrawnFigure)}
    shown = arranged(_without_undrawn(blocks, made))
    kept = _unfolded(shown.blocks)
    tables = tuple(block for block in flat(blocks) if isinstance(block, Table))
    return Chapter(section, kept, mine, tables, missing=shown.missing)


def _told(findings: "Findings", chapter: Chapter) -> Chapter:
    """With the line that says what it holds."""
    titles = [each.title for each in chapter.figures.values()]
    brief = chapter.section.brief(findings) or contained(chapter.blocks, titles)
    return replace(chapter, brief=shorten(brief, BRIEF_LETTERS, placeholder=" …"))


def _named(blocks: Iterable[Block], section: str) -> list[Block]:
    """Every table with the name of its files: its section and its place there."""
    count = 0

    def named(block: Block) -> Block:
        nonlocal count
        if isinstance(block, Folded):
            return replace(block, blocks=[named(inner) for inner in block.blocks])
        if isinstance(block, Table):
            count += 1
            return replace(block, name=f"{section}-table" if count == 1 else f"{section}-table-{count}")
        return block

    return [named(block) for block in blocks]


def _without_undrawn(blocks: Iterable[Block], made: Mapping[str, DrawnFigure | str]) -> Iterator[Block]:
    """Without figures that this run has no data for; a sentence in place of one that would show a single value."""
    for block in blocks:
        if isinstance(block, Folded):
            yield replace(block, blocks=tuple(_without_undrawn(block.blocks, made)))
        elif not isinstance(block, Figure):
            yield block
        elif isinstance(found := made.get(block.name), str):
            yield Sentences((found,))
        elif found is not None:
            yield block


def _unfolded(blocks: Sequence[Block]) -> Sequence[Block]:
    """A section that is one fold is folded once only."""
    (only,) = blocks if len(blocks) == 1 else (None,)
    return only.blocks if isinstance(only, Folded) else blocks


def _drawn(blocks: Iterable[Block]) -> Iterator[tuple[str, DrawnFigure | str]]:
    """Every figure that there is something for, by name, or the sentence that says as much."""
    from pgassay.report.charts import specified

    for block in flat(blocks):
        if not isinstance(block, Figure):
            continue
        try:
            found = block.draw()
            if isinstance(found, str):
                yield block.name, found
            elif found is not None:
                specification = {**specified(found.chart), "description": found.title}
                yield block.name, DrawnFigure(block.name, found.title, found.caption, specification)
        except Exception as failure:  # others may have written the record, and the rest of the page is worth more
            why = str(failure).partition("\n")[0]
            yield block.name, f'figure "{block.name}" could not be drawn: {type(failure).__name__}: {why}'


def _with_key_figures(made: Sequence[Chapter]) -> list[Chapter]:
    """The figures of the highest rank moved to a chapter of their own, before what is to be distrusted.

    Figures of open sections come first; one that is too high for what room is left is folded there.
    """
    room = KEY_PIXELS
    found: list[Chapter] = []
    for chapter in made:
        blocks, room = _fitting(chapter, room) if chapter.section.open else (chapter.blocks, room)
        found.append(replace(chapter, blocks=blocks))
    owned = {name: figure for chapter in made for name, figure in chapter.figures.items()}
    shown = sum(isinstance(block, Figure) for chapter in found if chapter.section.open for block in chapter.blocks)
    folded = [block for chapter in found if not chapter.section.open for block in chapter.blocks]
    ranked = sorted((each for each in folded if isinstance(each, Figure) and each.key), key=lambda each: each.key)
    chosen: list[Figure] = []
    for figure in ranked:
        height = height_of(owned[figure.name].specification)
        if shown + len(chosen) < KEY_FIGURES and height <= room:
            chosen.append(figure)
            room -= height
    names = {figure.name for figure in chosen}
    found = [_without(chapter, names) for chapter in found]
    place = next(place for place, chapter in enumerate(found) if chapter.section.name == contents.TRUST)
    return [*found[:place], Chapter(_KEY, chosen, {each.name: owned[each.name] for each in chosen}), *found[place:]]


def _fitting(chapter: Chapter, room: float) -> tuple[list[Block], float]:
    """Its blocks, figures folded that are higher than the room, and the room that the others leave."""
    blocks: list[Block] = []
    for block in chapter.blocks:
        if isinstance(block, Figure):
            figure = chapter.figures[block.name]
            height = height_of(figure.specification)
            block = block if height <= room else Folded(figure.title, (block,))
            room -= height if isinstance(block, Figure) else 0.0
        blocks.append(block)
    return blocks, room


def _without(chapter: Chapter, names: Collection[str]) -> Chapter:
    """The chapter without these figures."""
    blocks = [block for block in chapter.blocks if not isinstance(block, Figure) or block.name not in names]
    return replace(chapter, blocks=blocks, figures={n: each for n, each in chapter.figures.items() if n not in names})


def height_of(specification: Mapping[str, Any]) -> float:
    """About how many pixels high a figure is, its panels together."""
    row = specification.get("facet", {}).get("row", {}).get("field")
    if row:
        panels = {each.get(row) for each in specification.get("data", {}).get("values", ())}
        return max(1, len(panels)) * (height_of(specification["spec"]) + _HEADER)
    parts = specification.get("vconcat", ())
    if parts:
        return sum(map(height_of, parts))
    height = specification.get("height")
    return float(height) if isinstance(height, int | float) else _HEIGHT


_UNIT = re.compile(r"(?<=\d) (?=(?:%|points|ns|µs|ms|s|min|h|kB|MB|GB|TB|bytes)(?!\w))")
_INTERVAL = re.compile(r"\[[^\[\]]{1,40}\]")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_KEY = Section("figures", "Key figures", lambda _: (), open=True)
_MISSING = Section("not-available", "Not available", lambda _: ())


def _missing(made: Sequence[Chapter]) -> Chapter:
    """What no section has, by section."""
    lost = [chapter for chapter in made if chapter.missing]
    listed = [Sentences([f"{chapter.section.title}: {'; '.join(chapter.missing)}"], small=True) for chapter in lost]
    count = sum(len(chapter.missing) for chapter in lost)
    return Chapter(_MISSING, listed, brief=f"{words.counted(count, 'value')} that this record does not have")


def html(
    findings: "Findings",
    made: Sequence[Chapter],
    *,
    pictures: bool = False,
    menu: Sequence[tuple[str, str]] = (),
    lost: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page as text, with everything that it needs inside; `pictures` lie beside it, for readers without scripts.

    `lost` says of some figures why they have no picture.
    """
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown_text,
        loader=jinja2.FunctionLoader(_template),
    )
    environment.filters["sentence"] = lambda text: _prose(words.sentence(text))
    environment.filters["prose"] = _prose
    template = environment.from_string(_template("page.html"))
    every = {figure.name: figure.specification for figure in figures(made)}
    specifications = embedded(every)
    return template.render(
        study=findings.study,
        chapters=made,
        pictures=pictures,
        lost=lost,
        menu=menu,
        verdicts_open=VERDICTS_OPEN,
        style=_template("page.css") + dark_style(),
        drawing=_template("figures.js"),
        script=_template("page.js"),
        specifications=specifications,
        bundle=vega.script().replace("</script", "<\\/script"),
    )


def embedded(specifications: Mapping[str, Any]) -> str:
    """JSON that can stand in a script: no text of it can end that, or begin a comment in it."""
    return json.dumps(vega.drawable(specifications), separators=(",", ":")).replace("<", "\\u003c")


def shown_text(value: object) -> object:
    """What a template puts into a page; marked up texts are ours, and were made of visible ones."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _prose(text: str) -> Markup:
    """A text whose lines do not end between a number and its unit, inside an interval, or within an option."""
    kept = _UNIT.sub("\u00a0", visible(text))
    kept = _INTERVAL.sub(lambda found: found[0].replace(" ", "\u00a0"), kept)
    return Markup(_OPTION.sub(r'<span class="keep">\g<0></span>', str(escape(kept))))


def _template(name: str) -> str:
    return (resources.files("pgassay.report") / "templates" / name).read_text(encoding="utf-8")
