"""The same as JSON, for programs: analyse, status, result."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

import shardwise
from shardwise.app.choices import ALLOWED, LONGEST, MOST, MOST_FILES, ROWS
from shardwise.app.desk import NO_TRUST, SIMULATED, SIMULATING, Desk, Refused
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
    desk: Desk = request.app.state.desk
    return desk


def id_of(request: Request) -> str:
    """Return which analysis a request is about."""
    return str(request.path_params["id"])


def list_fields(entry: Entry) -> dict[str, Any]:
    """Return what a list of analyses says of one, by name."""
    return {name: getattr(entry, name) for name in ("id", "kind", "state", "created", "title")}


def describe_entry(desk: Desk, entry: Entry) -> dict[str, Any]:
    """Return all that is known of an analysis.

    Parameters
    ----------
    desk
        That of the server.
    entry
        The analysis.
    """
    return {
        **list_fields(entry),
        "message": entry.message,
        "choices": entry.choices,
        "progress": desk.queue.describe_progress(entry.id) or None,
        "reading": desk.store.read_reading(entry.id) or None,
        "trust": desk.describe_trust(entry),
        "results": [path.name for path in desk.list_results(entry.id)],
    }


async def body_of(request: Request) -> dict[str, Any]:
    """Return the object that a request holds; an empty one for an empty request."""
    held = b""
    async for part in request.stream():
        held += part
        if len(held) > MOST_BODY:
            raise Refused(413, "The request is too long.")
    try:
        body = json.loads(held or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "The request is not valid JSON.") from None
    if not isinstance(body, dict):
        raise Refused(400, "The request is not a JSON object.")
    return body


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinities, which Python reads and JSON does not have."""
    raise ValueError(name)


class PlainJSON(JSONResponse):
    """JSON in ASCII: names from files may hold what UTF-8 does not, as half a pair of surrogates."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of an answer.

        Parameters
        ----------
        content : Any
            What is answered.

        Returns
        -------
        bytes
            JSON.
        """
        return json.dumps(content, allow_nan=False).encode()


async def create_analysis(request: Request) -> Response:
    """Make a new analysis, to which files can be sent."""
    given = await body_of(request)
    kind = given.get("kind", "compare")
    if not isinstance(kind, str) or kind not in ALLOWED:
        raise Refused(400, f"An analysis is one of {', '.join(ALLOWED)}.")
    desk = desk_of(request)
    return PlainJSON(describe_entry(desk, desk.store.create_entry(kind)), status_code=201)


async def list_analyses(request: Request) -> Response:
    """Return all analyses, the newest first."""
    return PlainJSON(list(map(list_fields, desk_of(request).store.list_entries())))


async def get_status(request: Request) -> Response:
    """Return how an analysis stands."""
    desk = desk_of(request)
    return PlainJSON(describe_entry(desk, desk.find_entry(id_of(request))))


async def put_file(request: Request) -> Response:
    """Take one file, streamed to the disk."""
    length = request.headers.get("content-length", "0")
    name = str(request.path_params["name"])
    size = int(length) if length.isdecimal() else 0
    path = await desk_of(request).receive_file(id_of(request), name, size, request.stream())
    return PlainJSON({"name": path.name, "bytes": path.stat().st_size}, status_code=201)


async def read_files(request: Request) -> Response:
    """Have the files read."""
    desk = desk_of(request)
    entry = desk.submit_reading(id_of(request), await body_of(request))
    return PlainJSON(describe_entry(desk, desk.find_entry(entry.id)), status_code=202)


async def run_analysis(request: Request) -> Response:
    """Put the analysis into the queue."""
    desk = desk_of(request)
    entry = desk.submit_run(id_of(request), await body_of(request))
    return PlainJSON(describe_entry(desk, desk.find_entry(entry.id)), status_code=202)


async def cancel_analysis(request: Request) -> Response:
    """Stop an analysis."""
    desk = desk_of(request)
    return PlainJSON(describe_entry(desk, await desk.cancel_entry(id_of(request))))


async def delete_analysis(request: Request) -> Response:
    """Remove an analysis with all its files."""
    await desk_of(request).delete_entry(id_of(request))
    return Response(status_code=204)


async def get_result(request: Request) -> Response:
    """Return what came out, as JSON: for a comparison what ``report.json`` holds."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))
    if entry.state != DONE:
        raise Refused(409, f"The analysis is not done: {entry.state}. {entry.message}".strip())
    return FileResponse(desk.find_result(entry.id, RESULT[entry.kind]), media_type="application/json")


async def get_result_file(request: Request) -> Response:
    """Return one of the files that came out; pages in a sandbox."""
    path = desk_of(request).find_result(id_of(request), str(request.path_params["name"]))
    kind = KINDS.get(path.suffix, "application/octet-stream")
    if path.suffix == ".html" and "download" not in request.query_params:
        return FileResponse(path, media_type=kind, headers={"content-security-policy": SANDBOX})
    return FileResponse(path, media_type=kind, filename=path.name)


async def get_description(request: Request) -> Response:
    """Return the OpenAPI description of all this."""
    return PlainJSON(describe_api())


ROUTES = (
    ("GET", "/api/analyses", list_analyses, "All analyses, the newest first.", None, 200),
    ("POST", "/api/analyses", create_analysis, "A new analysis.", "Kind", 201),
    ("GET", "/api/analyses/{id}", get_status, "How an analysis stands.", None, 200),
    ("DELETE", "/api/analyses/{id}", delete_analysis, "Remove an analysis with all its files.", None, 204),
    ("PUT", "/api/analyses/{id}/inputs/{name:path}", put_file, "Send a file, as the body.", "File", 201),
    ("POST", "/api/analyses/{id}/read", read_files, "Read the files.", "Choices", 202),
    ("POST", "/api/analyses/{id}/run", run_analysis, "Queue it; unread files are read.", "Choices", 202),
    ("POST", "/api/analyses/{id}/cancel", cancel_analysis, "Stop it.", None, 200),
    ("GET", "/api/analyses/{id}/result", get_result, "What came out, as JSON.", None, 200),
    ("GET", "/api/analyses/{id}/results/{name}", get_result_file, "One of the resulting files.", None, 200),
    ("GET", "/api/openapi.json", get_description, "This description.", None, 200),
)
"""Method, path, function, meaning, schema of the body, and status of every request of the API."""


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


def list_api_routes() -> list[Route]:
    """Return the routes of the API."""
    return [Route(path, function, methods=[method]) for method, path, function, *_ in ROUTES]


def describe_api() -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of the API, made from the table of its requests.

    >>> sorted(describe_api()["paths"]["/api/analyses"])
    ['get', 'post']
    """
    refusals = {
        status: {"description": why, "content": {"application/json": {"schema": _refer_to("Refusal")}}}
        for status, why in REFUSALS.items()
    }
    # an analysis that was made is what the other requests are about
    links = {
        function.__name__: {"operationId": function.__name__, "parameters": {"id": "$response.body#/id"}}
        for _, path, function, *_ in ROUTES
        if "{id}" in path
    }
    paths: dict[str, dict[str, Any]] = {}
    for method, path, function, meaning, body, code in ROUTES:
        plain = path.replace(":path", "")
        names = [part[1:-1] for part in plain.split("/") if part.startswith("{")]
        answer: dict[str, Any] = {"description": meaning}
        if code != 204 and function is not get_result_file:
            answer["content"] = {"application/json": {"schema": _describe_answer(function)}}
        if function is create_analysis:
            answer["links"] = links
        operation: dict[str, Any] = {
            "operationId": function.__name__,
            "summary": meaning,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
                for name in names
            ],
            "responses": {str(code): answer, **refusals},
        }
        if body == "File":
            operation["requestBody"] = {"content": {"application/octet-stream": {"schema": {}}}}
        elif body:
            operation["requestBody"] = {"content": {"application/json": {"schema": _refer_to(body)}}}
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


def _describe_answer(function: Any) -> dict[str, Any]:
    """The schema of what a request answers with."""
    if function is list_analyses:
        return {"type": "array", "items": _refer_to("Listed")}
    analysis = function in (create_analysis, get_status, read_files, run_analysis, cancel_analysis)
    return _refer_to("Analysis") if analysis else {"type": "object"}


def _refer_to(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


RANGES = "^(0,1|(0|1|-[1-9][0-9]{0,5}),([2-9]|[1-9][0-9]{1,5}))$"
"""Ranges of scores that no data contradict by themselves, such as 0,1 or 1,5."""


def _describe_numbers() -> dict[str, Any]:
    """The schemas of options that take a number, by name, with the bounds that the command line has."""
    kinds = {int: "integer", float: "number"}
    return {
        name: {"type": kinds[option.kind]}
        | ({} if option.least is None else {"minimum": option.least})
        | ({} if option.most is None else {"maximum": option.most})
        for rows in ROWS.values()
        for name, option in rows.items()
        if option.kind in kinds
    }


def _list_schemas() -> dict[str, Any]:
    text, number = {"type": "string"}, {"type": "number"}
    states = [DRAFT, READING, READY, QUEUED, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED]
    options = sorted({name for names in ALLOWED.values() for name in names})
    value = {"oneOf": [{"type": "string", "maxLength": LONGEST}, number]}
    several = {"oneOf": [*value["oneOf"], {"type": "array", "items": value, "maxItems": MOST}]}
    files = {"oneOf": [*value["oneOf"], {"type": "array", "items": value, "maxItems": MOST_FILES}]}
    count = {"type": "integer", "minimum": 0}
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
            "properties": {
                **dict.fromkeys(options, several),
                **_describe_numbers(),
                "alpha": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
                "range": {"type": "string", "pattern": RANGES, "description": "Lowest and highest score."},
                "corpus": count,
                "files": files,
            },
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
                "trust": {"enum": [NO_TRUST, SIMULATING, SIMULATED]},
                "results": {"type": "array", "items": text},
            },
            "required": [*listed, "message", "choices", "progress", "reading", "trust", "results"],
        },
        "Refusal": {"type": "object", "properties": {"error": text}, "required": ["error"]},
    }
