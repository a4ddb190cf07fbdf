"""Where partitions begin and end, from the rows: quantiles for RANGE INTO, steps for EVERY, values for LIST.

The first range begins at MINVALUE and the last ends at MAXVALUE, so that rows which a load adds have a partition.
Bounds are literals that the server itself has quoted, so any type goes that PostgreSQL can partition by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from pgassay.bench.errors import QueryError
from pgassay.postgres.partitioning import messages
from pgassay.postgres.partitioning.request import PARTITIONS_MAX, Method, Partitioning, quoted

DEFAULT = "DEFAULT"
_NUMBERS, _TIMES = "N", "D"
"""pg_type.typcategory."""
_UNIT = (
    "CASE WHEN months > 0 AND months % 12 = 0 THEN 'year' WHEN months > 0 AND months % 3 = 0 THEN 'quarter'"
    " WHEN months > 0 THEN 'month' WHEN days > 0 AND days % 7 = 0 THEN 'week' WHEN days > 0 THEN 'day' ELSE 'hour' END"
)
"""Where a step of so many months and days begins to count: a month at the first, a week on Monday."""


@dataclass(frozen=True)
class Partition:
    """The end of a partition's name, and for which values it is (`FOR VALUES …`, or DEFAULT)."""

    suffix: str
    values: str


@dataclass(frozen=True)
class Column:
    """The column that a table is partitioned by: its type with the category, and whether it takes NULLs."""

    type_name: str
    category: str
    nullable: bool


class Asked(Protocol):
    """What a server is asked."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a statement."""


def partitions(asked: Partitioning, table: str, column: Column, server: Asked) -> list[Partition]:
    """Those of `table` (quoted); raises `UsageError` where its rows do not give them."""
    if asked.method is Method.HASH:
        return of_hash(asked.into or 0)
    if not server.query(f"SELECT 1 FROM ONLY {table} WHERE {quoted(asked.columns[0])} IS NOT NULL LIMIT 1"):
        raise messages.empty(asked.name)
    if asked.method is Method.LIST:
        return of_list(asked, _values(asked, table, server))
    bounds = _quantiles(asked, table, server) if asked.into is not None else _steps(asked, table, column, server)
    return of_range(asked, bounds, nullable=column.nullable)


def of_hash(count: int) -> list[Partition]:
    """One for each remainder."""
    return [Partition(f"p{n + 1}", f"FOR VALUES WITH (MODULUS {count}, REMAINDER {n})") for n in range(count)]


def of_range(asked: Partitioning, bounds: Sequence[str], *, nullable: bool) -> list[Partition]:
    """Between `bounds`, in their order; rows without a value go to a DEFAULT partition."""
    count = len(bounds) + 1
    if count > PARTITIONS_MAX:
        raise messages.too_many_values(str(asked), PARTITIONS_MAX)
    if count < (asked.into or 2):
        raise messages.too_few_values(str(asked), count)
    ends = ["MINVALUE", *bounds, "MAXVALUE"]
    found = [
        Partition(f"p{n}", f"FOR VALUES FROM ({low}) TO ({high})")
        for n, (low, high) in enumerate(pairwise(ends), start=1)
    ]
    return [*found, Partition("default", DEFAULT)] if nullable else found


def of_list(asked: Partitioning, values: Sequence[tuple[str, int]]) -> list[Partition]:
    """For `values` with their rows, the commonest first: one each, or each to the partition with fewest rows so far.

    What the rows do not have yet, and what has no value, goes to a DEFAULT partition.
    """
    if len(values) > PARTITIONS_MAX:
        raise messages.too_many_values(str(asked), PARTITIONS_MAX)
    count = len(values) if asked.into is None else asked.into
    if len(values) < max(count, 2):
        raise messages.too_few_values(str(asked), len(values))
    groups: list[list[str]] = [[] for _ in range(count)]
    rows = [0] * count
    for value, mine in values:
        place = min(range(count), key=lambda each: (rows[each], each))
        groups[place].append(value)
        rows[place] += mine
    found = [Partition(f"p{n}", f"FOR VALUES IN ({', '.join(group)})") for n, group in enumerate(groups, start=1)]
    return [*found, Partition("default", DEFAULT)]


def _quantiles(asked: Partitioning, table: str, server: Asked) -> list[str]:
    """Values with about as many rows between them; the least is none, since no row is below it."""
    count, column = asked.into or 0, quoted(asked.columns[0])
    shares = ", ".join(f"{n}::float8 / {count}" for n in range(count))
    rows = server.query(
        f"SELECT format('%L', bound) FROM (SELECT DISTINCT unnest(percentile_disc(ARRAY[{shares}]) WITHIN GROUP"
        f" (ORDER BY {column})) AS bound FROM ONLY {table}) q ORDER BY bound"
    )
    return [str(literal) for (literal,) in rows[1:]]


def _steps(asked: Partitioning, table: str, column: Column, server: Asked) -> list[str]:
    """Multiples of a number, or starts of months and the like, above the least value and up to the greatest."""
    wanted = _TIMES if asked.is_interval else _NUMBERS
    if column.category != wanted or column.type_name.startswith("time "):
        named = {_TIMES: "an interval: EVERY '1 month'", _NUMBERS: "a number: EVERY 1000000"}
        other = named.get("" if column.type_name.startswith("time ") else column.category, "INTO")
        raise messages.no_step_for_type(str(asked), column.type_name, other)
    name = quoted(asked.columns[0])
    ends = f"(SELECT min({name}) AS low, max({name}) AS high FROM ONLY {table} WHERE {_finite(name, wanted)}) ends"
    most = PARTITIONS_MAX + 2  # a series is made whole before any of it is looked at
    if asked.is_interval:
        series = "timestamptz" if "with time zone" in column.type_name else "timestamp"
        step = _interval(asked, server)
        more = (
            f", (SELECT (extract(year FROM {step}) * 12 + extract(month FROM {step}))::int AS months,"
            f" extract(day FROM {step})::int AS days) s"
        )
        first = f"date_trunc({_UNIT}, low::{series})"
    else:
        series, step, more = "numeric", f"{asked.step}::numeric", ""
        first = f"floor(low::numeric / {step}) * {step}"
    rows = server.query(
        f"SELECT format('%L', bound::{column.type_name}) FROM {ends}{more}, generate_series({first},"
        f" least(high::{series}, low::{series} + {step} * {most}), {step}) bound"
        f" WHERE bound::{column.type_name} > low ORDER BY bound LIMIT {most}"
    )
    return list(dict.fromkeys(str(literal) for (literal,) in rows))


def _interval(asked: Partitioning, server: Asked) -> str:
    """The step for SQL; raises `UsageError` for words that are no interval, or one that leads nowhere."""
    words = "'" + asked.step.replace("'", "''") + "'"
    try:
        ((forward,),) = server.query(f"SELECT interval {words} > interval '0'")
    except QueryError as error:
        raise messages.refused_by_server(str(asked), error.message) from None
    if not forward:
        raise messages.no_step(str(asked))
    return f"interval {words}"


def _finite(column: str, category: str) -> str:
    """Infinity and NaN have no next step."""
    if category == _TIMES:
        return f"isfinite({column})"
    return f"{column}::text NOT IN ('NaN', 'Infinity', '-Infinity')"


def _values(asked: Partitioning, table: str, server: Asked) -> list[tuple[str, int]]:
    """Each value as a literal with its rows, the commonest first."""
    column = quoted(asked.columns[0])
    return [
        (str(literal), int(rows))
        for literal, rows in server.query(
            f"SELECT format('%L', {column}), count(*) FROM ONLY {table} WHERE {column} IS NOT NULL GROUP BY {column}"
            f" ORDER BY count(*) DESC, {column} LIMIT {PARTITIONS_MAX + 1}"
        )
    ]
