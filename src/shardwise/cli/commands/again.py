"""Options of shardwise repeat and of shardwise schema."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class RepeatOptions:
    """Do the analysis of a report again from its inputs, and say whether the numbers are the same.

    The inputs must be those of the report, byte for byte. Exit code 1 where numbers differ.

    Example: shardwise repeat report.html --inputs data/ --out again.html
    """

    report: Annotated[Path, typer.Argument(help="A report written by shardwise.", metavar="REPORT.html")]
    inputs: Annotated[Path | None, typer.Option(help="Look for the inputs in this folder.")] = None
    jobs: opt.Jobs = None
    quiet: opt.Quiet = False
    format: opt.Shown = opt.Format.text
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the new report to this file.", callback=opt.file)
    ] = None


@dataclass(frozen=True, kw_only=True)
class SchemaOptions:
    """Print the JSON Schema that the output of a command with --format json keeps to.

    Example: shardwise schema compare
    """

    command: Annotated[
        list[str], typer.Argument(help="The command, such as compare or design power.", metavar="COMMAND")
    ]
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file.", callback=opt.file)
    ] = None
