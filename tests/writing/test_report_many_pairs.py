"""The report of more pairs than are listed one by one: the same decisions and, nearly, the same p-values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from report_pages import opened, simulated
from shardwise.writing.html import write_report

WHERE = ("shardwise.writing.html.MOST_PAIRS", "shardwise.writing.downloads.MOST_PAIRS")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report that lists its pairs, and the same without."""
    made = {name: tmp_path_factory.mktemp("many") / f"{name}.html" for name in ("listed", "packed")}
    found = write_report(made["listed"], simulated(30, topics=25), calibration=0)
    with pytest.MonkeyPatch.context() as patch:
        for name in WHERE:
            patch.setattr(name, 100)
        write_report(made["packed"], found)
    return made


def test_no_file_lists_the_pairs(pages: dict[str, Path]) -> None:
    def data(name: str) -> Any:
        text = pages[name].read_text()
        return json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.S)[1])  # type: ignore[index]

    listed, packed = data("listed"), data("packed")
    assert {file["name"] for file in listed["files"]} - {file["name"] for file in packed["files"]} == {
        "pairs.csv"
    }
    assert all("p" not in one and "packed" in one for one in packed["claims"])
    assert "pairs.csv" not in pages["packed"].read_text()


@pytest.mark.browser
def test_decisions_are_exact_and_p_values_to_a_twentieth_of_a_decade(
    browser: Any, pages: dict[str, Path]
) -> None:
    told: dict[str, list[list[str]]] = {}
    for name, path in pages.items():
        with opened(browser, path) as page:
            page.locator("#board tbody tr:nth-child(4) .pick").click()
            told[name] = page.eval_on_selector_all(
                "#against tbody tr", "rows => rows.map(row => [...row.cells].map(one => one.textContent))"
            )
    assert len({row[-1] for row in told["listed"]}) > 1, "some pairs differ and others do not"
    for exact, near in zip(told["listed"], told["packed"], strict=True):
        assert exact[:2] == near[:2]
        assert exact[-1] == near[-1]
        for one, other in zip(exact[2:-1], near[2:-1], strict=True):
            if other.startswith("≈"):
                assert float(other[2:]) == pytest.approx(float(one), rel=0.55)  # to one digit
            else:
                assert other == one
