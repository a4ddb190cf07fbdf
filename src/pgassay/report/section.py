"""What a report is made of: sections, each a title with blocks, from which page, terminal, JSON and CSV are made.

One ordered list (`contents.sections`) makes all four. A section says everything about itself, so that adding one
touches one file, here or in somebody else's package. There are few kinds of block: a section composes them, and no form
knows any section.

Texts in blocks have no full stop and may begin with a small letter: each form sets both as it needs them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

FOLDED_FROM = 5
"""Blocks of one kind beyond which a page folds each of them."""
_NUMBER = re.compile(r"[-–+−×±]?\d|[-–∞]?$|not available$")


class Surface(Flag):
    """Where something appears. A section's JSON part and its tables as CSV are always there."""

    PAGE = auto()
    TERMINAL = auto()
    BOTH = PAGE | TERMINAL


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than its text: in small letters a page adds `unit` beside it and `small` below it.

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

    `notes` are sentences below it. `marked` rows and `shaded` columns (both by place, from 0) stand out on a page. In a
    table of `texts` no column is set right, though its cells may begin with digits. A page gives it the `name` of its
    files. A `whole` table keeps columns and rows that say the same everywhere (see `arrangement`).
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    notes: Sequence[str] = ()
    marked: Sequence[int] = ()
    shaded: Sequence[int] = ()
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

    `draw` returns None where this run has no data for it, and a sentence where it would show a single value. A page
    draws a few `key` figures before its reader opens anything, those of rank 1 first; 0 is none of them.
    """

    name: str
    draw: Callable[[], Drawing | str | None]
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


def _no_part(findings: "Findings") -> Mapping[str, object]:
    return {}


def _no_brief(findings: "Findings") -> str:
    return ""


@dataclass(frozen=True)
class Section:
    """One thing that a report says; on each surface it is left out where it has no block.

    `blocks` yields what it shows of a run. `plain` gives its part of `--json`: keys of the whole document, numbers
    unrounded; mappings under a key that other sections have too are joined. `secondary` sections decide nothing and are
    labelled so. `link` is the name in the page's menu, none where empty. `after` names the section behind which one of
    another package comes; without it that comes before "Trials".

    A page shows `open` sections at once. It folds all others behind their title and one line: what `brief` says of the
    run, or else what their blocks are about (`contained`).
    """

    name: str
    title: str
    blocks: Callable[["Findings"], Iterable[Block]]
    plain: Callable[["Findings"], Mapping[str, object]] = _no_part
    secondary: bool = False
    link: str = ""
    after: str = ""
    on: Surface = Surface.BOTH
    open: bool = False
    brief: Callable[["Findings"], str] = _no_brief

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
