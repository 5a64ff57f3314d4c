"""Who may ask: the token, the host and the origin of a request are looked at before anything else is.

A browser sends a cookie to every port of a host. The cookie of the pages is for a path that nobody else knows, so that
no other server of the machine is ever sent it.
"""

from __future__ import annotations

import hmac
import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardwise.app.protocol import limit_waiting
from shardwise.app.settings import Settings

SAFE = frozenset({"GET", "HEAD"})
CSRF = "x-csrf-token"
HOST = re.compile(r"(\[[^]]*\]|[^:]*)(:[0-9]{1,5})?")
"""A host with or without its port."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
    "content-security-policy": POLICY,
}


class Guard:
    """Middleware that lets in only requests that know the token, from this page or from a program."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.cookie, self.entry = f"shardwise-{settings.port}", settings.entry
        self.session, self.csrf = settings.derive_secret("session"), settings.derive_secret("csrf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on; every answer has the headers that tell the browser to be careful."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def careful(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        inside = scope["path"].startswith(f"{self.settings.root}/")
        scope = {**scope, "path": scope["path"].removeprefix(self.settings.root)} if inside else scope
        refused = self._find_refusal(scope, Headers(scope=scope), inside)
        await (refused or self.app)(scope, limit_waiting(receive), careful)

    def _find_refusal(self, scope: Scope, headers: Headers, inside: bool) -> Response | None:
        """An answer in place of that of the app, where there is one; the cookie counts inside the secret path."""
        host = HOST.fullmatch(headers.get("host", ""))
        if self.settings.local and (
            host is None or host[1] not in {"127.0.0.1", "localhost", "[::1]", self.settings.host}
        ):
            return _make_refusal(scope, 403, "the request names another host than this server")
        if (entered := self._enter_by_token(scope)) is not None:
            return entered
        program = _compare_secrets(headers.get("authorization", ""), f"Bearer {self.settings.token}")
        cookie = _read_cookie(headers, self.cookie) if inside else ""
        if not program and not _compare_secrets(cookie, self.session):
            return _make_refusal(
                scope,
                401,
                "open the address that shardwise serve printed: it holds the token that lets you in",
            )
        why = self._find_stranger(scope, headers, program)
        return _make_refusal(scope, 403, why) if why else None

    def _find_stranger(self, scope: Scope, headers: Headers, program: bool) -> str:
        """Why a request that knows a secret is still not from the page or a program; empty where it is."""
        host, safe = headers.get("host", ""), scope["method"] in SAFE
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return "the request comes from another page"
        # a link elsewhere may lead to a page, but nothing else here is for the pages of others, also on this machine
        if site not in ("same-origin", "none") and not (safe and headers.get("sec-fetch-mode") == "navigate"):
            return "the request comes from another page"
        if not safe and not program and not _compare_secrets(headers.get(CSRF, ""), self.csrf):
            return "the request does not come from the page; reload it"
        return ""

    def _enter_by_token(self, scope: Scope) -> Response | None:
        """The way in: an address with the token, or once with that of the browser we open, gives a cookie."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if scope["method"] != "GET" or not given:
            return None
        if self.entry and _compare_secrets(given[-1], self.entry):
            self.entry = ""
        elif not _compare_secrets(given[-1], self.settings.token):
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = f"{self.settings.root}/{scope['path'].lstrip('/')}"
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        answer.set_cookie(
            self.cookie,
            self.session,
            path=self.settings.root,
            httponly=True,
            samesite="strict",
            max_age=30 * 86400,
        )
        return answer


def _make_refusal(scope: Scope, status: int, why: str) -> Response:
    """A refusal for a program as JSON, and for people as text."""
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    if scope["path"].startswith("/api/"):
        return JSONResponse({"error": f"Refused: {why}."}, status, headers)
    return PlainTextResponse(f"Refused: {why}.\n", status, headers)


def _compare_secrets(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode("utf-8", "replace"), b.encode())


def _read_cookie(headers: Headers, name: str) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""
