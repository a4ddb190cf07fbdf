"""Exit statuses, and how errors and warnings are printed, in colour where `PG_COLOR` and the terminal allow it."""

import os
import sys
from typing import TextIO

from pgassay.errors import PgassayError
from pgassay.outgoing import control

SUCCESS = 0
FAULT = 2
INTERRUPTED = 130


def print_error(error: PgassayError) -> None:
    """`pgassay: error: …` and, if there is one, `hint: …` on standard error."""
    _say("error", "01;31", error.message)
    if error.hint:
        _say("hint", "01;36", error.hint, program="")


def warn(message: str, hint: str | None = None) -> None:
    """`pgassay: warning: …` on standard error."""
    _say("warning", "01;35", message)
    if hint:
        _say("hint", "01;36", hint, program="")


def _say(word: str, colour: str, text: str, program: str = "pgassay: ") -> None:
    print(program, end="", file=sys.stderr)
    paint(f"{word}:", colour, sys.stderr)
    print(f" {text}".replace("\n", "\n  "), file=sys.stderr)  # so that no text begins a line


def paint(text: str, colour: str, stream: TextIO) -> None:
    """Write the text, in a colour (a code of ECMA-48, such as `01;31`) where `stream` shows colours.

    That is a terminal, or anything with `PG_COLOR=always`; not with `PG_COLOR=never`, nor with NO_COLOR.
    """
    wanted = os.environ.get("PG_COLOR", "auto")
    on_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    if os.environ.get("NO_COLOR") or not (wanted == "always" or (wanted == "auto" and on_terminal)):
        stream.write(text)
        return
    control(stream, f"\x1b[{colour}m")
    stream.write(text)
    control(stream, "\x1b[0m")
