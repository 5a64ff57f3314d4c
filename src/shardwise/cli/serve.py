"""shardwise serve: the same answer in a browser."""

from __future__ import annotations

from shardwise.cli.parsing import Options
from shardwise.core import late
from shardwise.core.extras import require_extra


def start_server(options: Options) -> None:
    """Start the server, if what it needs is installed."""
    require_extra("app")
    late.call_bound("serve", options)
