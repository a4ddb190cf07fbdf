"""The report on a terminal: the answer on one screen (`brief`), its headline alone (`headline`), or all of it.

The screen is k6's and hyperfine's: what was found, how sure that is, why, what to distrust, and where the rest stands.
Where it does not fit into `LINES`, the longest part says how much more there is.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgassay.outgoing import lines
from pgassay.report import contents, formatting, power_cuts, verdict, warnings
from pgassay.report.headline import reasons
from pgassay.report.section import Block, Listing, Sentences, Surface, Table, Verdicts, arranged

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

LINES, COLUMNS = 30, 100
"""A screen on which a shell's own lines still fit."""
HEADLINE = "headline"
"""The section whose sentences come first."""
_INDENT = "  "
_LEAST, _VERDICTS_LEAST = 2, 4
"""Items of a part that are shown as long as another part has more; of verdicts what is said once for all is one."""


def render(findings: "Findings", only: str = "") -> str:
    """The whole report, or `only` the section of this name, ending with a newline."""
    return lines(_lines(findings, only))


def headline(findings: "Findings") -> str:
    """The answer in a few sentences, ending with a newline; the verdicts where no section gives a headline."""
    return lines(each for item in _headline(findings) or _verdicts(findings) for each in item)


def brief(findings: "Findings", ending: Sequence[str] = ()) -> str:
    """Headline, verdicts, reasons and warnings in at most `LINES` lines, the last ones `ending`: where the rest is."""
    said = _verdicts(findings)
    why = [each for each in map(_wrapped, reasons(findings)) if each not in said]
    parts = [
        _Part(findings.study.title, _headline(findings), least=LINES),
        _Part(_subject(findings), said, least=_VERDICTS_LEAST),
        _Part("Why", why, least=3),
        _Part("What to distrust", [_wrapped(each) for each in warnings.reasons(findings)]),
    ]
    parts = [part for part in parts if part.items or part is parts[0]]
    while sum(part.height for part in parts) + len(ending) > LINES:
        spare = [part for part in parts if len(part.items) > part.least] or parts[:0:-1]
        longest = max(spare, key=lambda part: (len(part.items) > 1, part.height))
        if len(longest.items) < 2:
            break
        longest.items.pop()
        longest.dropped += 1
    return lines((*(line for part in parts for line in (*part.lines(), "")), *ending))


@dataclass
class _Part:
    """A title with items of some lines each; the last ones can be dropped, and are then counted."""

    title: str
    items: list[list[str]]
    least: int = _LEAST
    dropped: int = 0

    @property
    def height(self) -> int:
        """Its lines and the empty one behind it."""
        return len(list(self.lines())) + 1

    def lines(self) -> Iterator[str]:
        """The title, and what is left below it."""
        yield from _wrapped(self.title, "")
        for item in self.items:
            yield from item
        if self.dropped:
            yield f"{_INDENT}… and {self.dropped} more"


def _wrapped(text: str, indent: str = _INDENT) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=indent, subsequent_indent=indent + _INDENT)


def _headline(findings: "Findings") -> list[list[str]]:
    blocks = [block for each in contents.sections(HEADLINE) for block in each.shown(findings, Surface.TERMINAL)]
    said = [f"{formatting.sentence(text)}." for text in _said(blocks, small=False)]
    return [_wrapped(text) for text in (*said, *_said(blocks, small=True))]


def _said(blocks: Iterable[Block], *, small: bool) -> Iterator[str]:
    mine = (block for block in blocks if isinstance(block, Sentences) and block.small is small)
    return (text for block in mine for text in block.texts if text)


def _subject(findings: "Findings") -> str:
    title, judged = verdict.SECTION.title, findings.verdicts
    if power_cuts.decide(findings):
        return f"{title}: {power_cuts.question(findings)}"
    if not judged:
        return title
    blocks = {each.effect.blocks for each in judged}
    counted = f", {formatting.counted(blocks.pop(), 'block')}" if len(blocks) == 1 else ""
    shared, _ = _apart([each.effect.place.name for each in judged])
    common = f"; all with {shared}" if shared else ""
    return f"{title}: {findings.primary.title} against {findings.baseline}{counted}{common}"


def _apart(places: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The levels that all of several places share, and each place without them."""
    split = [place.split(", ") for place in places]
    shared = [level for level in split[0] if all(level in levels for levels in split)] if len(split) > 1 else []
    return ", ".join(shared), [", ".join(level for level in levels if level not in shared) for levels in split]


def _verdicts(findings: "Findings") -> list[list[str]]:
    """A line a comparison, two where they are long; what a curve says in a study that compares nothing."""
    blocks = verdict.SECTION.shown(findings, Surface.TERMINAL)
    rows = [row for block in blocks if isinstance(block, Verdicts) for row in block.rows]
    if not rows:
        return [_wrapped(text) for text in _said(blocks, small=False)]
    _, places = _apart([row.place for row in rows])
    heads = list(_columns([(place, row.effect) for place, row in zip(places, rows, strict=True)], (False, True), ""))
    texts = [row.text for row in rows]
    if len(rows) > 1 and len(set(texts)) == 1:  # said once for all
        return [_wrapped(f"each {texts[0]}"), *map(_wrapped, heads)]
    width = max(map(len, heads))
    if all(len(_INDENT) + width + 2 + len(text) <= COLUMNS for text in texts):
        return [[f"{_INDENT}{head.ljust(width)}  {text}"] for head, text in zip(heads, texts, strict=True)]
    return [[*_wrapped(head), *_wrapped(text, _INDENT * 2)] for head, text in zip(heads, texts, strict=True)]


def _lines(findings: "Findings", only: str) -> Iterator[str]:
    yield findings.study.title
    yield findings.study.question
    missing: list[str] = []
    for section in contents.sections(only):
        found = arranged(section.shown(findings, Surface.TERMINAL))
        missing += [f"{section.title}: {each}" for each in found.missing]
        said = [line for place, block in enumerate(found.blocks) for line in _block(block, first=not place)]
        if said:
            yield from ("", f"{section.title}{' (secondary)' if section.secondary else ''}", *said)
    if missing:
        yield from ("", "Not available", *(f"{_INDENT}{each}" for each in missing))


def _block(block: Block, *, first: bool) -> Iterator[str]:
    if isinstance(block, Sentences):
        yield from (f"{_INDENT}{text}" for text in block.texts if text)
    elif isinstance(block, Table):
        if block.title:
            yield from () if first else ("",)
            yield f"{_INDENT}{block.title}"
        indent = _INDENT * 2 if block.title else _INDENT
        whole = len(block.head)
        rows = [[*map(str, row), *([""] * (whole - len(row)))] for row in block.rows]
        yield from _columns([block.head, *rows], block.numeric, indent)
        yield from (f"{indent}{note}" for note in block.notes)
    elif isinstance(block, Verdicts):
        yield from _columns(
            [(row.place, row.effect, row.blocks, row.text) for row in block.rows], (False, True, True, False), _INDENT
        )
    elif isinstance(block, Listing):
        yield f"{_INDENT}{block.title}{f' ({block.about})' if block.about else ''}"
        yield from (f"{_INDENT * 2}{item}" for item in block.items)


def _columns(rows: Sequence[Sequence[str]], numeric: Sequence[bool], indent: str) -> Iterator[str]:
    if not rows:
        return
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        yield (indent + "  ".join(cells)).rstrip()
