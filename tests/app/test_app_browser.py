"""Four people in a real browser: runs of TREC-COVID, a table with seeds, logs of lm-eval, planning."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app_server import TOKEN, Served
from shardwise.planning.topics import min_diff_at

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}


@contextmanager
def visited(browser: Any, served: Served, **how: Any) -> Iterator[Any]:
    """A page that has come in by the token; nothing may go wrong in it."""
    context = browser.new_context(**how)
    page = context.new_page()
    page.set_default_timeout(120_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{served.address}/?token={TOKEN}")
    assert "token" not in page.url
    yield page
    assert wrong == []
    context.close()


def looked_at(page: Any, name: str, full: bool = True) -> None:
    """Nothing is wider than the screen; the picture is kept where SHARDWISE_SHOTS names a folder."""
    if folder := os.environ.get("SHARDWISE_SHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=full)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name


def sent(page: Any, *files: Path) -> None:
    page.set_input_files("#files", list(files))
    page.wait_for_url("**/a/*")
    page.wait_for_selector("#choices")


def answered(page: Any) -> Any:
    """Compare without a trust check, and wait for the answer: the frame with the report."""
    page.click("summary:has-text('Settings')")
    page.fill("input[name=calibration]", "0")
    page.click("button.main")
    page.wait_for_selector("#shown")
    frame = page.frame_locator("#shown")
    frame.locator("#headline").wait_for()
    return frame


def result(page: Any, served: Served) -> Any:
    return served.ask("GET", f"/api/analyses/{page.url.rpartition('/')[2]}/result")


def agrees(frame: Any, found: Any) -> None:
    """The report in the frame shows the numbers of the JSON."""
    assert frame.locator("#headline").inner_text() == found["answer"]
    rows = frame.locator("#board tbody tr")
    assert rows.count() == len(found["systems"])
    for k in (0, rows.count() - 1):
        cells = rows.nth(k).locator("th, td").all_inner_texts()
        assert cells[1] == found["systems"][k]["system"]
        assert abs(float(cells[2]) - found["systems"][k]["mean"]) < 0.001


def test_an_organiser_with_all_runs_of_a_track(browser: Any, served: Served, data: Path) -> None:
    with visited(browser, served, **DESKTOP) as page:
        looked_at(page, "home-desktop")
        archive = data / "trec-covid-r1" / "round1_runs.tar.xz"
        sent(page, archive, data / "trec-covid-r1" / "qrels.covid-round1.txt")
        assert "143 systems" in page.inner_text(".headline")
        looked_at(page, "covid-reading")
        frame = answered(page)
        agrees(frame, result(page, served))
        looked_at(page, "covid-answer", full=False)
        page.click("button.view:has-text('Leaderboard')")
        page.frame_locator("#shown").locator("tbody tr").nth(142).wait_for()
        looked_at(page, "covid-leaderboard", full=False)
        page.click("summary:has-text('Downloads')")
        with page.expect_download() as kept:
            page.click("a:has-text('leaderboard.csv')")
        with open(kept.value.path(), newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == 143


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table of 20 questions and three models."""
    rows = [f"q{q},{m},{(q * 31 + k * 3) % 11 / 10}" for q in range(20) for k, m in enumerate("abc")]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["question,model,score", *rows]) + "\n")
    return file


def test_a_team_with_seeds_on_a_phone_in_the_dark(browser: Any, served: Served, tmp_path: Path) -> None:
    rows = [
        f"q{q},{m},{s},{(q * 31 + s * 7 + k * 3) % 11 / 10}"
        for q in range(30)
        for k, m in enumerate("abc")
        for s in (1, 2, 3)
    ]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["question,model,seed,correct", *rows]) + "\n")
    with visited(browser, served, **PHONE, color_scheme="dark") as page:
        looked_at(page, "home-phone-dark")
        sent(page, file)
        assert page.inner_text(".headline") == "30 questions × 3 models × 3 seeds"
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(map(int, dark.removeprefix("rgb(").removesuffix(")").split(","))) < 60
        page.select_option("select[name=role] >> nth=1", "item")
        page.select_option("select[name=role] >> nth=0", "system")
        page.click("button:has-text('Read again')")
        page.wait_for_selector(".headline:has-text('3 models × 30 questions')")
        page.select_option("select[name=role] >> nth=0", "item")
        page.select_option("select[name=role] >> nth=1", "system")
        page.click("button:has-text('Read again')")
        page.wait_for_selector(".headline:has-text('30 questions × 3 models')")
        page.select_option("select[name=baseline]", "b")
        assert page.is_checked("input[value=baseline]")
        looked_at(page, "seeds-reading-phone-dark")
        frame = answered(page)
        found = result(page, served)
        agrees(frame, found)
        assert found["configuration"]["baseline"] == "b"
        looked_at(page, "seeds-answer-phone-dark")


def test_an_engineer_with_logs_and_a_keyboard(browser: Any, served: Served, data: Path) -> None:
    logs = sorted((data / "llm" / "lm-eval").iterdir())

    def tab_to(page: Any, selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} is not reached by the keyboard")

    with visited(browser, served, **DESKTOP) as page:
        tab_to(page, "#files")
        looked_at(page, "home-focus")
        chosen: list[Any] = []
        page.on("filechooser", lambda chooser: chosen.append(chooser))
        for _ in range(5):  # a key right after the page has come may go unheard by a browser at work
            page.keyboard.press("Enter")
            page.wait_for_timeout(1000)
            if chosen:
                break
        chosen[0].set_files(logs)
        page.wait_for_selector("#choices")
        assert "3 models" in page.inner_text(".headline")
        tab_to(page, "summary:not(.quiet summary)")
        page.keyboard.press("Enter")
        tab_to(page, "input[name=calibration]")
        page.keyboard.type("0")
        looked_at(page, "logs-reading")
        tab_to(page, "button.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("#shown")
        frame = page.frame_locator("#shown")
        frame.locator("#headline").wait_for()
        agrees(frame, result(page, served))
        tab_to(page, "button.view:last-child")
        page.keyboard.press("Enter")
        page.wait_for_selector("#shown[title=Leaderboard]")
        looked_at(page, "logs-leaderboard", full=False)


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_a_planner_with_sliders(browser: Any, served: Served, screen: str) -> None:
    with visited(browser, served, **(DESKTOP if screen == "desktop" else PHONE)) as page:
        page.click("a:has-text('Planning')")
        page.wait_for_selector("#figures .headline")
        before = page.inner_text("#figures .headline")
        planned = {n: min_diff_at(n=n, variance=0.02, systems=10, method="moderated") for n in (50, 100)}
        assert before.startswith(f"50 topics detect a difference of {planned[50]:.3g}")
        page.focus("#s-topics")
        for _ in range(10):
            page.keyboard.press("ArrowRight")
        page.wait_for_selector("#figures .headline:has-text('100 topics')")
        assert f"{planned[100]:.3g}" in page.inner_text("#figures .headline")
        page.fill("input[name=per_topic]", "20")
        page.wait_for_selector("#figures .headline:has-text('for 2,000')")
        page.focus("#s-seeds")
        page.keyboard.press("ArrowRight")
        page.fill("input[name=within_seeds]", "0.01")
        page.wait_for_selector("#figures:has-text('2 samples')")
        looked_at(page, f"plan-{screen}")
        page.reload()  # the address holds the plan
        assert "2 samples" in page.inner_text("#figures .headline")


def test_rates_fill_in_until_it_is_cancelled_and_deleted(browser: Any, served: Served, small: Path) -> None:
    with visited(browser, served, **DESKTOP) as page:
        id = served.send(small, kind="calibrate")
        served.ask(
            "POST", f"/api/analyses/{id}/run", 202, json={"repetitions": 200_000, "method": ["t holm"]}
        )
        page.goto(f"{served.address}/a/{id}")
        told = page.locator("#partial .facts")
        first = told.inner_text()  # comes by itself, as do the next
        page.wait_for_function(
            "told => document.querySelector('#partial .facts').innerText !== told", arg=first
        )
        assert "t holm" in page.inner_text("#partial tbody")
        looked_at(page, "rates-so-far")
        page.click("button:has-text('Cancel')")
        page.wait_for_selector("text=Cancelled.")
        looked_at(page, "cancelled")
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("button:has-text('Delete')")
        page.wait_for_selector("#drop")


FOCUSABLE = """() => [...document.querySelectorAll("a, button, input, select, summary, [tabindex='0'], iframe")]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0
    && (e.type !== "radio" || e.checked))"""
CONTRAST = """() => {
    const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
        .map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, k) => sum + c * [.2126, .7152, .0722][k], 0);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const own = getComputedStyle(e).backgroundColor;
            if (!/, 0\\)$/.test(own)) return own;
        }
        return "rgb(255, 255, 255)";
    };
    return [...document.querySelectorAll("main *, nav *")].filter((e) =>
        e.checkVisibility() && !e.matches("option, .hidden")
        && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
    ).map((e) => {
        const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
        return [(a + .05) / (b + .05), e.outerHTML.slice(0, 100)];
    }).filter(([ratio]) => ratio < 4.5);
}"""


def test_every_page_by_keyboard_and_in_the_dark(browser: Any, served: Served, small: Path) -> None:
    """The Tab key reaches all that can be used, where one sees it; text has WCAG AA's contrast in light and dark."""
    ready, done = served.send(small), served.send(small)
    served.ask("POST", f"/api/analyses/{ready}/read", 202, json={})
    served.done(done, method="t holm")
    lab = served.send(small, kind="calibrate")
    served.done(lab, repetitions=20, method=["t holm"])
    served.wait(ready, "ready")
    pages = {
        "home": "/",
        "reading": f"/a/{ready}",
        "answer": f"/a/{done}",
        "calibrated": f"/a/{lab}",
        "two": f"/compare?with={done}&with={done}",
        "plan": "/plan",
        "nothing": "/a/0123456789abcdef",
    }
    for scheme in ("light", "dark"):
        with visited(browser, served, **DESKTOP, color_scheme=scheme) as page:
            for name, path in pages.items():
                if name == "nothing":  # the browser itself says of a 404 that it is one
                    page.route("**/a/0123456789abcdef", lambda route: route.fulfill(
                        response=route.fetch(), status=200))  # fmt: skip
                page.goto(f"{served.address}{path}")
                page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
                assert page.evaluate(CONTRAST) == [], f"{name}, {scheme}"
                looked_at(page, f"{name}-{scheme}")
                if scheme == "dark":
                    continue
                wanted = page.evaluate(f"({FOCUSABLE})().length")
                for _ in range(wanted):
                    page.keyboard.press("Tab")
                    seen = page.evaluate(
                        "() => { const e = document.activeElement; e.dataset.reached = 1;"
                        " return getComputedStyle(e).outlineStyle !== 'none' || e.matches('iframe, #files, #tree'); }"
                    )
                    assert seen, f"{name}: {page.evaluate('document.activeElement.outerHTML')}"
                missed = page.evaluate(
                    f"({FOCUSABLE})().filter((e) => !e.dataset.reached).map((e) => e.outerHTML)"
                )
                assert missed == [], name
