"""Who may ask: the token, the host and the origin of a request are looked at before anything else is."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardwise.app.protocol import limit_waiting
from shardwise.app.settings import Settings

SAFE = frozenset({"GET", "HEAD"})
CSRF = "x-csrf-token"
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
}


class Guard:
    """Middleware that lets in only requests that know the token, from this page or from a program."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings
        self.cookie = f"shardwise-{settings.port}"
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
                headers.setdefault("content-security-policy", POLICY)
            await send(message)

        refused = self._find_refusal(scope, Headers(scope=scope))
        await (refused or self.app)(scope, limit_waiting(receive), careful)

    def _find_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """An answer in place of that of the app, where there is one."""
        host = headers.get("host", "")
        if self.settings.local and _strip_port(host) not in {
            "127.0.0.1",
            "localhost",
            "[::1]",
            self.settings.host,
        }:
            return _make_refusal(scope, 403, "the request names another host than this server")
        if (entered := self._enter_by_token(scope)) is not None:
            return entered
        bearer = headers.get("authorization", "")
        program = _compare_secrets(bearer.removeprefix("Bearer "), self.settings.token) and bearer.startswith(
            "Bearer "
        )
        if not program and not _compare_secrets(_read_cookie(headers, self.cookie), self.session):
            return _make_refusal(
                scope,
                401,
                "open the address that shardwise serve printed: it holds the token that lets you in",
            )
        why = self._find_stranger(scope, headers, program)
        return _make_refusal(scope, 403, why) if why else None

    def _find_stranger(self, scope: Scope, headers: Headers, program: bool) -> str:
        """Why a request that knows a secret is still not from the page or a program; empty where it is."""
        host = headers.get("host", "")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return "the request comes from another page"
        if scope["method"] in SAFE:
            return ""
        if site not in ("same-origin", "none"):
            return "the request comes from another page"
        if not program and not _compare_secrets(headers.get(CSRF, ""), self.csrf):
            return "the request does not come from the page; reload it"
        return ""

    def _enter_by_token(self, scope: Scope) -> Response | None:
        """The way in: an address with the token gives a cookie, and the address without it."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if scope["method"] != "GET" or not given or not _compare_secrets(given[-1], self.settings.token):
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # never another host
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        answer.set_cookie(self.cookie, self.session, httponly=True, samesite="strict", max_age=30 * 86400)
        return answer


def _make_refusal(scope: Scope, status: int, why: str) -> Response:
    """A refusal for a program as JSON, and for people as text."""
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    if scope["path"].startswith("/api/"):
        return JSONResponse({"error": f"Refused: {why}."}, status, headers)
    return PlainTextResponse(f"Refused: {why}.\n", status, headers)


def _compare_secrets(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode("utf-8", "replace"), b.encode())


def _strip_port(host: str) -> str:
    """The host without its port."""
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _read_cookie(headers: Headers, name: str) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""
