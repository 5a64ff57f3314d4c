"""shardwise serve: the same answer in a browser."""

from __future__ import annotations

from importlib.util import find_spec

from shardwise.cli.commands import ServeOptions
from shardwise.core import late
from shardwise.core.errors import InputError

NEEDED = ("starlette", "uvicorn", "python_multipart")


def serve(options: ServeOptions) -> None:
    """Start the server, if what it needs is installed."""
    if any(find_spec(name) is None for name in NEEDED):
        raise InputError("the server is not installed", remedy="pip install 'shardwise[app]'")
    late.call("serve", options)
