"""The view of items in a page: in a browser it says what Analysis.items says, field by field."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shardwise as sw
from shardwise.analysis.analysis import Analysis
from shardwise.writing.assets import hash_script
from shardwise.writing.html import render_report
from shardwise.writing.item_view import pack_items, pack_numbers, render_items
from shardwise.writing.items import write_items

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Items</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{style_hash}';
script-src 'sha256-{script_hash}'; base-uri 'none'">
<style>{style}</style></head><body>{html}<script>{script}</script></body></html>"""


def table(items: int, systems: int, *, seed: int = 1, **options: Any) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    values = np.clip(
        rng.normal(0.5, 0.2, (items, 1))
        + rng.normal(0, 0.1, (items, systems))
        - 0.03 * np.arange(systems)[None, :],
        0,
        1,
    )
    coords = {"topic": [f"t{k}" for k in range(items)], "system": [f"s{k}" for k in range(systems)]}
    return xr.DataArray(values, dims=("topic", "system"), coords=coords, name="AP", **options)


def with_gaps() -> xr.DataArray:
    """Scores with four decimals of which some are missing, and some alike."""
    y = table(40, 4).round(2)
    y.values[[3, 5, 9], [0, 1, 2]] = np.nan
    y.values[7] = 0.0
    return y


def with_tasks() -> xr.DataArray:
    """Right or wrong, in two tasks of different size, with clusters."""
    rng = np.random.default_rng(3)
    y = table(60, 3).copy(data=(rng.random((60, 3)) < [0.7, 0.6, 0.4]).astype(float))
    return y.assign_coords(task=("topic", ["few"] * 12 + ["many"] * 48))


def with_repeats() -> xr.DataArray:
    rng = np.random.default_rng(4)
    y = rng.normal(0.5, 0.1, (25, 3, 4)) + rng.normal(0, 0.2, (25, 1, 1))
    y[2, 1, 1:] = np.nan
    dims = ("question", "model", "seed")
    return xr.DataArray(y, dims=dims, coords={"model": ["new & <b>", "old", "other"]}, name="accuracy")


LAYOUTS = {
    "plain": lambda: table(30, 5),
    "gaps": with_gaps,
    "lower": lambda: table(30, 3, attrs={"lower_is_better": True}),
    "tasks": with_tasks,
    "repeats": with_repeats,
}


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def show(page: Any, analysis: Analysis, path: Path, link: str = "") -> None:
    view = render_items(analysis)
    assert view is not None
    path.write_text(
        PAGE.format(
            style_hash=hash_script(view.style), script_hash=hash_script(view.script),
            style=view.style, script=view.script, html=view.html,
        ),
        encoding="utf-8",
    )  # fmt: skip
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto("about:blank")
    page.goto(path.as_uri() + link)
    page.wait_for_selector("[data-filled]")
    assert trouble == []


@pytest.mark.browser
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_field_is_that_of_the_analysis(page: Any, tmp_path: Path, layout: str) -> None:
    analysis = sw.analyze(LAYOUTS[layout](), calibration=0)
    show(page, analysis, tmp_path / "items.html")
    for a, b in list(permutations(analysis.systems, 2))[:6]:
        expected = analysis.items(a, b)
        read = page.evaluate("([a, b]) => document.querySelector('.sw-items').compareItems(a, b)", [a, b])
        assert read["counts"] == expected.counts
        assert read["difference"] == pytest.approx(expected.difference, abs=1e-9)
        for name in expected.table:
            column, values = [row[name] for row in read["table"]], expected.table[name]
            if values.dtype.kind == "f":
                # Standard errors are stored with 65,534 steps, scores with 2³² or exactly.
                close = 2e-5 if name == "se" else 1e-9
                numbers = np.array([np.nan if x is None else x for x in column], dtype=float)
                np.testing.assert_allclose(numbers, values, atol=close, rtol=0, equal_nan=True)
            else:
                assert column == values.tolist(), name
        for name in ("fixes", "regressions", "carriers", "outliers", "all_fail", "all_solve"):
            assert [row["item"] for row in read[name]] == getattr(expected, name)["item"].tolist(), name
        page.select_option(".si-a", label=a)
        page.select_option(".si-b", label=b)
        lines = page.eval_on_selector_all(".si-lines p", "all => all.map(one => one.textContent)")
        assert lines == write_items(expected, analysis.decimals)


@pytest.mark.browser
def test_links_lists_panel_and_heat_map(page: Any, tmp_path: Path) -> None:
    analysis = sw.analyze(with_gaps(), calibration=0)
    a, b = analysis.systems[2], analysis.systems[0]
    show(page, analysis, tmp_path / "items.html", f"#item=t3&a={a}&b={b}")
    items, matrix = analysis.items(a, b), analysis.item_matrix()
    assert page.locator(".si-a option:checked").inner_text() == a
    assert page.locator(".si-b option:checked").inner_text() == b
    # The item of the link: all systems that have a score, best first.
    known = matrix.scores.loc["t3"].dropna().sort_values(ascending=False)
    assert page.input_value(".si-item") == "t3"
    assert page.locator(".si-scores tbody th").all_inner_texts() == list(known.index)
    place = list(matrix.scores.index).index("t3") + 1
    assert f"difficulty {place} of 40" in page.inner_text(".si-about")
    assert "1 system without a score" in page.inner_text(".si-about")
    # A regression leads to its item, and the address to both.
    worst = str(items.regressions["item"][0])
    page.click(".si-regressions li:first-child a")
    assert page.input_value(".si-item") == worst
    assert page.evaluate("location.hash") == f"#item={worst}&a={a}&b={b}"
    # Everything is shown on demand.
    page.click(".si-fixes .si-more")
    assert page.locator(".si-fixes li a").all_inner_texts() == items.fixes["item"].tolist()
    # The strip by keys: the first item is that of the largest difference.
    page.focus(".si-bars")
    page.keyboard.press("Home")
    assert page.inner_text(".si-told").startswith(f"{items.table['item'][0]}: ")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".si-bars", "aria-valuetext").startswith(f"{items.table['item'][1]}: ")
    page.keyboard.press("Enter")
    assert page.input_value(".si-item") == items.table["item"][1]
    # The heat map by keys and pointer: rows are systems, columns items.
    page.focus("canvas")
    page.keyboard.press("Home")
    hardest, best = matrix.scores.index[0], analysis.systems[0]
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    assert page.inner_text(".si-cell").startswith(f"{hardest}, {best}: 0.000")
    page.keyboard.press("+")
    assert page.is_enabled(".si-whole")
    box = page.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] - 3)
    page.click(".si-whole")
    page.click(".si-swap")
    assert page.locator(".si-a option:checked").inner_text() == b
    # The same system cannot be chosen twice.
    page.select_option(".si-a", label=a)
    assert page.locator(".si-b option:checked").inner_text() == b


def test_large_tables_stay_small() -> None:
    rng = np.random.default_rng(2)
    for shape in ((250, 126), (5000, 10)):
        packed = pack_numbers(rng.random(shape))
        assert len(packed["packed"]) < 280_000
    assert len(pack_numbers((rng.random((5000, 10)) < 0.5).astype(float))["packed"]) < 12_000


def test_systems_that_do_not_fit_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = sw.analyze(table(60, 12), calibration=0, baseline="s11")
    monkeypatch.setattr("shardwise.writing.item_view.MOST_BYTES", 2500)
    view, data = render_items(analysis), pack_items(analysis)
    assert view is not None
    assert data is not None
    assert 2 <= view.systems < 12
    assert "s11" in data["systems"]
    assert f"of {view.systems} systems; {12 - view.systems} with lower means are left out" in view.html
    monkeypatch.setattr("shardwise.writing.item_view.MOST_BYTES", 100)
    assert render_items(analysis) is None
    note = "60 topics are too many for a page; list them with: shardwise compare FILE --table items:s0,s1"
    assert note in render_report(analysis)


def test_no_view_without_pairs() -> None:
    y = table(40, 2)
    y.values[:20, 0] = np.nan
    y.values[20:, 1] = np.nan
    analysis = sw.analyze(y, calibration=0)
    assert render_items(analysis) is None
    assert 'id="items"' not in render_report(analysis)


# scores that cannot be squared are refused before they come here, which the smallest doubles are
SCORES = st.floats(-1e6, 1e6).filter(lambda score: score == 0.0 or abs(score) > 1e-150)


@settings(max_examples=80)
@given(
    st.lists(SCORES | st.sampled_from([0.0, 0.25, 1.0, float("nan")]), min_size=2, max_size=30),
    st.sampled_from([2, 4]),
)
@example([0.0, 1.1e-150], 4)
def test_numbers_come_back(values: list[float], width: int) -> None:
    y = np.array([values])
    table = pack_numbers(y, width)
    planes = np.frombuffer(gzip.decompress(base64.b64decode(table["packed"])), np.uint8)
    codes = sum(plane.astype(float) * 256.0**k for k, plane in enumerate(planes.reshape(table["bytes"], -1)))
    back = np.where(codes == 256.0 ** table["bytes"] - 1, np.nan, (codes + table["low"]) / table["scale"])
    span = np.ptp(y[np.isfinite(y)]) if np.isfinite(y).any() else 0.0
    largest = np.nanmax(np.abs(y), initial=0.0)
    np.testing.assert_allclose(back, y[0], rtol=0, atol=span / (256.0**width - 4) + 1e-11 * largest)
