"""What is said of data that statistics cannot give, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from pathlib import Path

from pgassay.bench.errors import BenchError


class SyntheticError(BenchError):
    """Statistics that no data can be made from."""


def no_room(column: str, count: int, longest: int | None) -> SyntheticError:
    """More distinct values than texts of this length."""
    return SyntheticError(
        f'column "{column}" has {count} distinct values of at most {longest} characters: so many cannot be invented',
        "capture the data themselves with --data dump",
    )


def no_values(table: str, column: str, declared: str) -> SyntheticError:
    """A type that we cannot write, in a column that must have a value."""
    return SyntheticError(
        f'no values can be invented for column "{column}" of {table}, which has type {declared} and is not null',
        "capture the data themselves with --data dump",
    )


def left_null(table: str, column: str, declared: str) -> str:
    """A note: a column that stays empty."""
    return f'column "{column}" of {table} stays null: no values of type {declared} can be invented'


def no_statistics(table: str) -> str:
    """A note: a table that ANALYZE has not seen."""
    return f"{table} has no statistics, so its values are only of the right types: ANALYZE it before the capture"


def not_followed(table: str, columns: str) -> str:
    """A note: a foreign key whose parent is not among the tables."""
    return f"the foreign key of {table} ({columns}) is not followed: it refers to a table that is partitioned"


def unreadable(path: Path, detail: str) -> SyntheticError:
    """A file of statistics that is missing or damaged."""
    return SyntheticError(f'could not read "{path}": {detail}', "pgassay capture --data synthetic writes it")
