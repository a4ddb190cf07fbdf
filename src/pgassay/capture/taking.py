"""Taking a capture: what the server is asked, in which order, and what that cost it.

The window lies between two snapshots of pg_stat_statements; while it lasts, the sessions are looked at once a second.
The data come last, so that reading them is not part of the load that was captured.

From the rows of six reads.

"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pgassay import __version__
from pgassay.bench.running import Clock
from pgassay.capture import logs, reads
from pgassay.capture.errors import LACKS_STATISTICS, CaptureError
from pgassay.capture.format import Capture, Column, Cost, Data, Function, Load, Moment, Source, Statement, Table, View
from pgassay.capture.logs import Event, LogFiles
from pgassay.capture.physical import fetching as physical
from pgassay.capture.physical.fetching import Wish
from pgassay.capture.privacy import private_name, require_parser, secret_in, without_literals
from pgassay.capture.source import Readable, Row
from pgassay.capture.statements import HIDDEN, between, merged
from pgassay.postgres.settings import stays

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


OLDEST = 13
PERIOD_S = 1.0
EXTENSION = "pg_stat_statements"


_FILES = {
    physical.BASEBACKUP: reads.Read("every file", "the data of all databases, by pg_basebackup, after the load"),
    physical.BACKUP: reads.Read("the backup's files", "the data of all databases; nothing is written there"),
    physical.RESTORED: reads.Read("your restore command", "the data of all databases, into a new directory here"),
}


@dataclass(frozen=True)
class Request:
    """What is to be captured: `window_s` of load unless that is left out, and the data as `dump`, `none`,
    `synthetic`: made on our side from statistics, or as one of `physical.KINDS`: the server's files, as `files` says.
    """

    window_s: float = 600.0
    data: str = "dump"
    with_load: bool = True
    with_literals: bool = False
    logs: LogFiles | None = None
    files: Wish | None = None

    @property
    def with_values(self) -> bool:
        """Are values of the user's columns part of it? They are in a dump and in files anyway."""
        return self.with_literals or self.data == "dump" or self.files is not None

    @property
    def foresees(self) -> bool:
        """Is it looked at beforehand how much of the load can be played? Literals are what is missing mostly, and of
        synthetic data the values are not known yet."""
        return self.with_load and not self.with_literals and self.data not in ("none", "synthetic")

    def reads(self, *, counted: bool = True) -> tuple[reads.Read, ...]:
        """What is read, in order; not `counted` where there is no pg_stat_statements."""
        found = [*reads.ALWAYS, reads.VALUES if self.with_values else reads.STATISTICS]
        if self.with_load and counted:
            found += reads.LOAD
        if self.logs is not None:
            named = ", ".join(path.name for path in self.logs.paths)
            found.append(reads.Read(named, "the server's log: transactions, and values with --with-literals"))
        if self.data == "dump":
            found.append(reads.Read("every table", "the data, by pg_dump in one snapshot, after the load"))
        if self.files is not None:
            found.append(reads.Read("pg_database, pg_tablespace, pg_proc", "what serves such files: sizes, libraries"))
            found.append(_FILES[self.files.kind])
        if self.data == "synthetic":
            found.append(reads.Read("pg_stats, pg_constraint", "of each column: ranks and widths of its values, keys"))
            found.append(reads.Read("pg_catalog", "the schema, by pg_dump; no data"))
        return tuple(found)


@dataclass(frozen=True)
class Identity:
    """What is known of the server before anything else is read: `schema` is pg_stat_statements' own, or None."""

    source: Source
    database_bytes: int
    schema: str | None
    log_line_prefix: str = logs.DEFAULT_PREFIX


@dataclass(frozen=True)
class Taken:
    """A capture without its data and cost, what the user is warned of, and told."""

    capture: Capture
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What else the user is told."""


def identify(session: Readable, request: Request) -> Identity:
    """Version, size, settings and extensions; raises `CaptureError` for a server that cannot be captured as asked."""
    if request.with_load and not request.with_literals:
        require_parser()
    (row,) = session.read("the version", reads.identity()).rows
    version, major, database, encoding, collation, replica, size, libraries = row
    if major < OLDEST:
        raise CaptureError(f"the server is PostgreSQL {version!s}", "PostgreSQL 13 and later can be captured")
    extensions = session.read("the extensions", reads.extensions()).rows
    found = {str(name): str(value) for name, value in session.read("the settings", reads.settings()).rows}
    schema = next((str(each[2]) for each in extensions if each[0] == EXTENSION), None)
    preloaded = tuple(each.strip() for each in str(libraries or "").split(",") if each.strip())
    if schema is None or (libraries is not None and EXTENSION not in preloaded):
        if request.with_load and request.logs is None:
            raise _no_statements(EXTENSION in preloaded)
        schema = None
    source = Source(
        version=str(version),
        major=int(major),
        database=str(database),
        encoding=str(encoding),
        collation=str(collation),
        replica=bool(replica),
        settings={name: value for name, value in found.items() if not stays(name)},
        left_out=tuple(name for name in found if stays(name)),
        libraries=preloaded,
        extensions={str(name): str(version) for name, version, _ in extensions},
    )
    return Identity(source, int(size), schema, found.get("log_line_prefix", logs.DEFAULT_PREFIX))


def take(
    session: Readable,
    identity: Identity,
    request: Request,
    clock: Clock,
    tick: Callable[[float], None],
    beside: Callable[[Event], object] | None = None,
) -> Taken:
    """Everything but the data; `tick` gets the seconds that are left, `beside` each event of a log.

    Raises `CaptureError`.
    """
    began = clock.wall_ns()
    load, heard = _whole_load(session, identity, request, clock, tick, beside)
    return _described(session, identity, request, load, heard, began)


def so_far(session: Readable, identity: Identity, request: Request) -> Capture:
    """What a capture would hold whose window were all that pg_stat_statements has counted, with the data wanted."""
    counted = session.read(EXTENSION, reads.statements(identity.schema or "", identity.source.major, texts=True)).rows
    load = Load(request.window_s, between((), counted))
    found = _described(session, identity, request, load, (), 0).capture
    return replace(found, data=replace(found.data, kind=request.data))


def _described(
    session: Readable, identity: Identity, request: Request, load: Load | None, heard: Iterable[str], began_ns: int
) -> Taken:
    """A load with the tables, functions and statistics that say what it works on."""
    statistics = session.read("pg_stats", reads.statistics(values=request.with_values)).rows
    tables, private = tables_of(
        session.read("the tables", reads.tables()).rows, session.read("the columns", reads.columns()).rows, statistics
    )
    counted = [each.query_id for each in load.statements] if load is not None and identity.schema is not None else []
    roles = session.read("the search paths", reads.search_paths(identity.schema or "", counted)).rows
    source = _with_search_paths(identity.source, roles, {each.schema for each in tables})
    functions = functions_of(session.read("the functions", reads.functions()).rows)
    views = views_of(session.read("the views", reads.views()).rows)
    secrets = [f"values of {name}: its name says that they are private" for name in private]
    warnings = [*([replica()] if identity.source.replica else []), *heard]
    if load is not None:
        hidden = sum(each.text == HIDDEN for each in load.statements)
        warnings += (
            [f"the text of {hidden} statements is hidden from this role: grant pg_read_all_stats to it"]
            if hidden
            else []
        )
        warnings += [] if load.statements else [_nothing_ran(session, identity, request)]
        names = {name for each in tables for name in (each.schema, each.name, *(c.name for c in each.columns))}
        names |= {name for each in views for name in (each.schema, each.name, *(column[0] for column in each.columns))}
        kept, said = _private(load.statements, request, names)
        load, secrets = replace(load, statements=kept), [*secrets, *said]
    capture = Capture(
        captured_utc=datetime.fromtimestamp(began_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        program_version=__version__,
        source=source,
        tables=tables,
        volatile_functions=tuple(dict.fromkeys(each.name for each in functions if each.volatile)),
        load=load,
        data=Data(database_bytes=identity.database_bytes),
        cost=Cost(0.0, 0, 0.0, 0),
        with_literals=request.with_literals,
        secrets=tuple(secrets),
        views=views,
        functions=functions,
    )
    return Taken(capture, tuple(warnings))


def _nothing_ran(session: Readable, identity: Identity, request: Request) -> str:
    if identity.schema is None:
        return nothing_ran(request.window_s)
    ((sees_all,),) = session.read("the rights", reads.sees_all()).rows
    return nothing_ran(request.window_s, sees_all=sees_all)


def _with_search_paths(source: Source, rows: Iterable[Row], schemas: Collection[str]) -> Source:
    """Where names are looked for; the study's sessions look where those of the busiest role do, not where ours did."""
    own, found = search_paths_of(rows, schemas)
    held = dict(source.settings)
    if found[0] != own:
        held["search_path"] = ", ".join('"' + name.replace('"', '""') + '"' for name in found[0])
    return replace(source, settings=held, search_paths=found)


def _whole_load(
    session: Readable,
    identity: Identity,
    request: Request,
    clock: Clock,
    tick: Callable[[float], None],
    beside: Callable[[Event], object] | None,
) -> tuple[Load | None, tuple[str, ...]]:
    """By pg_stat_statements, by the log, by both, or none; and what of the log could not be read."""
    if not request.with_load:
        return None, ()
    counted = _load(session, identity, request, clock, tick) if identity.schema is not None else None
    if request.logs is None:
        return counted, ()
    own, database = identity.log_line_prefix, identity.source.database
    found = logs.read(request.logs, own, database, with_values=request.with_literals, beside=beside)
    load = logs.load_of(found) if counted is None else logs.joined(counted, found)
    warnings = logs.warnings_of(found, counted=counted is not None, with_values=request.with_literals)
    return load, tuple(warnings)


def _load(session: Readable, identity: Identity, request: Request, clock: Clock, tick: Callable[[float], None]) -> Load:
    source, schema = identity.source, identity.schema or ""
    counters = reads.counters(source.major, replica=source.replica)

    def snapshot(*, texts: bool) -> tuple[tuple[Row, ...], dict[str, Any], int]:
        rows = session.read(EXTENSION, reads.statements(schema, source.major, texts=texts)).rows
        return rows, session.read("the counters", counters).one(), clock.monotonic_ns()

    before, counted, began_ns = snapshot(texts=False)
    moments = tuple(_watch(session, request.window_s, clock, tick))
    after, recounted, ended_ns = snapshot(texts=True)
    differences = {
        name: float(value) - float(counted[name])
        for name, value in recounted.items()
        if value is not None and counted.get(name) is not None
    }
    return Load((ended_ns - began_ns) / 1e9, between(before, after), moments, differences)


def _watch(session: Readable, window_s: float, clock: Clock, tick: Callable[[float], None]) -> Iterator[Moment]:
    began_ns = clock.monotonic_ns()
    number = 0
    while (at_s := (clock.monotonic_ns() - began_ns) / 1e9) < window_s:
        yield Moment.of(at_s, session.read("pg_stat_activity", reads.activity()).rows)
        tick(window_s - at_s)
        number += 1
        due_s = min(number * PERIOD_S, window_s)
        clock.sleep(due_s - (clock.monotonic_ns() - began_ns) / 1e9)


def _private(
    statements: tuple[Statement, ...], request: Request, names: Collection[str]
) -> tuple[tuple[Statement, ...], list[str]]:
    """The statements without literals unless these were asked for, and without texts that seem to hold a secret."""
    kept, said, unread = [], [], 0
    for each in statements:
        text: str | None = each.text
        if not (request.with_literals or each.text in ("", HIDDEN)):
            text = without_literals(each.text, names)
        if text is None:
            unread += 1
            text = ""
        secret = secret_in(text)
        if secret is not None:
            said.append(f"the text of statement {each.query_id}: it seems to hold {secret}")
            text = ""
        kept.append(replace(each, text=text))
    if unread:
        said.append(
            f"the texts of {unread} statements: the parser does not know them, or a name in them looks like a value, so"
            " they may hold literals"
        )
    return merged(kept), said


def _no_statements(preloaded: bool) -> CaptureError:
    """The extension is not in this database."""
    how = (
        "a superuser can create it without a restart: CREATE EXTENSION pg_stat_statements"
        if preloaded
        else "add it to shared_preload_libraries, restart, then CREATE EXTENSION pg_stat_statements"
    )
    return CaptureError(
        "pg_stat_statements is not available in this database, so the load cannot be read",
        f"{how}; without it, --log captures the load from the server's log, and --without-load settings and data alone",
    )


def nothing_ran(window_s: float, *, sees_all: bool = True) -> str:
    """A warning: an idle server, or a role that sees nothing of it."""
    why = "capture a longer time, or when the application is busy" if sees_all else LACKS_STATISTICS
    return f"no statement ended in {window_s:.0f} s{'' if sees_all else ' that the role may see'}: {why}"


def replica() -> str:
    """A warning: what a standby does not show."""
    return "this server is a read replica: its load has no writes, which run on the primary"
