"""The server: guard, pages, API and queue put together, and its life."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route

from shardwise.app import api, pages
from shardwise.app.desk import Desk, Refused
from shardwise.app.guard import Guard
from shardwise.app.protocol import TimedProtocol, TooSlow
from shardwise.app.queue import Queue
from shardwise.app.settings import (
    MEGABYTE,
    Settings,
    is_local,
    read_root,
    usual_folder,
    usual_memory,
)
from shardwise.app.store import Store
from shardwise.cli.parsing import Options
from shardwise.core.arguments import count_processors
from shardwise.core.errors import InputError, Option
from shardwise.io.files import parse_size

LEAST_TOKEN = 16  # characters of a token that one chooses oneself


def build_app(settings: Settings) -> Starlette:
    """Put the application together.

    Parameters
    ----------
    settings
        What the server is told.
    """

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        store = Store(settings.folder)
        queue = Queue(store, settings)
        app.state.desk = Desk(settings, store, queue)
        await queue.start()
        try:
            yield
        finally:
            await queue.stop()
            store.close()

    return Starlette(
        routes=list_routes(),
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={
            Refused: _handle_refusal,
            HTTPException: _handle_http_error,
            TooSlow: _handle_slow_body,
            ClientDisconnect: _handle_slow_body,
        },
        lifespan=life,
    )


def list_routes() -> list[Route]:
    """Return the routes of the pages and of the API."""
    return [*pages.list_page_routes(), *api.list_api_routes()]


async def _handle_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _render_refusal(request, error.status, error.why)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = _render_refusal(request, error.status_code, str(error.detail))
    if error.status_code == 405:
        matching = (route for route in list_routes() if route.matches(request.scope)[0] is not Match.NONE)
        answer.headers["allow"] = ", ".join(
            sorted({name for route in matching for name in route.methods or ()})
        )
    return answer


async def _handle_slow_body(request: Request, error: Exception) -> Response:
    """Answer a client that sends nothing more; one that has gone does not hear it."""
    return _render_refusal(request, 408, "The request came too slowly; send it again.")


def _render_refusal(request: Request, status: int, why: str) -> Response:
    """A refusal for a program as JSON, and for people as a page."""
    if request.url.path.startswith("/api/"):
        return api.PlainJSON({"error": why}, status_code=status)
    return pages.render_page(request, "refused.html", status, why=why)


def serve(options: Options) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    options
        Those of ``shardwise serve``.
    """
    token = options.token or secrets.token_urlsafe(24)
    if not is_local(options.host) and not options.token:
        raise InputError(
            f"{options.host} can be reached from other machines",
            remedy=("choose a secret with ", Option("token"), ", or leave out ", Option("host")),
        )
    if len(token) < LEAST_TOKEN:
        raise InputError(
            f"a token of {len(token)} characters can be guessed", remedy=f"take {LEAST_TOKEN} or more"
        )
    workers = options.jobs or count_processors()
    listening = _open_socket(options.host, options.port)
    port = int(listening.getsockname()[1])
    folder = options.out or usual_folder()
    Store(folder).close()  # refused before anything is said
    settings = Settings(
        folder=folder,
        token=token,
        host=options.host,
        port=port,
        workers=workers,
        limit=options.limit * MEGABYTE,
        memory=parse_size(options.max_memory) if options.max_memory else usual_memory(workers),
        root=read_root(folder),
        entry=secrets.token_urlsafe(24) if options.open else "",
    )
    host = "localhost" if options.host in ("0.0.0.0", "::") else options.host
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/?token="
    sys.stdout.write(
        f"shardwise serves at {address}{token}\nanalyses are kept in {folder}; Ctrl+C stops it\n"
    )
    sys.stdout.flush()
    if options.open:
        threading.Timer(1.0, webbrowser.open, [address + settings.entry]).start()
    config = uvicorn.Config(
        build_app(settings),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        server_header=False,
        http=TimedProtocol,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listening])


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InputError(
            f"port {port} cannot be opened ({os.strerror(error.errno or 0)})",
            remedy=("choose another with ", Option("port")),
        ) from None
