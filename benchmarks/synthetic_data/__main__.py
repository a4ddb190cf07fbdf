"""Synthetic data against their source: estimated rows within a factor of 2, equal plans, sizes within 5 %.

usage: python -m benchmarks.synthetic_data [--schema tpcc|shop|series] [--seed N] [--details]

Each schema is made with SQL that the generator has not seen, in a cluster of its own; its statistics are read, the
data are made from these and nothing else in a second database, and both plan the same statements. A parameter is the
value at the same place of both columns: `{orders.total:0.99}` the 99th percentile, `mode` the commonest value. A
statement counts by the node of its plan where the estimates differ most. Sizes are those of tables, their TOAST and
indexes of 1 MB and more in the source. The goals are 90 % of the statements, 90 % of the plans, and all sizes.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.private_server import Bench, serving
from benchmarks.synthetic_data.comparison import Compared, compare
from pgassay.capture.source import Rows
from pgassay.capture.synthetic.files import write_script
from pgassay.capture.synthetic.generation import Synthesis
from pgassay.capture.synthetic.reading import read_statistics

FOLDER = Path(__file__).parent
SCHEMAS = ("tpcc", "shop", "series")
FACTOR, SIZE_TOLERANCE, SIZE_FROM_BYTES = 2.0, 0.05, 1 << 20
TIME_LIMIT_S = 600
PARAMETER = re.compile(r"\{([\w.]+)\.(\w+):(mode|[\d.]+)\}")
SIZES = (
    "SELECT c.relname::text, pg_relation_size(c.oid) + CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE"
    " pg_relation_size(c.reltoastrelid) END FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind IN ('r', 'i') ORDER BY 1"
)
LITERALS = (
    "SELECT DISTINCT v FROM pg_stats s, unnest(coalesce(s.most_common_vals::text::text[], '{}')"
    " || coalesce(s.histogram_bounds::text::text[], '{}')) v WHERE s.schemaname = 'public' AND v ~ '[[:alpha:]]{3}'"
)


class Session:
    """Reads by a connection."""

    def __init__(self, connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
        self._connection = connection
        connection.read_only = True

    def read(self, what: str, sql: str) -> Rows:
        """See `capture.source.Readable`."""
        with self._connection.transaction():
            return Rows((), tuple(self._connection.execute(sql.encode()).fetchall()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--schema", choices=SCHEMAS, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--details", action="store_true", help="also each statement and relation that is apart")
    arguments = parser.parse_args()
    compared: list[Compared] = []
    sizes: list[tuple[str, int, int]] = []
    with serving(None, "synthetic") as bench:
        for name in arguments.schema or SCHEMAS:
            found, measured = try_schema(bench, name, arguments.seed, arguments.details)
            compared += found
            sizes += measured
    print(f"all: {summary(compared, sizes)}")


def try_schema(bench: Bench, name: str, seed: int, details: bool) -> tuple[list[Compared], list[tuple[str, int, int]]]:
    source, synthetic = f"{name}_source", f"{name}_synthetic"
    for database in (source, synthetic):
        bench.server.execute(f"CREATE DATABASE {database}")
    psql(bench, source, FOLDER / f"{name}.sql")
    with connected(bench, source) as connection:
        connection.execute("VACUUM ANALYZE")
    copy, began = bench.directory / f"{name}_synthetic.sql", time.perf_counter()
    with connected(bench, source) as connection:
        schema = read_statistics(Session(connection), seed)
    read_s, began = time.perf_counter() - began, time.perf_counter()
    rows = write_script(
        Synthesis(schema, seed), dumped(bench, source, "pre-data"), dumped(bench, source, "post-data"), copy
    )
    made_s, began = time.perf_counter() - began, time.perf_counter()
    psql(bench, synthetic, copy)
    print(
        f"{name}: statistics read in {read_s:.2f} s, {sum(rows.values())} rows made in {made_s:.1f} s, "
        f"loaded in {time.perf_counter() - began:.1f} s"
    )
    for note in schema.notes:
        print(f"  {note}")
    with connected(bench, source) as one, connected(bench, synthetic) as other:
        compared = [explained(one, other, text) for text in statements(name)]
        measured = sizes_of(one, other)
        leaked = literals_found(one, copy)
    print(f"  {summary(compared, measured)}; texts of the source found in the data: {leaked}")
    if details:
        for each in compared:
            if not each.equal or each.worst_ratio > FACTOR:
                plans = "same plan" if each.equal else "OTHER PLAN"
                print(f"  {plans}, rows × {each.worst_ratio:.2f}: {each.statement}")
        for relation, before, after in measured:
            if abs(after / before - 1) > SIZE_TOLERANCE:
                print(f"  {relation}: {before} bytes, synthetic {after} ({after / before - 1:+.1%})")
    return compared, measured


def summary(compared: Sequence[Compared], sizes: Sequence[tuple[str, int, int]]) -> str:
    close = sum(each.worst_ratio <= FACTOR for each in compared)
    equal = sum(each.equal for each in compared)
    fitting = sum(abs(after / before - 1) <= SIZE_TOLERANCE for _, before, after in sizes)
    total = sum(after for *_, after in sizes) / sum(before for _, before, _ in sizes) - 1
    return (
        f"estimates within a factor of 2 in {close} of {len(compared)} statements ({close / len(compared):.0%}), "
        f"equal plans {equal} of {len(compared)} ({equal / len(compared):.0%}), "
        f"sizes within 5 % {fitting} of {len(sizes)} relations, together {total:+.1%}"
    )


def statements(name: str) -> list[str]:
    text = (FOLDER / f"{name}.statements.sql").read_text(encoding="utf-8")
    return [line.strip().removesuffix(";") for line in text.splitlines() if line.strip()]


def connected(bench: Bench, database: str) -> "psycopg.Connection[tuple[Any, ...]]":
    endpoint = replace(bench.server.endpoint, database=database)
    return psycopg.connect(endpoint.conninfo(), autocommit=True, options="-c timezone=UTC")


def client(bench: Bench, program: str, database: str, *options: str) -> str:
    environment = replace(bench.server.endpoint, database=database).environment()
    command = [str(bench.installation.bindir / program), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S)
    if done.returncode:
        sys.exit(f"{program} on {database}: {done.stderr}")
    return done.stdout


def psql(bench: Bench, database: str, file: Path) -> None:
    client(bench, "psql", database, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(file))


def dumped(bench: Bench, database: str, section: str) -> str:
    return client(bench, "pg_dump", database, "--schema-only", f"--section={section}", "--no-owner", "--no-privileges")


def explained(
    source: "psycopg.Connection[tuple[Any, ...]]", synthetic: "psycopg.Connection[tuple[Any, ...]]", statement: str
) -> Compared:
    plans = [plan(connection, statement) for connection in (source, synthetic)]
    return compare(statement, *plans)


def plan(connection: "psycopg.Connection[tuple[Any, ...]]", statement: str) -> Any:
    filled = PARAMETER.sub(lambda match: constant(connection, *match.groups()), statement)
    row = connection.execute(f"EXPLAIN (FORMAT JSON) {filled}".encode()).fetchone()
    assert row is not None
    found = row[0] if isinstance(row[0], list) else json.loads(row[0])
    return found[0]["Plan"]


def constant(connection: "psycopg.Connection[tuple[Any, ...]]", table: str, column: str, place: str) -> str:
    how = "mode()" if place == "mode" else f"percentile_disc({place})"
    values = f"SELECT {how} WITHIN GROUP (ORDER BY {column}) v FROM {table}"
    sql = f"SELECT quote_literal(v::text), pg_typeof(v) FROM ({values}) x"
    row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return f"{row[0]}::{row[1]}"


def sizes_of(
    source: "psycopg.Connection[tuple[Any, ...]]", synthetic: "psycopg.Connection[tuple[Any, ...]]"
) -> list[tuple[str, int, int]]:
    before = dict(source.execute(SIZES).fetchall())
    after = dict(synthetic.execute(SIZES).fetchall())
    return [(name, size, after[name]) for name, size in before.items() if size >= SIZE_FROM_BYTES]


def literals_found(source: "psycopg.Connection[tuple[Any, ...]]", copy: Path) -> int:
    """Texts of the source's statistics that stand in the rows made, but for those of the schema itself."""
    script = copy.read_text(encoding="utf-8").split("FROM stdin;\n")
    schema = script[0] + script[-1].partition("\n\\.\n")[2]
    lines = (line for part in script[1:] for line in part.partition("\n\\.\n")[0].splitlines())
    fields = {field for line in lines for field in line.split("\t")}
    return sum(text in fields and f"'{text}'" not in schema for (text,) in source.execute(LITERALS).fetchall())


if __name__ == "__main__":
    main()
