"""A real server into a directory: its load, its data, and what both cost it, where its processes can be seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import disk_usage
from time import monotonic

from pgassay.bench.running import Clock, Runner
from pgassay.capture import dump, files, reads, replaying
from pgassay.capture.format import Cost, Data, Physical
from pgassay.capture.physical import cost as costs
from pgassay.capture.physical import fetching as physical
from pgassay.capture.physical.cost import Estimate
from pgassay.capture.physical.fetching import Wish
from pgassay.capture.reads import MARK
from pgassay.capture.source import Session, cpu_ms, server_cpu_ms
from pgassay.capture.synthetic import files as synthetic
from pgassay.capture.synthetic.reading import read_statistics
from pgassay.capture.taking import Identity, Request, Taken, take
from pgassay.postgres.installation import LocalInstallation

_BULK_MB = 16
"""Asked of the server at once, to see how fast bytes come."""


@dataclass(frozen=True)
class Tools:
    """What a capture is made with on our side; `pg_dump` is None where no data are wanted, or the server's files.

    `serving` is the PostgreSQL of the server's own version, where files are wanted.
    """

    runner: Runner
    clock: Clock
    pg_dump: Path | None = None
    serving: LocalInstallation | None = None


def estimate(session: Session, wish: Wish, place: Path) -> Estimate:
    """What the files will cost, by rates that are measured now; `place` is where they will be.

    Raises `CaptureError`, and `ClusterError` for a directory that is none of a server.
    """
    size, checkpoint_s = session.read("the sizes of the databases", reads.sizes()).rows[0]
    where = costs.existing(place)
    rates = {"writing here": costs.writing_rate(where)}
    if wish.kind == physical.BASEBACKUP:
        rates["the connection"] = _connection_rate(session)
    if wish.directory is not None:
        size = costs.size_bytes(wish.directory)
        rates["reading the backup"] = costs.reading_rate(wish.directory)
    slowest = min(rates, key=lambda each: rates[each])
    spread = wish.kind == physical.BASEBACKUP and wish.checkpoint == physical.SPREAD
    return Estimate(int(size), rates[slowest], slowest, disk_usage(where).free, float(checkpoint_s) if spread else 0.0)


def foreseen(
    session: Session, identity: Identity, request: Request, place: Path
) -> tuple[Estimate | None, tuple[int, int] | None]:
    """What a dump will cost, or how many tables and columns synthetic data are made from; both None for other data."""
    if request.data == "synthetic":
        tables, columns = session.read("how much is in pg_stats", reads.analysed()).rows[0]
        return None, (int(tables), int(columns))
    return _estimated_dump(session, identity, place) if request.data == "dump" else None, None


def _estimated_dump(session: Session, identity: Identity, place: Path) -> Estimate:
    """At most: its bytes are fewer, since indexes are not read and it is compressed."""
    where = costs.existing(place)
    rates = {
        "writing here": costs.writing_rate(where),
        "the connection": _connection_rate(session),
        "compression": costs.compressing_rate(),
    }
    slowest = min(rates, key=lambda each: rates[each])
    return Estimate(identity.database_bytes, rates[slowest], slowest, disk_usage(where).free)


def _connection_rate(session: Session) -> float:
    began = monotonic()
    session.read("how fast bytes come", reads.bulk(_BULK_MB))
    return (_BULK_MB << 20) / (monotonic() - began)


def capture(
    session: Session, identity: Identity, request: Request, path: Path, tools: Tools, tick: Callable[[float], None]
) -> Taken:
    """Make the directory `path`; `tick` gets the seconds of the window that are left.

    Raises `CaptureError` for what the server refuses, `UsageError` where `path` exists; nothing is left then.
    """
    clock = tools.clock
    with files.new_directory(path) as folder:
        began_ns, before_ms = clock.monotonic_ns(), _used(session)
        taken = _taken(session, identity, request, clock, tick, folder)
        statistics = read_statistics(session) if request.data == "synthetic" else None
        own_ms, all_ms = _difference(before_ms, _used(session))
        elapsed_s = (clock.monotonic_ns() - began_ns) / 1e9
        data, dumped = taken.capture.data, None
        if tools.pg_dump is not None:
            file = folder / (dump.FILE if statistics is None else dump.SCHEMA)
            arguments = dump.command(tools.pg_dump, parameters(session), file)
            dumped = dump.dump(arguments, session.password, file, tools.runner, clock, session, local=session.local)
            data = Data("dump", file.name, dumped.bytes, identity.database_bytes)
        fetched_s = 0.0
        if request.files is not None and tools.serving is not None:
            data, fetched_s, warned = _files(session, identity, request.files, folder, tools.serving)
            taken = replace(taken, warnings=(*taken.warnings, *warned))
        if statistics is not None:
            data = Data("synthetic", synthetic.FILE, synthetic.save(statistics, folder), identity.database_bytes)
            taken = replace(taken, warnings=(*taken.warnings, *statistics.notes))
        spent = session.spent
        cost = Cost(
            elapsed_s=elapsed_s,
            statements=spent.statements,
            in_server_ms=spent.in_server_ms,
            received_bytes=spent.received_bytes,
            cpu_ms=own_ms,
            server_cpu_ms=all_ms,
            dump_s=dumped.elapsed_s if dumped else fetched_s,
            dump_cpu_ms=dumped.cpu_ms if dumped else None,
        )
        whole = replace(taken.capture, data=data, cost=cost)
        files.write(whole, folder, path.name)
    return replace(taken, capture=whole)


def _taken(
    session: Session, identity: Identity, request: Request, clock: Clock, tick: Callable[[float], None], folder: Path
) -> Taken:
    """Take it; where literals were asked for, the log is kept, and that is said."""
    if request.logs is None or not request.with_literals:
        return take(session, identity, request, clock, tick)
    with replaying.keeping(folder / replaying.FILE, identity.source.database) as kept:
        taken = take(session, identity, request, clock, tick, kept.take)
    return replace(taken, notes=(kept_log(kept.calls, kept.secret),))


def _files(
    session: Session, identity: Identity, wish: Wish, folder: Path, serving: LocalInstallation
) -> tuple[Data, float, list[str]]:
    """The server's files with what they need, how long it took, and what to warn of."""
    places = [str(row[0]) for row in session.read("the tablespaces", reads.tablespaces()).rows]
    row = session.read("what the files need", reads.files(identity.source.major)).rows[0]
    system, provider, version, libraries = row
    found = physical.fetch(wish, folder, serving, parameters(session), session.password, places)
    about = found.control
    needs = Physical(
        system_identifier=about.system_identifier,
        state=about.state,
        checkpoint_at=about.checkpoint_at,
        block_bytes=about.block_bytes,
        wal_block_bytes=about.wal_block_bytes,
        wal_segment_bytes=about.wal_segment_bytes,
        checksums=about.checksums,
        provider=provider or "",
        collation_version=version or "",
        libraries=tuple(map(str, libraries)),
    )
    other = about.system_identifier != system
    warned = [_other_cluster(about.system_identifier, system)] if other else []
    return Data(wish.kind, physical.FOLDER, found.bytes, identity.database_bytes, needs), found.elapsed_s, warned


def parameters(session: Session) -> dict[str, str]:
    """Libpq's parameters that lead pg_dump to the same database, without the password."""
    return {**session.parameters, "application_name": MARK}


def _used(session: Session) -> tuple[float | None, float | None]:
    return (cpu_ms(session.pid), server_cpu_ms(session.pid)) if session.local else (None, None)


def _difference(
    before: tuple[float | None, float | None], after: tuple[float | None, float | None]
) -> tuple[float | None, float | None]:
    own, whole = (None if a is None or b is None else b - a for a, b in zip(before, after, strict=True))
    return own, whole


def _other_cluster(found: str, asked: str) -> str:
    """A warning: the backup is of another cluster than the load."""
    return f"the files are of another cluster (system identifier {found}) than the server that was asked ({asked})"


def kept_log(calls: int, secret: int) -> str:
    """What of the log stays in a capture."""
    left = f"; {secret} more seem to hold a secret, or name a column of secrets, and are left out" if secret else ""
    return f"{calls} calls of the log are kept, to be played again{left}"
