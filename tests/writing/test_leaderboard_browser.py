"""The leaderboard in a real browser, opened from disk: phone, desktop, dark, print, 3 to 500 systems."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from axe import list_findings
from report_pages import HOSTILE, opened, simulated
from shardwise import analyze
from shardwise.analysis.analyze import join_measures

pytestmark = pytest.mark.browser
SIZES = (3, 20, 126, 500)
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
# text that ends outside the window, or under an edge that cuts it without saying so
CLIPPED = """() => [...document.querySelectorAll(".sw-board *")].filter((e) => {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const scrolled = e.closest(".sw-scroll") !== null;
    const box = e.getBoundingClientRect();
    if (!own || !e.checkVisibility() || box.width <= 1 || e.closest("style, script, svg")) return false;
    return (!scrolled && box.right > innerWidth + 1)
        || (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0);
}).map((e) => e.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("boards")
    for n in SIZES:
        scores = simulated(n, topics=8, shards=1).isel(shard=0, drop=True)
        analyze(scores, method="t holm").leaderboard(baseline="run001").save(made / f"{n}.html")
    # names that differ in the middle only
    long = [f"an-organisation-with-a-long-name.run-{k:03d}.the-same-ending-of-every-name" for k in range(20)]
    analyze(simulated(20, names=long), n_resamples=99).leaderboard().save(made / "long.html")
    other = simulated(20, seed=2).rename("nDCG@10")
    first = simulated(20)
    wide = join_measures(analyze(first, n_resamples=99), analyze(other, n_resamples=99)).leaderboard(
        ["run003", "run007"]
    )
    wide.save(made / "wide.html")
    analyze(simulated(len(HOSTILE), names=HOSTILE), n_resamples=99).leaderboard(baseline=HOSTILE[2]).save(
        made / "hostile.html"
    )
    both = "".join(wide.to_html(page=False, name=name) for name in ("one", "two"))
    (made / "two.html").write_text(
        f"<!doctype html><meta charset=utf-8><body>{both}</body>", encoding="utf-8"
    )
    return made


@pytest.mark.parametrize("name", [*map(str, SIZES), "long", "wide", "hostile"])
def test_nothing_is_cut(browser: Any, folder: Path, name: str) -> None:
    with opened(browser, folder / f"{name}.html", viewport=PHONE) as page:
        for window, scheme in product((PHONE, DESK), ("light", "dark")):
            page.set_viewport_size(window)
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CLIPPED) == [], (window, scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.locator("td.sw-mean").first.is_visible()
            assert page.locator(".sw-between").first.is_visible()


def test_names_are_whole_on_a_phone(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "long.html", viewport=PHONE) as page:
        shown = page.locator(".sw-name").all_inner_texts()
        assert len(set(shown)) == 20
        assert shown == names(page)
        assert page.locator(".sw-may").first.inner_text().strip()


def test_a_page_has_a_title_its_data_and_a_date(
    browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777723200")
    board = analyze(simulated(5), n_resamples=99, title="Round 5").leaderboard()
    path = folder / "titled.html"
    board.save(path)
    assert board.to_html() == path.read_text(encoding="utf-8")
    with opened(browser, path) as page:
        assert page.title() == page.inner_text("h1") == "Round 5"
        assert page.inner_text(".sw-byline").endswith("· 2 May 2026")
        assert "5 systems" in page.inner_text(".sw-byline")
    # in somebody's page it is not the first heading
    assert "<h1" not in board.to_html(page=False)


def test_print_shows_every_row(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "126.html") as page:
        page.emulate_media(media="print")
        box = page.evaluate(
            "(() => { const s = document.querySelector('.sw-scroll'); return [s.scrollHeight, s.clientHeight]; })()"
        )
        assert box[0] <= box[1] + 1
        assert page.locator("tbody tr:visible").count() == 126
        assert not page.locator(".sw-tools").is_visible()


def names(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        "tbody tr:not([hidden])", "rows => rows.map(r => r.dataset.name)"
    )
    return found


def test_sorting_searching_and_links(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "126.html") as page:
        ranked = names(page)
        page.click("thead button[data-key=mean]")
        assert names(page) == ranked
        page.click("thead button[data-key=mean]")
        assert names(page) == ranked[::-1]
        assert page.locator("th[aria-sort=ascending] button").get_attribute("data-key") == "mean"
        page.click("thead button[data-key=name]")
        assert names(page) == sorted(ranked)
        page.fill(".sw-search", "RUN01")
        assert names(page) == [f"run01{k}" for k in range(10)]
        assert page.inner_text(".sw-found") == "10 of 126 systems"
        page.click("text=run013")
        link = page.evaluate("location.href")
        assert "q=RUN01" in link
        assert "system=run013" in link
    with opened(browser, folder / "126.html", link=link.partition("#")[2]) as page:
        assert names(page) == [f"run01{k}" for k in range(10)]
        assert page.locator("tr.sw-chosen").get_attribute("data-name") == "run013"
        page.press(".sw-search", "Escape")
        page.check(".sw-top")
        assert 1 <= len(names(page)) < 126
        assert page.eval_on_selector_all(
            "tbody tr:not([hidden])", "rows => rows.every(r => 'top' in r.dataset)"
        )


def test_many_systems_are_shown_when_asked_for(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "500.html") as page:
        assert page.locator("tbody tr:visible").count() == 30
        assert page.inner_text(".sw-more") == "Show all 500 systems"
        page.fill(".sw-search", "run49")
        assert page.locator("tbody tr:visible").count() == 10
        assert not page.locator(".sw-more").is_visible()
        page.fill(".sw-search", "")
        page.click(".sw-more")
        assert page.locator("tbody tr:visible").count() == 500
        assert page.evaluate("document.activeElement.className") == "sw-name"
        last = names(page)[-1]
    with opened(browser, folder / "500.html", link=f"leaderboard?system={last}") as page:
        assert page.locator("tr.sw-chosen").is_visible()


def test_no_serious_finding_of_axe(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "wide.html") as page:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert list_findings(page) == [], scheme


def test_two_boards_on_one_page_keep_to_themselves(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "two.html") as page:
        page.locator("#one .sw-search").fill("run00")
        assert page.locator("#one tbody tr:visible").count() == 10
        assert page.locator("#two tbody tr:visible").count() == 20
        assert page.evaluate("location.hash").startswith("#one?")


def test_names_are_text(browser: Any, folder: Path) -> None:
    with opened(browser, folder / "hostile.html") as page:
        assert page.locator("tbody tr").count() == len(HOSTILE)
        assert page.locator("tbody img, tbody script").count() == 0
        assert "<script>alert(1)</script>" in names(page)


def test_without_a_script_it_is_a_table() -> None:
    board = analyze(simulated(5), n_resamples=99).leaderboard()
    text = board.to_html()
    assert text.count("<tr data-name=") == 5
    assert 'onclick="' not in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_a_board_shows_the_items_behind_its_means(browser: Any, folder: Path) -> None:
    analysis = analyze(simulated(20), n_resamples=99)
    path = folder / "items.html"
    analysis.leaderboard().save(path)
    with opened(browser, path, link="item=t03&a=run004&b=run009") as page:
        assert page.input_value(".si-a") == str(analysis.systems.index("run004"))
        items = analysis.items("run004", "run009")
        counts = page.evaluate("document.querySelector('.sw-items').compareItems('run004', 'run009').counts")
        assert counts == items.counts
