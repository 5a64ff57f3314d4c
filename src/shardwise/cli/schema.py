"""JSON Schemas of what commands write with ``--format json``, derived from the fields in ``results.toml``."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

VERSION = 1
DESCRIBED = tomllib.loads(resources.files(__package__).joinpath("results.toml").read_text(encoding="utf-8"))
FIELDS: dict[str, list[str]] = DESCRIBED["fields"]
"""Kind and description of every field of rows and results: a name means the same in every command."""
RESULTS: dict[str, dict[str, Any]] = DESCRIBED["results"]
"""What every command that writes JSON writes."""
UNDESCRIBED = {"description": "", "row": "each row of the table", "facts": "", "rows": {"rows": ""}}
"""What is known of the JSON of a command whose fields are not described: a table, and further fields."""
TABLES: dict[str, str] = DESCRIBED["tables"]
"""Fields that are tables themselves: those of a row."""


def make_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the JSON that a command such as ``design power`` writes.

    >>> make_schema("compare")["properties"]["command"]
    {'const': 'compare'}
    """
    result = RESULTS.get(command, UNDESCRIBED)
    tables = [
        {"title": title, **_describe_row(names, result.get("named", {}).get(title), result.get("patterns"))}
        for title, names in result["rows"].items()
    ]
    if result is UNDESCRIBED:
        tables = [{"type": "object"}]
    facts = _describe_row(result["facts"])
    notes = {"type": "array", "items": {"type": "string"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:shardwise:{command.replace(' ', '-')}:{VERSION}",
        "title": f"shardwise {command} --format json",
        "description": result["description"],
        "type": "object",
        "properties": {
            "command": {"const": command},
            "title": {"type": "string", "description": "The result in words."},
            **facts["properties"],
            "notes": {**notes, "description": "What was decided on the way; empty with --quiet."},
            "rows": {
                "type": "array",
                "items": tables[0] if len(tables) == 1 else {"anyOf": tables},
                "description": f"One row for {result['row']}.",
            },
        },
        "required": ["command", "title", *facts["required"], "notes", "rows"],
        "additionalProperties": result is UNDESCRIBED,
    }


def field_names(fields: str) -> list[str]:
    """Return the names in a list of fields.

    >>> field_names("measure? a b holds:text")
    ['measure', 'a', 'b', 'holds']
    """
    return [word.partition(":")[0].removesuffix("?") for word in fields.split()]


def _describe_row(
    fields: str, named: list[str] | None = None, patterns: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    """Return the schema of an object with these fields, and with others that the data name."""
    words = [word.partition(":") for word in fields.split()]
    names = [name.removesuffix("?") for name, _, _ in words]
    kinds = [kind or FIELDS[name][0] for name, (_, _, kind) in zip(names, words, strict=True)]
    described = {
        name: _describe_value(kind, FIELDS[name][1]) for name, kind in zip(names, kinds, strict=True)
    }
    others = {pattern: _describe_value(*field) for pattern, field in (patterns or {}).items()}
    return {
        "type": "object",
        "properties": described,
        **({"patternProperties": others} if others else {}),
        "required": [name for name, _, _ in words if not name.endswith("?")],
        "additionalProperties": False if named is None else _describe_value(*named),
    }


def _describe_value(kind: str, description: str) -> dict[str, Any]:
    """Return the schema of a value: of a kind, a table, or one of the words between bars."""
    known = {"type": "array", "items": _describe_row(TABLES[kind])} if kind in TABLES else None
    rules = known or DESCRIBED["kinds"].get(kind, {"enum": kind.split("|")})
    return {**rules, "description": description}
