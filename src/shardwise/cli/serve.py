"""shardwise serve: the same answer in a browser."""

from __future__ import annotations

from shardwise.cli.commands import ServeOptions
from shardwise.core import late
from shardwise.core.extras import require_extra


def start_server(options: ServeOptions) -> None:
    """Start the server, if what it needs is installed."""
    require_extra("app")
    late.call_bound("serve", options)
