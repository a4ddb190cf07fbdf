"""`--live`: the pages of a run beside it, by a server of their own that ends with the run.

It reads the record alone. It is in a group of its own, so that Ctrl-C reaches the run first; killed with the run it is
not, and shows what became of it until nobody watches. A server that does not come up is told, and stops no run.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pgassay import children
from pgassay.cli.printing import warn
from pgassay.errors import PgassayError

ERROR = "pgassay: error: "
"""What an error of ours begins with where it is not coloured."""
_WITHOUT_PAGE = "the run goes on without the page; pgassay serve shows it, too"

READY_S = 120.0
"""So long a server may take until it tells its address; the run waits for it."""
_END_S = 45.0
"""More than a server takes that tells its pages how the run ended."""
_PIECE_BYTES = 4096


def add_live_option(parser: argparse._ActionsContainer) -> None:
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
    words = ("serve", str(run.absolute()), "--port", "0", "--json", "--beside", str(os.getpid()))
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
                _tell_live(_address(served, errors))
            except PgassayError as failure:
                _end(served)
                warn(failure.message, failure.hint)
            yield
        finally:
            _end(served)


def _end(served: "subprocess.Popen[bytes]") -> None:
    """End it; calling it twice is harmless."""
    served.terminate()
    try:
        served.wait(_END_S)
    except subprocess.TimeoutExpired:
        served.kill()
        served.wait()
    if served.stdout is not None:
        served.stdout.close()


def _address(served: "subprocess.Popen[bytes]", errors: IO[bytes]) -> str:
    """What it prints; raises `PgassayError` where it ends before that, takes too long, or prints something else."""
    assert served.stdout is not None
    output, text, until_s = served.stdout.fileno(), b"", time.monotonic() + READY_S
    news = select.poll()
    news.register(output, select.POLLIN)
    while b"}" not in text:
        if not news.poll(1000 * max(0.0, until_s - time.monotonic())):
            raise live_silent(READY_S)
        piece = os.read(output, _PIECE_BYTES)
        if not piece:
            raise live_ended(_last_words(errors))
        text += piece
    try:
        return str(json.loads(text)["url"])
    except (ValueError, KeyError, TypeError):
        raise live_ended(text.decode(errors="replace").strip()) from None


def _last_words(errors: IO[bytes]) -> str:
    """Its error message, or the last line of whatever else it wrote."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").splitlines()
    said = (line.removeprefix(ERROR) for line in lines if line.startswith(ERROR))
    return next(said, lines[-1] if lines else "")


def _tell_live(address: str) -> None:
    """Where a run can be watched."""
    print(f"pgassay: live: {address}", file=sys.stderr, flush=True)


def live_silent(patience_s: float) -> PgassayError:
    """Its server neither works nor ends."""
    return PgassayError(f"the live page's server told no address within {patience_s:g} s", _WITHOUT_PAGE)


def live_ended(why: str) -> PgassayError:
    """Its server could not begin; `why` is what it said, if anything."""
    return PgassayError(f"the live page's server could not begin{f': {why}' if why else ''}", _WITHOUT_PAGE)
