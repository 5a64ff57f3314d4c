"""JSON Schemas of what commands write with ``--format json``."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError


def described() -> tuple[str, ...]:
    """Return the commands that have a schema."""
    files = resources.files("shardwise.cli").joinpath("schemas").iterdir()
    return tuple(
        sorted(Path(file.name).stem.replace("-", " ") for file in files if file.name.endswith(".json"))
    )


def schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's JSON output.

    >>> schema("compare")["properties"]["command"]
    {'const': 'compare'}
    """
    if command not in described():
        raise InputError(f"{command} does not write JSON", remedy=f"use one of {', '.join(described())}")
    file = resources.files("shardwise.cli").joinpath("schemas", f"{command.replace(' ', '-')}.json")
    rules: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return rules
