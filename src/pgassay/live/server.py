"""Listens on this machine's own address and serves the pages until it is interrupted.

The address is bound before anything is printed, so that a port in use is an error and the URL that is printed works.
"""

import asyncio
import errno
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgassay.errors import PgassayError, UsageError
from pgassay.live.access import TOKEN
from pgassay.live.app import application
from pgassay.live.catalogue import Catalogue, identity_of
from pgassay.record.directory import HEADER_FILE

ADDRESS = "127.0.0.1"
ALONE_S = 600.0
"""So long it serves on after the run's process was killed, while nobody watches."""
_LOOK_S = 2.0
_NICE = 19
_PATIENCE_S = 30
"""So long pages that are watched may take to hear how their run ended."""
HEADERS_S = 10.0
"""So long a connection may take until it has asked for something."""
CONNECTIONS_MAX = 256
"""Beyond these the oldest that has asked for nothing is closed."""


def listening(port: int) -> socket.socket:
    """A socket on `port` (0: any that is free) of this machine alone; raises `PgassayError`."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
        made.listen(CONNECTIONS_MAX)
    except OverflowError as failure:
        made.close()
        raise _port_refused(port, "ports are 0 to 65535") from failure
    except OSError as failure:
        made.close()
        if failure.errno == errno.EADDRINUSE:
            raise PgassayError(
                f"port {port} of 127.0.0.1 is in use", "name another one with --port, or --port 0 for any that is free"
            ) from failure
        raise _port_refused(port, (failure.strerror or str(failure)).lower()) from failure
    return made


def serve(root: Path, port: int, tell: Callable[[str], None], parent: int | None = None) -> None:
    """Serve the runs below `root` until SIGINT or SIGTERM; `tell` gets the address, with its token, once it works.

    Where `root` is a run itself that is the address of its live page. `parent` is a process after whose end nobody
    needs it but who watches. It runs at the lowest priority: what is measured goes first.

    Raises `UsageError` for a directory that is none, `PgassayError` for a port that is not free.
    """
    root = root.absolute()
    if not root.is_dir():
        raise UsageError(f'directory "{root}" does not exist', "name the directory that runs are below")
    with listening(port) as bound:
        catalogue = Catalogue(root)
        catalogue.refresh()
        token = secrets.token_urlsafe(32)
        actual = bound.getsockname()[1]
        watched = _Watched()
        config = uvicorn.Config(
            application(catalogue, token, actual, watched.now, watched.ending),
            log_level="critical",
            access_log=False,  # it would have the token
            server_header=False,
            ws="none",
            http=_Connection,
            timeout_graceful_shutdown=_PATIENCE_S,
        )
        page = f"run/{identity_of('.')}/live" if (root / HEADER_FILE).exists() else ""
        server = watched.server = uvicorn.Server(config)
        if parent is not None:
            threading.Thread(target=_outlive, args=(parent, server, watched), daemon=True).start()
        os.nice(_NICE)
        tell(f"http://{ADDRESS}:{actual}/{page}?{TOKEN}={token}")
        server.run(sockets=[bound])


class _Connection(H11Protocol):
    """One that ends unless it asks in time; uvicorn itself waits for the first byte, and between bytes, without end."""

    _late: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        waiting = [each for each in self.connections if isinstance(each, _Connection) and each.asks_nothing]
        if len(self.connections) > CONNECTIONS_MAX:
            min(waiting, key=lambda each: each._late.when()).transport.abort()

    def on_response_complete(self) -> None:
        self._late.cancel()
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)

    @property
    def asks_nothing(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEADERS_S, self._end)

    def _end(self) -> None:
        if self.asks_nothing:
            self.transport.abort()


class _Watched:
    """When somebody watched last: so long ago that nobody is waited for, where nobody has."""

    def __init__(self) -> None:
        self.last_s = -ALONE_S
        self.server: uvicorn.Server | None = None

    def ending(self) -> bool:
        return self.server is not None and self.server.should_exit

    def now(self) -> None:
        self.last_s = time.monotonic()


def _outlive(pid: int, server: uvicorn.Server, watched: _Watched) -> None:
    """End the server when the process is gone and nobody has watched for a while since."""
    while _runs(pid) or time.monotonic() - watched.last_s < ALONE_S:
        time.sleep(_LOOK_S)
    server.should_exit = True


def _runs(pid: int, processes: Path = Path("/proc")) -> bool:
    """Is it there, and more than a zombie: ended, and only not yet waited for?"""
    try:
        state = (processes / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return False
    return state.split()[:1] != ["Z"]


def _port_refused(port: int, reason: str) -> PgassayError:
    return PgassayError(
        f"could not listen on port {port} of 127.0.0.1: {reason}", "name another one above 1023 with --port"
    )
