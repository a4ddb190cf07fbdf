"""The tables of a server with what ANALYZE found in their columns, and where roles look for them; pure.

From the rows of six reads.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from pgassay.capture.format import Column, Function, Table, View
from pgassay.capture.privacy import private_name

Rows = Iterable[tuple[Any, ...]]
_LEAST_SHARE = 0.01
"""Of the load: a role with less has no say."""
_NAME = re.compile(r'"((?:[^"]|"")*)"|([^,"\s]+)')


def search_paths_of(rows: Rows, schemas: Collection[str]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Our own search_path, and those of the roles that the load is of, the busiest first; `schemas` are those with
    tables, and others are left out. Rows as `reads.search_paths` gives them.
    """
    weights: dict[tuple[str, ...], float] = {}
    own: tuple[str, ...] = ()
    for role, said, weight, ours in rows:
        names = (quoted.replace('""', '"') or plain.lower() for quoted, plain in _NAME.findall(said))
        path = tuple(each for each in (role if name == "$user" else name for name in names) if each in schemas)
        weights[path] = weights.get(path, 0.0) + weight
        own = path if ours else own
    total = sum(weights.values())
    ordered = sorted(weights, key=lambda each: -weights[each])
    return own, tuple(each for each in ordered if weights[each] > _LEAST_SHARE * total) or (own,)


def views_of(rows: Rows) -> tuple[View, ...]:
    """The views with those of their columns that are columns of others; rows as `reads.views` gives them.

    Subqueries have entries, too: a column that has several is none of the view's for sure.
    """
    found: dict[tuple[str, str], dict[str, set[tuple[str, str, str]]]] = {}
    for schema, view, name, *below in rows:
        found.setdefault((schema, view), {}).setdefault(name, set()).add((below[0], below[1], below[2]))
    return tuple(
        View(*named, tuple((name, *next(iter(below))) for name, below in columns.items() if len(below) == 1))
        for named, columns in found.items()
    )


def functions_of(rows: Rows) -> tuple[Function, ...]:
    """Rows as `reads.functions` gives them; of one name all are, in order."""
    return tuple(
        Function(str(name), tuple(zip(names, kinds, strict=True)), volatile, trusted)
        for name, names, kinds, volatile, trusted in rows
    )


def tables_of(tables: Rows, columns: Rows, statistics: Rows) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The tables in order, and the columns whose values were left out because of their names.

    Rows as `reads.tables`, `reads.columns` and `reads.statistics` give them; statistics of a table with its partitions
    come after those of the table alone, and win.
    """
    by_table: dict[tuple[str, str], list[Column]] = {}
    for schema, table, name, type_name, not_null, unique, keyed in columns:
        by_table.setdefault((schema, table), []).append(Column(name, type_name, not_null, unique, keyed=keyed))
    found = {(row[0], row[1], row[2]): row[3:] for row in statistics}
    left_out: list[str] = []
    result = []
    for schema, table, rows, pages, total_bytes in tables:
        described = []
        for column in by_table.get((schema, table), []):
            known = found.get((schema, table, column.name))
            if known is not None and private_name(column.name) and (known[4] or known[6]):
                left_out.append(f"{schema}.{table}.{column.name}")
                known = (*known[:4], None, known[5], None)
            described.append(column if known is None else _with_statistics(column, known))
        count = None if rows < 0 else float(rows)
        result.append(Table(schema, table, count, int(pages), int(total_bytes), tuple(described)))
    return tuple(result), tuple(left_out)


def _with_statistics(column: Column, known: tuple[Any, ...]) -> Column:
    null_share, width, n_distinct, correlation, values, shares, histogram = known
    return replace(
        column,
        null_share=float(null_share),
        width_bytes=int(width),
        n_distinct=float(n_distinct),
        correlation=None if correlation is None else float(correlation),
        common_values=tuple(values or ()),
        common_shares=tuple(map(float, shares or ())),
        histogram=tuple(histogram or ()),
    )
