"""Who may ask: a browser on this machine that has the token, and no page of another site.

The token comes once in the address and is then a cookie that scripts cannot read and other sites cannot send. Names
other than this machine's are refused (DNS rebinding), as are requests that another origin made; see OWASP's
"Cross-Site Request Forgery Prevention". A page may load from here alone (W3C, Content Security Policy Level 3).
"""

import secrets
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_TOKEN = "open the address that pgassay printed: it ends with a token"
FOREIGN_HOST = "this server answers to 127.0.0.1 and localhost alone"
FOREIGN_ORIGIN = "another site asked for this page"

NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
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
        if len(host) != 1 or _name_of(host[0]) not in NAMES:
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
