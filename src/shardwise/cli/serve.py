"""shardwise serve: the same answer in a browser."""

from __future__ import annotations

from shardwise.cli.commands import ServeOptions
from shardwise.core import late
from shardwise.core.errors import InputError
from shardwise.core.extras import is_installed

NEEDED = ("starlette", "uvicorn", "python_multipart")


def start_server(options: ServeOptions) -> None:
    """Start the server, if what it needs is installed."""
    if not all(map(is_installed, NEEDED)):
        raise InputError("the server is not installed", remedy="pip install 'shardwise[app]'")
    late.call_bound("serve", options)
