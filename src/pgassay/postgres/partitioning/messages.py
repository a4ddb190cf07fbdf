"""What is said where a table cannot be partitioned, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from collections.abc import Iterable, Sequence

from pgassay.errors import UsageError

_SHOWN = 10
_EXAMPLE = (
    'for example "orders BY RANGE (created_at) INTO 12", "orders BY RANGE (created_at) EVERY \'1 month\'",'
    ' "orders BY HASH (id) INTO 8" or "orders BY LIST (status)"'
)


def not_a_partitioning(text: str) -> UsageError:
    """Not the form."""
    return UsageError(f'"{text}" does not say how a table is partitioned', _EXAMPLE)


def partitioned_twice(table: str) -> UsageError:
    """A table that a level names twice."""
    return UsageError(f"{table} is partitioned twice", "subpartitions are not made; name each table once")


def only_columns(text: str) -> UsageError:
    """An expression, a collation or an operator class."""
    return UsageError(
        f'"{text}" is not by columns alone', "name columns of the table; expressions and operator classes are not taken"
    )


def one_column(text: str, method: str) -> UsageError:
    """RANGE or LIST with several columns."""
    return UsageError(f'"{text}" names several columns', f"{method} takes one here, HASH several")


def partitions_out_of_range(text: str, count: int, most: int) -> UsageError:
    """One partition, none, or very many."""
    return UsageError(f'"{text}" asks for {count} partitions', f"INTO takes a whole number from 2 to {most}")


def no_count(text: str, method: str) -> UsageError:
    """Neither INTO nor EVERY."""
    more = "" if method == "HASH" else ", or by which step (EVERY '1 month', EVERY 1000000)"
    return UsageError(f'"{text}" does not say how many partitions', f"add how many (INTO 12){more}")


def only_ranges_have_steps(text: str, method: str) -> UsageError:
    """EVERY with LIST or HASH."""
    return UsageError(f'"{text}" has a step, and {method} has none', "EVERY goes with RANGE; INTO with all")


def no_step(text: str) -> UsageError:
    """EVERY 0, or a step back."""
    return UsageError(f'"{text}" has a step of 0 or less', _EXAMPLE)


def no_such_table(name: str, tables: Iterable[str]) -> UsageError:
    """The data have no such table, or several of the name in different schemas."""
    return UsageError(f'there is no table "{name}" to be partitioned', f"tables are: {_some(tables)}")


def not_a_table(name: str, what: str) -> UsageError:
    """A view, or a table that has partitions."""
    return UsageError(f"{name} is {what}, so it cannot be partitioned", "name an ordinary table")


def inherits(name: str) -> UsageError:
    """A partition, a parent or a child."""
    return UsageError(
        f"{name} is a partition or inherits, so it cannot be partitioned", "name a table of no such hierarchy"
    )


def no_such_column(table: str, column: str, columns: Iterable[str]) -> UsageError:
    """A column that the table does not have."""
    return UsageError(f"{table} has no column {column}", f"its columns are: {_some(columns)}")


def generated_column(table: str, column: str) -> UsageError:
    """PostgreSQL takes no generated column."""
    return UsageError(f"{table} cannot be partitioned by {column}, which is generated", "name a column that is stored")


def keys_lack_columns(
    table: str, columns: str, keys: Sequence[str], lost: Sequence[str], steps: str, common: Sequence[str]
) -> UsageError:
    """Unique keys without the columns; `steps` would give them these, `common` are columns that all keys have."""
    referred = f"; the foreign keys {', '.join(lost)} refer to them" if lost else ""
    other = f"partition by {' or '.join(common)}, or h" if common else "h"
    return UsageError(
        f"{table} cannot be partitioned by {columns}: a unique key of a partitioned table must have these columns, and"
        f" {', '.join(keys)} has not{referred}",
        f'{other}old the keys changed in all treatments: --set "schema.change={steps}"',
    )


def exclusion(table: str, names: Sequence[str], since: int) -> UsageError:
    """Exclusion constraints before they could be on partitioned tables."""
    return UsageError(
        f"{table} has exclusion constraints ({', '.join(names)}), which partitioned tables have from PostgreSQL"
        f" {since} on",
        f'drop them in all treatments: --set "schema.change=ALTER TABLE {table} DROP CONSTRAINT {names[0]}"',
    )


def not_valid_keys(table: str, names: Sequence[str], since: int) -> UsageError:
    """Foreign keys that are NOT VALID before they could be on partitioned tables."""
    return UsageError(
        f"{table} has foreign keys that are NOT VALID ({', '.join(names)}), which partitioned tables have from"
        f" PostgreSQL {since} on",
        f'validate them in all treatments: --set "schema.change=ALTER TABLE {table} VALIDATE CONSTRAINT {names[0]}"',
    )


def hindered(table: str, what: Sequence[str]) -> UsageError:
    """Objects that cannot be given the new table."""
    return UsageError(
        f"{table} cannot be partitioned while these depend on it: {', '.join(what)}",
        'drop or change them in all treatments by --set "schema.change=…"',
    )


def refused_by_server(asked: str, words: str) -> UsageError:
    """The server does not take the clause: a type that has no order, say."""
    return UsageError(f"{asked}: {words}", "name other columns, or another of RANGE, LIST and HASH")


def empty(table: str) -> UsageError:
    """No row to take bounds from."""
    return UsageError(f"{table} has no rows that bounds could be taken from", "BY HASH needs none")


def too_few_values(asked: str, count: int) -> UsageError:
    """Values that do not fill so many partitions."""
    hint = f"INTO {count}, or another column" if count > 1 else "another column, or BY HASH"
    return UsageError(f"{asked}: the values of the column give {count} partitions with rows", hint)


def too_many_values(asked: str, most: int) -> UsageError:
    """More partitions than are sensible."""
    return UsageError(f"{asked}: that makes more than {most} partitions", "INTO limits them; so does a longer step")


def no_step_for_type(asked: str, type_name: str, wanted: str) -> UsageError:
    """A number as a step of dates, or the other way round."""
    return UsageError(f"{asked}: a column of type {type_name} goes by no such step", f"it goes by {wanted}")


def adopt(asked: str, table: str, clause: str) -> str:
    """What an administrator does."""
    return (
        f"{asked}: CREATE TABLE {table}_new (LIKE {table} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY {clause}, its"
        " partitions and a DEFAULT one; copy the rows in batches, then indexes, keys and foreign keys, and rename"
        f" (pg_partman does it online); needs room for a second copy of {table}, and new partitions in time"
    )


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return f"{', '.join(listed[:_SHOWN]) or 'none'}{more}"
