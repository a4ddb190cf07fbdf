"""A plain table of results: CSV with any delimiter, with or without a header line; a row is a run (or a second of one).

The delimiter is the one of `,` `;` tab `|` that gives every line the same number of cells. A line of another width, or
with a word where a number belongs, is named and left out; an empty result is a run without a value.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.importing.reader import (
    ABORTED,
    FOLDER,
    REPETITION,
    SETTING,
    TEXT_BYTES_MAX,
    ForeignFile,
    ForeignRun,
    LeftOut,
    Options,
    Reader,
    Reading,
    Roles,
    response,
)
from pgassay.record.values import Reason
from pgassay.study.responses import Better

DELIMITERS = (",", ";", "\t", "|")
_MISSING = frozenset({"", "null", "na", "n/a", "none", "nan", "-", "\\n"})
_FINE = frozenset({"", "0", "ok", "valid", "success", "passed", "completed", "complete", "t", "true"})
_SAMPLE_LINES = 50
csv.field_size_limit(TEXT_BYTES_MAX)  # a cell is no longer than its file
_SAME_WIDTH = 0.8


@dataclass(frozen=True)
class Table:
    """A table's header and its rows with their line numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


class TableReader(Reader):
    """A plain table whose columns the user names; asked last, since any text may be one."""

    name = "a table"

    def recognises(self, file: ForeignFile, options: Options) -> bool:
        if not file.text.strip():
            return False
        if options.roles.value and not _missing_columns(file.text, options):
            return True
        if not options.roles.value and file.path.suffix.lower() not in (".csv", ".tsv"):
            return False
        lines = [line for line in file.text.splitlines()[:_SAMPLE_LINES] if line.strip()]
        widths = [len(row) for row in csv.reader(lines, delimiter=sniff(file.text))]  # most are one, more than one
        return bool(widths) and widths[0] > 1 and widths.count(widths[0]) >= _SAME_WIDTH * len(widths)

    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        """Each table's rows; raises `UsageError` where no column has the results."""
        for file in files:
            if not options.roles.value:
                raise _no_value_column(parse_table(file.text, options.header))
            missing = _missing_columns(file.text, options)
            if missing:
                yield file.path, f"is a table without the column {' and '.join(missing)}"
            else:
                found = read_table(str(file.path), file.text, options.roles, options.header, options.better)
                yield file.path, found


def _no_value_column(table: Table) -> UsageError:
    """Nobody said where the results are: the columns that there are, and roles by their names and numbers of values."""
    rows = [cells for _, cells in table.rows if len(cells) == len(table.header)]
    levels = {name: len({cells[place] for cells in rows}) for place, name in enumerate(table.header)}
    values = [name for name in table.header if response(name).better is not Better.NEITHER]
    block = next((name for name in table.header if name.lower() in REPETITION), "")
    left = [name for name in table.header if name not in values and name != block]
    several = [name for name in left if 1 < levels[name] <= len(rows) / 2]
    treatment = next((name for name in several if not SETTING.fullmatch(name)), next(iter(several), ""))
    conditions = [f"condition={name}" for name in several if name != treatment and SETTING.fullmatch(name)]
    guess = [f"treatment={treatment or 'COLUMN'}", *conditions, f"value={values[0] if values else 'COLUMN'}"]
    guess += [f"block={block}"] if block else []
    return UsageError(
        "no option says which column holds the results",
        f"the columns are: {', '.join(table.header)}; this may be right: --columns {','.join(guess)};"
        " a file without a header line also wants --header 'a;b;c'",
    )


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
            raise UsageError(
                f'--header "{header}" must give each column a name of its own', "for example --header 'size;run;tps'"
            )
        return Table(names, tuple(rows))
    return Table(rows[0][1], tuple(rows[1:])) if rows else Table((), ())


def read_table(name: str, text: str, roles: Roles, header: str = "", better: Better | None = None) -> Reading:
    """The runs of a table that has every column with a role; raises `UsageError` where none is given the results."""
    table = parse_table(text, header)
    if not roles.value:
        raise _no_value_column(table)
    runs: list[ForeignRun] = []
    left_out: list[LeftOut] = []
    single = (roles.duration, roles.planned, roles.started, roles.second)
    numbers = [*(use.field for use in roles.value), *(each for each in single if each)]
    for line, cells in table.rows:
        place = f"{name} line {line}"
        if len(cells) != len(table.header):
            held = f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'}"
            left_out.append(LeftOut(place, f"has {held} where the header has {len(table.header)}"))
            continue
        row = dict(zip(table.header, cells, strict=True))
        faults = [
            f'"{column}" is "{row[column][:40]}", which is not a number'
            for column in numbers
            if row[column].lower() not in _MISSING and number(row[column]) is None
        ]
        if faults:
            left_out.append(LeftOut(place, "; ".join(faults)))
        else:
            runs.append(_run(place, row, roles))
    responses = tuple(response(use.name, better) for use in roles.value)
    remark = "no column says when a run began, so the order of lines is taken as the order in time"
    return Reading(
        kind="table",
        runs=tuple(runs),
        responses=responses,
        left_out=tuple(left_out),
        columns=tuple(name for name in table.header if name not in roles.fields),
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


def number(text: str) -> float | None:
    """A plain number with a decimal point; None for anything else, thousands' separators and units included."""
    try:
        return None if text.lower() in _MISSING or "_" in text else float(text)
    except ValueError:
        return None


def _missing_columns(text: str, options: Options) -> tuple[str, ...]:
    names = {*parse_table(text, options.header).header, *options.named, FOLDER}
    return tuple(dict.fromkeys(column for column in options.roles.fields if column not in names))
