"""A load like TPC-C's (specification 5.11): nine tables, five transactions and their mix, written from its text.

It is not audited and its results are no tpmC: no keying or think times, no terminals, and a database as small as asked.
The transactions are five pgbench scripts and a PL/pgSQL function each, since pgbench is wherever PostgreSQL is. What it
reports of each script becomes a rate and latency by type; percentiles come from the sketches that the pgbench driver
keeps of each script. TPC-C judges the 90th percentile of latency.

pgbench and sysbench-tpcc differ in how a run is made and read, and in what they call the tables (`Names`); the
rows, their size and the consistency conditions are the same. Tables are created empty, so that table options can be
set, then filled by COPY on all cores: each connection copies one table of one warehouse; the largest come first, so
that no core is left waiting at the end.

The consistency conditions 1 to 4 (specification 5.11, clauses 3.3.2.1 to 3.3.2.4) hold after the load and after every
run, whatever was rolled back; a broken one says that the server, or the load, lost or invented something.

Under sysbench with Percona's scripts their `prepare` sleeps half a minute and knows no table options for PostgreSQL; so
tables are made under their names (`warehouse1`, `new_orders1` …) and filled by COPY. READ COMMITTED: their default
gives up every seventh transaction. They build every statement as a text, so prepared ones have nothing to gain.

The same warehouse always gets the same rows. Dates are those of a fixed day, so that the data do not depend on when
they were made; C of NURand for last names is 123 here and 208 in the scripts, which clause 2.1.6.1 allows (85 apart).
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from pgassay import children
from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError, LoadError
from pgassay.interfaces.factor import Turns
from pgassay.interfaces.kinds import PATH, choice, optional
from pgassay.interfaces.load import BaseLoad, Driver, LoadResult
from pgassay.interfaces.options import option
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.server import Server
from pgassay.load import bulk, program, sysbench
from pgassay.load import responses as shared
from pgassay.load.bulk import (
    Field,
    Numbers,
    constant,
    integers,
    numerics,
    pack,
    random_digits,
    random_texts,
    texts,
    timestamps,
)
from pgassay.load.options import OTHER_LOAD, PROTOCOLS, CutOptions, PgbenchClientOptions, WarehouseOptions
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions, Script
from pgassay.load.pgbench.output import RESPONSES as PGBENCH
from pgassay.load.pgbench.output import Summary, parse_summary
from pgassay.load.player import Player
from pgassay.load.sysbench import PROGRAM, SYSBENCH_HINT, SysbenchClientOptions, client_arguments
from pgassay.study.responses import Better, Response, Scale

ITEMS = 100_000
DISTRICTS = 10
CUSTOMERS = 3_000
"""Customers of a district, and as many orders."""
DELIVERED = 2_100
"""Orders of a district that are delivered; the others wait in new_order."""
C_LAST_LOAD = 123
SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
LAST_NAMES = tuple(SYLLABLES[n // 100] + SYLLABLES[n // 10 % 10] + SYLLABLES[n % 10] for n in range(1000))
_ENTRY_US = 820_454_400_000_000
"""2025-12-31 00:00:00."""
_SEED = 5_11
_STEP = 10_000
_ORIGINAL = b"ORIGINAL"

Random = np.random.Generator


def _random(table: int, warehouse: int) -> Random:
    return np.random.Generator(np.random.SFC64([_SEED, table, warehouse]))


def _address(random: Random, rows: int) -> list[Field]:
    zip_code = np.concatenate([random_digits(random, rows, 4).data, constant("11111", rows).data], axis=1)
    streets = [random_texts(random, rows, 10, 20) for _ in range(3)]
    return [*streets, random_texts(random, rows, 2, 2), Field(zip_code)]


def _data(random: Random, rows: int) -> Field:
    """26 to 50 characters, with ORIGINAL somewhere in one of ten (clause 4.3.3.1)."""
    field = random_texts(random, rows, 26, 50)
    assert field.lengths is not None
    marked = np.flatnonzero(random.random(rows) < 0.1)
    places = (random.random(len(marked)) * (field.lengths[marked] - len(_ORIGINAL) + 1)).astype(np.int64)
    field.data[marked[:, None], places[:, None] + np.arange(len(_ORIGINAL))] = np.frombuffer(_ORIGINAL, np.uint8)
    return field


def _same(value: int, rows: int) -> Numbers:
    return np.full(rows, value, np.int64)


def _pack(rows: int, *columns: Field | Numbers | int) -> bytes:
    """So many rows; whole numbers are INTEGER, one alone is the same in each row."""
    return pack([each if isinstance(each, Field) else integers(np.broadcast_to(each, rows)) for each in columns])


def item(warehouse: int = 0) -> Iterator[bytes]:
    """The items; there is one list for all warehouses."""
    random, rows = _random(0, warehouse), _STEP
    for first in range(1, ITEMS + 1, rows):
        images, names = random.integers(1, 10_001, rows), random_texts(random, rows, 14, 24)
        price = numerics(random.integers(100, 10_001, rows), 2)
        yield _pack(rows, np.arange(first, first + rows), images, names, price, _data(random, rows))


def warehouse(number: int) -> Iterator[bytes]:
    random = _random(1, number)
    name, tax = random_texts(random, 1, 6, 10), numerics(random.integers(0, 2001, 1), 4)
    yield _pack(1, number, name, *_address(random, 1), tax, numerics(_same(30_000_000, 1), 2))


def district(number: int) -> Iterator[bytes]:
    random, rows = _random(2, number), DISTRICTS
    name, address = random_texts(random, rows, 6, 10), _address(random, rows)
    tax, year_to_date = numerics(random.integers(0, 2001, rows), 4), numerics(_same(3_000_000, rows), 2)
    yield _pack(rows, np.arange(1, rows + 1), number, name, *address, tax, year_to_date, CUSTOMERS + 1)


def customer(number: int) -> Iterator[bytes]:
    """Ten times 3000 rows: the first thousand of a district have every last name once."""
    random, rows = _random(3, number), CUSTOMERS
    for place in range(1, DISTRICTS + 1):
        drawn = (random.integers(0, 256, rows) | random.integers(0, 1000, rows)) + C_LAST_LOAD
        names = np.where(np.arange(rows) < len(LAST_NAMES), np.arange(rows), drawn) % len(LAST_NAMES)
        first, middle, last = random_texts(random, rows, 8, 16), constant("OE", rows), texts(LAST_NAMES, names)
        address, phone = _address(random, rows), random_digits(random, rows, 16)
        credit = texts(("GC", "BC"), (random.random(rows) < 0.1).astype(np.int64))
        limit, balance, paid = (numerics(_same(cents, rows), 2) for cents in (5_000_000, -1000, 1000))
        discount, since = numerics(random.integers(0, 5001, rows), 4), timestamps(_same(_ENTRY_US, rows))
        data, ids = random_texts(random, rows, 300, 500), np.arange(1, rows + 1)
        person = [first, middle, last, *address, phone, since]
        yield _pack(rows, ids, place, number, *person, credit, limit, discount, balance, paid, 1, 0, data)


def history(number: int) -> Iterator[bytes]:
    random, rows = _random(4, number), CUSTOMERS
    for place in range(1, DISTRICTS + 1):
        when, amount = timestamps(_same(_ENTRY_US, rows)), numerics(_same(1000, rows), 2)
        ids, data = np.arange(1, rows + 1), random_texts(random, rows, 12, 24)
        yield _pack(rows, ids, place, number, place, number, when, amount, data)


def _lines(number: int) -> Numbers:
    """How many lines each order has, by district: orders and order_line must agree."""
    return _random(5, number).integers(5, 16, (DISTRICTS, CUSTOMERS))


def orders(number: int) -> Iterator[bytes]:
    """3000 rows a district, in a random order of the customers."""
    random, rows, ids, lines = _random(6, number), CUSTOMERS, np.arange(1, CUSTOMERS + 1), _lines(number)
    for place in range(1, DISTRICTS + 1):
        customers, entered = random.permutation(ids), timestamps(_same(_ENTRY_US, rows))
        carriers = integers(random.integers(1, 11, rows), null=ids > DELIVERED)
        yield _pack(rows, ids, place, number, customers, entered, carriers, lines[place - 1], 1)


def new_order(number: int) -> Iterator[bytes]:
    """The last 900 orders of each district."""
    ids = np.arange(DELIVERED + 1, CUSTOMERS + 1)
    for place in range(1, DISTRICTS + 1):
        yield _pack(len(ids), ids, place, number)


def order_line(number: int) -> Iterator[bytes]:
    random, lines = _random(7, number), _lines(number)
    for place in range(1, DISTRICTS + 1):
        counts = lines[place - 1]
        ids = np.repeat(np.arange(1, CUSTOMERS + 1), counts)
        rows, waiting = len(ids), ids > DELIVERED
        lines_of_order = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        items, delivered = random.integers(1, ITEMS + 1, rows), timestamps(_same(_ENTRY_US, rows), null=waiting)
        amount = numerics(np.where(waiting, random.integers(1, 1_000_000, rows), 0), 2)
        data = random_texts(random, rows, 24, 24)
        yield _pack(rows, ids, place, number, lines_of_order, items, number, delivered, 5, amount, data)


def stock(number: int) -> Iterator[bytes]:
    random, rows = _random(8, number), _STEP
    for first in range(1, ITEMS + 1, rows):
        quantities = random.integers(10, 101, rows)
        districts = [random_texts(random, rows, 24, 24) for _ in range(DISTRICTS)]
        ids = np.arange(first, first + rows)
        yield _pack(rows, ids, number, quantities, *districts, 0, 0, 0, _data(random, rows))


BY_WAREHOUSE: Mapping[str, Callable[[int], Iterator[bytes]]] = {
    "stock": stock,
    "order_line": order_line,
    "customer": customer,
    "history": history,
    "orders": orders,
    "new_order": new_order,
    "district": district,
    "warehouse": warehouse,
}
"""The tables that grow with the warehouses, the largest first."""


FOLDER = Path(__file__).parent
TABLES = ("stock", "order_line", "customer", "history", "orders", "new_order", "district", "warehouse", "item")
Names = Mapping[str, str]
"""Table of the specification to what it is called in the database."""
PLAIN: Names = {name: name for name in TABLES}
_DISTRICTS = (
    "SELECT d_w_id, d_id, d_next_o_id, o.last, n.first AS n_first, n.last AS n_last, n.waiting, o.lines,"
    " l.lines AS there FROM district"
    " LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last, sum(o_ol_cnt) AS lines FROM orders GROUP BY 1, 2) o"
    " ON (o_w_id, o_d_id) = (d_w_id, d_id)"
    " LEFT JOIN (SELECT no_w_id, no_d_id, min(no_o_id) AS first, max(no_o_id) AS last, count(*) AS waiting"
    " FROM new_order GROUP BY 1, 2) n ON (no_w_id, no_d_id) = (d_w_id, d_id)"
    " LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY 1, 2) l"
    " ON (ol_w_id, ol_d_id) = (d_w_id, d_id)"
)
CONDITIONS: Mapping[str, str] = {
    "3.3.2.1": (
        "SELECT w_id FROM warehouse JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY 1) d"
        " ON d_w_id = w_id WHERE w_ytd <> total"
    ),
    "3.3.2.2": ("SELECT d_w_id FROM found WHERE d_next_o_id - 1 IS DISTINCT FROM last OR d_next_o_id - 1 <> n_last"),
    "3.3.2.3": "SELECT d_w_id FROM found WHERE n_last - n_first + 1 <> waiting",
    "3.3.2.4": "SELECT d_w_id FROM found WHERE lines IS DISTINCT FROM there",
}
"""Clause to a query for the warehouses that break it; `found` is one row for each district."""

Own = TypeVar("Own", bound=WarehouseOptions)


class TpccTables(BaseLoad[Own]):
    """A load on the nine tables, filled for `load.warehouses`; `names` is what the program calls them."""

    names: Names = PLAIN

    def data_key(self) -> Mapping[str, str]:
        return {"warehouses": str(self.options.warehouses)}

    def create(self, server: Server) -> None:
        schema = (FOLDER / "schema.sql").read_text(encoding="utf-8")
        server.execute(renamed(schema, self.names))

    def fill(self, server: Server) -> None:

        names = self.names
        dropped = bulk.drop_indexes(server, [names[table] for table in TABLES])
        tables = [
            bulk.Table(names[table], (), partial(make, number), truncated=False)
            for table, make in BY_WAREHOUSE.items()
            for number in range(1, self.options.warehouses + 1)
        ]
        bulk.copy_all(server.endpoint, [bulk.Table(names["item"], (), item), *tables])
        bulk.run_all(server.endpoint, [[*again, f"VACUUM (ANALYZE) {table}"] for table, again in dropped.items()])

    def verify(self, server: Server) -> Mapping[str, str]:
        """The consistency conditions 1 to 4: `inconsistent` names those that do not hold, `not_verified` says why
        the server could not be asked."""
        try:
            return self.broken(server)
        except BenchError as error:
            return {"not_verified": error.message}

    def broken(self, server: Server) -> Mapping[str, str]:
        """`inconsistent` with the clauses that do not hold and the first warehouse of each; empty when all hold."""
        parts = ", ".join(f"(SELECT min(w) FROM ({sql}) AS x(w))" for sql in CONDITIONS.values())
        (row,) = server.query(renamed(f"WITH found AS MATERIALIZED ({_DISTRICTS}) SELECT {parts}", self.names))
        clauses = [f"{clause} in warehouse {at}" for clause, at in zip(CONDITIONS, row, strict=True) if at is not None]
        if not clauses:
            return {}
        return {"inconsistent": f"TPC-C's consistency condition does not hold: {', '.join(clauses)}"}


def renamed(sql: str, names: Names) -> str:
    """Our SQL with the names of tables replaced; columns and indexes, which only begin like them, keep theirs."""
    return re.sub(rf"\b({'|'.join(TABLES)})\b", lambda found: names[found[0]], sql)


WEIGHTS: Mapping[str, int] = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
"""The mix of clause 5.2.3 at its limits, as everybody runs it: script to weight, in pgbench's order."""
_WORDS = {name: name.replace("_", "-") for name in WEIGHTS}

BY_TYPE: tuple[Response, ...] = (
    Response("new_orders_per_minute", "new-orders per minute (tpmC-like, not audited)", "1/min", Better.HIGHER),
    *(Response(f"{name}_tps", f"{word} per second", "1/s", Better.HIGHER) for name, word in _WORDS.items()),
    *(Response(f"{name}_latency_ms", f"mean latency of {word}", "ms", Better.LOWER) for name, word in _WORDS.items()),
    *(
        Response(f"{name}_latency_p90_ms", f"90th percentile of the latency of {word}", "ms", Better.LOWER)
        for name, word in _WORDS.items()
    ),
)


@dataclass(frozen=True, kw_only=True)
class TpccOptions(WarehouseOptions, PgbenchClientOptions, CutOptions):
    driver = "tpcc"
    turns = Turns()

    protocol: str = option(choice(*PROTOCOLS), default="prepared", summary="pgbench -M: how statements are sent")

    @property
    def round_trips(self) -> float | None:
        return self.pgbench.round_trips

    @property
    def pgbench(self) -> PgbenchOptions:
        """What pgbench is asked: the same as its client, with the five scripts and the warehouses for a scale."""
        scripts = tuple(Script(str(FOLDER / "scripts" / f"{name}.sql"), weight) for name, weight in WEIGHTS.items())
        client = {each.name: getattr(self, each.name) for each in fields(PgbenchClientOptions)}
        return PgbenchOptions(**client, scripts=scripts, scale=self.warehouses)


RESPONSES: tuple[Response, ...] = (*PGBENCH, *BY_TYPE)
_ECHOED = ("clients", "jobs", "protocol", "duration", "transactions", "max_tries")


class TpccLoad(TpccTables[TpccOptions]):
    responses = RESPONSES

    @property
    def _pgbench(self) -> PgbenchLoad:
        return PgbenchLoad(self.options.pgbench, self.tools)

    def check(self) -> None:
        self._pgbench.check()

    def create(self, server: Server) -> None:
        super().create(server)
        server.execute((FOLDER / "transactions.sql").read_text(encoding="utf-8"))

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        result = self._pgbench.run(server, output, seed)
        found = dict(result.responses)
        try:
            summary = parse_summary((output / "pgbench.out").read_text(encoding="utf-8"))
        except (LoadError, FileNotFoundError):
            pass  # pgbench's driver has named the problem
        else:
            written = output / shared.SKETCHES_FILE
            found |= of_scripts(summary, json.loads(written.read_text("utf-8"))["scripts"] if written.exists() else {})
        names = [f"load.{name}" for name in _ECHOED]
        return replace(
            result,
            responses=shared.complete(RESPONSES, found),
            series=tuple(replace(sample, source=self.name) for sample in result.series),
            read_back={name: result.read_back[name] for name in names if name in result.read_back},
        )

    @property
    def ungated(self) -> str | None:
        return self._pgbench.ungated

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> Player:
        return self._pgbench.gate(server, seed, paired=paired)


def of_scripts(summary: Summary, packed: Mapping[str, str]) -> dict[str, float | None]:
    """By type, from the summary's scripts in order and their sketches (base64 by number, as text)."""
    from pgassay._core import LatencySketch

    found: dict[str, float | None] = {}
    for number, name in enumerate(WEIGHTS):
        script = next((each for each in summary.scripts if Path(each.name).stem == name), None)
        found[f"{name}_tps"] = script.tps if script else None
        found[f"{name}_latency_ms"] = script.latency_ms if script else None
        sketch = packed.get(str(number))
        p90_us = LatencySketch.from_bytes(base64.b64decode(sketch)).quantile(0.9) if sketch else None
        found[f"{name}_latency_p90_ms"] = None if p90_us is None else p90_us / 1000
    tps = found["new_order_tps"]
    found["new_orders_per_minute"] = None if tps is None else tps * 60
    return found


DRIVER = Driver(TpccOptions, TpccLoad, "nine tables and five transactions like TPC-C's, not audited, played by pgbench")


_LUA = "tpcc.lua"
PERCONA_NAMES: Names = {name: "new_orders1" if name == "new_order" else f"{name}1" for name in TABLES}
"""What the scripts call the tables of their first and only set."""
_FAILED = "share of transactions that failed or were rolled back as asked"
PERCONA_RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("qps", "statements per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    *shared.LATENCIES,
    Response("failed_share", _FAILED, "share", Better.LOWER, Scale.DIFFERENCE),
)


@dataclass(frozen=True, kw_only=True)
class SysbenchTpccOptions(WarehouseOptions, SysbenchClientOptions):
    """A load by Percona's scripts; `lua` is their folder."""

    driver = "sysbench-tpcc"
    turns = OTHER_LOAD

    protocol: str = option(
        choice(*sysbench.PROTOCOLS), default="simple", summary="sysbench --db-ps-mode: prepared or simple"
    )
    lua: Path | None = option(
        optional(PATH),
        default=None,
        summary="folder of sysbench-tpcc's Lua files; none for that of a tpcc.lua in PATH",
    )


class SysbenchTpccLoad(TpccTables[SysbenchTpccOptions]):
    names = PERCONA_NAMES
    responses = PERCONA_RESPONSES

    def check(self) -> None:
        program.check(self.options.cores, self.options.host)
        folder_of(self.options)

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        options, scripts = self.options, folder_of(self.options)
        folder.mkdir(parents=True, exist_ok=True)
        run = program.run(
            self.tools,
            server,
            options,
            sysbench_command(scripts, server.client_endpoint, options, seed),
            folder,
            PROGRAM,
            options.timed_s,
            environment={"LUA_PATH": f"{scripts}/?.lua;;"},
            files=sorted(scripts.glob("*.lua")),
        )
        return sysbench.result(run, PERCONA_RESPONSES, "", options.timed_s, self.name)


SYSBENCH_DRIVER = Driver(
    SysbenchTpccOptions,
    SysbenchTpccLoad,
    "the same under sysbench with Percona's scripts, not audited",
    program=PROGRAM,
    program_hint=SYSBENCH_HINT,
    require_scripts=lambda: folder_of(SysbenchTpccOptions()),
)


def folder_of(options: SysbenchTpccOptions) -> Path:
    """Where the Lua files are; raises `UsageError` where there is no `tpcc.lua`."""
    found = children.which(_LUA)
    if options.lua is not None and (options.lua / _LUA).is_file():
        return options.lua
    if options.lua is None and found is not None:
        return Path(found).resolve().parent
    raise UsageError(
        f'"{options.lua}" has no tpcc.lua' if options.lua else "there is no tpcc.lua in PATH",
        'name the folder of github.com/Percona-Lab/sysbench-tpcc with load.lua, or use load.driver = "tpcc"',
    )


def sysbench_command(folder: Path, endpoint: Endpoint, options: SysbenchTpccOptions, seed: int) -> list[str]:
    own = ["--trx_level=RC", "--tables=1", f"--scale={options.warehouses}"]
    return [PROGRAM, str(folder / _LUA), *client_arguments(endpoint, options, seed), *own, "run"]
