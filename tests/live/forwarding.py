"""A port that is passed on to another one, as `ssh -L` does it, and that can be cut while connections are open."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ADDRESS = "127.0.0.1"
_PIECE_BYTES = 1 << 16


@contextmanager
def forwarded(to: int, port: int = 0) -> Iterator[int]:
    """The port that is passed on to `to`; afterwards every connection through it is cut."""
    made: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(act: threading.Thread) -> None:
        threads.append(act)
        act.start()

    def pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(_PIECE_BYTES):
                sink.sendall(piece)
        for each in (source, sink):
            _cut(each)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                made.append(near)
                far = socket.create_connection((ADDRESS, to))
                made.append(far)
                start(threading.Thread(target=pass_on, args=(near, far)))
                start(threading.Thread(target=pass_on, args=(far, near)))

    with socket.create_server((ADDRESS, port)) as listening:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listening.getsockname()[1]
        finally:
            _cut(listening)
            accepting.join()
            for each in made:
                _cut(each)
            for thread in threads:
                thread.join()
            for each in made:
                each.close()


def _cut(each: socket.socket) -> None:
    """Both directions, for whoever waits at either end."""
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
