"""What a capture holds: frozen values, as they stand in its JSON files (docs/your-server.md has each with its meaning).

Counters are those of the window alone. Values of the user's own columns are there only where the data themselves are,
or where literals were asked for; all else about a column is numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

FORMAT = 1
"""The version of the directory; later versions of pgassay read it too."""


@dataclass(frozen=True)
class Column:
    """A column and what ANALYZE found in it (manual, "pg_stats"); the statistics are None where there are none.

    `n_distinct` is negative for a share of the rows, as in pg_stats. `common_values` and `histogram` are text as the
    type prints it, empty where values are not part of the capture.
    """

    name: str
    type: str
    not_null: bool = False
    unique: bool = False
    """Is it alone the key of a unique index?"""
    null_share: float | None = None
    width_bytes: int | None = None
    n_distinct: float | None = None
    common_values: tuple[str, ...] = ()
    common_shares: tuple[float, ...] = ()
    histogram: tuple[str, ...] = ()
    keyed: bool | None = None
    """Is it part of any key that two rows may not share? None in captures without it."""

    def distinct(self, rows: float) -> float:
        """How many distinct values are in so many rows; 0 where that is not known."""
        count = self.n_distinct or 0.0
        return count if count >= 0 else -count * rows


@dataclass(frozen=True)
class Table:
    """A table: `rows` as ANALYZE estimated them (None if it never has), pages of the heap."""

    schema: str
    name: str
    rows: float | None
    pages: int
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class View:
    """A view: of those of its columns that are columns of another relation the name, and that one's schema, name and
    column."""

    schema: str
    name: str
    columns: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True)
class Function:
    """A function of the user's: names and types of its arguments; whether it is declared volatile, and whether its
    language is one that can reach nothing outside the database (SQL and trusted languages)."""

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    volatile: bool = True
    trusted: bool = True


@dataclass(frozen=True)
class Statement:
    """A statement of pg_stat_statements and what it did in the window; times in ms, blocks as the server counts them.

    `text` has `$1` in the place of each constant. `parameters` are tuples of real values, in the order of the numbers,
    where literals were asked for and a log had them, by its calls or by auto_explain.
    """

    query_id: int
    text: str
    calls: int
    exec_ms: float
    rows: int
    blocks_hit: int = 0
    blocks_read: int = 0
    temp_blocks: int = 0
    wal_bytes: int = 0
    plans: int = 0
    wal_records: int = 0
    parameters: tuple[tuple[str | None, ...], ...] = ()
    logged_calls: int = 0
    """In the log, over the log's own window."""


@dataclass(frozen=True)
class Moment:
    """What pg_stat_activity showed at one moment: client sessions by state, and what the active ones waited for."""

    at_s: float
    states: Mapping[str, int]
    waits: Mapping[str, int]

    @classmethod
    def of(cls, at_s: float, rows: Iterable[tuple[Any, ...]]) -> "Moment":
        """From the rows of `reads.ACTIVITY`; an active session that waits for nothing is on the CPU."""
        states: dict[str, int] = {}
        waits: dict[str, int] = {}
        for state, wait, count in rows:
            states[state] = states.get(state, 0) + count
            if state == "active":
                waits[wait or "CPU"] = waits.get(wait or "CPU", 0) + count
        return cls(at_s, states, waits)


@dataclass(frozen=True)
class Transaction:
    """A kind of transaction in the log: its queries in order by `query_id`, how often, the client's pauses in all.

    `parameters` are samples of whole transactions, each with the values of every query, where literals were asked for.
    `shared` are groups of parameters that had one value in each transaction of a sample, as (place of the query from
    0, number).
    """

    statements: tuple[int, ...]
    commits: int
    rollbacks: int = 0
    pause_ms: float = 0.0
    parameters: tuple[tuple[tuple[str | None, ...], ...], ...] = ()
    shared: tuple[tuple[tuple[int, int], ...], ...] = ()


@dataclass(frozen=True)
class Logged:
    """What the server's log adds, over its own `window_s`; minutes count from the first, pauses are the clients'."""

    window_s: float
    calls: int
    calls_by_minute: tuple[tuple[int, int], ...] = ()
    processes: int = 0
    processes_most: int | None = None
    """The most at once; None where the log does not say when they end."""
    pauses: int = 0
    """Between two transactions of a process; `pause_ms` is their sum."""
    pause_ms: float = 0.0
    transactions: tuple[Transaction, ...] = ()
    left_out: int = 0
    """Kinds of transactions with a query that the capture lacks, and transactions beyond the reader's bounds."""
    unread: int = 0


@dataclass(frozen=True)
class Load:
    """What the server did for `window_s` seconds; `counters` are differences by name (docs/your-server.md).

    `logged` is None without a log, and where a log has entries of auto_explain alone, which count nothing.
    """

    window_s: float
    statements: tuple[Statement, ...]
    moments: tuple[Moment, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    logged: Logged | None = None
    planned_values: int = 0
    """How many tuples of all `parameters` come from entries of auto_explain."""

    @property
    def exec_ms(self) -> float:
        return sum(each.exec_ms for each in self.statements)


@dataclass(frozen=True)
class Source:
    """The server: version, database, its settings that a study can hold, and the names of those that it cannot."""

    version: str
    major: int
    database: str
    encoding: str
    collation: str
    replica: bool
    settings: Mapping[str, str]
    left_out: tuple[str, ...]
    libraries: tuple[str, ...]
    extensions: Mapping[str, str]
    search_paths: tuple[tuple[str, ...], ...] = ()
    """Of the roles that the load is of: schemas with tables in the order of each search_path, the busiest role's first.

    Empty in captures without them.
    """


@dataclass(frozen=True)
class Data:
    """The data of the capture: `none`, or `dump` with the name of a file in the directory."""

    kind: str = "none"
    file: str = ""
    bytes: int = 0
    database_bytes: int = 0


@dataclass(frozen=True)
class Cost:
    """What the capture cost the server; CPU None where its processes cannot be seen (another machine).

    `in_server_ms` is how long our statements took there, `received_bytes` what they returned; a dump is apart.
    """

    elapsed_s: float
    statements: int
    in_server_ms: float
    received_bytes: int
    cpu_ms: float | None = None
    server_cpu_ms: float | None = None
    """What all of the server's processes used meanwhile."""
    dump_s: float = 0.0
    dump_cpu_ms: float | None = None


@dataclass(frozen=True)
class Capture:
    """A whole capture; `load` is None where statements were not captured. `secrets` says what was left out, and why."""

    captured_utc: str
    program_version: str
    source: Source
    tables: tuple[Table, ...]
    volatile_functions: tuple[str, ...]
    """The user's own functions that are declared volatile: a statement that calls one may do more than it shows."""
    load: Load | None
    data: Data
    cost: Cost
    with_literals: bool = False
    secrets: tuple[str, ...] = ()
    views: tuple[View, ...] = ()
    functions: tuple[Function, ...] = ()
    """The user's own, not those of extensions; empty in captures that have the names of volatile ones alone."""
