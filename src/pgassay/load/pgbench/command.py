"""pgbench's command lines: options in, arguments out; pure. See the PostgreSQL manual, "pgbench".

Nothing is left to pgbench's defaults that could differ between versions; -n because VACUUM is the lab's business, and
-P 1 because without it old versions print no deviation.
"""

from pathlib import Path

from pgassay.bench.places import Endpoint
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.study.units import format_number

EXIT_ON_ABORT_SINCE = 17
MAX_TRIES_SINCE = 15
_SEED_MODULUS = 1 << 31
"""pgbench reads its seed as an unsigned 32-bit or 64-bit number, by version; 31 bits fit all."""


def connection(endpoint: Endpoint) -> list[str]:
    """Where to: explicit, so that no environment or service file leads elsewhere."""
    return ["-h", str(endpoint.socket_directory), "-p", str(endpoint.port), "-U", endpoint.user, endpoint.database]


def create_command(program: Path, endpoint: Endpoint, scale: int) -> list[str]:
    """Drop and create pgbench's tables, empty."""
    return [str(program), "-i", "-I", "dt", "-q", "-s", str(scale), *connection(endpoint)]


def fill_command(program: Path, endpoint: Endpoint, scale: int) -> list[str]:
    """Generate the rows and build the primary keys.

    Client-side generation: COPY with FREEZE (from 14) beats the server-side INSERT … SELECT on time and on WAL.
    """
    return [str(program), "-i", "-I", "gp", "-q", "-s", str(scale), *connection(endpoint)]


def run_command(
    program: Path, endpoint: Endpoint, options: PgbenchOptions, *, version: int, seed: int, log_prefix: Path | None
) -> list[str]:
    """The measured run; with `log_prefix` every transaction goes into a log."""
    command = [str(program), "-n", "-P", "1", "-M", options.protocol]
    command += ["-c", str(options.clients), "-j", str(options.threads), f"--random-seed={seed % _SEED_MODULUS}"]
    if options.transactions is None:
        command += ["-T", str(options.duration_s)]
    else:
        command += ["-t", str(options.transactions)]
    if options.rate_tps is not None:
        command += ["-R", format_number(options.rate_tps)]
    if options.latency_limit_ms is not None:
        command += ["-L", format_number(options.latency_limit_ms)]
    if options.max_tries != 1:
        command += [f"--max-tries={options.max_tries}"]
    if version >= EXIT_ON_ABORT_SINCE:
        command += ["--exit-on-abort"]
    if log_prefix is not None:
        command += ["-l", f"--log-prefix={log_prefix}"]
    if options.custom:
        command += ["-s", str(options.scale)]  # What :scale means; with a built-in script pgbench counts branches.
    for script in options.scripts:
        command += ["-b" if script.builtin else "-f", f"{script.name}@{script.weight}"]
    return command + connection(endpoint)
