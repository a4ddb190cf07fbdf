"""Serves the pages of a run on this machine's own address until it is interrupted: what a browser may ask for.

Only a browser on this machine that has the token may ask, and no page of another site (`Guard`). The token comes once
in the address and is then a cookie that scripts cannot read and other sites cannot send. Names other than this
machine's are refused (DNS rebinding), as are requests that another origin made; see OWASP's "Cross-Site Request Forgery
Prevention". A page may load from here alone (W3C, Content Security Policy Level 3).

Reading records and making reports is done in threads, so that a page that takes seconds stops no other.

What a path names is resolved with all its links first, and only then compared with the folder of a report's data. A
file is sent up to the length that it had when it was asked for.

Everything is escaped where it is written (jinja2's autoescape), so a name that is a script is shown as a name. Styles,
scripts and figures are the report's own, served from here.

The page is the one that `pgassay report` writes, with a menu; its data lie next to it in a temporary folder, so nothing
is written into a run. Its one script is named to the browser by its hash, so that no other can run.

The address is bound before anything is printed, so that a port in use is an error and the URL that is printed works.
"""

import asyncio
import base64
import errno
import hashlib
import os
import secrets
import signal
import socket
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import jinja2
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgassay import scratch, untrusted
from pgassay.errors import PgassayError
from pgassay.live import progress
from pgassay.live.progress import ROWS, Watched, report_failed, signature
from pgassay.record import directory
from pgassay.record.directory import HEADER_FILE, holder
from pgassay.record.errors import not_a_run
from pgassay.record.reading import Run
from pgassay.report import formatting, page, vega
from pgassay.report.findings import Findings
from pgassay.study.model import ALTERNATE

ADDRESS = "127.0.0.1"
NO_TOKEN = "open the address that pgassay printed: it ends with a token"
FOREIGN_HOST = f"this server answers to {ADDRESS} and localhost alone"
FOREIGN_ORIGIN = "another site asked for this page"

_HOST_NAMES = frozenset({ADDRESS, "localhost", "::1"})
TOKEN = "token"
QUERY_BYTES_MAX = 2048
ANSWERED_MAX = 64
"""Requests at once of those who have the token; open live pages are among them."""
_NOTHING = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
_FIXED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def policy(*, scripts: str = "'self'", drawn: bool = False) -> str:
    """What a page may load; one with drawn figures has styles of its own, which Vega sets on each mark."""
    styles = "'self' 'unsafe-inline'" if drawn else "'self'"
    return (
        f"{_NOTHING}; script-src {scripts}; style-src {styles}; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'"
    )


class Guard:
    """Lets through to `app` what may ask; `port` is part of the cookie's name, since cookies know no ports."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._answering = 0
        self._token = token
        self._cookie = f"pgassay-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_FIXED)
                headers.setdefault("content-security-policy", _NOTHING)
            await send(message)

        refused = self._refused(scope, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        self._answering += 1
        try:
            await self._app(scope, receive, guarded)
        finally:
            self._answering -= 1

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """An answer instead of the page: a refusal, or the way to the address without its token."""
        host = headers.getlist("host")
        if len(host) != 1 or _name_of(host[0]) not in _HOST_NAMES:
            return _no(FOREIGN_HOST)
        origins = headers.getlist("origin")
        if origins and origins != [f"http://{host[0]}"]:
            return _no(FOREIGN_ORIGIN)
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return _no(FOREIGN_ORIGIN)
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in asked if name == TOKEN]
        if given and scope["method"] == "GET":
            return self._entered(scope, given, [each for each in asked if each[0] != TOKEN])
        # Other programs of this machine have theirs in the same header.
        pairs = (each.strip().partition("=") for header in headers.getlist("cookie") for each in header.split(";"))
        known = [value for name, _, value in pairs if name == self._cookie]
        if not any(map(self._is_token, known)):
            return _no(NO_TOKEN)
        if len(scope["query_string"]) > QUERY_BYTES_MAX:
            return _no(f"a query has {QUERY_BYTES_MAX} bytes at most", 400)
        if self._answering >= ANSWERED_MAX:
            return _no(f"{ANSWERED_MAX} requests are being answered; ask again when one of them has ended", 503)
        return None

    def _entered(self, scope: Scope, given: Sequence[str], rest: Sequence[tuple[str, str]]) -> Response:
        if not all(map(self._is_token, given)):
            return _no(NO_TOKEN)
        path = "/" + scope["path"].lstrip("/")  # "//host" would be another site
        answer = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, status_code=303)
        answer.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="strict")
        return answer

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(errors="replace"), self._token.encode())


def _name_of(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname if not set(host) & set("/?#@\\") else None
    except ValueError:
        return None


def _no(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=status)


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
    except OSError as failure:
        made.close()
        if failure.errno == errno.EADDRINUSE:
            raise PgassayError(
                f"port {port} of {ADDRESS} is in use", "name another one with --port, or --port 0 for any that is free"
            ) from failure
        raise PgassayError(
            f"could not listen on port {port} of {ADDRESS}: {(failure.strerror or str(failure)).lower()}",
            "name another one above 1023 with --port",
        ) from failure
    return made


def serve(run: Path, port: int, notify: Callable[[str], None], parent: int | None = None) -> None:
    """Serve the run in directory `run` until SIGINT or SIGTERM; `notify` gets the address of its live page, with the
    token, once it works.

    `parent` is a process after whose end nobody needs it but who watches. It runs at the lowest priority: what is
    measured goes first.

    Raises `NotARunError` for a directory that holds no run, `PgassayError` for a port that is not free.
    """
    run = run.absolute()
    if not (run / HEADER_FILE).exists():
        raise not_a_run(run, f"it has no {HEADER_FILE}" if run.is_dir() else "it does not exist")
    with listening(port) as bound:
        token = secrets.token_urlsafe(32)
        actual = bound.getsockname()[1]
        watched = _Watched()
        config = uvicorn.Config(
            application(run, token, actual, watched.now, watched.ending),
            log_level="critical",
            access_log=False,  # it would have the token
            server_header=False,
            ws="none",
            http=_Connection,
            timeout_graceful_shutdown=_PATIENCE_S,
        )
        server = watched.server = uvicorn.Server(config)
        if parent is not None:
            threading.Thread(target=_outlive, args=(parent, server, watched), daemon=True).start()
        os.nice(_NICE)
        notify(f"http://{ADDRESS}:{actual}/live?{TOKEN}={token}")
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


@dataclass
class _Watched:
    """When somebody watched last: so long ago that nobody is waited for, where nobody has."""

    last_s: float = -ALONE_S
    server: uvicorn.Server | None = None

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


_SPECIFICATIONS = 'const specifications = JSON.parse(document.getElementById("specifications")?.textContent ?? "{}");'


def shown(name: str, *, drawn: bool = False, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made of `templates/NAME.html`; one with `drawn` figures may have Vega's styles."""
    html = _environment().get_template(f"{name}.html").render(**values)
    return HTMLResponse(html, status_code=status, headers={"content-security-policy": policy(drawn=drawn)})


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=page.shown_text,
        loader=jinja2.FunctionLoader(lambda name: _text("live", name)),
    )
    environment.filters["sentence"] = formatting.sentence
    environment.filters["embedded"] = page.embedded
    return environment


def _text(package: str, name: str) -> str:
    return (resources.files(f"pgassay.{package}") / "templates" / name).read_text(encoding="utf-8")


_PIECE_BYTES = 1 << 18


def inside(folder: Path, path: str) -> Path | None:
    """The file that `path` names below the folder; None where it is not there, or not below it, or no file."""
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        return None
    try:
        root = folder.resolve(strict=True)
        found = root.joinpath(*parts).resolve(strict=True)
        mode = found.stat().st_mode
    except (OSError, RuntimeError, ValueError):
        return None
    return found if found.is_relative_to(root) and stat.S_ISREG(mode) else None


def pieces(path: Path) -> Iterator[bytes]:
    """The contents of a file up to the length that it has now."""
    with untrusted.open_file(path, links=False) as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0 and (piece := file.read(min(_PIECE_BYTES, left))):
            left -= len(piece)
            yield piece


NOT_RUNNING = "this run does not run now, so there is nothing to stop"
NO_SUCH_PAGE = "there is no such page"
NO_SUCH_FILE = "the report has no such file"
"""What a browser shows, as a sentence of its page."""

_FORM_BYTES_MAX = 4096
_BEGIN, _END = '<script type="module">', "</script>"


class _Site:
    def __init__(self, run: Path, watching: Callable[[], None], ending: Callable[[], bool], folder: Path) -> None:
        self._run = run
        self._name = os.fsencode(run.name).decode(errors="replace")  # whatever bytes it has
        self._watching = watching
        self._ending = ending
        self._watched = Watched(run)
        self._writing = secrets.token_urlsafe(32)
        """What a form of ours has in it."""
        self._folder = folder
        self._lock = Lock()
        self._kept: tuple[object, str, str] | None = None
        """The report and what it may load, and the signature that the record had when it was made."""

    def routes(self) -> list[Route]:
        return [
            Route("/", self.report),
            Route("/live", self.live),
            Route("/events", self.events),
            Route("/stop", self.stop, methods=["POST"]),
            Route("/abort", self.abort, methods=["POST"]),
            Route(f"/{page.DATA}/{{name}}", self.data),
            Route("/static/{name}", self.static),
            Route("/favicon.ico", lambda request: Response(status_code=204)),
        ]

    def _report(self) -> tuple[str, str]:
        """The report of the run as it stands, and its policy; raises whatever a damaged record makes of it.

        One is made at a time: a second core is the measurement's.
        """
        with self._lock:
            written = signature(self._run)
            if self._kept is None or self._kept[0] != written:
                findings = Findings(Run.open(self._run, leave_out=True))
                path = page.write(findings, self._folder, pictures=False, menu=(("Live", "/live"),))
                html = path.read_text(encoding="utf-8")
                # The page's one script, as a Content Security Policy names it.
                script = html.partition(_BEGIN)[2].rpartition(_END)[0]
                allowed = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
                self._kept = written, html, policy(scripts=allowed, drawn=True)
            return self._kept[1:]

    def report(self, request: Request) -> Response:
        try:
            html, allowed = self._report()
        except PgassayError as failure:
            return shown("unreadable", run=self._name, why=failure.message, hint=failure.hint or "")
        except Exception as failure:  # others may have written the record, and a page that fails tells them nothing
            return shown("unreadable", run=self._name, why=report_failed(failure), hint="")
        return HTMLResponse(html, headers={"content-security-policy": allowed})

    def live(self, request: Request) -> Response:
        arms: Sequence[str] = ()
        in_turns = False
        title = self._name
        with suppress(Exception):  # the events say what is wrong with it
            study = Run.open(self._run, leave_out=True).asked
            title = study.title
            arms = [arm.name for arm in study.arms]  # the order of their colours
            in_turns = study.design.pairing == ALTERNATE
        return shown(
            "live",
            drawn=True,
            title=title,
            run=self._name,
            writing=self._writing,
            specifications={ROWS: progress.seconds(arms, in_turns=in_turns)},
        )

    async def events(self, request: Request) -> Response:
        """What that page gets."""

        async def sent() -> AsyncIterator[bytes]:
            async for each in progress.events(self._watched, ending=self._ending):
                self._watching()
                yield each

        return StreamingResponse(sent(), media_type="text/event-stream")

    async def stop(self, request: Request) -> Response:
        """Ask the run to end with the block in hand."""
        return await self._ended(request, lambda pid: directory.ask_to_stop(self._run))

    async def abort(self, request: Request) -> Response:
        """End it now, as a signal does: committed trials stay, the one in hand is given up."""
        return await self._ended(request, lambda pid: os.kill(pid, signal.SIGTERM))

    async def _ended(self, request: Request, end: Callable[[int], None]) -> Response:
        form = b""
        async for piece in request.stream():
            form += piece
            if len(form) > _FORM_BYTES_MAX:
                raise HTTPException(413, f"a form has {_FORM_BYTES_MAX} bytes at most")
        given = parse_qs(form.decode("latin-1")).get("writing", [""])[-1]
        if not secrets.compare_digest(given.encode(), self._writing.encode()):
            raise HTTPException(403, FOREIGN_ORIGIN)
        pid = holder(self._run)
        if pid is None:
            raise HTTPException(409, NOT_RUNNING)
        try:
            end(pid)
        except OSError as failure:
            raise PgassayError(
                f"the run could not be stopped: {(failure.strerror or str(failure)).lower()}",
                "Ctrl-C in its terminal stops it",
            ) from failure
        return RedirectResponse("/live", status_code=303)

    def data(self, request: Request) -> Response:
        """A file as something to keep, never as a page: what a tool wrote is not ours to show."""
        try:
            self._report()
        except Exception as failure:
            raise HTTPException(404, NO_SUCH_FILE) from failure
        path = inside(self._folder / page.DATA, request.path_params["name"])
        if path is None:
            raise HTTPException(404, NO_SUCH_FILE)
        named = f"attachment; filename*=UTF-8''{quote(path.name, safe='')}"
        return StreamingResponse(
            pieces(path), media_type="application/octet-stream", headers={"content-disposition": named}
        )

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "page.css":
            styles = _text("report", "page.css") + vega.dark_style() + _text("live", "live.css")
            return Response(styles, media_type="text/css")
        if name == "live.js":
            parts = (vega.script(), _SPECIFICATIONS, _text("report", "figures.js"), _text("live", "live.js"))
            return Response("\n".join(parts), media_type="text/javascript")
        raise HTTPException(404, NO_SUCH_PAGE)


def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        known = NO_SUCH_PAGE if error.detail == "Not Found" else error.detail
        return shown("note", title="pgassay", why=known, hint="", status=error.status_code)
    assert isinstance(error, PgassayError)
    return shown("note", title="pgassay", why=error.message, hint=error.hint or "", status=500)


def application(
    run: Path,
    token: str,
    port: int,
    watching: Callable[[], None] = lambda: None,
    ending: Callable[[], bool] = lambda: False,
) -> Starlette:
    """The server of a run, for those who have the token; `watching` is called while somebody watches.

    `ending` says whether the server is about to end.
    """
    held = ExitStack()
    site = _Site(run, watching, ending, held.enter_context(scratch.folder("live pages")))

    @asynccontextmanager
    async def kept(app: Starlette) -> AsyncIterator[None]:
        with held:
            yield

    return Starlette(
        routes=site.routes(),
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={HTTPException: _failed, PgassayError: _failed},
        lifespan=kept,
    )
