"""People in a real browser, on a desk, on a phone, in the dark, by keyboard: every page and every control."""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app_server import TOKEN, Served
from axe import list_findings
from designs import min_diff_at
from layout import list_faults

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
    # a phone would make the page smaller to show all of it
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], name


def sent(page: Any, *files: Path) -> None:
    page.set_input_files("#files", list(files))
    page.wait_for_url("**/a/*")
    page.wait_for_selector("#choices")


def answered(page: Any, calibration: int = 0) -> None:
    """Compare, and wait for the answer."""
    page.click("summary:has-text('Settings')")
    page.fill("input[name=calibration]", str(calibration))
    page.click("button.main")
    page.wait_for_selector("#headline")


def opened(page: Any, view: str) -> Any:
    """The frame with the report or the leaderboard."""
    page.click(f"button.view:text-is('{view}')")
    page.wait_for_selector(f"#shown[title='{view}']:visible")
    return page.frame_locator("#shown")


def result(page: Any, served: Served) -> Any:
    return served.ask("GET", f"/api/analyses/{page.url.rpartition('/')[2].partition('#')[0]}/result")


def agrees(page: Any, found: Any) -> None:
    """The page and the report in its frame show the numbers of the JSON."""
    assert page.inner_text("#headline") == found["answer"]
    names = {row["system"]: row for row in found["systems"]}
    shown = page.locator(".result tbody tr")
    assert shown.count() == len(names) - (1 if found["configuration"]["baseline"] else 0)
    for k in (0, shown.count() - 1):
        name, mean, *_ = shown.nth(k).locator("th, td").all_inner_texts()
        assert abs(float(mean) - names[name]["mean"]) < 0.001
    frame = opened(page, "Report")
    frame.locator("#headline").wait_for()
    assert frame.locator("#headline").inner_text() == found["answer"]


def test_an_organiser_with_all_runs_of_a_track(browser: Any, served: Served, data: Path) -> None:
    with visited(browser, served, **DESKTOP) as page:
        looked_at(page, "home-desktop")
        archive = data / "trec-covid-r1" / "round1_runs.tar.xz"
        sent(page, archive, data / "trec-covid-r1" / "qrels.covid-round1.txt")
        assert "143 systems" in page.inner_text(".headline")
        looked_at(page, "covid-reading")
        answered(page)
        looked_at(page, "covid-answer")
        assert list_faults(page) == []
        agrees(page, result(page, served))
        board = opened(page, "Leaderboard")
        board.locator(".sw-more").click()
        board.locator(".sw-board tbody tr").nth(142).wait_for()
        looked_at(page, "covid-leaderboard", full=False)
        page.click("summary:has-text('Single files')")
        with page.expect_download() as kept:
            page.click("a:has-text('leaderboard.csv')")
        with open(kept.value.path(), newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == 143


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table of 20 questions and three models."""
    return write_small(tmp_path)


def write_small(folder: Path) -> Path:
    rows = [f"q{q},{m},{(q * 31 + k * 3) % 11 / 10}" for q in range(20) for k, m in enumerate("abc")]
    file = folder / "scores.csv"
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
        answered(page)
        found = result(page, served)
        looked_at(page, "seeds-answer-phone-dark")
        assert list_faults(page) == []
        assert "better than b;" in page.inner_text("#headline")
        agrees(page, found)
        assert found["configuration"]["baseline"] == "b"


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
        page.wait_for_selector("#headline")
        tab_to(page, "button.view[data-view=leaderboard]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#shown[title=Leaderboard]:visible")
        looked_at(page, "logs-leaderboard", full=False)
        agrees(page, result(page, served))


def test_an_example_is_answered_and_its_error_rates_follow(browser: Any, served: Served) -> None:
    """From the first page to error rates, items, a plan and back, without a file and without a reload."""
    with visited(browser, served, **DESKTOP, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.click("button:has-text('3 language models')")
        page.wait_for_selector("#choices")
        values = page.locator(".roles tbody tr").all_inner_texts()
        assert [row.split("\t")[1] for row in values] == [
            "q1, q2, q3, … (60)",
            "large, medium, small",
            "0, 1, 2",
            "1, 0",
        ]
        page.evaluate("window.stays = true")
        answered(page, calibration=20)
        answer = page.inner_text("#headline")
        assert "large" in answer
        # the strip is there with the answer, and fills in
        page.wait_for_selector(".strip button:text-is('Details in the report')")
        assert page.evaluate("window.stays")
        assert page.inner_text("#headline") == answer == result(page, served)["answer"]
        assert "with equal models" in page.inner_text(".strip")
        assert page.locator("#native .warn").count() == 0
        page.click(".strip button:text-is('Details in the report')")
        page.frame_locator("#shown").locator("#trust").wait_for()
        page.click("button.view:text-is('Items')")
        page.wait_for_selector(".sw-items[data-started] .si-lists li")
        assert list_faults(page) == []
        looked_at(page, "example-items")
        page.click("button:has-text('Copy link')")
        page.wait_for_selector("button:has-text('Copied')")
        assert page.evaluate("navigator.clipboard.readText()") == page.url
        here = page.url.partition("#")[0]
        page.goto(page.url)
        page.reload()
        page.wait_for_selector(".sw-items[data-started]")  # the address names the view
        page.click("button.view:text-is('Answer')")
        assert page.is_visible(".result")
        with page.expect_download() as kept:
            page.click("a:has-text('Download all')")
        with zipfile.ZipFile(kept.value.path()) as archive:
            assert {"report.html", "report.json", "pairs.csv", "leaderboard.csv"} <= set(archive.namelist())
        page.click("a:has-text('Plan the next one')")
        assert page.inner_text("#figures .headline").startswith(
            "60 questions with 3 seeds each detect a difference"
        )
        assert page.locator(".curve circle").count() == 1
        page.focus("#s-topics")
        page.keyboard.press("PageUp")
        page.wait_for_selector(".curve circle.present")
        looked_at(page, "example-plan")
        page.goto(here)
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("button:has-text('Delete')")
        page.wait_for_selector("#drop")


def test_a_table_with_two_readings_among_other_files(browser: Any, served: Served, small: Path) -> None:
    """What cannot be read offers other files, and readings to choose from, each a click away."""
    rows = [f"{a},{b},{(ord(a) * 7 + ord(b) * 3) % 11 / 10}" for a in "abcdef" for b in "uvwxyz"]
    doubtful = small.with_name("doubtful.csv")
    doubtful.write_text("\n".join(["one,other,points", *rows]) + "\n")
    with visited(browser, served, **DESKTOP) as page:
        sent(page, doubtful, small)
        assert "doubtful.csv" in page.inner_text(".note.warn")
        looked_at(page, "doubtful")
        assert list_faults(page) == []
        page.click("button:has-text('Only scores.csv')")
        page.wait_for_selector(".headline:has-text('20 questions × 3 models')")
        page.click("summary:has-text('2 files')")
        assert "not used" in page.inner_text("details[open]")
        page.click("button:has-text('Use all files')")
        page.wait_for_selector("h1:has-text('This needs your help')")
        page.click("button:has-text('Only doubtful.csv')")
        page.wait_for_selector(".readings li:has-text('6 ones')")
        readings = page.locator(".readings li").all_inner_texts()
        assert readings == [
            "items are in one, systems are in other 6 ones × 6 others",
            "items are in other, systems are in one 6 others × 6 ones",
        ]
        page.click(".readings button >> nth=1")
        page.wait_for_selector("h1:has-text('Is this right?')")
        answered(page)  # the reading is kept
        assert result(page, served)["configuration"]["topic"] == 6
        assert {row["system"] for row in result(page, served)["systems"]} == set("abcdef")


@pytest.mark.parametrize(
    ("name", "value", "winner"),
    [
        ("points", "", "c"),
        ("points", "lower_is_better", "a"),
        ("seconds", "", "a"),
        pytest.param("seconds", "higher_is_better", "c", marks=pytest.mark.full),
    ],
)
def test_the_direction_is_switched_before_the_answer(
    browser: Any, served: Served, tmp_path: Path, name: str, value: str, winner: str
) -> None:
    """Points that are better when low: the switch turns the winner round, and the file's own name would have."""
    rows = [f"q{q},{m},{((q * 31 + k) % 7 + 3 * k) / 20}" for q in range(20) for k, m in enumerate("abc")]
    file = tmp_path / f"{name}.csv"
    file.write_text("\n".join([f"question,model,{name}", *rows]) + "\n")
    with visited(browser, served, **DESKTOP) as page:
        sent(page, file)
        page.click("summary:has-text('Settings')")
        switch = page.locator(f"input[name=direction][value='{value}']")
        switch.check()
        assert switch.is_checked()
        page.fill("input[name=calibration]", "0")
        page.click("button.main")
        page.wait_for_selector("#headline")
        agrees(page, result(page, served))
        assert result(page, served)["systems"][0]["system"] == winner
        assert ("lower is better" in page.inner_text("main").lower()) == (winner == "a")


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_a_planner_with_sliders(browser: Any, served: Served, screen: str) -> None:
    with visited(browser, served, **(DESKTOP if screen == "desktop" else PHONE)) as page:
        page.click("a:has-text('Planning')")
        page.wait_for_selector("#figures .headline")
        before = page.inner_text("#figures .headline")
        planned = {n: min_diff_at(n=n, variance=0.02, systems=10, method="moderated") for n in (50, 100)}
        assert before.startswith(f"50 topics detect a difference of {planned[50]:.3g}")
        page.focus("#s-topics")
        for _ in range(50):
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
        page.goto(f"{served.pages}/a/{id}")
        first = page.locator("#partial .rates .num").nth(1).inner_text()  # comes by itself, as do the next
        page.wait_for_function(
            "told => document.querySelectorAll('#partial .rates .num')[1].innerText !== told", arg=first
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


@pytest.fixture(scope="module")
def addresses(served: Served, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every page, in the states that it has."""
    small = write_small(tmp_path_factory.mktemp("pages"))
    doubtful = small.with_name("doubtful.csv")
    doubtful.write_text(
        "one,other,points\n" + "".join(f"{a},{b},{ord(a) % 5}\n" for a in "abcdef" for b in "uvwxyz")
    )
    ready, unread, done, other = (served.send(path) for path in (small, doubtful, small, small))
    lab = served.send(small, kind="calibrate")
    for id in (ready, unread):
        served.ask("POST", f"/api/analyses/{id}/read", 202, json={})
    served.done(done, method="t holm", calibration=20)
    served.done(other, baseline=["b"])
    served.done(lab, repetitions=20, method=["t holm", "max-t"])
    for id in (ready, unread):
        served.wait(id, "ready")
    return {
        "home": "/",
        "reading": f"/a/{ready}",
        "unread": f"/a/{unread}",
        "answer": f"/a/{done}",
        "items": f"/a/{done}#items",
        "baseline": f"/a/{other}",
        "calibrated": f"/a/{lab}",
        "two": f"/compare?with={done}&with={other}",
        "plan": f"/plan?source={done}",
        "nothing": "/a/0123456789abcdef",
    }


def turned_to(page: Any, served: Served, name: str, path: str) -> None:
    """Go to a page, with everything on it unfolded."""
    if name == "nothing":  # the browser itself says of a 404 that it is one
        page.route("**/a/0123456789abcdef", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.goto("about:blank")  # another part of the same address is no visit
    page.goto(f"{served.pages}{path}")
    if name == "items":
        page.wait_for_selector(".sw-items[data-started]")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")


@pytest.mark.parametrize(
    ("scheme", "screen"),
    [
        ("light", DESKTOP),
        ("dark", PHONE),
        # colours are those of the phone, places those of the light
        pytest.param("dark", DESKTOP, marks=pytest.mark.full),
    ],
    ids=["light desktop", "dark phone", "dark desktop"],
)
def test_every_page_by_keyboard_and_in_the_dark(
    browser: Any, served: Served, addresses: dict[str, str], scheme: str, screen: dict[str, Any]
) -> None:
    """All controls are reached and seen, no text is cut or covered, and contrast suffices on every screen."""
    with visited(browser, served, **screen, color_scheme=scheme) as page:
        for name, path in addresses.items():
            turned_to(page, served, name, path)
            where = f"{name}-{scheme}-{screen['viewport']['width']}"
            looked_at(page, where)
            assert list_faults(page) == [], where
            if name != "items":
                assert page.evaluate(CONTRAST) == [], where
            if scheme == "dark" or name == "items":  # whose address begins in the middle of the page
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


def test_no_page_keeps_anybody_out(browser: Any, served: Served, addresses: dict[str, str]) -> None:
    """axe-core has no serious finding on any page."""
    # a phone shows the same elements; where they stand is for the walk above
    for screen, names in ((DESKTOP, tuple(addresses)), (PHONE, ("home", "answer"))):
        with visited(browser, served, **screen) as page:
            for name in names:
                turned_to(page, served, name, addresses[name])
                assert list_findings(page) == [], f"{name}-{screen['viewport']['width']}"
