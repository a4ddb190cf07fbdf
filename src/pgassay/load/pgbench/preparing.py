"""Preparing a database for pgbench: its own tables in two steps, or the user's SQL or dump; then VACUUM ANALYZE.

pgbench's steps are parted so that table options can be set on empty tables. A dump in pg_dump's custom format is parted
the same way by its sections; plain SQL cannot be, so it runs whole and table options are left to rewriting.
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.places import Endpoint
from pgassay.bench.running import Runner
from pgassay.bench.server import Server
from pgassay.load import messages
from pgassay.load.file_hashes import FileHashes
from pgassay.load.pgbench import command, rows
from pgassay.load.pgbench.options import PgbenchOptions

BYTES_PER_SCALE = 16_000_000
"""Heap, keys and what a load adds, of one unit of scale: 15 MB as filled (manual, "pgbench -s"), with some air."""
_DUMP_MAGIC = b"PGDMP"
_INIT_GROWTH = 4
"""Loaded data against the file they come from: indexes and page headers, or a dump's compression."""


def is_dump(path: Path) -> bool:
    """Is this a dump for pg_restore (custom format) rather than SQL for psql?"""
    with path.open("rb") as file:
        return file.read(len(_DUMP_MAGIC)) == _DUMP_MAGIC


def client_program(bindir: Path, path: Path) -> Path:
    """The program that reads this init file."""
    return bindir / ("pg_restore" if is_dump(path) else "psql")


def data_key(options: PgbenchOptions, hashes: FileHashes) -> dict[str, str]:
    """What the loaded data depend on, besides the server itself."""
    if options.init is not None:
        return {"init": hashes.sha256(options.init)}
    width = {"row_bytes": str(options.row_bytes), "row_storage": str(options.row_storage)}
    wide = {name: text for name, text in width.items() if text != "None"}
    return {"scale": str(options.scale), "age": str(options.age), **wide}


def estimated_bytes(options: PgbenchOptions) -> int:
    """About how much room the data take; ageing leaves dead rows and a second index entry behind."""
    if options.init is not None:
        return options.init.stat().st_size * _INIT_GROWTH
    fresh = options.scale * BYTES_PER_SCALE
    if options.row_bytes is not None:
        fresh = max(fresh, rows.estimated_bytes(options))
    return int(fresh * (1 + min(options.age, 1.0)))


def create(bindir: Path, runner: Runner, server: Server, options: PgbenchOptions) -> None:
    """Create the empty schema (for plain SQL: run all of it)."""
    endpoint = server.endpoint
    if options.init is None:
        _run(runner, endpoint, command.create_command(bindir / "pgbench", endpoint, options.scale))
        rows.widen(server, options)
    elif is_dump(options.init):
        _restore(bindir, runner, endpoint, options.init, "pre-data")
    else:
        script = [str(bindir / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(options.init)]
        _run(runner, endpoint, script + command.connection(endpoint))


def fill(bindir: Path, runner: Runner, server: Server, options: PgbenchOptions) -> None:
    """Load the rows, build keys and indexes, VACUUM ANALYZE."""
    endpoint = server.endpoint
    if options.init is None:
        _run(runner, endpoint, command.fill_command(bindir / "pgbench", endpoint, options.scale))
    elif is_dump(options.init):
        _restore(bindir, runner, endpoint, options.init, "data")
        _restore(bindir, runner, endpoint, options.init, "post-data")
    server.execute("VACUUM (ANALYZE)")


def _restore(bindir: Path, runner: Runner, endpoint: Endpoint, path: Path, section: str) -> None:
    options = ["-h", str(endpoint.socket_directory), "-p", str(endpoint.port), "-U", endpoint.user]
    options += ["-d", endpoint.database, "--no-owner", "--no-privileges", "--exit-on-error"]
    _run(runner, endpoint, [str(bindir / "pg_restore"), *options, f"--section={section}", str(path)])


def _run(runner: Runner, endpoint: Endpoint, arguments: list[str]) -> None:
    environment: Mapping[str, str] = endpoint.environment()
    done = runner.run(arguments, environment=environment)
    if done.status != 0:
        raise messages.preparing_failed(Path(arguments[0]).name, done.status, done.stderr)
