"""The page as a file: whole, self-contained, and harmless whatever the names."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import shardwise
from report_pages import HOSTILE, simulated
from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import analyze
from shardwise.analysis.leaderboard import tabulate_against
from shardwise.core.errors import InputError
from shardwise.core.text import escape_controls, script_json
from shardwise.writing.html import render_report, write_report
from shardwise.writing.numbers import format_interval, format_signed

pytestmark = pytest.mark.slow
EXPECTED = {"systems.csv", "pairs.csv", "tables.tex", "intervals.pdf", "intervals.svg", "methods.tex", "references.bib",
            "report.json"}  # fmt: skip


class Page(HTMLParser):
    """Elements, scripts, ids and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []  # that run
        self.data: list[str] = []  # in the order of the page: the items, then all else
        self.inside: list[str] | None = None
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = None
        if tag == "script":
            self.inside = self.data if dict(attrs).get("type") == "application/json" else self.scripts
            self.inside.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside is not None:
            self.inside[-1] += data
        else:
            self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture(scope="module")
def content() -> Analysis:
    return analyze(simulated(6, splits=3, holes=0.02), notes=["read well"], seed=4)


@pytest.fixture(scope="module")
def page(content: Analysis) -> Page:
    return Page(render_report(content))


def data_of(page: Page) -> dict[str, object]:
    found: dict[str, object] = json.loads(page.data[-1])
    return found


def test_nothing_is_fetched(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        for name in ("src", "href", "data", "action", "poster", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), (tag, name, value)
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    allowed = re.findall("'sha256-([^']+)'", policy.partition("script-src")[2].partition(";")[0])
    assert len(page.scripts) == 2
    assert allowed == [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts
    ]


def test_sections_ids_and_labels(page: Page) -> None:
    ids = [value for _, attributes in page.tags if (value := attributes.get("id"))]
    assert len(ids) == len(set(ids))
    links = [str(a["href"])[1:] for t, a in page.tags if t == "a"]
    assert set(links) <= set(ids)
    assert {"answer", "systems", "differences", "items", "variance", "stability", "power", "diagnostics", "methods",
            "downloads", "repeat"} <= set(links)  # fmt: skip
    assert page.count("h1") == 1
    for tag, attributes in page.tags:
        if tag == "svg" and attributes.get("role") == "img":
            assert attributes.get("aria-label")
        if tag == "label" and "for" in attributes:
            assert attributes["for"] in ids
        if tag == "th":
            assert "scope" in attributes
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_the_script_gets_every_pair(content: Analysis, page: Page) -> None:
    found = data_of(page)
    assert found["systems"] == list(content.systems)
    r = len(content.systems)
    first, second = np.triu_indices(r, 1)
    for stored, claim in zip(found["claims"], content.results_in_order, strict=True):  # type: ignore[call-overload]
        names = list(content.systems)
        square = claim.pairs.matrix().loc[names, names].to_numpy()
        assert np.allclose(stored["p"], square[first, second], rtol=5e-3)
        assert [flag != "0" for flag in stored["differs"]] == (square[first, second] <= 0.05).tolist()
        ahead = claim.pairs.matrix("difference").loc[names, names].to_numpy()[first, second]
        assert all(
            flag == "0" or (flag == "+") == (d > 0) for flag, d in zip(stored["differs"], ahead, strict=True)
        )
        assert np.allclose(stored["means"], claim.intervals["estimate"], rtol=1e-6)


def test_downloads_unpack(content: Analysis, page: Page) -> None:
    files = {
        file["name"]: gzip.decompress(base64.b64decode(file["packed"])) for file in data_of(page)["files"]
    }  # type: ignore[attr-defined]
    assert set(files) == EXPECTED
    assert files["intervals.pdf"].startswith(b"%PDF")
    assert files["intervals.svg"].startswith(b"<svg")
    assert files["pairs.csv"].count(b"\n") == 2 * 15 + 1
    stored = json.loads(files["report.json"])
    assert stored["configuration"]["seed"] == 4
    assert stored["answer"] in "".join(page.text)


def test_the_same_scores_give_the_same_page(content: Analysis) -> None:
    again = analyze(simulated(6, splits=3, holes=0.02), notes=["read well"], seed=4)

    def without_pdf(text: str) -> str:
        return re.sub(r'"intervals.pdf","kind":"[^"]*","packed":"[^"]*"', "", text)

    one, other = without_pdf(render_report(content)), without_pdf(render_report(again))
    assert one == other


def test_hostile_names_stay_text() -> None:
    scores = simulated(len(HOSTILE), names=HOSTILE).rename("<img src=x>&\"'")
    harmless = Page(render_report(analyze(simulated(len(HOSTILE)))))
    found = Page(
        render_report(
            analyze(scores, notes=["<script>alert(2)</script>"], title="</title><script>x</script>")
        )
    )
    for tag in ("script", "img", "style", "title", "iframe"):
        assert found.count(tag) == harmless.count(tag), tag
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    shown = "".join(found.text)
    assert "<script>alert(1)</script>" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "{{7*7}}" in shown
    assert set(data_of(found)["systems"]) == {escape_controls(name) for name in HOSTILE}  # type: ignore[call-overload]


@settings(max_examples=60)
@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_json_in_a_script_element_comes_back(value: object) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert "<" not in text
    assert text.isascii()


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write_report(target, simulated(3))
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text(encoding="utf-8").rstrip().endswith("</html>")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "nowhere" / "report.html", simulated(3))


def test_two_systems_have_one_difference_and_no_matrix() -> None:
    content = analyze(simulated(2), model="MD2")
    page = Page(render_report(content))
    shown = "".join(page.text)
    assert "NaN" not in shown
    ids = {a.get("id") for _, a in page.tags}
    assert not ids & {"view", "matrix", "search", "clear", "chosen", "differences", "pairs"}
    assert {"answer", "systems", "items"} <= ids
    difference = content.comparisons.to_frame(0.95).iloc[0]
    assert f"{difference['difference']:+.{content.decimals}f}" in shown
    ends = (f"{difference[name]:.{content.decimals}f}" for name in ("lower", "upper"))
    assert " to ".join(ends).replace("-", "−") in shown


def test_head_names_data_and_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    path = tmp_path / "scores.csv"
    table = simulated(3, topics=12).mean("shard")
    table.to_pandas().to_csv(path)
    shardwise("compare", path, "--report", tmp_path / "report.html", "--calibration", 0)
    shown = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    about = "".join(shown.text)
    assert "scores.csv · score, 12 topics × 3 systems · 2 January 1970" in about


def test_what_is_to_be_done_comes_first() -> None:
    y = simulated(4)
    y.values[:, 2] = y.values[:, 1]
    shown = Page(render_report(analyze(y, calibration=0)))
    text = " ".join("".join(shown.text).split())
    assert text.index("Identical scores: run00") < text.index("in the best set")
    assert "leave a copy out with --exclude" in text
    assert "Means are over 4 shards: in each shard, AP counts only the documents of that shard" in text
    plain = "".join(Page(render_report(analyze(y.mean("shard"), calibration=0))).text)
    assert "Means are over" not in plain


def test_forest_is_of_the_best_or_the_baselines() -> None:
    y = simulated(5)
    for bases in ((), ("run003", "run001")):
        content = analyze(y, calibration=0, baseline=bases or None)
        shown = " ".join("".join(Page(render_report(content)).text).split())
        for base in bases or content.systems[:1]:
            table = tabulate_against(content.comparisons, base, 0.05)
            for name, row in table.iterrows():
                difference = format_signed(float(row["difference"]), content.decimals)
                between = format_interval(float(row["lower"]), float(row["upper"]), content.decimals)
                assert f"{name}{difference}{between}" in shown
