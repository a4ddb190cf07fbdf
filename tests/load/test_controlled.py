"""A program that takes orders: what is said of one that ends in the midst of them."""

import os
import select
import socket
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from pgassay.interfaces.errors import LoadError
from pgassay.load.player import VARIABLE, ControlledProgram
from pgassay.testing.fakes import FakeClock
from tests.fakes.runner import FakeRunning


class Leaving:
    """Starts a program that is ready, and that ends when an order has come, without having read it."""

    def start(self, command: Sequence[str], *, stderr: Path, **_: object) -> FakeRunning:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(command[2])
        listener.listen()
        self.program = Thread(target=self._serve, args=(listener, stderr))
        self.program.start()
        return FakeRunning(os.getpid(), tuple(command), None)

    def _serve(self, listener: socket.socket, stderr: Path) -> None:
        with listener:
            stream, _ = listener.accept()
        with stream:
            stream.sendall(b'{"ready": {}}\n')
            select.select([stream], [], [])
            stderr.write_text("pgassay-player: it has had enough\n")


def test_a_program_that_ends_with_an_order_unread_is_gone_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/bin/true")
    runner = Leaving()
    with closing(ControlledProgram("--control", {}, runner, FakeClock())) as program:  # type: ignore[arg-type]
        with pytest.raises(LoadError, match="it has had enough"):
            program.ask({"play": {}})
        runner.program.join()
