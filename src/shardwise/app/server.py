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
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match

from shardwise.app.guard import Guard, TimedProtocol, TooSlow, is_program
from shardwise.app.handlers import ROUTES, Desk, PlainJSON, render_page
from shardwise.app.queue import Queue
from shardwise.app.store import MEGABYTE, Settings, Store, is_local, read_root
from shardwise.cli.parsing import Options
from shardwise.core.arguments import count_processors
from shardwise.core.errors import InputError, Option

LEAST_TOKEN = 16  # characters of a token that one chooses oneself


def build_app(settings: Settings) -> Starlette:
    """Put the application together."""

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
        routes=ROUTES,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers=dict.fromkeys((HTTPException, TooSlow, ClientDisconnect), _refuse_request),
        lifespan=life,
    )


async def _refuse_request(request: Request, error: Exception) -> Response:
    """Say why a request is not answered: to a program as JSON, to people as a page."""
    status, why = 408, "The request came too slowly; send it again."
    if isinstance(error, HTTPException):
        status, why = error.status_code, error.detail
    program = is_program(request.scope)
    answer = (
        PlainJSON({"error": why}, status)
        if program
        else render_page(request, "refused.html", status, why=why)
    )
    if status == 405:
        matching = (route for route in ROUTES if route.matches(request.scope)[0] is not Match.NONE)
        names = {name for route in matching for name in route.methods or ()}
        answer.headers["allow"] = ", ".join(sorted(names))
    return answer


def serve(options: Options) -> None:
    """Serve until interrupted, by the options of ``shardwise serve``."""
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
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listening = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise InputError(
            f"port {options.port} cannot be opened ({os.strerror(error.errno or 0)})",
            remedy=("choose another with ", Option("port")),
        ) from None
    port = int(listening.getsockname()[1])
    usual = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "shardwise"
    folder = options.out or usual
    # three quarters of the machine's memory, shared by the workers; a gigabyte at least
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    memory = max(1024 * MEGABYTE, whole * 3 // 4 // max(workers, 1))
    if options.max_memory:
        from shardwise.io.files import parse_size  # loads numpy, which a server does without otherwise

        memory = parse_size(options.max_memory)
    Store(folder).close()  # refused before anything is said
    settings = Settings(
        folder=folder,
        token=token,
        host=options.host,
        port=port,
        workers=workers,
        limit=options.limit * MEGABYTE,
        memory=memory,
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
