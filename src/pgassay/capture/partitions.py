"""A question about partitions, before anything runs: what of it a captured table does not allow, and what it costs.

A capture knows the tables, their columns and keys; what else hinders PostgreSQL shows on the loaded data
(`postgres.partitioning`), before the first trial.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pgassay.capture import messages
from pgassay.capture.format import Table
from pgassay.capture.physical.cost import existing, writing_rate
from pgassay.capture.question import Question
from pgassay.errors import UsageError
from pgassay.postgres.partitioning import table as tables_
from pgassay.postgres.partitioning.request import Partitioning, parse, shown
from pgassay.study.units import format_number, format_size

_ANY_VERSION = 1000
"""What only some versions refuse is for them to say."""


def require(question: Question, tables: Sequence[Table]) -> None:
    """Raise `UsageError` for a table that is not there or cannot be partitioned so, as far as the capture knows it."""
    for asked in _asked(question):
        shape = tables_.find(asked, {(each.schema, each.name): _shape(each) for each in tables})
        tables_.require(asked, shape, _ANY_VERSION)


def costs(question: Question, tables: Sequence[Table], place: Path) -> str:
    """A line for each table: rows, bytes, time and room, where the clusters live in `place`."""
    where = existing(place.absolute())
    try:
        rate = writing_rate(where)
    except OSError:
        rate = 0.0  # preflight says what is wrong with it
    return "".join(f"{line}\n" for line in lines(question, tables, rate, shutil.disk_usage(where).free))


def lines(question: Question, tables: Sequence[Table], bytes_per_s: float, free_bytes: int) -> Iterator[str]:
    """As `costs`, by figures; a rate of 0 is one that is not known."""
    known = {(each.schema, each.name): each for each in tables}
    shapes = {place: _shape(each) for place, each in known.items()}
    for asked in dict.fromkeys(_asked(question)):
        try:
            shape = tables_.find(asked, shapes)
        except UsageError:
            continue  # a change of the schema may make it
        found = next(known[place] for place, each in shapes.items() if each is shape)
        room = 2 * found.total_bytes
        time = ""
        if bytes_per_s:
            seconds = max(1, round(room / bytes_per_s))
            time = messages.at_least(f"{seconds} s", format_size(int(bytes_per_s)))
        rows = "an unknown number of" if found.rows is None else format_number(found.rows)
        sizes = format_size(found.total_bytes), format_size(room), format_size(free_bytes)
        yield messages.partition_costs(asked.name, rows, *sizes, time)


def _asked(question: Question) -> list[Partitioning]:
    return [each for level in question.partitions for each in parse(level)]


def _shape(table: Table) -> tables_.Shape:
    name = ".".join(shown(each) for each in (table.schema, table.name) if each != "public")
    columns = tuple(each.name for each in table.columns)
    return tables_.Shape(name, table.kind, columns, table.keys, inherits=table.inherits)
