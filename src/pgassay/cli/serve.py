"""`pgassay serve RUN`: a run as pages on this machine, until Ctrl-C; and `--live` of a run that goes on.

With `--live` the pages of a run come from such a server of their own, which ends with the run. It reads the record
alone. It is in a group of its own, so that Ctrl-C reaches the run first. When the run is killed, it goes on until
nobody watches. A server that does not come up is a warning, and stops no run.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pgassay import children
from pgassay.cli.parser import whole
from pgassay.cli.printing import SUCCESS, warn
from pgassay.errors import PgassayError
from pgassay.plugins import install_command

PORT = 8543


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="a run directory")
    add(
        "--port",
        type=whole(0, 65535),
        default=PORT,
        metavar="N",
        help=f"the port of 127.0.0.1, 0 for any that is free (default: {PORT})",
    )
    add("--parent", type=whole(1), metavar="PID", help=argparse.SUPPRESS)
    add("--json", action="store_true", help="print the address as JSON")


def require_extra() -> None:
    """Raise `PgassayError` where the packages of the extra `live` are not installed."""
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise PgassayError(f"live pages need {name}, which is not installed", install_command("live"))


def run(arguments: argparse.Namespace) -> int:
    require_extra()
    from pgassay.live.server import serve

    def notify(address: str) -> None:
        if arguments.json:
            from pgassay.report.json_values import to_json

            print(to_json({"format": 1, "url": address}), flush=True)
        else:
            print(f"{address}\nserving until Ctrl-C; this address is the key, so keep it to yourself", flush=True)

    with suppress(KeyboardInterrupt):  # the way to end it
        serve(arguments.run, arguments.port, notify, arguments.parent)
    return SUCCESS


ERROR = "pgassay: error: "
"""What an error of ours begins with where it is not coloured."""
_WITHOUT_PAGE = "the run goes on without the page; pgassay serve RUN shows it, too"

READY_S = 120.0
"""So long a server may take until it prints its address; the run waits for it."""
_END_S = 45.0
"""More than a server takes to send its pages how the run ended."""
_PIECE_BYTES = 4096


def require_live(arguments: argparse.Namespace) -> None:
    """Refuse before anything is run: raises `PgassayError` where `--live` is asked for and cannot be."""
    if arguments.live:
        require_extra()


@contextmanager
def live_pages(run: Path, arguments: argparse.Namespace) -> Iterator[None]:
    """Serve the pages of `run` meanwhile, if it is asked for, and print where."""
    if not arguments.live:
        yield
        return
    words = ("serve", str(run.absolute()), "--port", "0", "--json", "--parent", str(os.getpid()))
    with TemporaryFile() as errors:
        served = subprocess.Popen(
            children.interpreter("pgassay", *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=children.interpreter_environment(),
            cwd=children.HOME,
            start_new_session=True,
        )
        try:
            try:
                print(f"pgassay: live: {_address(served, errors)}", file=sys.stderr, flush=True)
            except PgassayError as failure:
                _end(served)
                warn(failure.message, failure.hint)
            yield
        finally:
            _end(served)


def _end(served: "subprocess.Popen[bytes]") -> None:
    served.terminate()
    try:
        served.wait(_END_S)
    except subprocess.TimeoutExpired:
        served.kill()
        served.wait()
    if served.stdout is not None:
        served.stdout.close()


def _address(served: "subprocess.Popen[bytes]", errors: IO[bytes]) -> str:
    """What it prints; raises `PgassayError` where it ends before that, takes too long, or prints something else.

    Then the reason is its error message, or the last line of whatever else it wrote.
    """
    assert served.stdout is not None
    output, text, until_s = served.stdout.fileno(), b"", time.monotonic() + READY_S
    news = select.poll()
    news.register(output, select.POLLIN)
    while b"}" not in text:
        if not news.poll(1000 * max(0.0, until_s - time.monotonic())):
            raise PgassayError(f"the live page's server printed no address within {READY_S:g} s", _WITHOUT_PAGE)
        piece = os.read(output, _PIECE_BYTES)
        if not piece:
            break
        text += piece
    with suppress(ValueError, KeyError, TypeError):
        return str(json.loads(text)["url"])
    errors.seek(0)
    lines = (text + errors.read()).decode(errors="replace").splitlines()
    said = (line.removeprefix(ERROR) for line in lines if line.startswith(ERROR))
    why = next(said, lines[-1] if lines else "")
    raise PgassayError(f"the live page's server could not start{f': {why}' if why else ''}", _WITHOUT_PAGE)
