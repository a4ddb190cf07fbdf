"""The report as one HTML file that opens offline: the answer at once, everything else folded behind one line.

What decides is open (`Section.open`, and the key figures); all other sections are unfolded by their reader, by a link
to them, or all at once. What is not available is in one list at the end. The page carries Vega and every specification
inside and fetches nothing; without JavaScript it can be read, and its figures are the pictures next to it.
`templates/page.html` knows kinds of blocks and no section.

Next to it stand each table and figure as CSV and JSON, and each figure as PNG and SVG. A table's cells are as the
report shows them, whole: also what a page leaves out because it says the same everywhere or is not available. A
figure's rows are the numbers that it draws, unrounded. The folder may lie in a run directory that somebody else made: a
link in a file's place is replaced, not followed.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from pgassay.files import Directory
from pgassay.outgoing import cells, visible
from pgassay.report import contents, formatting, vega
from pgassay.report.json_values import to_json
from pgassay.report.section import Block, Figure, Folded, Section, Sentences, Surface, Table, arranged, contained, flat
from pgassay.report.vega import dark_style, drawable

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
    in place of those that have their names; without them those that were kept with the run.
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

    own = own or contents.kept_sections(findings)
    with debug_mode(False):  # each part by itself; `specified` checks the whole
        named = {section.name for section in own}
        others = (section for section in contents.sections() if section.name not in named)
        made = [_chapter(findings, section, drawn=drawn) for section in (*own, *others)]
    found = []
    lost: list[Block] = []
    for chapter in _with_key_figures(made):
        titles = [each.title for each in chapter.figures.values()]
        brief = chapter.section.brief(findings) or contained(chapter.blocks, titles)
        found.append(replace(chapter, brief=shorten(brief, BRIEF_LETTERS, placeholder=" …")))
        if chapter.missing:
            lost.append(Sentences([f"{chapter.section.title}: {'; '.join(chapter.missing)}"], small=True))
    count = formatting.counted(sum(len(chapter.missing) for chapter in found), "value")
    missing = Section("not-available", "Not available", lambda _: ())
    found.append(Chapter(missing, lost, brief=f"{count} that this record does not have"))
    return tuple(chapter for chapter in found if chapter.blocks)


def figures(made: Iterable[Chapter]) -> tuple[DrawnFigure, ...]:
    """All figures of a page, in order."""
    return tuple(figure for chapter in made for figure in chapter.figures.values())


def _chapter(findings: "Findings", section: Section, *, drawn: bool) -> Chapter:
    blocks = _named(section.shown(findings, Surface.PAGE), section.name)
    made = dict(_drawn(blocks)) if drawn else {}
    mine = {name: each for name, each in made.items() if isinstance(each, DrawnFigure)}
    found = arranged(_without_undrawn(blocks, made))
    shown: Sequence[Block] = found.blocks
    if len(shown) == 1 and isinstance(shown[0], Folded):  # a section that is one fold is folded once only
        shown = shown[0].blocks
    tables = tuple(block for block in flat(blocks) if isinstance(block, Table))
    return Chapter(section, shown, mine, tables, missing=found.missing)


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
    """Without figures that this run has no data for; a sentence in place of one that could not be drawn."""
    for block in blocks:
        if isinstance(block, Folded):
            yield replace(block, blocks=tuple(_without_undrawn(block.blocks, made)))
        elif not isinstance(block, Figure):
            yield block
        elif isinstance(found := made.get(block.name), str):
            yield Sentences((found,))
        elif found is not None:
            yield block


def _drawn(blocks: Iterable[Block]) -> Iterator[tuple[str, DrawnFigure | str]]:
    from pgassay.report.charts import specified

    for block in flat(blocks):
        if not isinstance(block, Figure):
            continue
        try:
            found = block.draw()
            if found is not None:
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
    owned = {name: figure for chapter in made for name, figure in chapter.figures.items()}
    heights = {name: height_of(figure.specification) for name, figure in owned.items()}
    opened: list[Chapter] = []
    for chapter in made:
        blocks: list[Block] = []
        for block in chapter.blocks:
            if chapter.section.open and isinstance(block, Figure):
                if heights[block.name] <= room:
                    room -= heights[block.name]
                else:
                    block = Folded(owned[block.name].title, (block,))
            blocks.append(block)
        opened.append(replace(chapter, blocks=blocks))
    shown = sum(isinstance(block, Figure) for chapter in opened if chapter.section.open for block in chapter.blocks)
    closed = [block for chapter in opened if not chapter.section.open for block in chapter.blocks]
    ranked = sorted((each for each in closed if isinstance(each, Figure) and each.key), key=lambda each: each.key)
    chosen: dict[str, Figure] = {}
    for figure in ranked:
        if shown + len(chosen) < KEY_FIGURES and heights[figure.name] <= room:
            chosen[figure.name] = figure
            room -= heights[figure.name]
    found = []
    for chapter in opened:
        blocks = [block for block in chapter.blocks if not isinstance(block, Figure) or block.name not in chosen]
        rest = {name: each for name, each in chapter.figures.items() if name not in chosen}
        found.append(replace(chapter, blocks=blocks, figures=rest))
    place = next(place for place, chapter in enumerate(found) if chapter.section.name == contents.TRUST)
    key = Section("figures", "Key figures", lambda _: (), open=True)
    return [*found[:place], Chapter(key, [*chosen.values()], {name: owned[name] for name in chosen}), *found[place:]]


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


def html(
    findings: "Findings",
    made: Sequence[Chapter],
    *,
    pictures: bool = False,
    menu: Sequence[tuple[str, str]] = (),
    lost: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page as text, with everything that it needs inside; `pictures` lie next to it, for readers without scripts.

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
    environment.filters["sentence"] = lambda text: _prose(formatting.sentence(text))
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
    """JSON that can be put into a script: no text of it can end that, or begin a comment in it."""
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


DATA = "data"
"""The folder of CSV and JSON next to a page; a table is called by its section there, a figure by its name."""
FIGURES = "figures"
SCALE = 2
"""Pixels of a PNG per point: sharp on a projector."""


def write_data(tables: Iterable[Table], figures: Iterable["DrawnFigure"], place: Directory) -> None:
    """Write NAME.csv and NAME.json of each table and figure."""
    for table in tables:
        columns: list[str] = []
        for each in table.head:
            name = each or "label"
            columns.append(f"{name} {columns.count(name) + 1}" if name in columns else name)
        rows = [dict(zip(columns, map(str, row), strict=False)) for row in table.rows]
        _write(place, table.name, table.title, rows)
    for figure in figures:
        _write(place, figure.name, figure.title, rows_of(figure.specification))


def _write(place: Directory, name: str, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    csv.writer(text).writerows(cells((columns, *([row.get(column) for column in columns] for row in rows))))
    place.replace(f"{name}.csv", text.getvalue(), mode=None)
    place.replace(f"{name}.json", to_json({"title": title, "rows": rows}), mode=None)


def rows_of(specification: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows that a figure draws, each set of them once; with a column `set` where there are several.

    Without columns that only place marks: their names begin with `_`.
    """
    found: list[Sequence[Mapping[str, Any]]] = []
    for each in _sets(specification):
        if each and each not in found:
            found.append(each)
    drawn = [[{name: each for name, each in row.items() if name[:1] != "_"} for row in rows] for rows in found]
    if len(drawn) == 1:
        return list(drawn[0])
    return [{"set": place, **row} for place, rows in enumerate(drawn, 1) for row in rows]


def _sets(part: Any) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Every list of rows inside a specification: inline values, and datasets by name."""
    if isinstance(part, list | tuple):
        for each in part:
            yield from _sets(each)
    elif isinstance(part, Mapping):
        for name, each in part.items():
            if name == "datasets":
                yield from each.values()
            elif name == "data" and isinstance(each, Mapping) and isinstance(each.get("values"), list | tuple):
                yield each["values"]
            else:
                yield from _sets(each)


def write_pictures(made: Sequence["DrawnFigure"], place: Directory) -> dict[str, str]:
    """Write each figure as NAME.png and NAME.svg; returns why, by name, where that failed.

    The renderer ends the whole process for a character that XML cannot hold, so texts are made visible first.
    """
    import vl_convert  # a renderer of its own, which a page alone does not need

    lost = {}
    for figure in made:
        picture, drawing = (f"{figure.name}.{kind}" for kind in ("png", "svg"))
        specification = drawable(figure.specification)
        try:
            pixels = vl_convert.vegalite_to_png(specification, scale=SCALE)
            lines = vl_convert.vegalite_to_svg(specification)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as failure:  # a panic of Rust is no Exception
            lost[figure.name] = f"{type(failure).__name__}: {failure}".partition("\n")[0]
            place.unlink(picture)  # an earlier report's
            place.unlink(drawing)
        else:
            place.replace(picture, pixels, mode=None)
            place.replace(drawing, lines, mode=None)
    return lost
