"""Who may ask: the token, the host and the origin of a request are looked at before anything else is.

A browser sends a cookie to every port of a host. The cookie of the pages is for a path that nobody else knows, so that
no other server of the machine is ever sent it.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from shardwise.app.store import Settings

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

HEAD_WITHIN = 10.0
"""Seconds within which the head of a request must arrive, and what is left of one that was refused."""
BODY_PATIENCE = 30.0
"""Seconds that a body may keep us waiting, of which each byte gives some back."""
BODY_RATE = 1000.0
"""Bytes a second of a body that do not use up patience."""


def is_program(scope: Scope) -> bool:
    """Return whether a program asks, for JSON: below /api, or by the header Accept."""
    path: str = scope["path"]
    return path.startswith("/api/") or "application/json" in Headers(scope=scope).get("accept", "")


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
        cookie = None
        with suppress(CookieError):
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie) if inside else None
        if not program and not _compare_secrets("" if cookie is None else cookie.value, self.session):
            return _make_refusal(
                scope,
                401,
                "open the address that shardwise serve printed: it holds the token that lets you in",
            )
        # a request that knows a secret may still be neither from the page nor from a program
        name, safe = headers.get("host", ""), scope["method"] in SAFE
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        stranger = origin is not None and origin not in (f"http://{name}", f"https://{name}")
        # a link elsewhere may lead to a page, but nothing else here is for the pages of others, also on this machine
        led = safe and headers.get("sec-fetch-mode") == "navigate"
        if stranger or (site not in ("same-origin", "none") and not led):
            return _make_refusal(scope, 403, "the request comes from another page")
        if not safe and not program and not _compare_secrets(headers.get(CSRF, ""), self.csrf):
            return _make_refusal(scope, 403, "the request does not come from the page; reload it")
        return None

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
    if is_program(scope):
        return JSONResponse({"error": f"Refused: {why}."}, status, headers)
    return PlainTextResponse(f"Refused: {why}.\n", status, headers)


def _compare_secrets(a: str, b: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell how much of them is."""
    return hmac.compare_digest(a.encode("utf-8", "replace"), b.encode())


class TooSlow(Exception):
    """A body that does not come, or comes too slowly."""


def limit_waiting(receive: Receive) -> Receive:
    """Return how to receive a request without waiting for ever for its body.

    Only waiting counts, not what is done with the bytes; what comes at `BODY_RATE` may go on for any time.

    """
    patience, complete = BODY_PATIENCE, False

    async def receive_in_time() -> Message:
        nonlocal patience, complete
        if complete:
            # what comes now is that the client has gone
            return await receive()
        began = time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), patience)
        except TimeoutError:
            raise TooSlow from None
        waited, gained = time.monotonic() - began, len(message.get("body", b"")) / BODY_RATE
        patience = min(BODY_PATIENCE, max(patience - waited, 0.0) + gained)
        complete = not message.get("more_body", False)
        return message

    return receive_in_time


class TimedProtocol(H11Protocol):
    """A connection that is closed where no request, or only a part of its head, arrives in time.

    Nobody needs a token to open a connection. Without a deadline, each half request would be held for ever. The body
    of a request is read after its token was seen, by `limit_waiting`. A head has at most 64 KB.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the deadline with the connection."""
        super().connection_made(transport)
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and end the deadline once they make a request."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_deadline()

    def on_response_complete(self) -> None:
        """Start the deadline of the next request on this connection."""
        super().on_response_complete()
        # a request that was sent ahead may have begun
        if self.cycle is None or self.cycle.response_complete:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline of a connection that is gone."""
        self._stop_deadline()
        super().connection_lost(exc)

    def _start_deadline(self) -> None:
        self._stop_deadline()
        if not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_WITHIN, self.transport.close)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
