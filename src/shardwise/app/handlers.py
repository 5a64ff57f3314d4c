"""What may be asked of the server: pages for people and JSON for programs, by the same handlers."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup, escape
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import shardwise
from shardwise.app import uploads
from shardwise.app.api import LISTED, describe_api
from shardwise.app.choices import (
    ALLOWED,
    LABELS,
    ROLES,
    Misplaced,
    describe_error,
    from_form,
    list_claim_choices,
    validate_choices,
)
from shardwise.app.examples import EXAMPLES
from shardwise.app.guard import is_program
from shardwise.app.queue import READ, RUN, TRUST, Queue
from shardwise.app.store import Entry, Settings, Stage, Store, read_json
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.text import escape_controls, shorten_name

MOST_BODY = 1 << 20  # bytes of JSON
RESULT = {"compare": "report.json", "calibrate": "calibration.json", "repeat": "repeat.json"}
KINDS = {".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".toml": "application/toml"}
SHOWN = re.compile(r"summary\.json|items-view(-\d+)?\.html")  # results that are for the page, not for people
SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""What a report may do: run its own script, which it names by hash, in an origin of its own."""
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
    "ready": "waiting for your choices",
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
RESULTS = {
    "report.html": "the report, one file that needs nothing else",
    "report.json": "everything in the report, for programs",
    "leaderboard.html": "the leaderboard, one file that needs nothing else",
    "leaderboard.csv": "the leaderboard as a table",
    "pairs.csv": "all pairs with differences, intervals and p-values",
    "paper.zip": "table, figure and methods paragraph for LaTeX",
    "analysis.toml": "all settings, to do the same again",
    "calibration.csv": "error rates of every method as a table",
    "calibration.json": "error rates and advice, for programs",
    "repeat.json": "which numbers differ, for programs",
}
"""What the files that can be downloaded are."""


def describe_result(name: str) -> str:
    """Return what a file that can be downloaded is; those of a second measure are as those of the first.

    >>> describe_result("report-2.json"), describe_result("other.bin")
    ('everything in the report, for programs', '')
    """
    return RESULTS.get(re.sub(r"-\d+\.", ".", name), "")


def read_packaged(name: str) -> str:
    """Return a template, script or style of the app, or one that it shares with the report."""
    room, folder = ("writing", "templates") if name in SHARED else (
        "app", "templates" if name.endswith(".html") else "static"
    )  # fmt: skip
    return resources.files(f"shardwise.{room}").joinpath(folder, name).read_text(encoding="utf-8")


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FunctionLoader(read_packaged),
    autoescape=True,
    # Names come from files, and any sentence may hold one: control characters are shown as their codes. What is marked
    # by the filter exact is a value of a form.
    finalize=lambda text: "\n".join(map(escape_controls, text.split("\n"))) if type(text) is str else text,
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


class PlainJSON(JSONResponse):
    """JSON in ASCII: names from files may hold what UTF-8 does not, as half a pair of surrogates."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of an answer."""
        return json.dumps(content, allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class Desk:
    """The store and the queue, and what may be asked of them."""

    settings: Settings
    store: Store
    queue: Queue

    def find_entry(self, id: str, *, resting: bool = False) -> Entry:
        """Return an analysis, or refuse a name that none has, or one that is under way where it must rest."""
        entry = self.store.find_entry(id)
        if entry is None:
            raise HTTPException(404, "There is no such analysis; it may have been deleted.")
        if resting and entry.moving:
            raise HTTPException(409, "This analysis is under way; wait, or cancel it.")
        return entry

    def submit_choices(self, id: str, given: Any, lane: str, *, typed: bool = False) -> None:
        """Have the files read or the analysis run, as it is chosen; numbers that were typed are texts."""
        entry, reading = self.find_entry(id, resting=True), self.store.read_reading(id)
        if entry.state == Stage.done:
            raise HTTPException(409, "This analysis is finished; change its settings in a new one.")
        if lane == RUN and reading.get("problem"):
            raise HTTPException(409, f"The files could not be read: {reading['problem']}")
        if lane == RUN and reading.get("kind") == "report":
            entry = self.store.update_entry(id, kind="repeat")
        try:
            choices = validate_choices(given, entry.kind, typed=typed)
        except InputError as error:
            raise HTTPException(409 if isinstance(error, Misplaced) else 400, f"{error}.") from None
        known = dict(entry.choices)
        if lane == RUN:
            # how the files were read was chosen before, and is not asked again
            kept = () if entry.kind == "repeat" else ("files", "columns")
            known = {name: value for name, value in known.items() if name in kept}
        elif "files" in choices:
            # what was said about the columns of files that are no longer used is forgotten
            known.pop("columns", None)
        self.queue.submit_entry(self.store.update_entry(id, choices={**known, **choices}), lane)

    def describe_trust(self, entry: Entry) -> str:
        """Return whether the error rates of an analysis are there, being simulated, or neither."""
        if self.queue.describe_progress(entry.id).get("lane") == TRUST:
            return "simulating"
        return "simulated" if self.read_summary(entry.id).get("trust") else "none"

    def read_summary(self, id: str) -> dict[str, Any]:
        """Return what the page shows of an analysis that is done."""
        summary = read_json(self.store.result_folder(id) / "summary.json")
        for measure in summary.get("measures", ()):
            # elements made by render_measures and render_slices, which escape
            for name in ("beside", "slices"):
                measure[name] = Markup(measure.get(name, ""))
        return summary

    async def cancel_entry(self, id: str) -> None:
        """Stop an analysis if it is under way; it has stopped when this returns."""
        self.find_entry(id)
        self.queue.cancel_entry(id)
        async for _ in self.queue.stream_events(id):
            pass

    def list_results(self, id: str) -> dict[str, Path]:
        """Return the results that are there, by name."""
        folder = self.store.result_folder(id)
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        return {path.name: path for path in paths if not SHOWN.fullmatch(path.name)}

    def find_result(self, id: str, name: str) -> Path:
        """Return the path of one of the results, by a name that is compared with those that are there."""
        path = self.list_results(self.find_entry(id).id).get(name)
        if path is None:
            raise HTTPException(404, "There is no such result.")
        return path


def desk_of(request: Request) -> Desk:
    """Return the desk of the server that a request came to."""
    desk: Desk = request.app.state.desk
    return desk


def id_of(request: Request) -> str:
    """Return which analysis a request is about."""
    return str(request.path_params["id"])


def render_page(request: Request, name: str, status: int = 200, **content: Any) -> HTMLResponse:
    """Render a template."""
    settings = desk_of(request).settings
    shared = {"csrf": settings.derive_secret("csrf"), "root": settings.root, "path": request.url.path}
    text = ENVIRONMENT.get_template(name).render(**shared, **content)
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status_code=status)


async def answer_entry(
    request: Request, name: str = "stage.html", status: int = 200, id: str = "", problem: str = ""
) -> Response:
    """Return an analysis as it stands: a template of it for people, JSON for programs."""
    desk = desk_of(request)
    entry = desk.find_entry(id or id_of(request))
    reading, progress = desk.store.read_reading(entry.id), desk.queue.describe_progress(entry.id)
    shared: dict[str, Any] = {
        "trust": desk.describe_trust(entry),
        "results": list(desk.list_results(entry.id)),
    }
    if is_program(request.scope):
        fields = {field: getattr(entry, field) for field in (*LISTED, "message", "choices")}
        known = {"progress": progress or None, "reading": reading or None}
        return PlainJSON({**fields, **known, **shared}, status_code=status)
    results, summary = desk.store.result_folder(entry.id), desk.read_summary(entry.id)
    numbers = [f"-{k + 1}" if k else "" for k in range(len(summary.get("measures", ())))]
    return render_page(
        request,
        name,
        **shared,
        entry=entry,
        reading=reading,
        claims=list_claim_choices(reading),
        progress=progress,
        summary=summary,
        item_views=[number for number in numbers if (results / f"items-view{number}.html").is_file()],
        partial=read_json(desk.store.entry_folder(entry.id) / "partial.json"),
        problem=problem,
        others=[
            other
            for other in desk.store.list_entries()
            if other.kind == entry.kind == "compare" and other.state == Stage.done
        ],
    )


async def _read_body(request: Request) -> dict[str, Any]:
    """The object that a request holds; an empty one for an empty request."""
    held = b""
    async for part in request.stream():
        held += part
        if len(held) > MOST_BODY:
            raise HTTPException(413, "The request is too long.")
    try:
        # NaN and infinities, which Python reads and JSON does not have, are no numbers
        body = json.loads(held or b"{}", parse_constant=int)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not valid JSON.") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "The request is not a JSON object.")
    return body


async def list_analyses(request: Request, status: int = 200, **content: Any) -> Response:
    """Return all analyses, the newest first, below where files are dropped."""
    desk = desk_of(request)
    entries = desk.store.list_entries()
    if is_program(request.scope):
        return PlainJSON([{name: getattr(entry, name) for name in LISTED} for entry in entries])
    files = {
        entry.id: [file["name"] for file in desk.store.read_reading(entry.id).get("files", ())]
        for entry in entries
    }
    content |= {"entries": entries, "files": files, "settings": desk.settings}
    shown = render_page(request, "home.html", status, **content)
    shown.background = BackgroundTask(import_module, PLANNING)  # while one looks at it
    return shown


async def create_analysis(request: Request) -> Response:
    """Make a new analysis, to which files can be sent."""
    kind = (await _read_body(request)).get("kind", "compare")
    if not isinstance(kind, str) or kind not in ALLOWED:
        raise HTTPException(400, f"An analysis is one of {', '.join(ALLOWED)}.")
    return await answer_entry(request, status=201, id=desk_of(request).store.create_entry(kind).id)


async def create_example(request: Request) -> Response:
    """Make an analysis of a table that comes with the package, have it read, and go there."""
    desk, key = desk_of(request), str(request.path_params["key"])
    if key not in EXAMPLES:
        raise HTTPException(404, "There is no such example.")
    entry = desk.store.create_entry()
    with EXAMPLES[key].open_path() as path:
        shutil.copyfile(path, desk.store.input_folder(entry.id) / path.name)
    desk.submit_choices(entry.id, {}, READ)
    return Response(headers={"HX-Redirect": desk.settings.root + f"/a/{entry.id}"})


async def copy_entry(request: Request) -> Response:
    """Make another analysis of the same files, and go there."""
    desk, kind = desk_of(request), str(request.path_params["kind"])
    entry = desk.find_entry(id_of(request), resting=True)
    if kind not in ALLOWED:
        raise HTTPException(404, "There is no such kind of analysis.")
    made = desk.store.copy_entry(entry, kind)
    if kind != entry.kind:
        # choices that the other command has too
        common = {
            name: value for name, value in entry.choices.items() if name in ALLOWED[kind] and name != "method"
        }
        desk.store.update_entry(made.id, choices=common)
    return Response(headers={"HX-Redirect": desk.settings.root + f"/a/{made.id}"})


async def put_file(request: Request) -> Response:
    """Take one file, streamed to the disk, for an analysis that has not been read."""
    desk, length = desk_of(request), request.headers.get("content-length", "0")
    entry, limit = desk.find_entry(id_of(request)), desk.settings.limit
    if entry.state != Stage.draft:
        raise HTTPException(409, "The files of this analysis are complete; start a new one.")
    folder, name = desk.store.input_folder(entry.id), str(request.path_params["name"])
    try:
        if length.isdecimal() and int(length) > limit:
            raise uploads.too_large(limit)
        path = await uploads.receive_stream(request.stream(), folder, name, limit, desk.settings.files)
    except uploads.TooMuch as error:
        raise HTTPException(413, f"{error}.") from None
    except OSError as error:
        raise HTTPException(507, f"The file could not be written: {error.strerror or error}.") from None
    return PlainJSON({"name": path.name, "bytes": path.stat().st_size}, status_code=201)


async def submit_choices(request: Request) -> Response:
    """Read the files or run the analysis, as a program or a form says; a refusal stands above the form."""
    desk, lane = desk_of(request), READ if request.url.path.endswith("/read") else RUN
    if is_program(request.scope):
        desk.submit_choices(id_of(request), await _read_body(request), lane)
        return await answer_entry(request, status=202)
    entry, problem = desk.find_entry(id_of(request)), ""
    form = await request.form(max_files=0, max_fields=500)
    fields = [(name, str(value)) for name, value in form.multi_items()]
    try:
        given = from_form(fields, desk.store.read_reading(entry.id), entry.kind)
        desk.submit_choices(entry.id, given, lane, typed=True)
    except InputError as error:
        problem = describe_error(error)
    except HTTPException as refusal:
        problem = refusal.detail
    return await answer_entry(request, problem=problem)


async def cancel_entry(request: Request) -> Response:
    """Stop an analysis."""
    await desk_of(request).cancel_entry(id_of(request))
    return await answer_entry(request)


async def delete_entry(request: Request) -> Response:
    """Remove an analysis with all its files, and go home."""
    desk = desk_of(request)
    await desk.cancel_entry(id_of(request))
    desk.store.delete_entry(id_of(request))
    if is_program(request.scope):
        return Response(status_code=204)
    return Response(headers={"HX-Redirect": f"{desk.settings.root}/"})


async def show_trust(request: Request) -> Response:
    """Return what is known of the error rates of an analysis; a POST has them simulated, or stops that."""
    desk, id = desk_of(request), id_of(request)
    if request.url.path.endswith("/stop"):
        await desk.cancel_entry(id)
    elif request.method == "POST":
        entry = desk.find_entry(id, resting=True)
        if entry.state != Stage.done or entry.kind != "compare":
            raise HTTPException(409, "Error rates are simulated once a comparison is done.")
        if desk.describe_trust(entry) != "none":
            raise HTTPException(409, "The error rates of this analysis are simulated already.")
        desk.queue.submit_entry(entry, TRUST)
    return await answer_entry(request, "trust.html")


async def show_items(request: Request) -> Response:
    """Return the view of the items behind an answer, as it was written."""
    desk, number = desk_of(request), request.query_params.get("measure", "1")
    ending = f"-{number}" if number.isdecimal() and number != "1" else ""
    path = desk.store.result_folder(desk.find_entry(id_of(request)).id) / f"items-view{ending}.html"
    if not path.is_file():
        raise HTTPException(404, "There is no view of items.")
    return HTMLResponse(path.read_bytes())


async def get_result(request: Request) -> Response:
    """Return what came out, as JSON: for a comparison what ``report.json`` holds."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))
    if entry.state != Stage.done:
        raise HTTPException(409, f"The analysis is not done: {entry.state}. {entry.message}".strip())
    return FileResponse(desk.find_result(entry.id, RESULT[entry.kind]), media_type="application/json")


async def get_result_file(request: Request) -> Response:
    """Return one of the files that came out; pages in a sandbox."""
    path = desk_of(request).find_result(id_of(request), str(request.path_params["name"]))
    kind = KINDS.get(path.suffix, "application/octet-stream")
    if path.suffix == ".html" and "download" not in request.query_params:
        return FileResponse(path, media_type=kind, headers={"content-security-policy": SANDBOX})
    return FileResponse(path, media_type=kind, filename=path.name)


async def send_archive(request: Request) -> Response:
    """Return all results of an analysis in one file."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))
    results = desk.list_results(entry.id)
    if not results:
        raise HTTPException(404, "There are no results yet.")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in results.items():
            await run_in_threadpool(archive.write, path, name)
    name = f"shardwise-{entry.kind}-{entry.id[:6]}.zip"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


async def stream_events(request: Request) -> Response:
    """Return how an analysis goes, as server-sent events."""
    desk = desk_of(request)
    entry = desk.find_entry(id_of(request))

    async def lines() -> AsyncIterator[str]:
        async for message in desk.queue.stream_events(entry.id):
            yield f"data: {json.dumps(message)}\n\n"
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def show_compared(request: Request) -> Response:
    """Return two analyses beside each other."""
    desk = desk_of(request)
    chosen = request.query_params.getlist("with")
    if len(chosen) != 2:
        return await list_analyses(request, 400, problem="Choose two analyses to compare.")
    entries = [desk.find_entry(id) for id in chosen]
    if any(entry.kind != "compare" or entry.state != Stage.done for entry in entries):
        raise HTTPException(409, "Only comparisons that are done can be compared.")
    # the older one first, unless the order was chosen
    if "order" not in request.query_params:
        entries.sort(key=lambda entry: entry.created)
    paths = [desk.find_result(entry.id, "report.json") for entry in entries]
    reports = [await run_in_threadpool(read_json, path) for path in paths]
    # numbers load numpy and pandas, which the server does without otherwise: the workers have them
    from shardwise.app.summaries import compare_reports

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
    """Return sliders, and what they reach."""
    planning = await run_in_threadpool(import_module, PLANNING)
    desk = desk_of(request)
    sources = [
        {"id": entry.id, "title": entry.title, **plan}
        for entry in desk.store.list_entries()
        if entry.state == Stage.done and (plan := desk.read_summary(entry.id).get("plan"))
    ]
    chosen = planning.PlanForm.parse_query(request.query_params, sources)
    try:
        figures = await run_in_threadpool(planning.compute_figures, chosen)
        problem = ""
    except InputError as error:
        figures, problem = None, describe_error(error)
    name = "plan-figures.html" if "hx-request" in request.headers else "plan.html"
    return render_page(request, name, plan=chosen, figures=figures, sources=sources, problem=problem)


async def send_static(request: Request) -> Response:
    """Return a script or style of the package, by a name that is in a list."""
    name = str(request.path_params["name"])
    if name not in STATIC:
        raise HTTPException(404, "There is no such file.")
    return Response(read_packaged(name), media_type=STATIC[name], headers={"cache-control": "max-age=3600"})


def send_description(request: Request) -> Response:
    """Return the description of the requests that programs may make."""
    return PlainJSON(describe_api(OPERATIONS))


OPERATIONS: tuple[tuple[str, str, str, Any, str, int, str], ...] = (
    ("GET", "/analyses", "list_analyses", list_analyses, "", 200, "All analyses, the newest first."),
    ("POST", "/analyses", "create_analysis", create_analysis, "Kind", 201, "A new analysis."),
    ("GET", "/analyses/{id}", "get_status", answer_entry, "", 200, "How an analysis stands."),
    ("DELETE", "/analyses/{id}", "delete_analysis", delete_entry, "", 204, "Remove it with all its files."),
    ("PUT", "/analyses/{id}/inputs/{name:path}", "put_file", put_file, "File", 201, "Send a file as the body."),
    ("POST", "/analyses/{id}/read", "read_files", submit_choices, "Choices", 202, "Read the files."),
    ("POST", "/analyses/{id}/run", "run_analysis", submit_choices, "Choices", 202, "Queue it; read files if needed."),
    ("POST", "/analyses/{id}/cancel", "cancel_analysis", cancel_entry, "", 200, "Stop it."),
    ("GET", "/analyses/{id}/result", "get_result", get_result, "", 200, "What came out, as JSON."),
    ("GET", "/analyses/{id}/results/{name}", "get_result_file", get_result_file, "", 200, "One of the results."),
    ("GET", "/openapi.json", "get_description", send_description, "", 200, "This description."),
)  # fmt: skip
"""Method, path below /api, name, handler, schema of the body, status and meaning of every request of programs."""
PAGES = (
    ("GET", "/", list_analyses),
    ("GET", "/plan", show_plan),
    ("GET", "/compare", show_compared),
    ("POST", "/examples/{key}", create_example),
    ("GET", "/static/{name}", send_static),
    ("GET", "/favicon.ico", lambda request: Response(status_code=204)),
    ("GET", "/a/{id}", partial(answer_entry, name="entry.html")),
    ("GET", "/a/{id}/stage", answer_entry),
    ("GET", "/a/{id}/trust", show_trust),
    ("POST", "/a/{id}/trust", show_trust),
    ("POST", "/a/{id}/trust/stop", show_trust),
    ("GET", "/a/{id}/items", show_items),
    ("GET", "/a/{id}/download", send_archive),
    ("GET", "/a/{id}/partial", partial(answer_entry, name="partial.html")),
    ("GET", "/a/{id}/events", stream_events),
    ("GET", "/a/{id}/files/{name}", get_result_file),
    ("POST", "/a/{id}/cancel", cancel_entry),
    ("POST", "/a/{id}/delete", delete_entry),
    ("POST", "/a/{id}/again/{kind}", copy_entry),
    ("POST", "/a/{id}/read", submit_choices),
    ("POST", "/a/{id}/run", submit_choices),
)
"""Method, path and handler of every request of the pages."""
ROUTES = [
    *(Route(path, act, methods=[method]) for method, path, act in PAGES),
    *(Route(f"/api{path}", act, methods=[method]) for method, path, _, act, *_ in OPERATIONS),
]
