"""A program of ours that takes orders: started with a description, asked by lines of JSON over a socket of its own.

The player and the metronome are such programs (crates/player). It dies with the thread that started it, so start it
from the main thread.
"""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pgassay import scratch
from pgassay.bench.errors import LoadError
from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.running import Clock, Runner, Running
from pgassay.load import messages

PROGRAM = "pgassay-player"
VARIABLE = "PGASSAY_PLAYER"
DESCRIPTION = "description.json"
_READY_S = 60.0
_LAST_WORDS_S = 10.0
"""How long a program that has closed its socket may take to say why and end."""
_POLL_S = 0.01
_PLACE = Path("/tmp")
"""Not $TMPDIR: the path of a socket has 107 bytes."""
_SOCKET, _OUT, _ERR = "control", "player.out", "player.err"


def find(environment: Mapping[str, str] = os.environ) -> Path:
    """The program: $PGASSAY_PLAYER, or the one that came with us; raises `LoadError`."""
    named = environment.get(VARIABLE)
    path = Path(named) if named else Path(__file__).parents[1] / "_bin" / PROGRAM
    if not os.access(path, os.X_OK):
        raise messages.no_player()
    return path.absolute()


class ControlledProgram:
    """The program under way, in the role that `option` names (`--control`, `--metronome`)."""

    def __init__(
        self,
        option: str,
        description: Mapping[str, Any],
        runner: Runner,
        clock: Clock,
        placement: Placement = ANYWHERE,
        environment: Mapping[str, str] | None = None,
        files: Sequence[Path] = (),
        privileged: str = "",
    ) -> None:
        """Start it and wait until it is ready; raises `LoadError` with its own words if it ends instead.

        `files` are those that its description and its environment name; `privileged` as for `Runner.start`.
        """
        self._held = ExitStack()
        self._running: Running | None = None
        self._stream: socket.socket | None = None
        try:
            folder = self._folder = self._held.enter_context(scratch.folder("player", _PLACE))
            (folder / DESCRIPTION).write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
            self._running = runner.start(
                [str(find()), option, str(folder / _SOCKET), str(folder / DESCRIPTION)],
                stdout=folder / _OUT,
                stderr=folder / _ERR,
                environment=environment,
                privileged=privileged,
                placement=placement,
                files=(folder / DESCRIPTION, *files),
                output=folder,
            )
            self._stream = self._connect(self._running.place(folder / _SOCKET), clock)
            self._answers = self._stream.makefile("r", encoding="utf-8")
            self.ready = self._answer()
            """What it says once it is ready."""
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Its process id; 0 once it is closed."""
        return self._running.pid if self._running is not None else 0

    def ask(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """One order and its answer; raises `LoadError` if the program is gone."""
        if self._stream is None:
            raise messages.player_ended("it was closed")
        try:
            self._stream.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            raise self._gone() from None
        return self._answer()

    def interrupt(self) -> None:
        """End the program while another thread waits for its answer, which then finds it gone."""
        if self._running is not None:
            self._running.terminate()

    def close(self) -> None:
        """End the program; calling it twice is harmless."""
        if self._stream is not None:
            if hasattr(self, "_answers"):
                self._answers.close()
            self._stream.close()
            self._stream = None
        if self._running is not None:
            self._running.terminate()
            self._running.wait()
            self._running = None
        self._held.close()

    def _connect(self, control: Path, clock: Clock) -> socket.socket:
        deadline_ns = clock.monotonic_ns() + int(_READY_S * 1e9)
        while True:
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                stream.connect(str(control))
            except OSError:
                stream.close()
                if clock.monotonic_ns() > deadline_ns or self._ended():
                    raise self._gone() from None
                clock.sleep(_POLL_S)
            else:
                return stream

    def _ended(self, within_s: float = 0.0) -> bool:
        assert self._running is not None
        try:
            self._running.wait(within_s)
        except TimeoutError:
            return False
        return True

    def _gone(self) -> LoadError:
        """What the program said at its end; it closes the socket first, and says then why."""
        self._ended(_LAST_WORDS_S)
        path = self._folder / _ERR
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        return messages.player_ended(text.strip().removeprefix(f"{PROGRAM}: "))

    def _answer(self) -> Mapping[str, Any]:
        try:
            line = self._answers.readline()
        except OSError:  # it ended with our order unread, of which the kernel tells in place of an end
            line = ""
        if not line.endswith("\n"):
            raise self._gone()
        answer: Mapping[str, Any] = json.loads(line)
        return answer
