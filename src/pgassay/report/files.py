"""The files beside a page: each table and figure as CSV and JSON, and each figure as PNG and SVG.

A table's cells are as the report shows them, whole: also what a page leaves out because it says the same everywhere or
is not available. A figure's rows are the numbers that it draws, unrounded.

The folder may lie in a run directory that somebody else made: a link in a file's place is replaced, not followed.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.files import Directory
from pgassay.outgoing import cells
from pgassay.report.json_values import to_json
from pgassay.report.section import Table
from pgassay.report.vega import drawable

if TYPE_CHECKING:
    from pgassay.report.page import DrawnFigure

DATA = "data"
"""The folder of CSV and JSON beside a page; a table is called by its section there, a figure by its name."""
FIGURES = "figures"
SCALE = 2
"""Pixels of a PNG per point: sharp on a projector."""


def write_data(tables: Iterable[Table], figures: Iterable["DrawnFigure"], place: Directory) -> None:
    """Write NAME.csv and NAME.json of each table and figure."""
    for table in tables:
        rows = [dict(zip(_columns(table.head), map(str, row), strict=False)) for row in table.rows]
        _write(place, table.name, table.title, rows)
    for figure in figures:
        _write(place, figure.name, figure.title, rows_of(figure.specification))


def _columns(head: Sequence[str]) -> Sequence[str]:
    """Names of a table's columns, each of its own: `label` for the one without, a number behind a second one."""
    names: list[str] = []
    for each in head:
        name = each or "label"
        names.append(f"{name} {names.count(name) + 1}" if name in names else name)
    return names


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
