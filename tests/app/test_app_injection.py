"""Names made to run as scripts, through every page of the app and every download, in a real browser."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from app_server import TOKEN, Served
from command_line import shardwise
from payloads import AWAY, PAYLOADS
from shardwise.app.uploads import sanitize_name
from shardwise.core.text import escape_controls, shorten_name

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NAMES = list(PAYLOADS.values())
SHORT = [name for name in NAMES if len(name) < 400]
OPENED = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
ODD = """() => [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes].filter((a) =>
    /^on/.test(a.name) || /^\\s*javascript:/i.test(a.value) && /href|src|action/.test(a.name)).map((a) => a.value)
    .concat(element.matches("iframe:not(#shown), base, math, img, [http-equiv=refresh]") ? [element.outerHTML] : []))"""
UNSEEN = """(pairs) => {
    const text = document.body.textContent;
    return pairs.filter((forms) => !forms.some((form) => text.includes(form)));
}"""


def write_table(path: Path) -> Path:
    """Scores of systems with evil names, on items with evil names, beside a column that is evil altogether."""
    rng = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["question", "model", "score", NAMES[0]])
        for k in range(8):
            for name in NAMES:
                out.writerow([f"{NAMES[-1 - k]}{k}", name, round(rng.random(), 3), NAMES[k]])
    return path


@pytest.fixture(scope="module")
def pages(served: Served, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of every page, in every state that shows names."""
    folder = tmp_path_factory.mktemp("evil")
    table = write_table(folder / "a<img src=x onerror=1>'\"{{7*7}}.csv")
    broken = folder / "<script>=cmd.csv"
    broken.write_text("".join(f"{name!r},{name!r}\n" for name in NAMES), "utf-8")
    ready, refused, done, all_pairs, failed = (
        served.send(path) for path in (table, broken, table, table, table)
    )
    lab = served.send(table, kind="calibrate")
    old = folder / "old.html"
    # under the name that a file has once it is sent
    sent = table.rename(folder / sanitize_name(table.name))
    made = shardwise("compare", sent, "--method", "t holm", "--calibration", "0", "--report", old, "--quiet")
    assert made.returncode == 0, made.stderr
    repeated = served.send(sent, old, kind="repeat")
    assert served.done(repeated)["state"] == "done"
    for id in (ready, refused):
        served.ask("POST", f"/api/analyses/{id}/read", 202, json={})
        served.wait(id, "ready")
    assert served.done(done, method="t holm", baseline=[PAYLOADS["reading direction"]])["state"] == "done"
    assert served.done(all_pairs, method="t holm")["state"] == "done"
    assert served.done(failed, baseline=[SHORT[1]], method=SHORT[3])["state"] == "failed"
    assert served.done(lab, repetitions=10, method=["t holm"])["state"] == "done"
    query = urlencode([("topics", NAMES[0]), ("source", NAMES[2]), ("variance", NAMES[3]), ("x", NAMES[1])])
    return {
        "home": "/",
        "confirm": f"/a/{ready}",
        "unreadable": f"/a/{refused}",
        "answer": f"/a/{done}",
        "all pairs": f"/a/{all_pairs}",
        "failed": f"/a/{failed}",
        "calibrated": f"/a/{lab}",
        "repeated": f"/a/{repeated}",
        "two": f"/compare?with={done}&with={all_pairs}",
        "two that are none": f"/compare?{urlencode([('with', NAMES[0]), ('with', NAMES[2])])}",
        "plan": f"/plan?{query}",
        "plan from data": f"/plan?source={done}",
        "partial": f"/a/{lab}/partial",
        "items": f"/a/{all_pairs}/items",
        "items of the answer": f"/a/{all_pairs}#items",
        "stage": f"/a/{done}/stage",
        "trust": f"/a/{done}/trust",
        "nothing": f"/a/{quote(NAMES[2], safe='')}",
        "no file": f"/static/{quote(NAMES[3], safe='')}",
    }


def test_no_name_runs_on_any_page(browser: Any, served: Served, pages: dict[str, str]) -> None:
    """Names are text by themselves: the policy that would stop a script is left out."""
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    wanted: list[str] = []
    dialogs: list[str] = []
    page.on("request", lambda request: wanted.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{served.address}/?token={TOKEN}")
    for name, path in pages.items():
        page.goto(f"{served.pages}{path}", wait_until="load")
        page.evaluate(OPENED)
        for frame in page.frames:
            assert frame.evaluate("window.ran") is None, name
        assert page.evaluate(ODD) == [], name
        text = page.evaluate("document.body.textContent + document.title")
        assert [hex(ord(c)) for c in text if c not in " \n\xa0" and not c.isprintable()] == [], name
        assert "49${7*7}" not in text
        if name in ("confirm", "two"):
            forms = [[escape_controls(text), shorten_name(text)] for text in NAMES]
            assert page.evaluate(UNSEEN, forms) == [], name
    assert dialogs == []
    assert [url for url in wanted if not url.startswith((served.address, "data:", "blob:"))] == []
    assert not any(AWAY in url for url in wanted)
    context.close()


def test_values_of_the_form_are_the_names_themselves(
    browser: Any, served: Served, pages: dict[str, str]
) -> None:
    """What is shown by its code is still what is chosen."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.address}/?token={TOKEN}")
    page.goto(f"{served.pages}{pages['confirm']}")
    values = page.eval_on_selector_all("select[name=baseline] option", "all => all.map((e) => e.value)")
    # HTML has no NUL
    assert {name for name in NAMES if "\0" not in name} <= {
        value.replace("\n", "\r\n") for value in values
    } | set(values)
    context.close()


def test_no_download_is_a_page_of_the_app(served: Served, pages: dict[str, str]) -> None:
    """Files are saved under names of ours with a type of ours; what is shown is in a sandbox."""
    for name in ("answer", "calibrated"):
        id = pages[name].removeprefix("/a/")
        results = served.ask("GET", f"/api/analyses/{id}")["results"]
        assert results
        for result in results:
            answer = served.client.get(f"/a/{id}/files/{result}?download=1")
            assert answer.status_code == 200
            assert answer.headers["content-disposition"] == f'attachment; filename="{result}"'
            assert answer.headers["x-content-type-options"] == "nosniff"
            shown = served.client.get(f"/a/{id}/files/{result}")
            if result.endswith(".html"):
                assert shown.headers["content-security-policy"].startswith(
                    "sandbox allow-scripts allow-downloads;"
                )
            else:
                assert "attachment" in shown.headers["content-disposition"]
