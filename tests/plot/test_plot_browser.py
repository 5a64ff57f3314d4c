"""Charts in a browser: no text is cut off or lies over another, and no two labels are alike, whatever the names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from report_pages import opened, simulated
from shardwise.plot.saving import render_svg
from shardwise.plot.theme import COLUMN

pytestmark = pytest.mark.browser

# Every text of every drawing: those outside of it, those that overlap, and labels of an axis that occur twice.
CHECK = """() => [...document.querySelectorAll("figure")].flatMap((figure) => {
  const frame = figure.querySelector("svg").getBoundingClientRect();
  const texts = [...figure.querySelectorAll("text")].filter((text) => text.textContent.trim());
  const boxes = texts.map((text) => text.getBoundingClientRect());
  const trouble = [];
  if (frame.width > Number(figure.dataset.most)) trouble.push(`wide: ${frame.width}`);
  boxes.forEach((box, i) => {
    const name = texts[i].textContent;
    if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5
        || box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5) trouble.push(`cut off: ${name}`);
    for (let j = 0; j < i; j++) {
      const across = Math.min(box.right, boxes[j].right) - Math.max(box.left, boxes[j].left);
      const down = Math.min(box.bottom, boxes[j].bottom) - Math.max(box.top, boxes[j].top);
      // Boxes of lines include the room for accents, of which two lines may share a little.
      if (across > 1 && down > 0.25 * Math.min(box.height, boxes[j].height))
        trouble.push(`overlap: ${name} and ${texts[j].textContent}`);
    }
  });
  for (const axis of figure.querySelectorAll(".role-axis-label")) {
    const labels = [...axis.querySelectorAll("text")].map((text) => text.textContent).filter(Boolean);
    if (new Set(labels).size < labels.length) trouble.push(`alike: ${labels}`);
  }
  const known = figure.dataset.labels.split("|").filter((label) => !texts.some((text) => text.textContent === label));
  if (figure.dataset.labels && known.length) trouble.push(`missing: ${known}`);
  return trouble.map((line) => `${figure.id}: ${line}`);
})"""


def long_names(count: int) -> list[str]:
    """Names of 70 and more characters that differ in the middle; once also wide letters, and another script."""
    names = [
        f"organization-name/very-long-family-of-models-{k:03d}-instruct-evaluated-with-tools"
        for k in range(count)
    ]
    if count != 20:
        # Nothing wider that would make room for the others.
        return names
    names[1] = f"MMMMMMMM-WWWWWWWW-{'MW' * 20}-001-QQQQQQQQ"
    names[2] = "漢字のとても長い名前" * 6
    return names


def draw_charts(count: int) -> dict[str, Any]:
    """Charts of a number of systems by kind."""
    y = simulated(count, topics=40 if count < 100 else 12, shards=1, names=long_names(count)).isel(
        shard=0, drop=True
    )
    analysis = sw.analyze(y.rename("a measure with a name"), calibration=0, method="MD1 hsd")
    kinds = ["forest", "ranks", "heatmap"]
    kinds += ["intervals", "cd", "power", "items"] if count < 500 else []
    charts = {kind: analysis.plot(kind) for kind in kinds if kind in sw.plot.list_charts(analysis)}
    charts["column"] = analysis.plot("forest", width=COLUMN, most=40)
    if count == 20:
        bases = [analysis.systems[4], analysis.systems[9]]
        charts["baselines"] = sw.analyze(y, calibration=0, method="t holm", baseline=bases).plot()
        charts["matrix"] = analysis.plot("matrix")
        charts["comparison"] = analysis.plot("intervals", interval="comparison")
        charts["few items"] = sw.analyze(y[:12], calibration=0, method="t holm").plot("heatmap")
        noise = np.random.default_rng(1).normal(0, 0.05, (*y.shape, 4))
        seeds = (y + xr.DataArray(noise, dims=(*y.dims, "seed"))).rename(topic="question", system="model")
        charts["repeats"] = sw.analyze(seeds, calibration=0).plot("repeats")
    return charts


def test_no_text_is_cut_off_or_lies_over_another(browser: Any, tmp_path: Path) -> None:
    figures = []
    for count in (3, 20, 126, 500):
        for kind, chart in draw_charts(count).items():
            labels = {
                label
                for rows in chart.to_dict()["datasets"].values()
                for label in (row.get("system", "") for row in rows)
                if label and kind not in ("items", "power")
            }
            wide = {"column": 320, "cd": 1000, "matrix": 1000}.get(kind, 760)
            names = "|".join(sorted(labels))
            figures.append(
                f'<figure id="{kind}-{count}" data-most="{wide}" data-labels="{names}">{render_svg(chart)}</figure>'
            )
    page = tmp_path / "charts.html"
    page.write_text(f'<meta charset="utf-8"><body data-ready>{"".join(figures)}', encoding="utf-8")
    with opened(browser, page) as shown:
        assert shown.evaluate("document.querySelectorAll('figure svg').length") == len(figures)
        assert shown.evaluate(CHECK) == []
