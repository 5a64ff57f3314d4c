"""The requests that programs may make, as a table, and their OpenAPI description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import shardwise
from shardwise.app.choices import ALLOWED, LONGEST, MOST, MOST_FILES, ROWS
from shardwise.app.store import Stage

REFUSALS = {
    "400": "Cannot be understood.",
    "401": "Without the token.",
    "403": "From another page or for another host.",
    "404": "No such thing.",
    "408": "Too slow.",
    "409": "Not now, or not for this kind of analysis.",
    "413": "Too much.",
    "507": "No space left.",
}
"""Status and meaning of refusals."""
RANGES = "^(0,1|(0|1|-[1-9][0-9]{0,5}),([2-9]|[1-9][0-9]{1,5}))$"
"""Ranges of scores that no data contradict by themselves, such as 0,1 or 1,5."""
LISTED = ("id", "kind", "state", "created", "title")
"""What a list of analyses says of one."""


def describe_api(operations: Sequence[tuple[str, str, str, Any, str, int, str]]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API, made from the table of its requests.

    >>> rows = [("GET", "/analyses", "list_analyses", None, "", 200, "All analyses.")]
    >>> sorted(describe_api(rows)["paths"]["/api/analyses"])
    ['get']
    """

    def hold(schema: dict[str, Any] | str, kind: str = "application/json") -> dict[str, Any]:
        named = {"$ref": f"#/components/schemas/{schema}"} if isinstance(schema, str) else schema
        return {"content": {kind: {"schema": named}}}

    answers: dict[str, dict[str, Any] | str] = dict.fromkeys(
        ("create_analysis", "get_status", "read_files", "run_analysis", "cancel_analysis"), "Analysis"
    )
    answers["list_analyses"] = {"type": "array", "items": {"$ref": "#/components/schemas/Listed"}}
    refusals = {status: {"description": why, **hold("Refusal")} for status, why in REFUSALS.items()}
    # an analysis that was made is what the other requests are about
    links = {
        name: {"operationId": name, "parameters": {"id": "$response.body#/id"}}
        for _, path, name, *_ in operations
        if "{id}" in path
    }
    paths: dict[str, dict[str, Any]] = {}
    for method, path, name, _, body, code, meaning in operations:
        plain = "/api" + path.replace(":path", "")
        answer: dict[str, Any] = {"description": meaning}
        if code != 204 and name != "get_result_file":
            answer |= hold(answers.get(name, {"type": "object"}))
        if name == "create_analysis":
            answer["links"] = links
        operation: dict[str, Any] = {
            "operationId": name,
            "summary": meaning,
            "parameters": [
                {"name": part, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
                for part in re.findall(r"{(\w+)}", plain)
            ],
            "responses": {str(code): answer, **refusals},
        }
        if body:
            file = body == "File"
            operation["requestBody"] = hold({}, "application/octet-stream") if file else hold(body)
        paths.setdefault(plain, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "shardwise serve", "version": shardwise.__version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _list_schemas(),
        },
    }


def _list_schemas() -> dict[str, Any]:
    """The schemas of what is sent and answered, by name."""
    text, number = {"type": "string"}, {"type": "number"}
    value = {"oneOf": [{"type": "string", "maxLength": LONGEST}, number]}
    several, files = (
        {"oneOf": [*value["oneOf"], {"type": "array", "items": value, "maxItems": most}]}
        for most in (MOST, MOST_FILES)
    )
    # options that take a number have the bounds that the command line has
    kinds = {int: "integer", float: "number"}
    numbers = {
        name: {"type": kinds[option.kind]}
        | ({} if option.least is None else {"minimum": option.least})
        | ({} if option.most is None else {"maximum": option.most})
        for rows in ROWS.values()
        for name, option in rows.items()
        if option.kind in kinds
    }
    known = {"kind": {"enum": list(ALLOWED)}, "state": {"enum": list(Stage)}, "created": number}
    listed: dict[str, Any] = {name: known.get(name, text) for name in LISTED}
    analysis = {
        **listed,
        "message": text,
        "choices": {"type": "object", "additionalProperties": {"type": "array", "items": text}},
        "progress": {"type": ["object", "null"]},
        "reading": {"type": ["object", "null"]},
        "trust": {"enum": ["none", "simulating", "simulated"]},
        "results": {"type": "array", "items": text},
    }
    return {
        "Kind": {"type": "object", "properties": {"kind": {"enum": list(ALLOWED)}}},
        "Choices": {
            "type": "object",
            "properties": {
                **dict.fromkeys(sorted({name for names in ALLOWED.values() for name in names}), several),
                **numbers,
                "alpha": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
                "range": {"type": "string", "pattern": RANGES, "description": "Lowest and highest score."},
                "corpus": {"type": "integer", "minimum": 0},
                "files": files,
            },
            "additionalProperties": False,
            "description": "Options of the command, as `shardwise compare --help` has them.",
        },
        "Listed": {"type": "object", "properties": listed, "required": list(listed)},
        "Analysis": {"type": "object", "properties": analysis, "required": list(analysis)},
        "Refusal": {"type": "object", "properties": {"error": text}, "required": ["error"]},
    }
