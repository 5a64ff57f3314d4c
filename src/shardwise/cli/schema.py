"""shardwise schema: what the JSON output of a command holds."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import typer

from shardwise.cli.commands.again import SchemaOptions
from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically


def print_schema(options: SchemaOptions) -> None:
    """Print the schema of a command, or write it to a file."""
    text = json.dumps(schema(" ".join(options.command)), indent=1, ensure_ascii=False) + "\n"
    if options.out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(options.out, text.encode("utf-8"))


def described() -> tuple[str, ...]:
    """The commands that have a schema."""
    files = resources.files("shardwise.cli").joinpath("schemas").iterdir()
    return tuple(
        sorted(Path(file.name).stem.replace("-", " ") for file in files if file.name.endswith(".json"))
    )


def schema(command: str) -> dict[str, Any]:
    """JSON Schema of a command's JSON output.

    >>> schema("compare")["properties"]["command"]
    {'const': 'compare'}
    """
    if command not in described():
        raise InputError(
            f"no command '{command}' writes JSON", remedy=f"those that do are {', '.join(described())}"
        )
    file = resources.files("shardwise.cli").joinpath("schemas", f"{command.replace(' ', '-')}.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
