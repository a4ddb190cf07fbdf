"""Talking to an emulated drive: JSON lines over the Unix socket in its directory.

A request is `{"do": NAME, …}`, the answer `{"ok": …}` or `{"error": …, "hint": …}`. The socket is reached through
/proc/self/fd, since a path of ours may be longer than the 107 bytes of sun_path.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pgassay.drive.block import messages

SOCKET = "control.sock"
PATIENCE_S = 60.0
AGEING_PATIENCE_S = 900.0
_PIECE = 1 << 16


class Control(Protocol):
    """One emulated drive's ear."""

    def ask(self, do: str, *, patience_s: float = PATIENCE_S, **values: Any) -> Mapping[str, Any]:
        """One request; the answer's `ok`. Raises `DriveError` with the drive's own words, or when it is silent."""


class SocketControl:
    """See `Control`; a connection for each request, so that nothing is held open."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def ask(self, do: str, *, patience_s: float = PATIENCE_S, **values: Any) -> Mapping[str, Any]:
        """See `Control`."""
        try:
            answer = self._exchange({"do": do, **values}, patience_s)
        except (OSError, ValueError) as failure:
            raise messages.daemon_silent(self._directory / SOCKET, str(failure).lower()) from failure
        if "error" in answer:
            raise messages.refused_by_daemon(f'"{do}"', str(answer["error"]), answer.get("hint") or None)
        found = answer.get("ok")
        return found if isinstance(found, dict) else {"value": found}

    def _exchange(self, request: Mapping[str, Any], patience_s: float) -> dict[str, Any]:
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
            _short(self._directory) as name,
        ):
            line.settimeout(patience_s)
            line.connect(name)
            line.sendall(json.dumps(request).encode() + b"\n")
            text = b""
            while not text.endswith(b"\n"):
                piece = line.recv(_PIECE)
                if not piece:
                    break
                text += piece
        answer = json.loads(text)
        if not isinstance(answer, dict):
            raise ValueError("its answer is no object")
        return answer


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """A short path to the socket."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
