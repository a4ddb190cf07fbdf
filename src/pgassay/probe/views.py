"""A view of statistics: a part of one SQL statement, with the meters that its columns give; pure.

Each source (`database`, `tables`, `wal` …) says in a file of its own which expressions it wants from which version on;
`statistics` joins them into one statement a second, so that looking costs the server next to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pgassay.bench.counters import Meter


@dataclass(frozen=True)
class Column:
    """A meter and the SQL expression that gives it; None where this version has no such number."""

    meter: Meter
    expression: str | None


@dataclass(frozen=True)
class View:
    """A source: its columns and the FROM clause that they need (empty for none); gives exactly one row."""

    source: str
    columns: tuple[Column, ...]
    origin: str = ""

    @property
    def meters(self) -> tuple[Meter, ...]:
        """All meters, readable in this version or not."""
        return tuple(column.meter for column in self.columns)

    @property
    def selected(self) -> tuple[Column, ...]:
        """The columns that this version has."""
        return tuple(column for column in self.columns if column.expression is not None)


def counter(name: str, unit: str, expression: str | None) -> Column:
    """A cumulative counter."""
    return Column(Meter(name, unit), expression)


def gauge(name: str, unit: str, expression: str | None) -> Column:
    """A value as it stands."""
    return Column(Meter(name, unit, cumulative=False), expression)


def statement(views: Sequence[View]) -> str:
    """One SELECT that gives every selected column of every view in order, as float8, in one row."""
    parts = []
    for number, view in enumerate(views):
        if view.selected:
            columns = ", ".join(
                f"({column.expression})::float8 AS c{place}" for place, column in enumerate(view.selected)
            )
            parts.append(f"(SELECT {columns} {view.origin}) AS v{number}".replace(" )", ")"))
    return f"SELECT * FROM {' CROSS JOIN '.join(parts)}"


def share_out(views: Sequence[View], row: Sequence[float | None] | None) -> dict[str, dict[str, float | None]]:
    """The row's values by source and meter; all None without a row."""
    values = iter(row if row is not None else ())
    found: dict[str, dict[str, float | None]] = {}
    for view in views:
        found[view.source] = {
            column.meter.name: None if column.expression is None or row is None else next(values)
            for column in view.columns
        }
    return found
