"""Names made to run as scripts, through every page that is written, in a real browser with and without its policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from command_line import shardwise
from payloads import PAYLOADS, RUN
from shardwise.cli.options import Format
from shardwise.cli.output import render_table
from shardwise.core.text import escape_controls, shorten_name
from shardwise.papers.exhibit import Exhibit, Form, Replication
from shardwise.writing.downloads import list_downloads
from shardwise.writing.replication import render_page

pytestmark = pytest.mark.browser
NAMES = list(PAYLOADS.values())
WORST = NAMES[2]  # the baseline
PAGES = ("report", "baseline", "leaderboard", "fragment", "chart", "replication", "papers", "notebook", "table", "gate",
         "plan", "rates")  # fmt: skip
SHOWN = ("report", "baseline", "leaderboard", "fragment", "replication", "table")  # every name
BARE = ("fragment", "notebook")  # whose policy is that of the page around them
GUARDED = [name for name in PAGES if name not in (*BARE, "baseline")]  # which is made as the report is
PICTURES = ("figure.svg", "intervals.svg")
# what a reader may do: point at everything, press every button, follow every link that is no download
ACTED = """() => {
    const seen = {};
    for (const element of document.querySelectorAll("*")) {
        const like = element.tagName + element.getAttribute("class");
        if ((seen[like] = (seen[like] || 0) + 1) > 8) continue;
        for (const name of ["mouseover", "mousemove", "focusin", "pointerenter"])
            element.dispatchEvent(new MouseEvent(name, { bubbles: true }));
        if (element.matches("button:not([data-file]), a:not([download]), summary, td, rect, path")) {
            const link = element.getAttribute("href");
            if (!link || link.startsWith("#") || link.startsWith("javascript"))
                element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
        }
    }
}"""
# attributes that are scripts, and elements that only a name can have made
ODD = """() => [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes].filter((a) =>
    /^on/.test(a.name) || /^\\s*javascript:/i.test(a.value) && /href|src|action/.test(a.name)).map((a) => a.value)
    .concat(element.matches("iframe, base, math, [http-equiv=refresh]") ? [element.outerHTML] : []))"""
UNSEEN = """(pairs) => {
    const text = document.body.textContent;
    return pairs.filter((forms) => !forms.some((form) => text.includes(form)));
}"""
HEARD = """window.violated = [];
document.addEventListener("securitypolicyviolation", (event) => window.violated.push(event.blockedURI));"""


def evil_scores() -> xr.DataArray:
    """Every name is evil: of systems, topics, and the measure."""
    values = np.random.default_rng(1).random((12, len(NAMES))) + np.linspace(0, 0.5, len(NAMES))
    topics = [f"{name}{k}" for k, name in enumerate(NAMES[:12])]
    return xr.DataArray(values, {"topic": topics, "system": NAMES}, name=NAMES[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is written for a browser, from tables in which every name is evil."""
    made = tmp_path_factory.mktemp("evil")
    scores = evil_scores()
    analysis, against = (
        sw.analyze(scores, method="t holm", title=NAMES[1], notes=NAMES, calibration=0, baseline=name)
        for name in (None, WORST)
    )
    analysis.report(made / "report.html")
    against.report(made / "baseline.html")
    board = analysis.leaderboard(baseline=WORST)
    board.save(made / "leaderboard.html")
    sw.plot.save_chart(analysis.comparisons.plot(measure=NAMES[0]), made / "chart.html")
    sw.plot.save_chart(analysis.comparisons.plot(measure=NAMES[0]), made / "figure.svg")
    drawn = next(file for file in list_downloads(analysis) if file.name == "intervals.svg")
    (made / drawn.name).write_bytes(drawn.content)
    results = (against, analysis.comparisons, sw.anova(scores, sw.MD1), board)
    shown = "".join(result._repr_html_() for result in results)
    for name, text in (("notebook", shown), ("fragment", board.to_html(page=False))):
        page = f"<!doctype html><meta charset=utf-8><body>{text}</body>"
        (made / f"{name}.html").write_text(page, "utf-8")
    rows = pd.DataFrame({"name": NAMES, NAMES[0]: 1.0, "x": range(len(NAMES))})
    form = Form(x="x", y=NAMES[0], titles=(NAMES[1], NAMES[2]), series="name")
    exhibits = (
        Exhibit("Table 1", NAMES[2], rows, tuple(NAMES)),
        Exhibit("Figure 1", NAMES[3], rows, form=form),
    )
    replication = Replication("F19", NAMES[1], exhibits, {NAMES[0]: NAMES[2]}, tuple(NAMES))
    replication.write(made / "f19")
    (made / "f19" / "f19.html").rename(made / "replication.html")
    (made / "papers.html").write_text(
        render_page("Papers", [replication], refusals={NAMES[0]: NAMES[2]}), "utf-8"
    )
    (made / "table.html").write_text(
        render_table(rows, Format.html, title=NAMES[1], notes=tuple(NAMES)), "utf-8"
    )
    sw.write_scores(scores, made / "scores.csv")
    for name, words in {
        "gate": ("gate", f"--new={NAMES[1]}", f"--baseline={WORST}", "--margin", "0.1"),
        "plan": ("design power", "--min-diff", "0.1"),
        "rates": ("calibrate", "--method", "t holm", "--repetitions", "10"),
    }.items():
        command, *options = words
        out = ("--out", made / f"{name}.html")
        done = shardwise(*command.split(), made / "scores.csv", *options, *out, "--quiet")
        assert done.returncode in (0, 3), done.stderr
    return made


@contextmanager
def visited(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """A page from disk, and what it wanted from elsewhere."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.wanted, page.dialogs = [], []
    page.add_init_script(HEARD)
    page.on("request", lambda request: page.wanted.append(request.url))
    page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    if path.stem == "chart":
        page.wait_for_selector("#chart svg, #chart canvas")
    yield page
    context.close()


def list_forms(name: str) -> list[str]:
    """What a page may show of a name: all of it, or its beginning and end."""
    return [escape_controls(name), *(shorten_name(name, most) for most in (28, 40, 60))]


@pytest.mark.parametrize(
    ("name", "bypassed"),
    [*((name, True) for name in (*PAGES, *PICTURES)), *((name, False) for name in GUARDED)],
)
def test_no_name_runs(browser: Any, folder: Path, name: str, bypassed: bool) -> None:
    """Names are text by themselves, which can be read; that the policy would stop them as well is the second line."""
    path = folder / (name if name in PICTURES else f"{name}.html")
    with visited(browser, path, bypass_csp=bypassed) as page:
        page.evaluate(ACTED)
        page.wait_for_timeout(50)  # an image that fails says so later
        assert page.evaluate("window.ran") is None
        assert page.evaluate(ODD) == []
        assert page.evaluate("window.violated") == []  # nothing that the policy had to stop
        assert page.dialogs == []
        assert [url for url in page.wanted if not url.startswith(("data:", "blob:", path.as_uri()))] == []
        if name in SHOWN:
            assert page.evaluate(UNSEEN, [list_forms(text) for text in NAMES]) == []
            text = page.evaluate("document.body.textContent + document.title")
            assert [hex(ord(c)) for c in text if c not in " \n\xa0" and not c.isprintable()] == []


def test_the_test_would_see_a_script(browser: Any, folder: Path) -> None:
    for k, name in enumerate(NAMES[:4]):
        path = folder / f"seen{k}.html"
        path.write_text(
            f'<!doctype html><body><textarea title="{name}">{name}</textarea><p>{name}</p></body>'
        )
        with visited(browser, path) as page:
            page.wait_for_timeout(50)
            assert page.evaluate("window.ran") >= 1, name


@pytest.mark.parametrize("name", GUARDED)
def test_the_policy_stops_scripts_of_others(browser: Any, folder: Path, name: str) -> None:
    """Where there is no script but ours, one that was put into the page does not run, and nothing is fetched."""
    text = (folder / f"{name}.html").read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    path = folder / f"{name}-altered.html"
    before, end, after = text.rpartition("</body>")  # Vega's script has another
    path.write_text(f"{before}<script>{RUN}</script><img src='https://127.0.0.1/x'>{end}{after}", "utf-8")
    with visited(browser, path) as page:
        if name != "chart":  # whose policy lets Vega's scripts run
            assert page.evaluate("window.ran") is None
        assert page.locator("img[src^=https]").evaluate("image => image.naturalWidth") == 0
