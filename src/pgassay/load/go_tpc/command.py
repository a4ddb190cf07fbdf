"""go-tpc's command line; pure. See `go-tpc tpcc run --help`.

It knows hosts and ports only, but hands `--conn-params` to its PostgreSQL driver (lib/pq, "Connection String
Parameters"), which takes a directory as host for a Unix socket. So there is no TCP, and no password to keep.
"""

from urllib.parse import urlencode

from pgassay.bench.places import Endpoint
from pgassay.load.go_tpc.options import Options

INTERVAL_S = 1


def run_command(program: str, endpoint: Endpoint, options: Options) -> list[str]:
    """The measured run. go-tpc draws its own random numbers and takes no seed."""
    socket = urlencode({"host": str(endpoint.socket_directory), "sslmode": "disable"})
    return [
        program,
        "tpcc",
        "run",
        "--driver=postgres",
        f"--targets=:{endpoint.port}",
        f"--conn-params={socket}",
        f"--user={endpoint.user}",
        f"--db={endpoint.database}",
        f"--warehouses={options.warehouses}",
        f"--threads={options.threads}",
        _length(options),
        f"--interval={INTERVAL_S}s",
        "--output=json",
        "--ignore-error",
    ]


def _length(options: Options) -> str:
    """A time, or a count that all threads share."""
    if options.transactions is not None:
        return f"--count={options.transactions * options.threads}"
    return f"--time={options.duration_s}s"
