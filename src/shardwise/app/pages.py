"""The pages: what the templates show, and what their forms ask for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from importlib import import_module, resources
from typing import Any

import jinja2
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

import shardwise
from shardwise.app.api import desk_of, id_of, result_file
from shardwise.app.choices import ROLES, claims, from_form
from shardwise.app.desk import Desk, Refused
from shardwise.app.store import DONE, Entry, read_json
from shardwise.app.together import both
from shardwise.app.wording import LABELS, in_words
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.text import escape_controls, shorten_name

STATIC = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "report.css": "text/css",
}
STATES = {
    "draft": "no files yet",
    "reading": "being read",
    "ready": "not started",
    "queued": "waiting",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "not finished",
}
PLANNING = "shardwise.app.planning"  # takes seconds to load, which the first page need not wait for
METHODS = ("moderated", "moderated holm", "moderated bh", "t holm", "t bh", "max-t", "unified holm")
"""Methods that the page suggests; others can be typed."""


def packaged(name: str) -> str:
    """Return a template, script or style of the app, or the style that it shares with the report."""
    room, folder = ("writing", "templates") if name == "report.css" else (
        "app", "templates" if name.endswith(".html") else "static"
    )  # fmt: skip
    return resources.files(f"shardwise.{room}").joinpath(folder, name).read_text(encoding="utf-8")


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FunctionLoader(packaged),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(
    visible=escape_controls,
    short=shorten_name,
    plural=pluralize_noun,
    when=lambda seconds: datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M"),
)
ENVIRONMENT.globals.update(
    version=shardwise.__version__, labels=LABELS, roles=ROLES, states=STATES, methods=METHODS
)


def page(request: Request, name: str, status: int = 200, **content: Any) -> HTMLResponse:
    """Render a template."""
    csrf = request.app.state.csrf
    text = ENVIRONMENT.get_template(name).render(csrf=csrf, path=request.url.path, **content)
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status_code=status)


async def home(request: Request) -> Response:
    """Where files are dropped, and all analyses that there are."""
    desk = desk_of(request)
    shown = page(request, "home.html", entries=desk.store.entries(), settings=desk.settings)
    shown.background = BackgroundTask(import_module, PLANNING)  # while one looks at it
    return shown


def shown(desk: Desk, entry: Entry, problem: str = "") -> dict[str, Any]:
    """Return what the templates of one analysis need."""
    place = desk.store.place(entry.id)
    summary = read_json(desk.store.results(entry.id) / "summary.json")
    return {
        "entry": entry,
        "reading": desk.store.reading(entry.id),
        "claims": claims(desk.store.reading(entry.id)),
        "progress": desk.queue.progress(entry.id),
        "summary": summary,
        "results": [path.name for path in desk.results(entry.id)],
        "partial": read_json(place / "partial.json"),
        "problem": problem,
        "others": [
            one for one in desk.store.entries() if one.kind == entry.kind == "compare" and one.state == DONE
        ],
    }


async def one(request: Request) -> Response:
    """One analysis, at its own address: what it shows depends on how it stands."""
    desk = desk_of(request)
    return page(request, "entry.html", **shown(desk, desk.entry(id_of(request))))


async def partial(request: Request) -> Response:
    """The rates of a calibration under way, as far as there are."""
    desk = desk_of(request)
    place = desk.store.place(desk.entry(id_of(request)).id)
    return page(request, "partial.html", partial=read_json(place / "partial.json"))


async def _form(request: Request, desk: Desk, entry: Entry) -> dict[str, list[str]]:
    form = await request.form(max_files=0, max_fields=500)
    fields = [(name, str(value)) for name, value in form.multi_items()]
    return from_form(fields, desk.store.reading(entry.id), entry.kind)


async def ask(request: Request) -> Response:
    """Read again or run, as the form says; a refusal stands above the form."""
    desk = desk_of(request)
    entry = desk.entry(id_of(request))
    act = desk.read if request.url.path.endswith("/read") else desk.run
    problem = ""
    try:
        act(entry.id, await _form(request, desk, entry))
    except InputError as error:
        problem = in_words(error)
    except Refused as refused:
        problem = refused.why
    return page(request, "stage.html", **shown(desk, desk.entry(entry.id), problem))


async def cancel(request: Request) -> Response:
    """Stop an analysis."""
    desk = desk_of(request)
    return page(request, "stage.html", **shown(desk, await desk.cancel(id_of(request))))


async def again(request: Request) -> Response:
    """Make another analysis of the same files, and go there."""
    made = desk_of(request).again(id_of(request), str(request.path_params["kind"]))
    return Response(headers={"HX-Redirect": f"/a/{made.id}"})


async def delete(request: Request) -> Response:
    """Remove an analysis, and go home."""
    await desk_of(request).delete(id_of(request))
    return Response(headers={"HX-Redirect": "/"})


async def events(request: Request) -> Response:
    """How an analysis goes, as server-sent events."""
    desk = desk_of(request)
    entry = desk.entry(id_of(request))

    async def lines() -> AsyncIterator[str]:
        async for told in desk.queue.events(entry.id):
            yield f"data: {json.dumps(told)}\n\n"
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def compared(request: Request) -> Response:
    """Two analyses beside each other."""
    desk = desk_of(request)
    chosen = request.query_params.getlist("with")
    if len(chosen) != 2:
        return page(request, "home.html", 400, entries=desk.store.entries(), settings=desk.settings,
                    problem="Choose two analyses to compare.")  # fmt: skip
    entries = [desk.entry(id) for id in chosen]
    reports = [await run_in_threadpool(read_json, desk.result(one.id, "report.json")) for one in entries]
    return page(request, "compare.html", entries=entries, both=both(*reports), reports=reports)


async def plan(request: Request) -> Response:
    """Sliders, and what they reach."""
    planning = await run_in_threadpool(import_module, PLANNING)
    desk = desk_of(request)
    sources = []
    for entry in desk.store.entries():
        found = read_json(desk.store.results(entry.id) / "summary.json") if entry.state == DONE else {}
        if found.get("variance") or found.get("components"):
            sources.append({"id": entry.id, "title": entry.title, **found})
    chosen = planning.Plan.of(request.query_params, sources)
    try:
        told = await run_in_threadpool(planning.figures, chosen)
        problem = ""
    except InputError as error:
        told, problem = None, in_words(error)
    name = "plan-figures.html" if "hx-request" in request.headers else "plan.html"
    return page(request, name, plan=chosen, figures=told, sources=sources, problem=problem)


async def static(request: Request) -> Response:
    """A script or style of the package, by a name that is in a list."""
    name = str(request.path_params["name"])
    if name not in STATIC:
        raise Refused(404, "There is no such file.")
    return Response(packaged(name), media_type=STATIC[name], headers={"cache-control": "max-age=3600"})


async def favicon(request: Request) -> Response:
    """No picture."""
    return Response(status_code=204)


def routes() -> list[Route]:
    """Return the routes of the pages."""
    return [
        Route("/", home),
        Route("/plan", plan),
        Route("/compare", compared),
        Route("/static/{name}", static),
        Route("/favicon.ico", favicon),
        Route("/a/{id}", one),
        Route("/a/{id}/partial", partial),
        Route("/a/{id}/events", events),
        Route("/a/{id}/files/{name}", result_file),
        Route("/a/{id}/cancel", cancel, methods=["POST"]),
        Route("/a/{id}/delete", delete, methods=["POST"]),
        Route("/a/{id}/again/{kind}", again, methods=["POST"]),
        Route("/a/{id}/read", ask, methods=["POST"]),
        Route("/a/{id}/run", ask, methods=["POST"]),
    ]
