"""Taking a capture: what the server is asked, in which order, what that cost it, and the directory that comes of it.

The window lies between two snapshots of pg_stat_statements; while it lasts, the sessions are looked at once a second.
The data come last, so that reading them is not part of the load that was captured. What a capture would find wanting
after its window, which may be long, is found before it begins, in a dry run too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import disk_usage
from typing import Any

from pgassay import __version__
from pgassay.capture import dump, files, logs, reads, replaying
from pgassay.capture.errors import LACKS_STATISTICS, CaptureError, some
from pgassay.capture.format import Capture, Cost, Data, Function, Load, Moment, Source, Statement
from pgassay.capture.logs import Event, LogFiles
from pgassay.capture.privacy import require_parser, secret_in, without_literals
from pgassay.capture.reads import HIDDEN, MARK, between, merged, search_paths_of, tables_of, views_of
from pgassay.capture.scripts import PLAYED_LEAST, scripted
from pgassay.capture.source import Readable, Row, Session, cpu_ms, server_cpu_ms
from pgassay.interfaces import versions
from pgassay.interfaces.running import Clock, Runner
from pgassay.postgres.settings import stays
from pgassay.study.units import format_size

PERIOD_S = 1.0
EXTENSION = "pg_stat_statements"


@dataclass(frozen=True)
class Request:
    """What is to be captured: `window_s` of load unless that is left out, and the data by pg_dump."""

    window_s: float = 600.0
    with_data: bool = True
    with_load: bool = True
    with_literals: bool = False
    logs: LogFiles | None = None

    @property
    def with_values(self) -> bool:
        """Are values of the user's columns part of it? They are in a dump anyway."""
        return self.with_literals or self.with_data

    @property
    def foresees(self) -> bool:
        """Is it looked at beforehand how much of the load can be played? Literals are what is missing mostly."""
        return self.with_load and self.with_data and not self.with_literals

    def reads(self, *, counted: bool = True) -> tuple[reads.Read, ...]:
        """What is read, in order; not `counted` where there is no pg_stat_statements."""
        found = [*reads.ALWAYS, reads.VALUES if self.with_values else reads.STATISTICS]
        if self.with_load and counted:
            found += reads.LOAD
        if self.logs is not None:
            named = ", ".join(path.name for path in self.logs.paths)
            found.append(reads.Read(named, "the server's log: transactions, and values with --with-literals"))
        if self.with_data:
            found.append(reads.Read("every table", "the data, by pg_dump in one snapshot, after the load"))
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
    """A capture, what the user is warned of, and further notes."""

    capture: Capture
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()


def identify(session: Readable, request: Request) -> Identity:
    """Version, size, settings and extensions; raises `CaptureError` for a server that cannot be captured as asked."""
    if request.with_load and not request.with_literals:
        require_parser()
    (row,) = session.read("the version", reads.IDENTITY).rows
    version, major, database, encoding, collation, replica, size, libraries = row
    if major < versions.OLDEST:
        raise CaptureError(
            f"the server is PostgreSQL {version!s}", f"PostgreSQL {versions.OLDEST} and later can be captured"
        )
    extensions = session.read("the extensions", reads.EXTENSIONS).rows
    found = {str(name): str(value) for name, value in session.read("the settings", reads.SETTINGS).rows}
    schema = next((str(each[2]) for each in extensions if each[0] == EXTENSION), None)
    preloaded = tuple(each.strip() for each in str(libraries or "").split(",") if each.strip())
    if schema is None or (libraries is not None and EXTENSION not in preloaded):
        if request.with_load and request.logs is None:
            how = "add it to shared_preload_libraries, restart, then CREATE EXTENSION pg_stat_statements"
            if EXTENSION in preloaded:
                how = "a superuser can create it without a restart: CREATE EXTENSION pg_stat_statements"
            raise CaptureError(
                "pg_stat_statements is not available in this database, so the load cannot be read",
                f"{how}; without it, --log captures the load from the server's log, and --without-load settings and"
                " data alone",
            )
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
    on_event: Callable[[Event], object] | None = None,
) -> Taken:
    """Everything but the data; `tick` gets the seconds that are left, `on_event` each event of a log.

    The load is that of pg_stat_statements, of the log, of both, or none. Raises `CaptureError`.
    """
    began_ns, load, warnings, notes = clock.wall_ns(), None, list[str](), tuple[str, ...]()
    if request.with_load and identity.schema is not None:
        load = _load(session, identity.source, identity.schema, request.window_s, clock, tick)
    if request.with_load and request.logs is not None:
        own, database, with_values = identity.log_line_prefix, identity.source.database, request.with_literals
        found = logs.read(request.logs, own, database, with_values=with_values, on_event=on_event)
        warnings = list(logs.warnings_of(found, counted=load is not None, with_values=with_values))
        notes = tuple(f"the server's log was taken out of {each}" for each in found.wrapped)
        load = logs.load_of(found) if load is None else logs.joined(load, found)
    return replace(_described(session, identity, request, load, warnings, began_ns), notes=notes)


def _load(
    session: Readable, source: Source, schema: str, window_s: float, clock: Clock, tick: Callable[[float], None]
) -> Load:
    """Between two snapshots of pg_stat_statements; sessions are looked at meanwhile."""
    counters = reads.counters(source.major, replica=source.replica)

    def snapshot(*, texts: bool) -> tuple[tuple[Row, ...], dict[str, Any], int]:
        rows = session.read(EXTENSION, reads.statements(schema, source.major, texts=texts)).rows
        found = session.read("the counters", counters)
        return rows, dict(zip(found.names, found.rows[0], strict=True)), clock.monotonic_ns()

    before, counted, began_ns = snapshot(texts=False)
    moments: list[Moment] = []
    while (at_s := (clock.monotonic_ns() - began_ns) / 1e9) < window_s:
        moments.append(Moment.of(at_s, session.read("pg_stat_activity", reads.ACTIVITY).rows))
        tick(window_s - at_s)
        due_s = min(len(moments) * PERIOD_S, window_s)
        clock.sleep(due_s - (clock.monotonic_ns() - began_ns) / 1e9)
    after, recounted, ended_ns = snapshot(texts=True)
    differences = {
        name: float(value) - float(counted[name])
        for name, value in recounted.items()
        if value is not None and counted.get(name) is not None
    }
    return Load((ended_ns - began_ns) / 1e9, between(before, after), tuple(moments), differences)


def _described(
    session: Readable, identity: Identity, request: Request, load: Load | None, heard: Iterable[str], began_ns: int
) -> Taken:
    """A load with the tables, functions and statistics that say what it works on."""
    statistics = session.read("pg_stats", reads.statistics(values=request.with_values)).rows
    tables, private = tables_of(
        session.read("the tables", reads.TABLES).rows, session.read("the columns", reads.COLUMNS).rows, statistics
    )
    counted = [each.query_id for each in load.statements] if load is not None and identity.schema is not None else []
    roles = session.read("the search paths", reads.search_paths(identity.schema or "", counted)).rows
    own, found = search_paths_of(roles, {each.schema for each in tables})
    held = dict(identity.source.settings)
    if found[0] != own:  # the study's sessions look where those of the busiest role do, not where ours did
        held["search_path"] = ", ".join('"' + name.replace('"', '""') + '"' for name in found[0])
    functions = tuple(
        Function(str(name), tuple(zip(names, kinds, strict=True)), volatile, trusted)
        for name, names, kinds, volatile, trusted in session.read("the functions", reads.FUNCTIONS).rows
    )
    views = views_of(session.read("the views", reads.VIEWS).rows)
    secrets = [f"values of {name}: its name says that they are private" for name in private]
    warnings = list(heard)
    if identity.source.replica:
        warnings.insert(0, "this server is a read replica: its load has no writes, which run on the primary")
    if load is not None:
        hidden = sum(each.text == HIDDEN for each in load.statements)
        if hidden:
            warnings.append(f"the text of {hidden} statements is hidden from this role: grant pg_read_all_stats to it")
        if not load.statements:
            blind = identity.schema is not None and not session.read("the rights", reads.SEES_ALL).rows[0][0]
            why = f" that the role may see: {LACKS_STATISTICS}"  # else the server was idle
            if not blind:
                why = ": capture a longer time, or when the application is busy"
            warnings.append(f"no statement ended in {request.window_s:.0f} s{why}")
        names = {name for each in tables for name in (each.schema, each.name, *(c.name for c in each.columns))}
        names |= {name for each in views for name in (each.schema, each.name, *(column[0] for column in each.columns))}
        kept, said = _private(load.statements, request, names)
        load, secrets = replace(load, statements=kept), [*secrets, *said]
    capture = Capture(
        captured_utc=datetime.fromtimestamp(began_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        program_version=__version__,
        source=replace(identity.source, settings=held, search_paths=found),
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


_LEAST_SHARE = 0.05
"""Of the database's bytes: a dump without its indexes, and compressed, is hardly smaller."""


def existing(path: Path) -> Path:
    """The directory itself, or the nearest above it that is there."""
    return next(each for each in (path, *path.parents) if each.is_dir())


def require_possible(session: Readable, identity: Identity, request: Request, path: Path) -> tuple[str, ...]:
    """What the user is warned of; raises `CaptureError` for rights, a log or room that a capture cannot do without."""
    warnings = list(_of_load(session, identity, request))
    if request.logs is not None:
        logs.require_readable(request.logs, identity.log_line_prefix, identity.source.database)
    if request.with_data:
        ((unreadable, filtered),) = session.read("the rights", reads.RIGHTS).rows
        if unreadable:
            raise CaptureError(
                f"the role may not read all tables and sequences, so pg_dump would fail after the window:"
                f" {some(unreadable)}",
                "grant pg_read_all_data to it, before version 14 USAGE on the schemas and SELECT on what is in them",
            )
        if filtered:
            raise CaptureError(
                f"row-level security hides rows from the role, so pg_dump would fail after the window:"
                f" {some(filtered)}",
                "the role must see every row: ALTER ROLE … BYPASSRLS, or capture as a superuser",
            )
        where = existing(path)
        free, whole = disk_usage(where).free, identity.database_bytes
        said = f'{format_size(free)} are free below "{where}", and a dump has {format_size(whole)} at most'
        if free < whole * _LEAST_SHARE:
            raise CaptureError(said, "name a directory on another file system with --out")
        if free < whole:
            warnings.append(f"{said}: it is compressed and has no indexes, so they may suffice")
    return tuple(warnings)


def _of_load(session: Readable, identity: Identity, request: Request) -> Iterator[str]:
    """By the statements that were counted so far: `ask` will judge those of the window as this does."""
    if not request.with_load or identity.schema is None:
        return
    if not session.read("the rights", reads.SEES_ALL).rows[0][0]:
        yield LACKS_STATISTICS
    elif request.foresees:
        counted = session.read(EXTENSION, reads.statements(identity.schema, identity.source.major, texts=True)).rows
        load = Load(request.window_s, between((), counted))
        found = _described(session, identity, request, load, (), 0).capture
        if found.load is not None and found.load.statements and (said := scripted(found).too_little):
            yield (
                f"by what pg_stat_statements has counted so far, {said}; ask refuses less than {PLAYED_LEAST:.0%}:"
                " --log FILE --with-literals captures the values that are missing"
            )


@dataclass(frozen=True)
class Tools:
    """What a capture is made with on our side; `pg_dump` is None where no data are wanted."""

    runner: Runner
    clock: Clock
    pg_dump: Path | None = None


def capture(
    session: Session, identity: Identity, request: Request, path: Path, tools: Tools, tick: Callable[[float], None]
) -> Taken:
    """Make the directory `path`; `tick` gets the seconds of the window that are left.

    Raises `CaptureError` for what the server refuses, `UsageError` where `path` exists; nothing is left then.
    """
    clock = tools.clock

    def used() -> tuple[float | None, float | None]:
        return (cpu_ms(session.pid), server_cpu_ms(session.pid)) if session.local else (None, None)

    with files.new_directory(path) as folder:
        began_ns, before_ms = clock.monotonic_ns(), used()
        if request.logs is not None and request.with_literals:
            with (folder / replaying.FILE).open("w", encoding="utf-8") as file:
                kept = replaying.KeptLog(file, identity.source.database)
                taken = take(session, identity, request, clock, tick, kept.take)
            taken = replace(taken, notes=(*taken.notes, kept.note))
        else:
            taken = take(session, identity, request, clock, tick)
        own_ms, all_ms = (
            None if before is None or after is None else after - before
            for before, after in zip(before_ms, used(), strict=True)
        )
        elapsed_s = (clock.monotonic_ns() - began_ns) / 1e9
        data, data_s, data_cpu_ms = taken.capture.data, 0.0, None
        if tools.pg_dump is not None:
            dump_file = folder / dump.FILE
            arguments = dump.command(tools.pg_dump, {**session.parameters, "application_name": MARK}, dump_file)
            dumped = dump.dump(arguments, session.password, dump_file, tools.runner, session, local=session.local)
            data = Data("dump", dump_file.name, dumped.bytes, identity.database_bytes)
            data_s, data_cpu_ms = dumped.elapsed_s, dumped.cpu_ms
        spent = session.spent
        cost = Cost(
            elapsed_s, spent.statements, spent.in_server_ms, spent.received_bytes, own_ms, all_ms, data_s, data_cpu_ms
        )
        whole = replace(taken.capture, data=data, cost=cost)
        files.write(whole, folder, path.name)
    return replace(taken, capture=whole)
