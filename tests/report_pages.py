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
