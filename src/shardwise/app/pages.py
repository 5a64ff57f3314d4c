"""The pages: what the templates show, and what their forms ask for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from importlib import import_module, resources
from typing import Any
from urllib.parse import urlencode

import jinja2
from markupsafe import escape
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

import shardwise
from shardwise.app.api import desk_of, get_result_file, id_of
from shardwise.app.choices import ROLES, from_form, list_claim_choices
from shardwise.app.desk import Desk, Refused
from shardwise.app.examples import EXAMPLES
from shardwise.app.store import DONE, Entry, read_json
from shardwise.app.wording import LABELS, describe_error, describe_result
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.text import escape_controls, shorten_name

STATIC = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "report.css": "text/css",
    "items.css": "text/css",
    "items.js": "text/javascript",
}
SHARED = frozenset({"report.css", "items.css", "items.js"})  # with the report
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
VERDICTS = {"better": "significantly better", "worse": "significantly worse", "tied": "tied"}
METHODS = ("moderated", "moderated holm", "moderated bh", "t holm", "t bh", "max-t", "unified holm")
"""Methods that the page suggests; others can be typed."""


def read_packaged(name: str) -> str:
    """Return a template, script or style of the app, or one that it shares with the report."""
    room, folder = ("writing", "templates") if name in SHARED else (
        "app", "templates" if name.endswith(".html") else "static"
    )  # fmt: skip
    return resources.files(f"shardwise.{room}").joinpath(folder, name).read_text(encoding="utf-8")


def show_text(value: Any) -> Any:
    """Return a text as a page shows it, control characters in all its lines as their codes; other values as they are.

    Names come from files, and any sentence may hold one. What is marked by the filter exact is a value of a form.

    Parameters
    ----------
    value : Any
        What a template puts into the page.

    Returns
    -------
    Any
        What is escaped next.
    """
    return "\n".join(map(escape_controls, value.split("\n"))) if type(value) is str else value


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FunctionLoader(read_packaged),
    autoescape=True,
    finalize=show_text,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(
    visible=escape_controls,
    exact=escape,
    short=shorten_name,
    plural=pluralize_noun,
    when=lambda seconds: datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M"),
)
ENVIRONMENT.globals.update(
    version=shardwise.__version__,
    labels=LABELS,
    roles=ROLES,
    states=STATES,
    methods=METHODS,
    examples=EXAMPLES,
    describe_result=describe_result,
)


def render_page(request: Request, name: str, status: int = 200, **content: Any) -> HTMLResponse:
    """Render a template."""
    settings = desk_of(request).settings
    shared = {"csrf": settings.derive_secret("csrf"), "root": settings.root, "path": request.url.path}
    text = ENVIRONMENT.get_template(name).render(**shared, **content)
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status_code=status)


def _render_home(request: Request, desk: Desk, status: int = 200, **content: Any) -> HTMLResponse:
    """The first page: what can be sent, and every analysis with the files it is made of."""
    entries = desk.store.list_entries()
    files = {
        entry.id: [file["name"] for file in desk.store.read_reading(entry.id).get("files", ())]
        for entry in entries
    }
    return render_page(
        request, "home.html", status, entries=entries, files=files, settings=desk.settings, **content
    )


async def show_home(request: Request) -> Response:
    """Where files are dropped, and all analyses that there are."""
    desk = desk_of(request)
    shown = _render_home(request, desk)
    shown.background = BackgroundTask(import_module, PLANNING)  # while one looks at it
    return shown


def describe_entry_page(desk: Desk, entry: Entry, problem: str = "") -> dict[str, Any]:
    """Return what the templates of one analysis need."""
    folder = desk.store.entry_folder(entry.id)
    summary = read_json(desk.store.result_folder(entry.id) / "summary.json")
    return {
        "entry": entry,
        "reading": desk.store.read_reading(entry.id),
        "claims": list_claim_choices(desk.store.read_reading(entry.id)),
        "progress": desk.queue.describe_progress(entry.id),
        "summary": summary,
        "trust": desk.describe_trust(entry),
        "item_views": [
            number
            for k in range(len(summary.get("measures", ())))
            if desk.find_items(entry.id, number := f"-{k + 1}" if k else "")
        ],
        "results": [path.name for path in desk.list_results(entry.id)],
        "partial": read_json(folder / "partial.json"),
        "problem": problem,
        "others": [
            other
            for other in desk.store.list_entries()
            if other.kind == entry.kind == "compare" and other.state == DONE
        ],
    }


def _render_entry(request: Request, name: str, problem: str = "") -> HTMLResponse:
    """A template of the analysis that a request is about."""
    desk = desk_of(request)
    return render_page(request, name, **describe_entry_page(desk, desk.find_entry(id_of(request)), problem))


async def show_entry(request: Request) -> Response:
    """One analysis, at its own address: what it shows depends on how it stands."""
    return _render_entry(request, "entry.html")


async def show_stage(request: Request) -> Response:
    """The part of an analysis' page that changes with its state."""
    return _render_entry(request, "stage.html")


async def show_trust(request: Request) -> Response:
    """What is known of the error rates of an analysis; a POST has them simulated, or stops that."""
    if request.url.path.endswith("/stop"):
        await desk_of(request).cancel_entry(id_of(request))
    elif request.method == "POST":
        desk_of(request).submit_trust(id_of(request))
    return _render_entry(request, "trust.html")


async def show_items(request: Request) -> Response:
    """The view of the items behind an answer, as the worker wrote it."""
    number = request.query_params.get("measure", "1")
    path = desk_of(request).find_items(
        id_of(request), f"-{number}" if number.isdecimal() and number != "1" else ""
    )
    if path is None:
        raise Refused(404, "There is no view of items.")
    return HTMLResponse(path.read_bytes())


async def open_example(request: Request) -> Response:
    """Make an analysis of a table that comes with the package, and go there."""
    made = desk_of(request).create_example(str(request.path_params["key"]))
    return _redirect(request, f"/a/{made.id}")


async def send_archive(request: Request) -> Response:
    """All results of an analysis in one file."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))
    if not desk.list_results(entry.id):
        raise Refused(404, "There are no results yet.")
    packed = await run_in_threadpool(desk.pack_results, entry.id)
    name = f"shardwise-{entry.kind}-{entry.id[:6]}.zip"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(packed, media_type="application/zip", headers=headers)


async def show_partial(request: Request) -> Response:
    """The rates of a calibration under way, as far as there are."""
    desk = desk_of(request)
    folder = desk.store.entry_folder(desk.find_entry(id_of(request)).id)
    return render_page(request, "partial.html", partial=read_json(folder / "partial.json"))


async def _read_form(request: Request, desk: Desk, entry: Entry) -> dict[str, list[str]]:
    form = await request.form(max_files=0, max_fields=500)
    fields = [(name, str(value)) for name, value in form.multi_items()]
    return from_form(fields, desk.store.read_reading(entry.id), entry.kind)


async def submit_form(request: Request) -> Response:
    """Read again or run, as the form says; a refusal stands above the form."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))
    act = desk.submit_reading if request.url.path.endswith("/read") else desk.submit_run
    problem = ""
    try:
        act(entry.id, await _read_form(request, desk, entry), typed=True)
    except InputError as error:
        problem = describe_error(error)
    except Refused as refused:
        problem = refused.why
    return _render_entry(request, "stage.html", problem)


async def cancel_entry(request: Request) -> Response:
    """Stop an analysis."""
    await desk_of(request).cancel_entry(id_of(request))
    return _render_entry(request, "stage.html")


async def copy_entry(request: Request) -> Response:
    """Make another analysis of the same files, and go there."""
    made = desk_of(request).copy_entry(id_of(request), str(request.path_params["kind"]))
    return _redirect(request, f"/a/{made.id}")


async def delete_entry(request: Request) -> Response:
    """Remove an analysis, and go home."""
    await desk_of(request).delete_entry(id_of(request))
    return _redirect(request, "/")


def _redirect(request: Request, path: str) -> Response:
    """An answer that leads the page elsewhere."""
    return Response(headers={"HX-Redirect": desk_of(request).settings.root + path})


async def stream_events(request: Request) -> Response:
    """How an analysis goes, as server-sent events."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))

    async def lines() -> AsyncIterator[str]:
        async for message in desk.queue.stream_events(entry.id):
            yield f"data: {json.dumps(message)}\n\n"
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def show_compared(request: Request) -> Response:
    """Two analyses beside each other."""
    desk = desk_of(request)
    chosen = request.query_params.getlist("with")
    if len(chosen) != 2:
        return _render_home(request, desk, 400, problem="Choose two analyses to compare.")
    entries = [desk.find_entry(id) for id in chosen]
    if any(entry.kind != "compare" or entry.state != DONE for entry in entries):
        raise Refused(409, "Only comparisons that are done can be compared.")
    # the older one first, unless the order was chosen
    if "order" not in request.query_params:
        entries.sort(key=lambda entry: entry.created)
    reports = [
        await run_in_threadpool(read_json, desk.find_result(entry.id, "report.json")) for entry in entries
    ]
    # numbers load numpy and pandas, which the server does without otherwise: the workers have them
    from shardwise.app.together import compare_reports

    return render_page(
        request,
        "compare.html",
        entries=entries,
        both=compare_reports(*reports),
        reports=reports,
        verdicts=VERDICTS,
        address=f"{desk.settings.root}/compare?{urlencode([('with', entry.id) for entry in entries])}&order=given",
    )


async def show_plan(request: Request) -> Response:
    """Sliders, and what they reach."""
    planning = await run_in_threadpool(import_module, PLANNING)
    desk = desk_of(request)
    sources = []
    for entry in desk.store.list_entries():
        summary = (
            read_json(desk.store.result_folder(entry.id) / "summary.json") if entry.state == DONE else {}
        )
        if plan := summary.get("plan"):
            sources.append({"id": entry.id, "title": entry.title, **plan})
    chosen = planning.PlanForm.parse_query(request.query_params, sources)
    try:
        figures = await run_in_threadpool(planning.compute_figures, chosen)
        problem = ""
    except InputError as error:
        figures, problem = None, describe_error(error)
    name = "plan-figures.html" if "hx-request" in request.headers else "plan.html"
    return render_page(request, name, plan=chosen, figures=figures, sources=sources, problem=problem)


async def send_static(request: Request) -> Response:
    """A script or style of the package, by a name that is in a list."""
    name = str(request.path_params["name"])
    if name not in STATIC:
        raise Refused(404, "There is no such file.")
    return Response(read_packaged(name), media_type=STATIC[name], headers={"cache-control": "max-age=3600"})


async def send_no_icon(request: Request) -> Response:
    """No picture."""
    return Response(status_code=204)


def list_page_routes() -> list[Route]:
    """Return the routes of the pages."""
    return [
        Route("/", show_home),
        Route("/plan", show_plan),
        Route("/compare", show_compared),
        Route("/examples/{key}", open_example, methods=["POST"]),
        Route("/static/{name}", send_static),
        Route("/favicon.ico", send_no_icon),
        Route("/a/{id}", show_entry),
        Route("/a/{id}/stage", show_stage),
        Route("/a/{id}/trust", show_trust, methods=["GET", "POST"]),
        Route("/a/{id}/trust/stop", show_trust, methods=["POST"]),
        Route("/a/{id}/items", show_items),
        Route("/a/{id}/download", send_archive),
        Route("/a/{id}/partial", show_partial),
        Route("/a/{id}/events", stream_events),
        Route("/a/{id}/files/{name}", get_result_file),
        Route("/a/{id}/cancel", cancel_entry, methods=["POST"]),
        Route("/a/{id}/delete", delete_entry, methods=["POST"]),
        Route("/a/{id}/again/{kind}", copy_entry, methods=["POST"]),
        Route("/a/{id}/read", submit_form, methods=["POST"]),
        Route("/a/{id}/run", submit_form, methods=["POST"]),
    ]
