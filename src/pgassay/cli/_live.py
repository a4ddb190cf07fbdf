"""`--live`: the pages of a run beside it, by a server of their own that ends with the run.

It reads the record alone. It is in a group of its own, so that Ctrl-C reaches the run first; killed with the run it is
not, and shows what became of it until nobody watches.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from time import monotonic
from typing import IO

from pgassay.cli import messages

_START_S = 30.0
"""For which a run waits for its pages; a server that takes longer hangs."""
_END_S = 10.0


def add_live_option(parser: argparse.ArgumentParser) -> None:
    """The option of whatever runs a study."""
    parser.add_argument(
        "--live", action="store_true", help="show the run in a browser on this machine while it goes on"
    )


def require_live(arguments: argparse.Namespace) -> None:
    """Refuse before anything is run: raises `PgassayError` where `--live` is asked for and cannot be."""
    if arguments.live:
        from pgassay.cli.serve import require_extra

        require_extra()


@contextmanager
def live_pages(run: Path, arguments: argparse.Namespace) -> Iterator[None]:
    """Serve the pages of `run` meanwhile, if it is asked for, and tell where."""
    if not arguments.live:
        yield
        return
    command = [
        sys.executable,
        "-m",
        "pgassay",
        "serve",
        str(run),
        "--port",
        "0",
        "--json",
        "--beside",
        str(os.getpid()),
    ]
    served = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        if served.stdout is not None and (where := address(served.stdout)):
            messages.tell_live(where)
        else:
            messages.warn(messages.LIVE_FAILED)
        yield
    finally:
        served.terminate()
        try:
            served.wait(_END_S)
        except subprocess.TimeoutExpired:
            served.kill()
            served.wait()
        if served.stdout is not None:
            served.stdout.close()


def address(told: IO[str], patience_s: float = _START_S) -> str:
    """What the server prints on `told`; empty if it ends before that, or says nothing whole for so many seconds."""
    text, until = "", monotonic() + patience_s
    while select([told], [], [], max(0.0, until - monotonic()))[0]:
        more = os.read(told.fileno(), 4096).decode()
        text += more
        if "\n}" in text:
            return str(json.loads(text)["url"])
        if not more:
            break
    return ""
