"""The report in a real browser, opened from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from axe import list_findings
from report_pages import ALIKE, CLIPPED, HOSTILE, OVERLAPPING, opened, simulated
from shardwise.writing.html import write_report

pytestmark = pytest.mark.browser
SETTLED = """() => [...document.querySelectorAll(".scroll, .chart")].every(
    (box) => (box.scrollWidth > box.clientWidth + 1) === ("more" in box.dataset)
)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    write_report(made / "some.html", simulated(20, splits=2, holes=0.02), calibration=20)
    write_report(made / "two.html", simulated(2, shards=1).isel(shard=0), calibration=0)
    write_report(made / "many.html", simulated(150, topics=20), method="MD6 hsd topic")
    write_report(
        made / "hostile.html",
        simulated(len(HOSTILE), names=HOSTILE),
        notes=["<script>alert(2)</script>"],
        calibration=10,
    )
    return made


def colour_at(page: Any, x: float, y: float) -> list[int]:
    """Colour of the matrix at a place given in CSS pixels."""
    script = """([x, y]) => {
        const c = document.getElementById("matrix");
        const copy = Object.assign(document.createElement("canvas"), { width: c.width, height: c.height });
        const pen = copy.getContext("2d", { willReadFrequently: true });
        pen.drawImage(c, 0, 0);
        const scale = c.width / c.clientWidth;
        return [...pen.getImageData(Math.round(x * scale), Math.round(y * scale), 1, 1).data];
    }"""
    found: list[int] = page.evaluate(script, [x, y])
    return found


def test_search_and_choice(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        visible = page.locator("#board tbody tr:visible")
        assert visible.count() == 20
        page.fill("#search", "RUN01")
        assert visible.count() == 10
        assert page.inner_text("#found") == "10 of 20 systems"
        page.fill("#search", "run003")
        page.press("#search", "Enter")
        assert page.inner_text("#chosen-h") == "run003 against all others"
        assert page.locator("#against tbody tr").count() == 19
        pressed = page.locator(".pick[aria-pressed=true]")
        assert pressed.inner_text() == "run003"
        page.press("#search", "Escape")
        assert visible.count() == 20
        data = json.loads(page.locator("#data").text_content())
        k = data["systems"].index("run003")
        alike = page.locator("#board tr.alike").count()
        both = [claim["differs"] for claim in data["claims"]]
        place = {}
        n = 0
        for i in range(20):
            for j in range(i + 1, 20):
                place[i, j] = place[j, i] = n
                n += 1
        assert alike == sum(not all(d[place[k, i]] != "0" for d in both) for i in range(20) if i != k)
        page.click("#clear")
        assert not page.is_visible("#chosen")
        page.click("#board tbody tr:first-child .pick")
        assert page.inner_text("#chosen-h") == f"{data['systems'][0]} against all others"


def test_matrix_by_pointer_and_keys(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        page.locator("#matrix").scroll_into_view_if_needed()
        page.focus("#matrix")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        first = page.inner_text("#cell")
        assert first.startswith("1. run000")
        assert "against 4. " in first
        assert "topics like these" in first
        page.keyboard.press("Enter")
        assert page.inner_text("#chosen-h") == "run000 against all others"
        box = page.locator("#matrix").bounding_box()
        page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 60)
        assert "against 20. " in page.inner_text("#cell")
        corner = colour_at(page, box["width"] - 8, 90)  # the best against the worst
        other = colour_at(page, 90, box["height"] - 8)
        assert corner[2] > corner[0], "row better: blue"
        assert other[0] > other[2], "row worse: orange"
        page.select_option("#view", "1")
        page.focus("#matrix")
        before = page.evaluate("document.getElementById('matrix').toDataURL()")
        page.keyboard.press("+")
        assert page.evaluate("document.getElementById('matrix').toDataURL()") != before
        page.click("#zoom-reset")


def test_dark_and_light(browser: Any, folder: Path) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        with opened(browser, folder / "some.html", color_scheme=scheme) as page:
            shades[scheme] = [
                page.evaluate(f"getComputedStyle(document.body).{name}")
                for name in ("backgroundColor", "color")
            ]
    assert shades["light"][0] == "rgb(255, 255, 255)"

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for scheme, (ground, ink) in shades.items():
        light, dark = sorted((luminance(ground), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 7, f"{scheme}: WCAG AAA contrast of text"
    assert luminance(shades["dark"][0]) < 0.05


def test_trust_is_shown_and_fits_the_page(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        page.click("nav a[href='#trust']")
        assert page.locator("#trust").is_visible()
        lines = page.locator("#trust dt").all_inner_texts()
        assert lines == ["False alarms", "Intervals", "What to do"]
        assert page.locator("#trust table").first.is_hidden(), "three lines, and the rest on demand"
        page.click("#trust summary")
        assert "20 simulated data sets like yours" in page.inner_text("#trust")
        assert page.locator("#trust table").count() == 3  # one a claim, and one of the statements made
        assert page.locator("#trust tbody tr", has_text="(used here)").count() == 2
        assert page.locator("#trust svg[role=img]").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_many_systems_are_quick(browser: Any, folder: Path) -> None:
    path = folder / "many.html"
    assert path.stat().st_size < 6_000_000
    with opened(browser, path) as page:
        for table, button in (("#board", "board"), ("#forest-0", "forest-0")):
            visible = page.locator(f"{table} tbody tr:visible")
            assert visible.count() == 30, "the first of many, and a button for all"
            page.click(f"button.all[data-table={button}]")
            assert visible.count() == (150 if table == "#board" else 149)
        page.fill("#search", "run149")
        page.press("#search", "Enter")
        assert page.locator("#against tbody tr").count() == 149
        page.click("#zoom-in")
        page.click("#zoom-in")
        page.focus("#matrix")
        page.keyboard.press("ArrowDown")
        assert page.inner_text("#cell").startswith("2. run001")


def test_downloads(browser: Any, folder: Path, tmp_path: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        page.click("nav a[href='#downloads']")
        for name, start in (("pairs.csv", b"claim,a,b,"), ("intervals.pdf", b"%PDF"), ("report.json", b"{")):
            with page.expect_download() as caught:
                page.click(f"button.file:text-is('{name}')")
            assert caught.value.suggested_filename == name
            caught.value.save_as(tmp_path / name)
            assert (tmp_path / name).read_bytes().startswith(start)
        assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 2 * 190 + 1


def test_the_rest_is_folded_until_it_is_asked_for(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        order = page.evaluate("[...document.querySelectorAll('main > section')].map((s) => s.id)")
        assert order[:5] == ["answer", "systems", "differences", "items", "trust"]
        folded = page.evaluate(
            "[...document.querySelectorAll('section:has(> details:first-child)')].map((s) => s.id)"
        )
        assert folded == order[5:]
        assert page.locator("details[open]").count() == 0
        words = "document.body.innerText.split(/\\s+/).length"
        before = page.evaluate(words)
        page.click("nav a[href='#diagnostics']")
        page.locator("#diagnostics figure").wait_for(state="visible")
        page.click("#diagnostics summary")
        assert page.locator("details[open]").count() == 0
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        assert before < page.evaluate(words) / 2
    with opened(browser, folder / "some.html", "methods") as page:
        assert page.locator("#methods-text").is_visible(), "a link into a fold opens it"


def test_navigation_stays_and_chips_act(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html", viewport={"width": 390, "height": 800}) as page:
        chip = page.locator(".chip").last
        name = chip.get_attribute("title")
        chip.click()
        assert page.locator(".pick[aria-pressed=true]").get_attribute("title") == name
        assert page.inner_text("#chosen-h") == f"{name} against all others"
        page.wait_for_function("window.scrollY > 100")
        assert page.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0
        chip.click()
        assert page.inner_text("#chosen-h") == f"{name} against all others", (
            "a chip chooses, and does not undo"
        )


def middle_names(systems: int) -> list[str]:
    """Long names that start and end alike, some short ones between."""
    return [
        f"run{k}" if k % 7 == 1 else f"covidex.r5.{k % 9}.experiment-{k:03d}.neural-reranker-large"
        for k in range(systems)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "systems", [*(pytest.param(n, marks=pytest.mark.full) for n in (2, 126)), 3, 20, 500]
)
def test_no_text_is_clipped(browser: Any, tmp_path: Path, systems: int) -> None:
    """Bounding boxes of all text, on a telephone and a desk, dark and on paper; intervals are seen on both."""
    path = tmp_path / "report.html"
    write_report(
        path,
        simulated(systems, topics=6, shards=2, names=middle_names(systems)),
        method="MD6 hsd topic",
        calibration=10 if systems == 3 else 0,
    )
    assert path.stat().st_size < 2_000_000
    for width, scheme in ((390, "dark"), (1200, "light")):
        with opened(browser, path, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
            page.wait_for_selector(".sw-items[data-filled]")
            page.click(".si-fixes li a")
            assert page.evaluate(ALIKE) == []
            page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
            # what a fold has just shown is laid out, and its boxes say whether they scroll
            page.wait_for_function(SETTLED)
            assert page.evaluate(CLIPPED) == []
            assert page.evaluate(OVERLAPPING) == []
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(wide) <= 0
            bar = page.locator("#board rect.bar.lead").first.bounding_box()
            assert bar["width"] > 3
            assert bar["x"] + bar["width"] <= width
            if width == 1200:
                page.emulate_media(media="print", color_scheme="light")
                assert page.evaluate(CLIPPED) == []
                assert page.locator("nav").is_hidden()
                assert page.locator("#board tbody tr:visible").count() == systems


def test_two_systems_by_keyboard_in_the_dark(browser: Any, folder: Path) -> None:
    with opened(
        browser, folder / "two.html", viewport={"width": 390, "height": 800}, color_scheme="dark"
    ) as page:
        page.wait_for_selector(".sw-items[data-filled]")
        assert page.locator("#matrix, #search, #differences").count() == 0
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.focus(".si-bars")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        name = page.input_value(".si-item")
        assert page.evaluate("location.hash").startswith(f"#item={name}&a=")
        assert page.evaluate("document.activeElement.className").startswith("si-panel")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "si-item"
        assert list_findings(page) == []


def test_no_serious_finding_of_axe(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        page.wait_for_selector(".sw-items[data-filled]")
        page.click("#board tbody tr:first-child .pick")
        page.click(".si-fixes li a")
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        page.wait_for_function(SETTLED)
        assert list_findings(page) == []
        page.emulate_media(color_scheme="dark")
        for section in ("#systems", "#differences"):
            assert list_findings(page, section) == []
        page.evaluate(
            "(search) => { search.labels[0].remove(); search.placeholder = ''; }",
            page.query_selector("#search"),
        )
        assert [finding.partition(":")[0] for finding in list_findings(page, "#systems")] == ["label"], (
            "it can fail"
        )


def test_hostile_names_do_nothing(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "hostile.html") as page:
        assert page.locator("img, iframe").count() == 0
        for button in page.locator(".pick").all():
            button.click()
        assert page.locator("#against tbody tr").count() == 9
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, "a long name must not widen the page"


def test_print_and_narrow_screen(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "some.html") as page:
        assert page.pdf(format="A4").startswith(b"%PDF")
        page.set_viewport_size({"width": 400, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, "the page itself does not scroll sideways on a telephone"
