"""Server-sent events of one run: its progress when the record changes, its seconds as they come.

Nothing is looked at while nobody watches. A browser that loses the connection comes back by itself and is told all
again (HTML Living Standard, "Server-sent events").
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec
from starlette.concurrency import run_in_threadpool

from pgassay.errors import PgassayError
from pgassay.live.catalogue import signature
from pgassay.live.progress import Watched, report_failed
from pgassay.live.seconds import Seconds
from pgassay.outgoing import values
from pgassay.record import stopping
from pgassay.record.disk import RealDisk
from pgassay.record.holder import holder
from pgassay.report.json_values import finite

EVERY_S = 1.0
QUIET_S = 15.0
"""After so long without news a comment keeps the connection open."""
_AGAIN_MS = 2000


async def events(
    watched: Watched, every_s: float = EVERY_S, ending: Callable[[], bool] = lambda: False
) -> AsyncGenerator[bytes, None]:
    """Events `progress`, `seconds` and `fault`, as long as somebody reads them.

    While the server is `ending` the record is looked at once more: so a page hears that its run has finished.
    """
    yield f"retry: {_AGAIN_MS}\n\n".encode()
    looks, quiet_s = _Looks(watched), 0.0
    while True:
        last = ending()
        news = await run_in_threadpool(looks.news)
        quiet_s = 0.0 if news else quiet_s + every_s
        if quiet_s >= QUIET_S:
            news, quiet_s = b": still here\n\n", 0.0
        if news:
            yield news
        if last:
            return
        await asyncio.sleep(every_s)


class _Looks:
    """What is new since the last look, for one who watches: one turn of a thread a second."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._seconds = Seconds(watched.path)
        self._known: object = None

    def news(self) -> bytes:
        """The events of one look; empty where nothing changed."""
        told = b""
        now = _stamp(self._watched)
        if now != self._known:
            self._known = now
            told = _progress(self._watched)
        fresh, rows = self._seconds.more()
        return told + event("seconds", {"fresh": fresh, "rows": rows}) if fresh or rows else told


def _stamp(watched: Watched) -> object:
    return signature(watched.path), holder(watched.path), stopping.is_asked(RealDisk(), watched.path)


def _progress(watched: Watched) -> bytes:
    try:
        return event("progress", watched.progress())
    except (PgassayError, OSError) as failure:
        return event("fault", {"text": str(failure)})
    except Exception as failure:  # others may have written the record, and a page that goes on is worth more
        return event("fault", {"text": report_failed(failure)})


def event(name: str, value: object) -> bytes:
    """One event; JSON has no line ends of its own, so its data are one line."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(values(finite(value))))
