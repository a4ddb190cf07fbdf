"""The report on a terminal: the sections that have something to say there, one below the other."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pgassay.report import contents
from pgassay.report.section import Block, Listing, Section, Sentences, Surface, Table, Verdicts

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_INDENT = "  "


def render(findings: "Findings") -> str:
    """The whole text, ending with a newline."""
    return "\n".join(_lines(findings)) + "\n"


def _lines(findings: "Findings") -> Iterator[str]:
    yield findings.study.title
    yield findings.study.question
    for section in contents.sections():
        yield from _section(section, section.shown(findings, Surface.TERMINAL))


def _section(section: Section, blocks: Sequence[Block]) -> Iterator[str]:
    lines = [line for place, block in enumerate(blocks) for line in _block(block, first=not place)]
    if lines:
        yield ""
        yield f"{section.title}{' (secondary)' if section.secondary else ''}"
        yield from lines


def _block(block: Block, *, first: bool) -> Iterator[str]:
    if isinstance(block, Sentences):
        yield from (f"{_INDENT}{text}" for text in block.texts if text)
    elif isinstance(block, Table):
        if block.title:
            yield from () if first else ("",)
            yield f"{_INDENT}{block.title}"
        indent = _INDENT * 2 if block.title else _INDENT
        yield from _table(block, indent)
        yield from (f"{indent}{note}" for note in block.notes)
    elif isinstance(block, Verdicts):
        rows = [(row.place, row.effect, row.blocks, row.text) for row in block.rows]
        yield from _columns(rows, (False, True, True, False), _INDENT)
    elif isinstance(block, Listing):
        yield f"{_INDENT}{block.title}{f' ({block.about})' if block.about else ''}"
        yield from (f"{_INDENT * 2}{item}" for item in block.items)


def _table(table: Table, indent: str) -> Iterator[str]:
    whole = len(table.head)
    rows = [[*map(str, row), *([""] * (whole - len(row)))] for row in table.rows]
    yield from _columns([tuple(table.head), *map(tuple, rows)], table.numeric, indent)


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
