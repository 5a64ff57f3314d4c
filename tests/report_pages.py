"""Scores for reports, and a browser to look at them; for the tests of the report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "x" * 300,
    "\\input{/etc/passwd} $ % # & _ ^ ~ {",
    "\u202eevil\x1b[31m",
    "漢字 émigré",
    "'\"><svg onload=alert(1)>",
    "{{7*7}}{% raw %}",
    "=cmd|' /C calc'!A0",
    "a\nb",
]


def simulated(
    systems: int,
    *,
    topics: int = 30,
    shards: int = 4,
    splits: int = 1,
    holes: float = 0.0,
    names: list[str] | None = None,
    seed: int = 1,
) -> xr.DataArray:
    """Scores with effects of topic, system, topic:system, topic:shard and error."""
    rng = np.random.default_rng(seed)
    shape = (splits, topics, systems, shards)
    quality = np.linspace(0.45, 0.15, systems)
    values = (
        quality[None, None, :, None]
        + rng.normal(0, 0.15, (1, topics, 1, 1))
        + rng.normal(0, 0.06, (1, topics, systems, 1))
        + rng.normal(0, 0.08, (splits, topics, 1, shards))
        + rng.normal(0, 0.05, shape)
    )
    undefined = rng.random((splits, topics, 1, shards)) < holes
    labels = names or [f"run{j:03d}" for j in range(systems)]
    scores = xr.DataArray(
        np.where(undefined, np.nan, values),
        dims=("split", "topic", "system", "shard"),
        coords={"system": labels},
        name="AP",
    )
    return scores if splits > 1 else scores.isel(split=0, drop=True)


CLIPPED = """() => {
    const wrong = [];
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    const texts = ".chart svg text, .ticks span, th, td, p, li, h1, h2, h3, summary, dt, dd, option, label, .chip";
    for (const text of document.querySelectorAll(texts)) {
        const box = text.getBoundingClientRect();
        if (!box.width || text.closest("[hidden], .hidden, .si-hidden, #tip, select")) continue;
        const frame = text.closest(".scroll, .chart, nav");
        const edge = frame ? frame.getBoundingClientRect().left : 0;
        const room = frame ? frame.scrollWidth - frame.scrollLeft : innerWidth;
        if (box.left < edge - 1 || box.right > edge + room + 1)
            wrong.push(`${text.textContent.slice(0, 40)}: ${box.left - edge} to ${box.right - edge} of ${room}`);
    }
    // no box is narrower or lower than its text, and none scrolls without saying so
    const hides = /hidden|clip|auto|scroll/, left_out = ".hidden, .si-hidden, svg, select, .skip";
    for (const box of document.querySelectorAll("body *")) {
        if (!box.clientWidth || box.closest(left_out) || box.matches("nav")) continue;
        const style = getComputedStyle(box);
        const wide = box.scrollWidth > box.clientWidth + 1 && hides.test(style.overflowX);
        const high = box.scrollHeight > box.clientHeight + 1 && hides.test(style.overflowY);
        if (high || (wide && !box.dataset.more))
            wrong.push(`cut or scrolls unseen: ${box.className} ${box.textContent.slice(0, 40)}`);
    }
    return wrong;
}"""
"""Text outside of its frame or the page, and boxes that hide some of theirs."""

OVERLAPPING = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), boxes = [], wrong = [];
    const left_out = "script, style, select, datalist, nav, .hidden, .si-hidden, .skip, [hidden], [opacity='0']";
    while (walker.nextNode()) {
        const node = walker.currentNode, text = node.data.trim();
        if (!text || node.parentElement.closest(left_out)) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const { left, right, top, bottom, width, height } of range.getClientRects())
            // letters take about half of the height of their line
            if (width && height) boxes.push({ left, right, top: top + height / 4, bottom: bottom - height / 4, text });
    }
    boxes.sort((p, q) => p.top - q.top);
    boxes.forEach((p, k) => {
        for (let j = k + 1; j < boxes.length && boxes[j].top < p.bottom - 1; j++) {
            const q = boxes[j], over = q.left < p.right - 1 && q.right > p.left + 1;
            if (over) wrong.push(`${p.text.slice(0, 30)} | ${q.text.slice(0, 30)}`);
        }
    });
    return wrong;
}"""
"""Pairs of texts that lie over each other."""

ALIKE = """() => {
    const wrong = [];
    const check = (what, texts) => {
        const seen = new Set();
        for (const text of texts) {
            if (seen.has(text)) wrong.push(`${what}: ${text}`);
            seen.add(text);
        }
    };
    const texts = (within, name) => [...within.querySelectorAll(name)].map((one) => one.textContent.trim());
    for (const table of document.querySelectorAll("#board, .versus, #against, .si-scores"))
        check(table.id || table.className, texts(table, "tbody th"));
    for (const card of document.querySelectorAll(".card")) check("chips", texts(card, ".chip"));
    for (const select of document.querySelectorAll(".sw-items select")) check("select", texts(select, "option"));
    const data = JSON.parse(document.getElementById("data").textContent);
    for (const cut of data.labels) check("matrix", cut || data.systems);
    const view = JSON.parse(document.querySelector(".si-data").textContent);
    for (const cut of Object.values(view.labels)) check("heat map", cut || []);
    return wrong;
}"""
"""Names of different systems that look alike where they stand together."""


@contextmanager
def opened(browser: Any, path: Path, link: str = "", **options: Any) -> Iterator[Any]:
    """A page from disk that must not complain, ask, or fetch anything."""
    window = {"viewport": {"width": 1200, "height": 900}} | options
    context = browser.new_context(accept_downloads=True, **window)
    context.set_default_timeout(10_000)  # milliseconds: what takes longer is not usable
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    own = path.as_uri()
    page.on(
        "request",
        lambda request: (
            None
            if request.url.partition("#")[0] == own or request.url.startswith("blob:")
            else trouble.append(f"request: {request.url}")
        ),
    )
    page.goto(f"{own}#{link}" if link else own)
    page.wait_for_selector("[data-ready]", state="attached")
    yield page
    context.close()
    assert trouble == []


def seeds(models: int, *, gap: bool = False, seed: int = 5) -> xr.DataArray:
    """Questions by models by seeds; with a gap, the first model lacks its last seed."""
    rng = np.random.default_rng(seed)
    values = (
        np.linspace(0.4, 0.6, models)[:, None]
        + rng.normal(0, 0.1, (14, 1, 1))
        + rng.normal(0, 0.05, (14, models, 1))
        + rng.normal(0, 0.05, (14, models, 3))
    )
    if gap:
        values[:, 0, -1] = np.nan
    names = [f"m{k}" for k in range(models)]
    return xr.DataArray(values, dims=("question", "model", "seed"), coords={"model": names}, name="accuracy")


class Text(HTMLParser):
    """What a page shows, without script, style and drawings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in {"script", "style", "svg", "pre"}

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"script", "style", "svg", "pre"}

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.shown.append(" ".join(data.split()))
