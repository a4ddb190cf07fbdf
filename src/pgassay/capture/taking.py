"""Taking a capture: what the server is asked, in which order, and what that cost it.

The window lies between two snapshots of pg_stat_statements; while it lasts, the sessions are looked at once a second.
The data come last, so that reading them is not part of the load that was captured.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pgassay import __version__
from pgassay.bench.running import Clock
from pgassay.capture import logs, messages, reads
from pgassay.capture.format import Capture, Cost, Data, Load, Moment, Source, Statement
from pgassay.capture.logs import Event, LogFiles
from pgassay.capture.physical import fetching as physical
from pgassay.capture.physical.fetching import Wish
from pgassay.capture.privacy import require_parser, secret_in, without_literals
from pgassay.capture.schema import functions_of, search_paths_of, tables_of, views_of
from pgassay.capture.source import Readable, Row
from pgassay.capture.statements import HIDDEN, between, merged
from pgassay.postgres.inspection import stays

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
        raise messages.too_old(str(version))
    extensions = session.read("the extensions", reads.extensions()).rows
    found = {str(name): str(value) for name, value in session.read("the settings", reads.settings()).rows}
    schema = next((str(each[2]) for each in extensions if each[0] == EXTENSION), None)
    preloaded = tuple(each.strip() for each in str(libraries or "").split(",") if each.strip())
    if schema is None or (libraries is not None and EXTENSION not in preloaded):
        if request.with_load and request.logs is None:
            raise messages.no_statements(EXTENSION in preloaded)
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
    warnings = [*([messages.replica()] if identity.source.replica else []), *heard]
    if load is not None:
        hidden = sum(each.text == HIDDEN for each in load.statements)
        warnings += [messages.hidden_statements(hidden)] if hidden else []
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
        return messages.nothing_ran(request.window_s)
    ((sees_all,),) = session.read("the rights", reads.sees_all()).rows
    return messages.nothing_ran(request.window_s, sees_all=sees_all)


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
