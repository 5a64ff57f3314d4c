"""Options of shardwise serve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Show the same in a browser: drop files, confirm how they are read, see the answer.

    A small server on this machine; data never leave it. It prints an address with a token, without which nobody gets
    in. Analyses are kept in a folder, and are there again the next time. Needs: pip install 'shardwise[app]'.

    Example: shardwise serve --open
    """

    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.", min=0, max=65535)] = 8421
    host: Annotated[
        str, typer.Option(help="Address to listen at; one that others can reach needs --token.")
    ] = "127.0.0.1"
    token: Annotated[
        str,
        typer.Option(
            help="The secret in the address; without: a new one each time.", envvar="SHARDWISE_TOKEN"
        ),
    ] = ""
    folder: Annotated[
        Path | None,
        typer.Option(help="Where analyses are kept; without: ~/.local/share/shardwise.", callback=opt.folder),
    ] = None
    open: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False
    workers: Annotated[
        int | None, typer.Option(help="Analyses at the same time; without: one a processor.", min=1)
    ] = None
    limit: Annotated[int, typer.Option(help="Megabytes of the files of one analysis.", min=1)] = 2048
    memory: Annotated[
        int | None,
        typer.Option(
            help="Megabytes that data may take in a worker; without: its share of three quarters.", min=256
        ),
    ] = None
