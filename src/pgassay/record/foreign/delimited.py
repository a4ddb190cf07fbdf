"""A plain table of results: CSV with any delimiter, with or without a header line; a row is a run (or a second of one).

The delimiter is the one of `,` `;` tab `|` that gives every line the same number of cells. A line of another width, or
with a word where a number belongs, is named and left out; an empty result is a run without a value.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgassay.record.foreign import messages, units
from pgassay.record.foreign.roles import Roles
from pgassay.record.foreign.values import ABORTED, ForeignRun, LeftOut, Reading
from pgassay.record.values import Reason
from pgassay.study.responses import Better

DELIMITERS = (",", ";", "\t", "|")
_MISSING = frozenset({"", "null", "na", "n/a", "none", "nan", "-", "\\n"})
_FINE = frozenset({"", "0", "ok", "valid", "success", "passed", "completed", "complete", "t", "true"})
_SAMPLE_LINES = 50
_SAME_WIDTH = 0.8


@dataclass(frozen=True)
class Table:
    """A table's header and its rows with their line numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def sniff(text: str) -> str:
    """The delimiter: the one by which most of the first lines have the same number of cells, more than one."""
    lines = [line for line in text.splitlines()[:_SAMPLE_LINES] if line.strip()]

    def score(delimiter: str) -> tuple[int, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        commonest = max(set(counts), key=lambda count: (counts.count(count), count)) if counts else 1
        return (counts.count(commonest) if commonest > 1 else 0, commonest)

    return max(DELIMITERS, key=score)


def parse_table(text: str, header: str = "") -> Table:
    """The table in `text`. `header` names the columns of one without a header line, by any of the delimiters."""
    delimiter = sniff(text)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter)
    rows = [(reader.line_num, tuple(cell.strip() for cell in row)) for row in reader if any(map(str.strip, row))]
    if header:
        names = tuple(name.strip() for name in next(csv.reader([header], delimiter=sniff(header))))
        if not all(names) or len(set(names)) < len(names):
            raise messages.bad_header(header)
        return Table(names, tuple(rows))
    return Table(rows[0][1], tuple(rows[1:])) if rows else Table((), ())


def read_table(name: str, text: str, roles: Roles, header: str = "", better: Better | None = None) -> Reading:
    """The runs of a table that has every column with a role; raises `UsageError` where none is given the results."""
    table = parse_table(text, header)
    if not roles.value:
        raise messages.no_value_column()
    runs: list[ForeignRun] = []
    left_out: list[LeftOut] = []
    for line, cells in table.rows:
        place = f"{name} line {line}"
        if len(cells) != len(table.header):
            left_out.append(LeftOut(place, messages.cells(len(cells), len(table.header))))
            continue
        row = dict(zip(table.header, cells, strict=True))
        faults = list(_not_numbers(row, roles))
        if faults:
            left_out.append(LeftOut(place, "; ".join(faults)))
        else:
            runs.append(_run(place, row, roles))
    responses = tuple(units.response(use.name, better) for use in roles.value)
    remark = "the order of lines is taken for the order in time, as no column tells when a run began"
    return Reading(
        kind="table",
        runs=tuple(runs),
        responses=responses,
        left_out=tuple(left_out),
        ordered=True,
        remarks=() if roles.started else (remark,),
    )


def _run(place: str, row: Mapping[str, str], roles: Roles) -> ForeignRun:
    said = row.get(roles.status, "")
    problems = () if said.lower() in _FINE else (Reason(ABORTED, f"{roles.status} is {said}"),)
    return ForeignRun(
        place=place,
        fields=row,
        responses={use.name: number(row[use.field]) for use in roles.value},
        seconds=number(row.get(roles.duration, "")),
        planned_s=number(row.get(roles.planned, "")),
        started_s=number(row.get(roles.started, "")),
        second=number(row.get(roles.second, "")),
        problems=problems,
    )


def _not_numbers(row: Mapping[str, str], roles: Roles) -> Iterator[str]:
    single = (roles.duration, roles.planned, roles.started, roles.second)
    for column in (*(use.field for use in roles.value), *(each for each in single if each)):
        text = row[column]
        if text.lower() not in _MISSING and number(text) is None:
            yield messages.not_a_number(column, text)


def number(text: str) -> float | None:
    """A plain number with a decimal point; None for anything else, thousands' separators and units included."""
    try:
        return None if text.lower() in _MISSING or "_" in text else float(text)
    except ValueError:
        return None


def looks_like_table(text: str) -> bool:
    """Do most of the first lines have one number of cells, more than one?"""
    lines = [line for line in text.splitlines()[:_SAMPLE_LINES] if line.strip()]
    if not lines:
        return False
    widths: Sequence[int] = [len(row) for row in csv.reader(lines, delimiter=sniff(text))]
    return widths[0] > 1 and widths.count(widths[0]) >= _SAME_WIDTH * len(widths)


def missing_columns(text: str, roles: Roles, header: str) -> tuple[str, ...]:
    """Columns with a role that the table lacks."""
    names = parse_table(text, header).header
    return tuple(dict.fromkeys(column for column in roles.fields if column not in names))
