"""Who gets in, and how much: token, host, origin, CSRF token and sizes, tried from outside."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from shardwise.app import guard
from shardwise.app.guard import Guard
from shardwise.app.handlers import Desk
from shardwise.app.queue import Queue
from shardwise.app.server import build_app
from shardwise.app.store import Settings, Store, read_root
from shardwise.core.errors import InputError

TOKEN = "0123456789abcdef-token"
SETTINGS = Settings(Path("/nowhere"), TOKEN)
ROOT = SETTINGS.root
OWN = "http://127.0.0.1:8421"
BEARER = {"authorization": f"Bearer {TOKEN}"}


class Visitor:
    """Somebody who asks the guard, and keeps the cookies that he is given."""

    def __init__(self, app: Starlette | None = None, settings: Settings = SETTINGS) -> None:
        async def answer(request: Request) -> Response:
            return PlainTextResponse("in")

        self.app = app or Starlette(
            routes=[Route("/{rest:path}", answer, methods=["GET", "POST", "PUT", "DELETE"])],
            middleware=[Middleware(Guard, settings=settings)],
        )
        self.cookies = httpx.Cookies()

    def request(self, method: str, path: str, **how: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, cookies=self.cookies) as client:
                answer = await client.request(method, f"{OWN}{path}", **how)
                self.cookies.update(client.cookies)
                return answer

        return asyncio.run(ask())

    def get(self, path: str, **how: Any) -> httpx.Response:
        return self.request("GET", path, **how)

    def post(self, path: str, **how: Any) -> httpx.Response:
        return self.request("POST", path, **how)


def entered() -> Visitor:
    client = Visitor()
    assert client.get(f"/?token={TOKEN}").status_code == 303
    return client


@pytest.mark.parametrize(
    "path", ["/", "/a/0123", "/api/analyses", "/static/app.js", "/?token=wrong", "/?token="]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_without_the_token_everything_is_refused(path: str, method: str) -> None:
    answer = Visitor().request(method, path)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert ("json" in answer.headers["content-type"]) is path.startswith("/api/")


@pytest.mark.parametrize(
    "bearer", ["", "Bearer", "Bearer ", f"bearer{TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer ü"]
)
def test_a_wrong_bearer_is_refused(bearer: str) -> None:
    assert Visitor().get("/", headers={b"authorization": bearer.encode()}).status_code == 401


def test_the_token_in_the_address_gives_a_cookie_and_leaves_the_address() -> None:
    client = Visitor()
    answer = client.get(f"/a/77?token={TOKEN}&x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{ROOT}/a/77?x=1")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get(f"{ROOT}/a/77").text == "in"


def test_no_other_port_is_sent_a_cookie_and_one_that_was_stolen_opens_nothing() -> None:
    """A browser sends cookies to all ports of a host, by path: the path of this one is a secret."""
    client = entered()
    (cookie,) = client.cookies.jar
    assert (cookie.path, len(ROOT) > 32) == (ROOT, True)
    stolen = {"cookie": f"{cookie.name}={cookie.value}"}
    csrf = {"x-csrf-token": SETTINGS.derive_secret("csrf")}
    for path in ("/", "/a/77", "/api/analyses", f"{ROOT}x/", f"/{ROOT}/", ROOT, f"/{'0' * 32}/"):
        assert Visitor().get(path, headers=stolen).status_code == 401
        assert Visitor().post(path, headers={**stolen, **csrf}).status_code == 401
    assert Visitor().get(f"{ROOT}/", headers=stolen).text == "in"


def test_the_address_of_the_browser_that_is_opened_lets_in_once() -> None:
    settings = replace(SETTINGS, entry="once-and-not-again")
    app = Visitor(settings=settings).app
    first, second = Visitor(app), Visitor(app)
    assert first.get("/?token=once-and-not-again").headers["location"] == f"{ROOT}/"
    assert first.get(f"{ROOT}/").text == "in"
    for visitor in (first, second):
        assert visitor.get("/?token=once-and-not-again").status_code == 401
    assert second.get(f"{ROOT}/").status_code == 401
    assert Visitor(app).get("/?token=").status_code == 401
    bearer = {"authorization": "Bearer once-and-not-again"}
    assert Visitor(settings=settings).get("/", headers=bearer).status_code == 401
    assert second.get(f"/?token={TOKEN}").status_code == 303


def test_addresses_survive_a_restart(tmp_path: Path) -> None:
    root = read_root(tmp_path)
    assert root == read_root(tmp_path)
    assert (root[0], len(root)) == ("/", 33)
    assert (tmp_path / "root").stat().st_mode & 0o777 == 0o600
    (tmp_path / "root").write_text("")
    assert len(read_root(tmp_path)) == 33


def test_the_way_in_leads_nowhere_else() -> None:
    answer = Visitor().get(f"//evil.example/?token={TOKEN}")
    assert answer.headers["location"] == f"{ROOT}/evil.example/"


def test_a_program_with_the_token_gets_in_without_a_cookie() -> None:
    assert Visitor().post("/api/analyses", headers=BEARER).text == "in"


@pytest.mark.parametrize("headers", [{}, {"x-csrf-token": "guessed"}, {"x-csrf-token": TOKEN}])
def test_a_cookie_alone_changes_nothing(headers: dict[str, str]) -> None:
    assert entered().post(f"{ROOT}/api/analyses", headers=headers).status_code == 403


def test_the_page_itself_may_change_things() -> None:
    headers = {"x-csrf-token": SETTINGS.derive_secret("csrf"), "origin": "http://127.0.0.1:8421"}
    assert entered().post(f"{ROOT}/api/analyses", headers=headers).text == "in"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1:8421.evil"]
)
def test_another_origin_is_refused_whatever_it_knows(origin: str) -> None:
    headers = {"x-csrf-token": SETTINGS.derive_secret("csrf"), "origin": origin, **BEARER}
    for method in ("GET", "POST"):
        assert entered().request(method, f"{ROOT}/", headers=headers).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_request_that_a_browser_marks_as_from_elsewhere_is_refused(site: str) -> None:
    """Other ports of this machine are the same site."""
    headers = {"x-csrf-token": SETTINGS.derive_secret("csrf"), "sec-fetch-site": site}
    for method in ("GET", "POST"):
        assert entered().request(method, f"{ROOT}/", headers=headers).status_code == 403
        assert Visitor().request(method, "/", headers={**headers, **BEARER}).status_code == 403
    navigated = {**headers, "sec-fetch-mode": "navigate"}
    assert entered().post(f"{ROOT}/", headers=navigated).status_code == 403
    assert entered().get(f"{ROOT}/", headers=navigated).text == "in"


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_a_request_of_the_page_or_of_the_person_is_let_in(site: str) -> None:
    headers = {"x-csrf-token": SETTINGS.derive_secret("csrf"), "sec-fetch-site": site}
    for method in ("GET", "POST"):
        assert entered().request(method, f"{ROOT}/", headers=headers).text == "in"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8421",
        "127.0.0.1.evil.example",
        "",
        "127.0.0.1:80@evil.com",
        "127.0.0.1:80@evil.com:8421",
        "127.0.0.1@evil.com",
        "127.0.0.1:evil",
        "[::1]evil",
        "[::1",
        "0.0.0.0",
        "0.0.0.0:8421",
        "[::]:8421",
    ],
)
def test_a_name_that_another_site_points_here_is_refused(host: str) -> None:
    assert Visitor().get("/", headers={**BEARER, "host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8421", "localhost:8421", "[::1]:8421", "localhost", "[::1]"])
def test_its_own_names_are_known(host: str) -> None:
    assert Visitor().get("/", headers={**BEARER, "host": host}).text == "in"


def test_every_answer_tells_the_browser_to_be_careful() -> None:
    for answer in (Visitor().get("/"), entered().get(f"{ROOT}/")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Visitor, Store]]:
    """The whole app, without workers, that takes 2 MB in 3 files."""
    settings = replace(SETTINGS, folder=tmp_path, limit=2 << 20, files=3)
    app, store = build_app(settings), Store(tmp_path)
    app.state.desk = Desk(settings, store, Queue(store, settings))
    yield Visitor(app), store
    store.close()


def test_a_page_and_the_api_answer_by_one_handler(small: tuple[Visitor, Store]) -> None:
    """What a program asks for by the header Accept is what the API has; people get the page."""
    visitor, store = small
    id = store.create_entry().id
    as_json = {**BEARER, "accept": "application/json"}
    for page, path in (("/", "/api/analyses"), (f"/a/{id}", f"/api/analyses/{id}")):
        answer = visitor.request("GET", page, headers=as_json)
        assert answer.json() == visitor.request("GET", path, headers=BEARER).json()
        shown = visitor.request("GET", page, headers=BEARER)
        assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    refused = visitor.request("GET", "/a/0123456789abcdef", headers=as_json)
    assert (refused.status_code, "no such analysis" in refused.json()["error"]) == (404, True)


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield bytes(1 << 16)


@pytest.mark.parametrize("told", [True, False])
def test_too_many_bytes_are_refused_whether_announced_or_not(
    small: tuple[Visitor, Store], told: bool
) -> None:
    visitor, store = small
    id = store.create_entry().id
    content = bytes(3 << 20) if told else endless()
    answer = visitor.request("PUT", f"/api/analyses/{id}/inputs/x.csv", content=content, headers=BEARER)
    assert answer.status_code == 413
    assert "larger than 2 MB" in answer.json()["error"]
    assert "--limit" in answer.json()["error"]
    assert list(store.input_folder(id).iterdir()) == []


def test_limits_are_of_all_files_together(small: tuple[Visitor, Store]) -> None:
    visitor, store = small
    id = store.create_entry().id

    def put(size: int) -> int:
        path = f"/api/analyses/{id}/inputs/same.csv"
        return visitor.request("PUT", path, content=bytes(size), headers=BEARER).status_code

    assert [put(1 << 20), put(1 << 19), put(1 << 20), put(0), put(0)] == [201, 201, 413, 201, 413]
    assert {path.name for path in store.input_folder(id).iterdir()} == {
        "same.csv",
        "2-same.csv",
        "3-same.csv",
    }


def test_a_disk_that_is_full_is_said(small: tuple[Visitor, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    visitor, store = small
    id = store.create_entry().id

    async def full(*_: Any) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shardwise.app.uploads.receive_stream", full)
    answer = visitor.request("PUT", f"/api/analyses/{id}/inputs/x", content=b"x", headers=BEARER)
    assert (answer.status_code, "No space left" in answer.json()["error"]) == (507, True)


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"kind":[1]}', b'{"kind":{"a":1}}', b'{"kind":null}', b"\xff"]
)
def test_bodies_that_no_program_means_are_refused_in_one_line(
    body: bytes, small: tuple[Visitor, Store]
) -> None:
    answer = small[0].post("/api/analyses", content=body, headers=BEARER)
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"alpha": "x"}, "alpha must be a number"),
        ({"alpha": "0.05"}, "alpha must be a number"),
        ({"alpha": True}, "alpha must be a number"),
        ({"alpha": -1}, "alpha: -1 is less than 0"),
        ({"alpha": 0}, "alpha 0 is not between 0 and 0.5"),
        ({"alpha": 5}, "did you mean 0.05?"),
        ({"seed": -1}, "seed: -1 is less than 0"),
        ({"seed": 1.5}, "seed: '1.5' is not a whole number"),
        ({"calibration": 999_999_999}, "calibration: 999999999 is more than 1000000"),
        ({"calibration": 10**400}, "is more than 1000000"),
        ({"depth": 0}, "depth: 0 is less than 1"),
    ],
)
def test_choices_that_the_command_line_refuses_are_refused_at_once(
    choices: dict[str, Any], problem: str, small: tuple[Visitor, Store]
) -> None:
    visitor, store = small
    id = store.create_entry().id
    for action in ("read", "run"):
        answer = visitor.post(f"/api/analyses/{id}/{action}", json=choices, headers=BEARER)
        assert answer.status_code == 400
        assert problem in answer.json()["error"]
        assert "\n" not in answer.json()["error"]
        entry = store.find_entry(id)
        assert entry is not None
        assert (entry.state, entry.choices) == ("draft", {})


@pytest.mark.parametrize("kind", ["repetitions", "budget"])
def test_no_more_tables_are_simulated_than_anybody_needs(kind: str, small: tuple[Visitor, Store]) -> None:
    visitor, store = small
    id = store.create_entry("calibrate").id
    answer = visitor.post(f"/api/analyses/{id}/run", json={kind: 1_000_001}, headers=BEARER)
    assert (answer.status_code, answer.json()["error"]) == (400, f"{kind}: 1000001 is more than 1000000.")


def test_other_users_of_the_machine_cannot_read_the_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept")
    store.create_entry()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "kept").iterdir()}
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert modes.pop("analyses") == 0o700
    assert set(modes.values()) == {0o600}
    with pytest.raises(InputError, match="another server keeps its analyses here"):
        Store(tmp_path / "kept")
    store.close()


async def slow() -> AsyncIterator[bytes]:
    for _ in range(3):
        yield b"item,a,b\n"
    await asyncio.sleep(600)


async def steady() -> AsyncIterator[bytes]:
    for _ in range(8):
        await asyncio.sleep(0.1)
        yield bytes(100)


@pytest.mark.parametrize(("body", "status"), [(slow, 408), (steady, 201)])
def test_bodies_that_do_not_come_are_not_waited_for(
    small: tuple[Visitor, Store],
    body: Callable[[], AsyncIterator[bytes]],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A steady one takes longer than the patience that one without bytes meets."""
    monkeypatch.setattr(guard, "BODY_PATIENCE", 0.5)
    visitor, store = small
    id = store.create_entry().id
    path = f"/api/analyses/{id}/inputs/x.csv"
    answer = visitor.request("PUT", path, content=body(), headers=BEARER)
    assert answer.status_code == status
    if status == 408:
        assert answer.json() == {"error": "The request came too slowly; send it again."}
        assert list(store.input_folder(id).iterdir()) == []


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nhost: x\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab",
    ],
)
def test_half_requests_are_not_held(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HEAD_WITHIN", 0.2)
    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(middleware=[Middleware(Guard, settings=SETTINGS)])
    config = uvicorn.Config(
        app, http=guard.TimedProtocol, ws="none", lifespan="off", log_level="error", timeout_keep_alive=600
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        with socket.create_connection(listening.getsockname(), timeout=60) as client:
            client.sendall(part)
            answer = b""
            while piece := client.recv(4096):
                answer += piece
        # refused by its head, or closed without a word
        assert answer.startswith(b"HTTP/1.1 403") if b"\r\n\r\n" in part else not answer
    finally:
        server.should_exit = True
        thread.join(60)
