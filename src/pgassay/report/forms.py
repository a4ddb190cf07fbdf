"""A run's report for scripts: JSON with unrounded numbers, and every table as CSV."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from pgassay.errors import UsageError
from pgassay.outgoing import cell
from pgassay.report import contents
from pgassay.report.section import Block, Folded, Surface, Table

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

FORMAT = 1
CSV_HEAD = ("section", "table", "row", "column", "value")


def document(findings: "Findings") -> dict[str, Any]:
    """What `--json` prints, before it is encoded: all sections' parts, by key.

    Values may be dataclasses, numpy's numbers, NaN: see `json_values`. Raises `UsageError` where two sections have the
    same key for what are no mappings.
    """
    found: dict[str, Any] = {"format": FORMAT}
    for section in contents.sections():
        _join(found, section.plain(findings), section.name)
    return found


def _join(whole: dict[str, Any], part: Mapping[str, object], name: str) -> None:
    for key, value in part.items():
        known = whole.get(key)
        if isinstance(known, dict) and isinstance(value, Mapping):
            _join(known, value, name)
        elif key in whole:
            raise UsageError(
                f'section "{name}" writes "{key}" to --json, which another section has', "give it another key"
            )
        else:
            whole[key] = value


def write_csv(findings: "Findings", file: TextIO) -> None:
    """Every table of the report, a line a cell and as a reader sees it; `row` is a row's first cell."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for section in contents.sections():
        for table in _tables(section.shown(findings, Surface.PAGE)):
            for row in table.rows:
                first, *others = map(str, row)
                for column, shown in zip(table.head[1:], others, strict=False):
                    writer.writerow(map(cell, (section.name, table.title, first, column, shown)))


def _tables(blocks: Iterable[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Folded):
            yield from _tables(block.blocks)
