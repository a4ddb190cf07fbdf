"""Synthetic data in the directory of a capture: statistics without values, and the script that fills a database."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from pgassay import untrusted
from pgassay.capture.errors import SyntheticError
from pgassay.capture.format import Column, Table
from pgassay.capture.synthetic.generation import Synthesis
from pgassay.capture.synthetic.script import write_script
from pgassay.capture.synthetic.statistics import Schema

FILE = "synthetic.json"
SCRIPT = "synthetic.sql"


def save(schema: Schema, folder: Path) -> int:
    """Write what data can be made from into `folder`; its bytes."""
    return (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(schema), indent=1))


def read(folder: Path) -> Synthesis:
    """The data by the statistics in `folder`; raises `SyntheticError`."""
    try:
        return Synthesis(untrusted.json(untrusted.read_bytes(folder / FILE), Schema))
    except (OSError, ValueError) as error:
        raise SyntheticError(
            f'could not read "{folder / FILE}": {error!s}', "pgassay capture --data synthetic writes it"
        ) from None


def playable(synthesis: Synthesis, before: str, after: str, folder: Path) -> Path:
    """The script for psql that fills a database; written once, since the same statistics give the same data.

    `before` and `after` are pg_dump's sections pre-data and post-data.
    """
    script = folder / SCRIPT
    if not script.exists():
        partial = script.with_suffix(".partial")
        write_script(synthesis, before, after, partial)
        partial.rename(script)
    return script


def with_values(tables: Iterable[Table], synthesis: Synthesis) -> tuple[Table, ...]:
    """The tables of a capture with the values that the synthetic data have, for the parameters of statements."""
    names = {(table.schema, table.relation): table.name for table in synthesis.schema.tables}
    return tuple(
        replace(table, columns=tuple(_with_values(synthesis, name, column) for column in table.columns))
        if (name := names.get((table.schema, table.name)))
        else table
        for table in tables
    )


def _with_values(synthesis: Synthesis, table: str, column: Column) -> Column:
    if all(known.name != column.name for known in synthesis.schema.table(table).columns):
        return column  # a generated column
    known = synthesis.known(table, column.name)
    return replace(
        column,
        common_values=known.common_values,
        common_shares=known.common_shares,
        histogram=known.histogram,
    )
