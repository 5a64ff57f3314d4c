"""The same as JSON, for programs: analyse, status, result."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

import shardwise
from shardwise.app.choices import ALLOWED
from shardwise.app.desk import Desk, Refused
from shardwise.app.store import (
    CANCELLED,
    DONE,
    DRAFT,
    FAILED,
    INTERRUPTED,
    QUEUED,
    READING,
    READY,
    RUNNING,
    Entry,
)

MOST_BODY = 1 << 20  # bytes of JSON
RESULT = {"compare": "report.json", "calibrate": "calibration.json", "repeat": "repeat.json"}
KINDS = {".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".toml": "application/toml"}
SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""What a report may do: run its own script, which it names by hash, in an origin of its own."""


def desk_of(request: Request) -> Desk:
    """Return the desk of the server that a request came to."""
    found: Desk = request.app.state.desk
    return found


def id_of(request: Request) -> str:
    """Return which analysis a request is about."""
    return str(request.path_params["id"])


def described(desk: Desk, entry: Entry) -> dict[str, Any]:
    """Return all that is known of an analysis.

    Parameters
    ----------
    desk
        That of the server.
    entry
        The analysis.
    """
    return {
        "id": entry.id,
        "kind": entry.kind,
        "state": entry.state,
        "created": entry.created,
        "title": entry.title,
        "message": entry.message,
        "choices": entry.choices,
        "progress": desk.queue.progress(entry.id) or None,
        "reading": desk.store.reading(entry.id) or None,
        "results": [path.name for path in desk.results(entry.id)],
    }


async def body_of(request: Request) -> dict[str, Any]:
    """Return the object that a request holds; an empty one for an empty request."""
    held = b""
    async for part in request.stream():
        held += part
        if len(held) > MOST_BODY:
            raise Refused(413, "The request is too long.")
    try:
        found = json.loads(held or b"{}")
    except ValueError:
        raise Refused(400, "The request is no JSON.") from None
    if not isinstance(found, dict):
        raise Refused(400, "The request is no JSON object.")
    return found


async def create(request: Request) -> Response:
    """Make a new analysis, to which files can be sent."""
    given = await body_of(request)
    kind = given.get("kind", "compare")
    if kind not in ALLOWED:
        raise Refused(400, f"An analysis is one of {', '.join(ALLOWED)}.")
    desk = desk_of(request)
    return JSONResponse(described(desk, desk.store.create(kind)), status_code=201)


async def listed(request: Request) -> Response:
    """Return all analyses, the newest first."""
    found = desk_of(request).store.entries()
    return JSONResponse(
        [
            {"id": one.id, "kind": one.kind, "state": one.state, "created": one.created, "title": one.title}
            for one in found
        ]
    )


async def status(request: Request) -> Response:
    """Return how an analysis stands."""
    desk = desk_of(request)
    return JSONResponse(described(desk, desk.entry(id_of(request))))


async def put_file(request: Request) -> Response:
    """Take one file, streamed to the disk."""
    length = request.headers.get("content-length", "0")
    name = str(request.path_params["name"])
    size = int(length) if length.isdecimal() else 0
    path = await desk_of(request).upload(id_of(request), name, size, request.stream())
    return JSONResponse({"name": path.name, "bytes": path.stat().st_size}, status_code=201)


async def read(request: Request) -> Response:
    """Have the files read."""
    desk = desk_of(request)
    entry = desk.read(id_of(request), await body_of(request))
    return JSONResponse(described(desk, desk.entry(entry.id)), status_code=202)


async def run(request: Request) -> Response:
    """Put the analysis into the queue."""
    desk = desk_of(request)
    entry = desk.run(id_of(request), await body_of(request))
    return JSONResponse(described(desk, desk.entry(entry.id)), status_code=202)


async def cancel(request: Request) -> Response:
    """Stop an analysis."""
    desk = desk_of(request)
    return JSONResponse(described(desk, await desk.cancel(id_of(request))))


async def delete(request: Request) -> Response:
    """Remove an analysis with all its files."""
    await desk_of(request).delete(id_of(request))
    return Response(status_code=204)


async def result(request: Request) -> Response:
    """Return what came out, as JSON: for a comparison what ``report.json`` holds."""
    desk = desk_of(request)
    entry = desk.entry(id_of(request))
    if entry.state != DONE:
        raise Refused(409, f"The analysis is not done: {entry.state}. {entry.message}".strip())
    return FileResponse(desk.result(entry.id, RESULT[entry.kind]), media_type="application/json")


async def result_file(request: Request) -> Response:
    """Return one of the files that came out; pages in a sandbox."""
    path = desk_of(request).result(id_of(request), str(request.path_params["name"]))
    kind = KINDS.get(path.suffix, "application/octet-stream")
    if path.suffix == ".html" and "download" not in request.query_params:
        return FileResponse(path, media_type=kind, headers={"content-security-policy": SANDBOX})
    return FileResponse(path, media_type=kind, filename=path.name)


async def description(request: Request) -> Response:
    """Return the OpenAPI description of all this."""
    return JSONResponse(openapi())


ROUTES = (
    ("GET", "/api/analyses", listed, "All analyses, the newest first.", None, 200),
    ("POST", "/api/analyses", create, "A new analysis.", "Kind", 201),
    ("GET", "/api/analyses/{id}", status, "How an analysis stands.", None, 200),
    ("DELETE", "/api/analyses/{id}", delete, "Remove an analysis with all its files.", None, 204),
    ("PUT", "/api/analyses/{id}/inputs/{name:path}", put_file, "Send a file, as the body.", "File", 201),
    (
        "POST",
        "/api/analyses/{id}/read",
        read,
        "Read the files, to see how they are understood.",
        "Choices",
        202,
    ),
    (
        "POST",
        "/api/analyses/{id}/run",
        run,
        "Put it into the queue; files that were not read are.",
        "Choices",
        202,
    ),
    ("POST", "/api/analyses/{id}/cancel", cancel, "Stop it.", None, 200),
    ("GET", "/api/analyses/{id}/result", result, "What came out, as JSON.", None, 200),
    ("GET", "/api/analyses/{id}/results/{name}", result_file, "One of the files that came out.", None, 200),
    ("GET", "/api/openapi.json", description, "This description.", None, 200),
)
"""Method, path, function, meaning, schema of the body, and status of every request of the API."""


def routes() -> list[Route]:
    """Return the routes of the API."""
    return [Route(path, function, methods=[method]) for method, path, function, *_ in ROUTES]


def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API, made from the table of its requests.

    >>> sorted(openapi()["paths"]["/api/analyses"])
    ['get', 'post']
    """
    paths: dict[str, dict[str, Any]] = {}
    for method, path, function, meaning, body, code in ROUTES:
        plain = path.replace(":path", "")
        names = [part[1:-1] for part in plain.split("/") if part.startswith("{")]
        json_answer = code != 204 and not path.endswith("/results/{name}")
        schema = (
            {"type": "array", "items": _ref("Listed")}
            if function is listed
            else _ref("Analysis")
            if function in (create, status, read, run, cancel)
            else {"type": "object"}
        )
        content = {"application/json": {"schema": schema}} if json_answer else {}
        refusals = {"400": "Cannot be understood.", "403": "No token.", "404": "No such thing.", "409": "Not now.",
                    "413": "Too much."}  # fmt: skip
        operation: dict[str, Any] = {
            "operationId": function.__name__,
            "summary": meaning,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
            ],
            "responses": {
                str(code): {"description": meaning, **({"content": content} if content else {})},
                **{
                    status: {"description": why, "content": {"application/json": {"schema": _ref("Refusal")}}}
                    for status, why in refusals.items()
                },
            },
        }
        if body == "File":
            operation["requestBody"] = {
                "content": {"application/octet-stream": {"schema": {"type": "string"}}}
            }
        elif body:
            operation["requestBody"] = {"content": {"application/json": {"schema": _ref(body)}}}
        paths.setdefault(plain, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "shardwise serve", "version": shardwise.__version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas() -> dict[str, Any]:
    text, number = {"type": "string"}, {"type": "number"}
    states = [DRAFT, READING, READY, QUEUED, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED]
    options = sorted({name for names in ALLOWED.values() for name in names})
    several = {"oneOf": [text, number, {"type": "array", "items": {"oneOf": [text, number]}}]}
    listed: dict[str, Any] = {
        "id": text,
        "kind": {"enum": list(ALLOWED)},
        "state": {"enum": states},
        "created": number,
        "title": text,
    }
    return {
        "Kind": {"type": "object", "properties": {"kind": {"enum": list(ALLOWED)}}},
        "Choices": {
            "type": "object",
            "properties": dict.fromkeys(options, several),
            "additionalProperties": False,
            "description": "Options of the command, as `shardwise compare --help` has them.",
        },
        "Listed": {"type": "object", "properties": listed, "required": list(listed)},
        "Analysis": {
            "type": "object",
            "properties": {
                **listed,
                "message": text,
                "choices": {"type": "object", "additionalProperties": {"type": "array", "items": text}},
                "progress": {"type": ["object", "null"]},
                "reading": {"type": ["object", "null"]},
                "results": {"type": "array", "items": text},
            },
            "required": [*listed, "message", "choices", "progress", "reading", "results"],
        },
        "Refusal": {"type": "object", "properties": {"error": text}, "required": ["error"]},
    }
