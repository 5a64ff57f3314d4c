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
from shardwise.papers.exhibit import Exhibit, Form, Replication

pytestmark = pytest.mark.browser
RUN = "window.ran = (window.ran || 0) + 1"
EVIL = [
    f"</script><script>{RUN}</script>",
    f"</style></title></textarea><script>{RUN}</script>",
    f'"><img src=x onerror="{RUN}">',
    f"'><svg onload='{RUN}'>",
    f"javascript:{RUN}",
    f'<a href="javascript:{RUN}">a</a>',
    f"--><script>{RUN}</script><!--",
    f"${{{RUN}}}`'\\\";{RUN}//",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
]
PAGES = ("report", "leaderboard", "chart", "replication", "notebook")
# what a reader may do: point at everything, press every button, follow every link that is no download
ACTED = """() => {
    for (const element of document.querySelectorAll("*")) {
        for (const name of ["mouseover", "mousemove", "focusin", "pointerenter"])
            element.dispatchEvent(new MouseEvent(name, { bubbles: true }));
        if (element.matches("button:not([data-file]), a:not([download]), summary, td, rect, path")) {
            const link = element.getAttribute("href");
            if (!link || link.startsWith("#") || link.startsWith("javascript"))
                element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
        }
    }
}"""
# links and sources that are neither within the page nor data, and attributes that are scripts
ODD = """() => [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes].filter((a) =>
    /^on/.test(a.name) || /^\\s*javascript:/i.test(a.value) && /href|src|action/.test(a.name)).map((a) => a.value))"""


def evil_scores() -> xr.DataArray:
    """Every name is evil: of systems, topics, and the measure."""
    values = np.random.default_rng(1).random((12, len(EVIL))) + np.linspace(0, 0.5, len(EVIL))
    topics = [EVIL[k % len(EVIL)] + str(k) for k in range(12)]
    return xr.DataArray(values, {"topic": topics, "system": EVIL}, name=EVIL[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evil")
    found, against = (
        sw.analyze(evil_scores(), method="t holm", title=EVIL[1], notes=EVIL, calibration=0, baseline=one)
        for one in (None, EVIL[2])
    )
    found.report(made / "report.html")
    found.leaderboard(baseline=EVIL[2]).save(made / "leaderboard.html")
    sw.plot.save_chart(found.comparisons.plot(measure=EVIL[0]), made / "chart.html")
    shown = "".join(
        one._repr_html_()
        for one in (against, found.comparisons, sw.anova(evil_scores(), sw.MD1), found.leaderboard())
    )
    (made / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8><body>{shown}</body>", "utf-8")
    rows = pd.DataFrame({"name": EVIL, EVIL[0]: 1.0, "x": range(len(EVIL))})
    form = Form(x="x", y=EVIL[0], titles=(EVIL[1], EVIL[2]), series="name")
    exhibits = (Exhibit("Table 1", EVIL[2], rows, tuple(EVIL)), Exhibit("Figure 1", EVIL[3], rows, form=form))
    Replication("F19", EVIL[1], exhibits, {EVIL[0]: EVIL[2]}, tuple(EVIL)).write(made / "f19")
    (made / "f19" / "f19.html").rename(made / "replication.html")
    return made


@contextmanager
def visited(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """A page from disk, and what it wanted from elsewhere."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.wanted = []
    page.on("request", lambda request: page.wanted.append(request.url))
    page.goto(path.as_uri())
    if path.stem == "chart":
        page.wait_for_selector("#chart svg, #chart canvas")
    yield page
    context.close()


@pytest.mark.parametrize("bypassed", [False, True], ids=["policy", "no policy"])
@pytest.mark.parametrize("name", PAGES)
def test_no_name_runs(browser: Any, folder: Path, name: str, bypassed: bool) -> None:
    """Names are text by themselves; that the policy would stop them as well is the second line."""
    path = folder / f"{name}.html"
    with visited(browser, path, bypass_csp=bypassed) as page:
        page.evaluate(ACTED)
        page.wait_for_timeout(50)  # an image that fails says so later
        assert page.evaluate("window.ran") is None
        assert page.evaluate(ODD) == []
        assert [url for url in page.wanted if not url.startswith(("data:", "blob:", path.as_uri()))] == []
        assert "window.ran" in page.content()  # the names are there


def test_the_test_would_see_a_script(browser: Any, folder: Path) -> None:
    for k, name in enumerate(EVIL[:4]):
        path = folder / f"seen{k}.html"
        path.write_text(
            f'<!doctype html><body><textarea title="{name}">{name}</textarea><p>{name}</p></body>'
        )
        with visited(browser, path) as page:
            page.wait_for_timeout(50)
            assert page.evaluate("window.ran") >= 1, name


@pytest.mark.parametrize("name", PAGES[:4])
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
