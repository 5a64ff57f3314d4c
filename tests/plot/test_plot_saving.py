"""Charts as files: every format, and pages in which names are text and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import altair as alt
import numpy as np
import pytest

import shardwise as sw
from report_pages import HOSTILE
from shardwise.core.errors import InputError
from shardwise.methods.pairs import Means
from shardwise.plot.saving import ending_of, render_page

EVIL = "</script><script>alert(1)</script>"


def drawn(*names: str) -> alt.LayerChart:
    values = np.linspace(0.1, 0.6, len(names))
    pairs = sw.compare(Means(names, values, 0.001, 98.0, "exactly these 50 topics"), "hsd")
    chart: alt.LayerChart = pairs.plot(measure=f"AP{EVIL}")
    return chart


def test_names_cannot_end_the_script_of_a_page(tmp_path: Path) -> None:
    chart = drawn(EVIL, "<!--", "b", *HOSTILE)
    sw.plot.save_chart(chart, tmp_path / "chart.html")
    text = (tmp_path / "chart.html").read_text(encoding="utf-8")
    plain = render_page(drawn("a", "b"))
    for mark in ("</script", "<script", "<!--", "alert(1)</"):
        assert text.count(mark) == plain.count(mark), mark
    assert EVIL not in text
    assert text.count("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)") >= 1


def test_the_page_holds_the_whole_chart() -> None:
    """What the page gives to Vega, read as JSON, is the specification, with names as they are."""
    chart = drawn(EVIL, "b")
    found = re.search(
        r"vegaEmbed\(document\.getElementById\(\"chart\"\), (.*), (\{.*\})\)\.catch", render_page(chart)
    )
    assert found is not None
    assert json.loads(found[1]) == chart.to_dict()
    assert EVIL in found[1].encode().decode("unicode_escape")
    assert json.loads(found[2])["actions"] == {"export": True, "source": False, "editor": False}


def test_the_page_asks_no_network() -> None:
    outside = re.sub(r"<script>.*?</script>", "", render_page(drawn("a", "b")), flags=re.DOTALL)
    assert "default-src 'none'" in outside
    assert not re.search(r"src=|href=|<script", outside)


def test_endings() -> None:
    assert ending_of(Path("a.svg")) == ".svg"
    with pytest.raises(InputError, match=r"chart\.doc: unknown chart format '\.doc'; choose one of \.html, "):
        ending_of("chart.doc")
