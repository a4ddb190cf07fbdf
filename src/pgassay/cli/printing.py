"""Exit statuses, and what is printed: errors and warnings in colour where `PG_COLOR` and the terminal allow it.

Wherever a command has printed nothing to a terminal for a while, it says that it is still at work (`silence_broken`).
That surrounds every command (`cli.console`) and listens below all that is printed, bars included, so that no part of a
command has to think of it.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, cast

from pgassay.errors import PgassayError
from pgassay.host.keeper import processes
from pgassay.outgoing import Output, control, plain

SUCCESS = 0
FAULT = 2
INTERRUPTED = 130


def print_error(error: PgassayError) -> None:
    _say("error", "01;31", error.message, error.hint)


def warn(message: str, hint: str | None = None) -> None:
    _say("warning", "01;35", message, hint)


def _say(word: str, colour: str, message: str, hint: str | None) -> None:
    for program, label, shade, text in (("pgassay: ", word, colour, message), ("", "hint", "01;36", hint)):
        if text:
            print(program, end="", file=sys.stderr)
            paint(f"{label}:", shade, sys.stderr)
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


PATIENCE_S = 5.0
_FOR_SCRIPTS = frozenset(("-q", "--quiet", "--json"))
_SERVING = ("serve", "worker")
"""They wait for others most of the time."""
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""What moves a cursor or colours, and prints nothing (ECMA-48, control sequences)."""


class Silence:
    """How long a command has printed nothing; a silence that lasts gets its next word after twice the time."""

    def __init__(self, command: str, patience_s: float = PATIENCE_S, clock: Callable[[], float] = time.monotonic):
        self._command, self._patience_s, self._clock = command, patience_s, clock
        self.heard("\n")

    def heard(self, text: str) -> None:
        self._since_s, self._next_s = self._clock(), self._patience_s
        if shown := _SEQUENCE.sub("", text):
            self._open = shown[-1] not in "\r\n"

    def word(self) -> str:
        """The line that is due now; empty for none, as where a question or a bar stands on a line without an end."""
        silent_s = self._clock() - self._since_s
        if self._open or silent_s < self._next_s:
            return ""
        self._next_s = 2 * silent_s
        # The keeper and other interpreters of ours say nothing about what is being done.
        ours = [each for each in processes().values() if each.parent == os.getpid() and each.name[:6] != "python"]
        newest = max(ours, key=lambda each: (each.started_ticks, each.pid), default=None)
        doing = f": {newest.name} is running" if newest else ""
        return f"pgassay: {self._command} is still running, {silent_s:.0f} s without output{doing}\n"


class _Heard:
    def __init__(self, stream: TextIO, silence: Silence) -> None:
        self._stream, self._silence = stream, silence

    def write(self, text: str) -> int:
        self._silence.heard(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def silence_broken(words: Sequence[str], patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Around a command with these words: nothing where standard error is no terminal, or the output is for scripts."""
    command, streams = next(iter(words), ""), {"stdout": sys.stdout, "stderr": sys.stderr}
    terminals = {name: each for name, each in streams.items() if each is not None and each.isatty()}
    if "stderr" not in terminals or command in _SERVING or _FOR_SCRIPTS & set(words):
        yield
        return
    silence, ended = Silence(command, patience_s), threading.Event()
    out = Output(plain(sys.stderr))

    def speak() -> None:
        while not ended.wait(patience_s / 5):
            if word := silence.word():
                out.write(word)
                out.flush()

    for name, stream in terminals.items():
        setattr(sys, name, Output(cast("TextIO", _Heard(plain(stream), silence))))
    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()
        sys.stdout, sys.stderr = streams["stdout"], streams["stderr"]
