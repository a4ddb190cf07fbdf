"""What a report is made of: sections, each a title with blocks, from which page, terminal, JSON and CSV are made.

One ordered list (`contents.sections`) makes all four. A section says everything about itself, so that adding one
touches one file, here or in somebody else's package. There are few kinds of block: a section composes them, and no form
knows any section.

Texts in blocks have no full stop and may begin with a small letter: each form sets both as it needs them.

A reader sees nothing that is missing, and no constant where a comparison is expected (`arranged`). Rows and columns
without a single value leave their table; their names are collected for one list at the end of the report. A column, or
a row of treatments, that says the same everywhere becomes a line above its table (Tufte, "The Visual Display of
Quantitative Information", 1983: ink that does not vary tells nothing). CSV and JSON keep all of it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pgassay.report import formatting

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

FOLDED_FROM = 5
"""Blocks of one kind beyond which a page folds each of them."""
_NUMBER = re.compile(r"[-–+−×±]?\d|[-–∞]?$")


class Surface(Flag):
    """Where something appears. A section's JSON part and its tables as CSV are always there."""

    PAGE = auto()
    TERMINAL = auto()
    BOTH = PAGE | TERMINAL


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than its text: in small letters a page adds `unit` after it and `small` below it.

    `code` sets it as code, `badge` as a mark with a colour of its own.
    """

    text: str
    small: str = ""
    unit: str = ""
    code: bool = False
    badge: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Sentences:
    """Sentences, a paragraph each; `joined` makes them one paragraph, `small` a note."""

    texts: Sequence[str]
    small: bool = False
    joined: bool = False
    on: Surface = Surface.BOTH
    kind: ClassVar[str] = "sentences"


@dataclass(frozen=True)
class Table:
    """A table; a row that is shorter than `head` lets its last cell stand for all that follow.

    `notes` are sentences below it. `marked` rows (by place, from 0) stand out on a page. In a table of `texts` no
    column is set right, though its cells may begin with digits. A page gives it the `name` of its files. A `whole`
    table keeps columns and rows that say the same everywhere (see `arranged`).
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    notes: Sequence[str] = ()
    marked: Sequence[int] = ()
    texts: bool = False
    on: Surface = Surface.BOTH
    name: str = ""
    whole: bool = False
    kind: ClassVar[str] = "table"

    @property
    def numeric(self) -> Sequence[bool]:
        """For each column: does it hold but numbers (with units, brackets)? Then it is set right; never the first."""
        columns = range(len(self.head))
        cells = ([str(row[place]) for row in self.rows if place < len(row)] for place in columns)
        return [
            place > 0 and not self.texts and all(map(_NUMBER.match, column))
            for place, column in zip(columns, cells, strict=True)
        ]


@dataclass(frozen=True)
class Drawing:
    """A chart with its title and what it shows; `chart` is Altair's."""

    title: str
    caption: str
    chart: Any


@dataclass(frozen=True)
class Figure:
    """A figure for the page and as files called `name`; drawn only there, since Altair takes a second to import.

    `draw` returns None where this run has no data for it. A page draws a few `key` figures before its reader opens
    anything, those of rank 1 first; 0 is none of them.
    """

    name: str
    draw: Callable[[], Drawing | None]
    key: int = 0
    on: ClassVar[Surface] = Surface.PAGE
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True)
class VerdictRow:
    """One comparison: where, its effect with interval, the verdict's kind (a colour on the page), words and blocks."""

    place: str
    effect: str
    verdict: str
    text: str
    blocks: str


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a study, one row a comparison."""

    rows: Sequence[VerdictRow]
    on: ClassVar[Surface] = Surface.BOTH
    kind: ClassVar[str] = "verdicts"


@dataclass(frozen=True)
class Badge:
    """What was found of one arm, in a line: where, the verdict's kind (a colour on the page), and what changed."""

    place: str
    kind: str
    parts: Sequence[str]


@dataclass(frozen=True)
class Badges:
    """A line for each arm; `title` says what they are compared with."""

    title: str
    rows: Sequence[Badge]
    on: ClassVar[Surface] = Surface.PAGE
    kind: ClassVar[str] = "badges"


@dataclass(frozen=True)
class Listing:
    """What belongs to one thing, line by line; `about` stands behind its title."""

    title: str
    items: Sequence[str]
    about: str = ""
    on: Surface = Surface.BOTH
    kind: ClassVar[str] = "listing"


@dataclass(frozen=True)
class Code:
    """What a reader may copy, letter by letter; `about` says what it is."""

    text: str
    about: str = ""
    on: ClassVar[Surface] = Surface.PAGE
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Folded:
    """What a page shows only when its reader opens it."""

    summary: str
    blocks: Sequence["Block"]
    on: ClassVar[Surface] = Surface.PAGE
    kind: ClassVar[str] = "folded"


Block: TypeAlias = Sentences | Table | Figure | Verdicts | Badges | Listing | Code | Folded


@dataclass(frozen=True)
class Brief:
    """The line behind which a page folds a section: what it says of this run."""

    text: str


@dataclass(frozen=True)
class Values:
    """A section's part of `--json`: keys of the whole document, numbers unrounded.

    Mappings under a key that other sections have too are joined.
    """

    values: Mapping[str, object]


Part: TypeAlias = Block | Brief | Values


@dataclass(frozen=True)
class Section:
    """One thing that a report says; on each surface it is left out where it has no block.

    `describe` yields all of it for a run: its blocks, the line behind which it is folded, its values. `secondary`
    sections decide nothing and are labelled so. `link` is the name in the page's menu, none where empty. `after` names
    the section behind which one of another package comes; without it that comes before "Trials".

    A page shows `open` sections at once. It folds all others behind their title and one line, what their blocks are
    about (`contained`) where they yield none.
    """

    name: str
    title: str
    describe: Callable[["Findings"], Iterable[Part]]
    secondary: bool = False
    link: str = ""
    after: str = ""
    on: Surface = Surface.BOTH
    open: bool = False

    def parts(self, findings: "Findings") -> tuple[Part, ...]:
        """All that it yields for a run."""
        return tuple(self.describe(findings))

    def blocks(self, findings: "Findings") -> tuple[Block, ...]:
        """What a reader sees of it, on one surface or the other."""
        return tuple(part for part in findings.once(self.parts) if not isinstance(part, Brief | Values))

    def plain(self, findings: "Findings") -> dict[str, object]:
        """Its part of `--json`."""
        return {key: each for part in findings.once(self.parts) if isinstance(part, Values)
                for key, each in part.values.items()}  # fmt: skip

    def brief(self, findings: "Findings") -> str:
        """The line of a page that folds it; empty where it yields none."""
        return next((part.text for part in findings.once(self.parts) if isinstance(part, Brief)), "")

    def shown(self, findings: "Findings", surface: Surface) -> tuple[Block, ...]:
        """Its blocks on one surface, without sentences that say nothing."""
        if surface not in self.on:
            return ()
        mine = (block for block in self.blocks(findings) if surface & block.on)
        return tuple(block for block in mine if not isinstance(block, Sentences) or any(block.texts))


def folded(blocks: Sequence[Table]) -> Iterator[Block]:
    """Tables as they are, or each behind its title where they are many."""
    for each in blocks:
        many = len(blocks) >= FOLDED_FROM and each.title
        yield Folded(each.title, (each,)) if many else each


NOTHING = (formatting.MISSING, "")
_NAMED = 3
"""Tables and figures that a folded section names; the rest it counts."""
_LETTERS = 90
"""Of a folded section's line, so that it stays one line on a wide screen."""


@dataclass(frozen=True)
class Arranged:
    """Blocks as a reader sees them, and what of them is not available, each named with where it belongs."""

    blocks: tuple[Block, ...]
    missing: tuple[str, ...] = ()


def arranged(blocks: Iterable[Block]) -> Arranged:
    """Blocks without what is missing or constant; no block at all where nothing but small notes would be left."""
    shown: list[Block] = []
    missing: list[str] = []
    for block in blocks:
        found = Arranged((block,))
        if isinstance(block, Table):
            found = _table(block)
        elif isinstance(block, Sentences):
            found = Arranged((block,) if block.texts else ())
        elif isinstance(block, Folded):
            inner = arranged(block.blocks)
            found = Arranged((replace(block, blocks=inner.blocks),) if inner.blocks else (), inner.missing)
        shown += found.blocks
        missing += found.missing
    if missing and all(isinstance(block, Sentences) and block.small for block in shown):
        shown = []
    return Arranged(tuple(shown), tuple(dict.fromkeys(missing)))


def _table(table: Table) -> Arranged:
    if table.texts or not table.rows:
        return Arranged((table,))
    numeric = [place for place, right in enumerate(table.numeric) if right]
    kept = []  # the rows that have a value; where columns are numbers, one in these
    for place, row in enumerate(table.rows):
        mine = [_value(row[at]) for at in numeric or range(1, len(row)) if at < len(row)]
        if not mine or any(cell not in NOTHING for cell in mine):
            kept.append(place)
    lost = [str(row[0]) for place, row in enumerate(table.rows) if place not in kept]
    table = _with_rows(table, kept)
    full = [row for row in table.rows if len(row) == len(table.head)]
    columns = [place for place in numeric if all(str(row[place]) in NOTHING for row in full)] if table.rows else []
    lost += [table.head[place] for place in columns]
    lines, missing = list[str](), tuple(f"{name} ({table.title})" if table.title else name for name in lost)
    if not table.rows:
        return Arranged((), missing)
    table = _without_columns(table, columns)
    if not table.whole:
        table, lines = _varied(table)
    if not table.rows or len(table.head) < 2:  # all of it is constant
        return Arranged((Sentences([f"{table.title}: {line}" if table.title else line for line in lines]),), missing)
    if lines and table.title:
        return Arranged((replace(table, notes=(*lines, *table.notes)),), missing)
    return Arranged((Sentences(lines), table) if lines else (table,), missing)


def _value(cell: str | Cell) -> str:
    """A cell without what is in brackets."""
    return str(cell).partition(" (")[0]


def _varied(table: Table) -> tuple[Table, list[str]]:
    """Without what is the same everywhere, and that in lines."""
    rows = table.rows
    if len(rows) < 2 or any(len(row) != len(table.head) for row in rows):
        return table, []
    if any("=" in name for name in table.head):  # a row is a quantity, a column a treatment
        same, said = [], []
        for place, row in enumerate(rows):
            values = {_value(cell) for cell in row[1:]}
            if len(row) > 2 and len(values) == 1 and values.isdisjoint(NOTHING):
                value, title = values.pop(), row[0]  # a value without a unit of its own has its title's
                bare = value.replace(",", "").replace(".", "").isdigit()
                unit = title.unit if isinstance(title, Cell) and bare else ""
                same.append(place)
                said.append(f"{title} {value} {unit}".rstrip())
        kept = [place for place in range(len(rows)) if place not in same]
        return _with_rows(table, kept), [f"the same with every treatment: {'; '.join(said)}"] if said else []
    columns = [place for place in range(1, len(table.head)) if len({str(row[place]) for row in rows}) == 1]
    said = [f"{table.head[place]} {rows[0][place]}" for place in columns]
    return _without_columns(table, columns), [f"the same in every row: {'; '.join(said)}"] if said else []


def _with_rows(table: Table, kept: Sequence[int]) -> Table:
    """With these rows only; marks move with their rows."""
    if len(kept) == len(table.rows):
        return table
    marked = [place for place, old in enumerate(kept) if old in table.marked]
    return replace(table, rows=[table.rows[place] for place in kept], marked=marked)


def _without_columns(table: Table, columns: Sequence[int]) -> Table:
    if not columns:
        return table
    kept = [place for place in range(len(table.head)) if place not in columns]
    rows = [[row[place] for place in kept if place < len(row)] for row in table.rows]
    return replace(table, head=[table.head[place] for place in kept], rows=rows)


def contained(blocks: Sequence[Block], titles: Sequence[str] = ()) -> str:
    """One line on what a fold holds: what its first tables and figures are about, and how many there are.

    `titles` are those of its figures. Without tables and figures it is the first sentence.
    """
    tables = [block for block in flat(blocks) if isinstance(block, Table)]
    about = list(dict.fromkeys(each for table in tables for each in _about(table)))
    about += [title for title in titles if title not in about]
    if not about:
        return next((text for block in blocks if isinstance(block, Sentences) for text in block.texts if text), "")
    named: list[str] = []
    for each in about[:_NAMED]:
        if named and len(", ".join((*named, each))) > _LETTERS:
            break
        named.append(each)
    rest = " …" if len(named) < len(about) else ""
    counts = [formatting.counted(len(tables), "table")] if tables else []
    figures = sum(1 for block in flat(blocks) if isinstance(block, Figure))
    counts += [formatting.counted(figures, "figure")] if figures else []
    counted = f" · {', '.join(counts)}" if len(tables) + figures > 1 else ""
    return f"{', '.join(named)}{rest}{counted}"


def _about(table: Table) -> Sequence[str]:
    """A table's title, or its columns, or with a column a treatment its rows."""
    if table.title and not table.title.partition(",")[0].count("="):
        return (table.title.removesuffix(" (secondary)"),)
    if any("=" in name for name in table.head):
        return [str(row[0]) for row in table.rows]
    return [name for name in table.head[1:] if name]


def flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Every block, those behind a fold in its place."""
    for block in blocks:
        if isinstance(block, Folded):
            yield from flat(block.blocks)
        else:
            yield block
