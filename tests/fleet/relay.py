"""A relay on the way to a server: a link that is slow and breaks now and then, where the kernel has no netem.

What comes is passed on in its order, each piece a fixed time after it came. A break closes both ends of every
connection at once, and what is on its way is lost; new connections are let through.
"""

import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

ADDRESS = "127.0.0.1"
_PIECE = 1 << 16
_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER (socket(7)): what was not sent yet is thrown away, and the other end hears a reset."""


class Relay:
    """Listens on a port of its own from `with` on, and passes on to `port` on this machine."""

    def __init__(self, port: int, late_s: float) -> None:
        self._port, self._late_s = port, late_s
        self._gate = socket.create_server((ADDRESS, 0))
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port: int = self._gate.getsockname()[1]
        self.passed = 0
        """Connections that it has let through."""

    def __enter__(self) -> "Relay":
        self._begin(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._gate.shutdown(socket.SHUT_RDWR)
        self._gate.close()
        self._threads[0].join()
        self.cut()
        for each in self._threads:
            each.join()

    def cut(self) -> int:
        """Break every connection; how many there were."""
        with self._lock:
            ends, self._open = self._open, []
        for end in ends:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
            end.close()
        return len(ends) // 2

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._gate.accept()
            except OSError:
                return  # the gate is closed
            try:
                far = socket.create_connection((ADDRESS, self._port))
            except OSError:
                near.close()  # as it would be without us: nobody is there
                continue
            with self._lock:
                self._open += [near, far]
                self.passed += 1
            for source, target in ((near, far), (far, near)):
                pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                self._begin(_take, source, pieces, self._late_s)
                self._begin(_give, target, pieces)


def _take(source: socket.socket, pieces: "queue.SimpleQueue[tuple[float, bytes]]", late_s: float) -> None:
    """Note each piece with the moment when it is due; an empty one is the end."""
    data = b"-"
    while data:
        try:
            data = source.recv(_PIECE)
        except OSError:
            data = b""
        pieces.put((time.monotonic() + late_s, data))


def _give(target: socket.socket, pieces: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
    """Pass them on when they are due."""
    with suppress(OSError):
        while (piece := pieces.get())[1]:
            time.sleep(max(0.0, piece[0] - time.monotonic()))
            target.sendall(piece[1])
        time.sleep(max(0.0, piece[0] - time.monotonic()))
        target.shutdown(socket.SHUT_WR)
