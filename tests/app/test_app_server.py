"""A real server with real workers: the way through, faults, and that its numbers are those of the command line."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import os
import random
import signal
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from app_server import TOKEN, Served, strip_paths
from command_line import shardwise
from shardwise.app.api import describe_api
from shardwise.app.handlers import OPERATIONS
from shardwise.app.queue import CRASHED, Queue
from shardwise.app.store import Settings, Store
from shardwise.writing.embedded import read_report
from strangers import list_imported, put_modules

pytestmark = pytest.mark.slow


def table(
    path: Path, items: int = 20, systems: int = 4, seeds: int = 0, names: list[str] | None = None
) -> Path:
    """A long table in which systems differ a little."""
    rng = random.Random(7)
    called = names or [f"model {k}" for k in range(systems)]
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["question", "model", *(["seed"] if seeds else []), "score"])
        for item in range(items):
            hard = rng.random() / 2
            for k, name in enumerate(called):
                for seed in range(max(seeds, 1)):
                    own = [seed] if seeds else []
                    out.writerow([f"q{item}", name, *own, round(hard + 0.1 * k + rng.random() / 4, 4)])
    return path


def test_runs_in_an_archive_by_several_measures(served: Served, tmp_path: Path) -> None:
    made = shardwise("simulate", "--out", tmp_path, "--topics", "12", "--systems", "4", "--depth", "20", "-q")
    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in [tmp_path / "qrels.txt", *(tmp_path / "runs").iterdir()]:
            archive.write(path, path.relative_to(tmp_path))
    id = served.send(tmp_path / "all.zip")
    served.ask("POST", f"/api/analyses/{id}/read", 202, json={})
    reading = served.wait(id, "ready")["reading"]
    assert (reading["kind"], len(reading["systems"]), reading["problem"]) == ("runs", 4, "")
    found = served.done(id, measure=["AP", "P@10"], shards=2, corpus=600_000)
    assert found["state"] == "done", found["message"]
    assert {"report.json", "report-2.json", "report-2.html", "paper.zip"} <= set(found["results"])
    second = served.ask("GET", f"/api/analyses/{id}/results/report-2.json")
    runs = sorted((tmp_path / "runs").iterdir())
    told = shardwise("compare", tmp_path / "qrels.txt", *runs, "-m", "P@10", "--shards", "2", "--corpus", 600_000,
                     "--calibration", "0", "--report", tmp_path / "report.html", "-q")  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert strip_paths(second) == strip_paths(read_report(tmp_path / "report.html"))
    packed = served.ask("GET", f"/api/analyses/{id}/results/paper.zip").content
    assert "paper/table.tex" in zipfile.ZipFile(io.BytesIO(packed)).namelist()


def test_scores_by_people_are_one_of_the_files_sent(served: Served, tmp_path: Path) -> None:
    judge = table(tmp_path / "judge.csv", items=60)
    people = tmp_path / "people.csv"
    head, *rows = judge.read_text().splitlines()
    people.write_text("\n".join([head, *(f"{row[:-1]}{k % 10}" for k, row in enumerate(rows[:120]))]) + "\n")
    found = served.done(served.send(judge, people), human="people.csv")
    assert (found["state"], found["message"]) == ("done", "")
    told = shardwise(
        "compare", judge, "--human", people, "--calibration", "0", "--report", tmp_path / "report.html", "-q"
    )
    assert told.returncode == 0, told.stderr
    result = served.ask("GET", f"/api/analyses/{found['id']}/result")
    assert strip_paths(result) == strip_paths(read_report(tmp_path / "report.html"))
    assert "is not one of the files that were sent" in _refusal(served, served.send(judge), human="other.csv")


def test_a_report_is_repeated(served: Served, tmp_path: Path) -> None:
    file = table(tmp_path / "scores.csv")
    assert (
        shardwise("compare", file, "--report", tmp_path / "old.html", "--calibration", "0", "-q").returncode
        == 0
    )
    id = served.send(file, tmp_path / "old.html", kind="repeat")
    found = served.done(id)
    assert found["state"] == "done", found["message"]
    assert served.ask("GET", f"/api/analyses/{id}/result")["same"] is True
    assert "report.html" in found["results"]


def test_rates_of_a_calibration_fill_in(served: Served, tmp_path: Path) -> None:
    id = served.send(table(tmp_path / "scores.csv", items=12, systems=3), kind="calibrate")
    found = served.done(id, budget=130, method=["t holm", "max-t"])
    assert found["state"] == "done", found["message"]
    result = served.ask("GET", f"/api/analyses/{id}/result")
    assert {row["method"] for row in result["rows"]} == {"t holm", "max-t"}
    assert result["repetitions"] > 20
    partial = json.loads((served.folder / "analyses" / id / "partial.json").read_text())
    assert sum(map(len, partial["tables"].values())) == len(result["rows"])
    assert partial["words"] == []  # which are not said before the end
    assert all(row["shown"] == "" for chart in partial["charts"] for row in chart["rows"])
    assert "t holm" in served.ask("GET", f"/a/{id}/partial").text
    page = served.ask("GET", f"/a/{id}").text
    assert "t holm" in page
    assert "sw.compare" not in page  # nobody there types


def test_pages_of_the_way_through(served: Served, tmp_path: Path) -> None:
    client = httpx.Client(base_url=served.pages, follow_redirects=True, timeout=60)
    home = client.get(f"{served.address}/?token={TOKEN}")
    assert str(home.url) == f"{served.pages}/"
    csrf = home.text.partition('name="csrf" content="')[2].partition('"')[0]
    headers = {"x-csrf-token": csrf}
    id = served.send(table(tmp_path / "scores.csv", seeds=2))
    assert "No files yet" in client.get(f"/a/{id}").text
    assert client.post(f"/a/{id}/read").status_code == 403
    client.post(f"/a/{id}/read", headers=headers)
    served.wait(id, "ready")
    page = client.get(f"/a/{id}").text
    assert "20 questions × 4 models × 2 seeds" in page
    assert "questions like these" in page.lower()
    form = {
        "role": ["item", "system", "instance", "score"],
        "versus": "baseline",
        "baseline": "",
        "calibration": "0",
    }
    assert "no baseline is chosen" in client.post(f"/a/{id}/run", headers=headers, data=form).text
    form["baseline"] = "model 1"
    much = client.post(f"/a/{id}/run", headers=headers, data={**form, "alpha": "much"}).text
    assert "&#39;much&#39; is not a number" in much
    client.post(f"/a/{id}/run", headers=headers, data=form)
    assert served.wait(id)["state"] == "done"
    page = client.get(f"/a/{id}").text
    result = served.ask("GET", f"/api/analyses/{id}/result")
    assert result["answer"] in page.replace("&#39;", "'")
    shown = client.get(f"/a/{id}/files/report.html")
    assert "sandbox allow-scripts" in shown.headers["content-security-policy"]
    assert "allow-same-origin" not in shown.headers["content-security-policy"] + page
    again = client.post(f"/a/{id}/again/compare", headers=headers).headers["hx-redirect"]
    assert "model 1" in client.get(f"{served.address}{again}").text
    other = again.rpartition("/a/")[2]
    assert served.done(other)["state"] == "done"
    both = client.get("/compare", params={"with": [id, other]}).text
    assert "Settings that differ" in both
    assert "baseline" in both
    assert client.get("/compare", params={"with": id}).status_code == 400
    assert "detect a difference of" in client.get("/plan").text
    plan = client.get("/plan", params={"source": id}).text
    assert "20 questions with 2 seeds each detect a difference of" in plan
    assert "It is the analysis you came from." in plan
    client.post(f"/a/{id}/delete", headers=headers)
    assert client.get(f"/a/{id}").status_code == 404
    assert not (served.folder / "analyses" / id).exists()
    client.close()


def _refusal(served: Served, id: str, **choices: Any) -> str:
    served.ask("POST", f"/api/analyses/{id}/run", 202, json=choices)
    found = served.wait(id)
    assert found["state"] == "failed"
    return str(found["message"])


def test_the_answer_is_there_before_the_error_rates(served: Served, tmp_path: Path) -> None:
    """An analysis is done with its answer; its error rates fill in, can be stopped, and be asked for again."""
    id = served.send(table(tmp_path / "scores.csv", items=30, systems=6))
    served.ask("POST", f"/api/analyses/{id}/run", 202, json={"calibration": 100_000})
    found = served.wait(id)
    assert (found["state"], found["trust"]) == ("done", "simulating")
    answer = served.ask("GET", f"/api/analyses/{id}/result")
    assert answer["calibration"] is None
    # others are answered meanwhile, by the one worker that there is for answers
    assert served.done(served.send(tmp_path / "scores.csv"))["state"] == "done"
    assert served.ask("GET", f"/api/analyses/{id}")["trust"] == "simulating"
    stopped = served.ask("POST", f"/api/analyses/{id}/cancel")
    assert (stopped["state"], stopped["trust"], stopped["message"]) == ("done", "none", "")
    assert served.ask("GET", f"/api/analyses/{id}/result") == answer
    short = served.send(tmp_path / "scores.csv")
    served.ask("POST", f"/api/analyses/{short}/run", 202, json={"calibration": 20})
    with served.client.stream("GET", f"/a/{short}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = [
            line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith('data: {"state')
        ]
    told = [json.loads(line) for line in lines]
    states = [message["state"] for message in told]
    assert states[-1] == "done"
    # the answer came before the simulation had begun
    first = states.index("done")
    assert not any(message.get("total", 0) > 0 for message in told[:first])
    assert any(message.get("total", 0) > 0 for message in told[first:])
    found = served.ask("GET", f"/api/analyses/{short}")
    assert (found["trust"], found["progress"]) == ("simulated", None)
    report = served.ask("GET", f"/api/analyses/{short}/result")
    assert report["calibration"] is not None
    assert {**report, "calibration": None, "statements": None, "remarks": [], "instead": [], "recipe": None} == {
        **answer, "calibration": None, "statements": None, "remarks": [], "instead": [], "recipe": None,
    }  # fmt: skip
    page = served.ask("GET", f"/a/{short}").text
    assert "Can these results be trusted?" in page


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a\u202eb",
    "../../x",
    "{{7*7}}",
    "' OR 1=1 --",
]


def test_hostile_names_are_shown_and_do_nothing(served: Served, tmp_path: Path) -> None:
    file = table(tmp_path / "scores.csv", names=HOSTILE)
    id = served.ask("POST", "/api/analyses", 201, json={})["id"]
    name = "..%2F..%2F..%2F<script>alert(2)<%2Fscript>.csv"
    served.ask("PUT", f"/api/analyses/{id}/inputs/{name}", 201, content=file.read_bytes())
    files = [path for path in (served.folder / "analyses" / id).rglob("*") if path.is_file()]
    assert [path.parent.parent.name for path in files] in (["inputs"], [id]) or len(files) == 1
    served.ask("POST", f"/api/analyses/{id}/read", 202, json={})
    assert served.wait(id)["state"] == "ready"
    for state in ("ready", "done"):
        if state == "done":
            assert served.done(id)["state"] == "done"
        page = served.ask("GET", f"/a/{id}").text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "49" not in page.replace(id, "").partition("{{7")[0].rpartition("model")[2]
    assert served.ask("GET", "/").status_code == 200


@pytest.mark.parametrize("path", [
    "/a/../../etc/passwd", "/a/%2e%2e/files/report.html", "/static/../app.py", "/static/..%2fserver.py",
    "/api/analyses/../../x", "/api/analyses/0123456789abcdef/results/report.json",
])  # fmt: skip
def test_paths_lead_nowhere(served: Served, path: str) -> None:
    assert served.client.get(path).status_code == 404


def test_results_are_found_by_their_names_alone(served: Served, tmp_path: Path) -> None:
    found = served.done(served.send(table(tmp_path / "scores.csv")))
    for name in ("..%2f..%2findex.sqlite", "..%2freading.json", "summary.json", "%2fetc%2fpasswd", "nothing"):
        answer = served.client.get(f"/api/analyses/{found['id']}/results/{name}")
        assert answer.status_code == 404, name


@pytest.mark.parametrize(("name", "content"), [
    ("scores.csv", b"\x00\xff" * 500),
    ("scores.csv.gz", gzip.compress(b"a,b\n", mtime=0)[:-5]),
    ("empty.csv", b""),
    ("log.eval", b"PK\x03\x04 no"),
    ("deep.json", b"[" * 100_000),
    ("x.parquet", b"PAR1 no PAR1"),
    ("report.html", b"<!doctype html><html><script id=data>{}</script>"),
])  # fmt: skip
def test_files_that_are_nothing_are_refused(served: Served, name: str, content: bytes) -> None:
    id = served.ask("POST", "/api/analyses", 201, json={})["id"]
    served.ask("PUT", f"/api/analyses/{id}/inputs/{name}", 201, content=content)
    served.ask("POST", f"/api/analyses/{id}/read", 202, json={})
    found = served.wait(id)
    problem = found["message"] or found["reading"]["problem"]
    assert problem
    assert "not your fault" not in problem, problem
    assert str(served.folder) not in problem
    assert served.client.get(f"/a/{id}").status_code == 200


def long_work(served: Served, tmp_path: Path) -> str:
    """An analysis that takes long, and has begun."""
    id = served.send(table(tmp_path / "scores.csv", items=40, systems=8), kind="calibrate")
    served.ask("POST", f"/api/analyses/{id}/run", 202, json={"repetitions": 200_000})
    served.wait(id, "running")
    return id


def test_what_runs_can_be_cancelled_and_what_waits_too(served: Served, tmp_path: Path) -> None:
    running = long_work(served, tmp_path)
    waiting, last = (served.send(tmp_path / "scores.csv") for _ in range(2))
    for id in (waiting, last):
        served.ask("POST", f"/api/analyses/{id}/run", 202, json={"calibration": 0})
    found = served.ask("GET", f"/api/analyses/{last}")
    assert (found["state"], found["progress"]["ahead"]) == ("queued", 1)
    assert served.ask("POST", f"/api/analyses/{last}/run", 409, json={})["error"]
    assert served.ask("POST", f"/api/analyses/{last}/cancel")["state"] == "cancelled"
    assert served.ask("POST", f"/api/analyses/{running}/cancel")["state"] == "cancelled"
    assert served.wait(waiting)["state"] == "done"  # its place was free at once
    assert served.done(last)["state"] == "done"  # a cancelled one can be started again
    deleted = long_work(served, tmp_path)
    served.ask("DELETE", f"/api/analyses/{deleted}", 204)
    served.ask("GET", f"/api/analyses/{deleted}", 404)


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children]


def test_a_worker_that_dies_harms_nobody_else(served: Served, tmp_path: Path) -> None:
    victim = long_work(served, tmp_path)
    place = str(served.folder / "analyses" / victim)
    busy: list[int] = []
    for _ in range(400):  # it is running once it is given to a worker, and there a moment later
        found = served.ask("GET", f"/api/analyses/{victim}")
        assert found["state"] == "running", found["message"]
        busy = [pid for pid in workers_of(served.process.pid) if os.readlink(f"/proc/{pid}/cwd") == place]
        if busy:
            break
        time.sleep(0.05)
    os.kill(busy[0], signal.SIGKILL)
    found = served.wait(victim)
    assert (found["state"], "Other analyses go on" in found["message"]) == ("failed", True)
    assert served.done(served.send(tmp_path / "scores.csv"))["state"] == "done"


def test_an_idle_worker_that_died_is_replaced(tmp_path: Path) -> None:
    """Nobody has heard of its death when the next analysis comes."""

    async def compare() -> tuple[str, str]:
        store = Store(tmp_path / "kept")
        queue = Queue(store, Settings(tmp_path / "kept", TOKEN))
        await queue.start()
        while queue._idle.empty():
            await asyncio.sleep(0.05)
        (dead,) = queue._processes
        entry = store.create_entry()
        (store.input_folder(entry.id) / "scores.csv").write_bytes(scores)
        queue.submit_entry(store.update_entry(entry.id, choices={"calibration": ["0"]}))
        dead.kill()
        states.extend([event["state"] async for event in queue.stream_events(entry.id)])
        ended = store.find_entry(entry.id)
        await queue.stop()
        store.close()
        assert ended is not None
        assert dead not in queue._processes
        return ended.state, ended.message

    scores, states = table(tmp_path / "scores.csv").read_bytes(), []
    assert asyncio.run(compare()) == ("done", "")
    assert list(dict.fromkeys(states)) == ["queued", "running", "done"]


def test_workers_that_all_die_before_they_begin_are_not_started_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "import sys; print(1, flush=True); sys.stdin.readline()"
    monkeypatch.setattr("shardwise.app.queue.python_command", lambda *_: [sys.executable, "-c", said])

    async def compare() -> tuple[str, str]:
        store = Store(tmp_path)
        queue = Queue(store, Settings(tmp_path, TOKEN))
        await queue.start()
        entry = store.create_entry()
        queue.submit_entry(entry)
        async for _ in queue.stream_events(entry.id):
            pass
        ended = store.find_entry(entry.id)
        await queue.stop()
        store.close()
        assert ended is not None
        return ended.state, ended.message

    assert asyncio.run(compare()) == ("failed", CRASHED)


def test_modules_of_a_stranger_are_not_imported_by_server_and_workers(served: Served, tmp_path: Path) -> None:
    folder = tmp_path / "strange"
    folder.mkdir()
    put_modules(folder)
    strange = Served.start(tmp_path / "kept", "--jobs", "1", cwd=folder)
    file = table(tmp_path / "scores.csv")
    try:
        results = []
        for server in (served, strange):
            id = server.send(file)
            assert server.done(id)["state"] == "done"
            results.append(strip_paths(server.ask("GET", f"/api/analyses/{id}/result")))
    finally:
        strange.stop()
    assert list_imported(folder) == []
    assert results[0] == results[1]


def test_a_server_that_is_killed_loses_nothing_finished(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    served = Served.start(folder, "--jobs", "1")
    done = served.done(served.send(table(tmp_path / "small.csv")))
    before = served.ask("GET", f"/api/analyses/{done['id']}/result")
    running = long_work(served, tmp_path)
    waiting = served.send(tmp_path / "small.csv")
    served.ask("POST", f"/api/analyses/{waiting}/run", 202, json={"calibration": 0})
    orphans = workers_of(served.process.pid)
    served.kill()
    for _ in range(200):  # workers end with their server, however it ends
        if not any(Path(f"/proc/{pid}").exists() and "Z" not in _state(pid) for pid in orphans):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("workers are left")
    again = Served.start(folder, "--jobs", "1")
    try:
        assert again.ask("GET", f"/api/analyses/{done['id']}")["state"] == "done"
        assert again.ask("GET", f"/api/analyses/{done['id']}/result") == before
        for id in (running, waiting):
            found = again.ask("GET", f"/api/analyses/{id}")
            assert (found["state"], "stopped before" in found["message"]) == ("interrupted", True)
        assert again.ask("POST", f"/api/analyses/{waiting}/run", 202, json={})["state"] == "queued"
    finally:
        again.stop()


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_answers_keep_to_their_description(served: Served, tmp_path: Path) -> None:
    described = served.ask("GET", "/api/openapi.json")
    assert described == describe_api(OPERATIONS)
    schemas = {"components": described["components"]}

    def keeps(value: Any, name: str) -> None:
        jsonschema.validate(value, {**schemas, "$ref": f"#/components/schemas/{name}"})

    made = served.ask("POST", "/api/analyses", 201, json={})
    keeps(made, "Analysis")
    for one in served.ask("GET", "/api/analyses"):
        keeps(one, "Listed")
    keeps(served.ask("GET", "/api/analyses/none", 404), "Refusal")
    for body, status in (
        (b"no json", 400),
        (b"[]", 400),
        (b'{"corpus": "/etc/passwd"}', 400),
        (bytes(2 << 20), 413),
    ):
        keeps(served.ask("POST", f"/api/analyses/{made['id']}/read", status, content=body), "Refusal")
    keeps(served.ask("GET", f"/api/analyses/{made['id']}/result", 409), "Refusal")
    served.ask("PATCH", "/api/analyses", 405)
