"""What a client of an emulated drive says when the drive's daemon does not answer as it should."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from pgassay.drive.block.daemon import SOCKET, SocketControl
from pgassay.interfaces.errors import DriveError


@pytest.fixture(params=[b"", b'{"ok": ', b"rubbish\n", b"[1]\n"], ids=repr)
def answered(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A daemon that reads one request, answers with this and ends."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / SOCKET))
        bound.listen()

        def answer() -> None:
            line, _ = bound.accept()
            with line:
                line.recv(1 << 16)
                line.sendall(request.param)

        thread = Thread(target=answer)
        thread.start()
        yield tmp_path
        thread.join()


def test_a_daemon_that_ends_or_talks_rubbish_is_named(answered: Path, request: pytest.FixtureRequest) -> None:
    with pytest.raises(DriveError, match="the emulated drive does not answer on") as caught:
        SocketControl(answered).ask("state")
    whole = request.node.callspec.params["answered"].endswith(b"\n")
    assert ("its answer cannot be read" if whole else "its daemon ended before it answered") in caught.value.message


def test_a_daemon_that_is_gone_is_named_without_a_number(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / SOCKET))
    with pytest.raises(DriveError, match="connection refused") as caught:
        SocketControl(tmp_path).ask("state")
    assert "errno" not in caught.value.message
