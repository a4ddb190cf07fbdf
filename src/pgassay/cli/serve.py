"""`pgassay serve [DIR]`: all runs below a directory as pages on this machine, until Ctrl-C."""

import argparse
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from pgassay.cli.parser import whole
from pgassay.cli.printing import SUCCESS
from pgassay.errors import PgassayError
from pgassay.plugins import install_command

PORT = 8543
RUNS = Path("runs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", type=Path, default=RUNS, help="where runs are (default: runs)"
    )
    parser.add_argument(
        "--port",
        type=whole(0),
        default=PORT,
        metavar="N",
        help=f"the port of 127.0.0.1, 0 for any that is free (default: {PORT})",
    )
    parser.add_argument("--beside", type=whole(1), metavar="PID", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print the address as JSON")


def require_extra() -> None:
    """Raise `PgassayError` where the packages of the extra `live` are not installed."""
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise PgassayError(f"live pages need {name}, which is not installed", install_command("live"))


def run(arguments: argparse.Namespace) -> int:
    """Serve until it is interrupted; returns the exit status. Raises `PgassayError` for what cannot be served."""
    require_extra()
    from pgassay.live.server import serve

    def tell(address: str) -> None:
        if arguments.json:
            from pgassay.report.json_values import to_json

            print(to_json({"format": 1, "url": address}), flush=True)
        else:
            print(f"{address}\nserving until Ctrl-C; this address is the key, so keep it to yourself", flush=True)

    with suppress(KeyboardInterrupt):  # the way to end it
        serve(arguments.directory, arguments.port, tell, arguments.beside)
    return SUCCESS
