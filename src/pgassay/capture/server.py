"""A real server into a directory: its load, its data, and what both cost it, where its processes can be seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.bench.running import Clock, Runner
from pgassay.capture import dump, files
from pgassay.capture.format import Cost, Data
from pgassay.capture.reads import MARK
from pgassay.capture.source import Session, cpu_ms, server_cpu_ms
from pgassay.capture.synthetic import files as synthetic
from pgassay.capture.synthetic.reading import read_statistics
from pgassay.capture.taking import Identity, Request, Taken, take


@dataclass(frozen=True)
class Tools:
    """What a capture is made with on our side; `pg_dump` is None where no data are wanted."""

    runner: Runner
    clock: Clock
    pg_dump: Path | None


def capture(
    session: Session, identity: Identity, request: Request, path: Path, tools: Tools, tick: Callable[[float], None]
) -> Taken:
    """Make the directory `path`; `tick` gets the seconds of the window that are left.

    Raises `CaptureError` for what the server refuses, `UsageError` where `path` exists; nothing is left then.
    """
    clock = tools.clock
    with files.new_directory(path) as folder:
        began_ns, before_ms = clock.monotonic_ns(), _used(session)
        taken = take(session, identity, request, clock, tick)
        statistics = read_statistics(session) if request.data == "synthetic" else None
        own_ms, all_ms = _difference(before_ms, _used(session))
        elapsed_s = (clock.monotonic_ns() - began_ns) / 1e9
        data, dumped = taken.capture.data, None
        if tools.pg_dump is not None:
            file = folder / (dump.FILE if statistics is None else dump.SCHEMA)
            arguments = dump.command(tools.pg_dump, parameters(session), file)
            dumped = dump.dump(arguments, session.password, file, tools.runner, clock, session, local=session.local)
            data = Data("dump", file.name, dumped.bytes, identity.database_bytes)
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
            dump_s=dumped.elapsed_s if dumped else 0.0,
            dump_cpu_ms=dumped.cpu_ms if dumped else None,
        )
        whole = replace(taken.capture, data=data, cost=cost)
        files.write(whole, folder, path.name)
    return replace(taken, capture=whole)


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
