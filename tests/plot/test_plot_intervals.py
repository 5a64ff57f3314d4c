"""The interval chart shows the numbers of the comparison, and saves in every format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError
from shardwise.methods.pairs import Means
from shardwise.plot.pairs import interval_chart
from shardwise.plot.saving import save_chart
from shardwise.plot.theme import WIDTH


def comparisons(r: int, variance: float = 0.001, claim: str = "exactly these 50 topics") -> Comparisons:
    values = np.linspace(0.1, 0.6, r)
    return compare(Means(tuple(f"s{j}" for j in range(r)), values, variance, 98.0, claim), "hsd")


@pytest.mark.parametrize("r", [2, 150])
@pytest.mark.parametrize("kind", ["mean", "comparison"])
def test_every_system_is_drawn_with_its_interval(r: int, kind: str) -> None:
    pairs = comparisons(r)
    drawn = interval_chart(pairs, interval=kind).to_dict()
    (rows,) = drawn["datasets"].values()
    expected = pairs.intervals(kind=kind).reset_index().to_dict("records")
    assert [
        {name: row[name] for name in ("system", "estimate", "lower", "upper")} for row in rows
    ] == expected
    assert drawn["width"] <= WIDTH


def test_a_comparison_draws_itself() -> None:
    pairs = comparisons(5)
    assert pairs.plot("intervals", measure="AP").to_dict() == interval_chart(pairs, measure="AP").to_dict()


def test_two_claims_have_two_colours() -> None:
    named = {"here": comparisons(3), "anywhere": comparisons(3, 0.004)}
    drawn = interval_chart(named, measure="AP").to_dict()
    scale = drawn["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["here", "anywhere"]
    assert len(set(scale["range"])) == 2
    (rows,) = drawn["datasets"].values()
    assert [(row["claim"], row["place"]) for row in rows[::3]] == [("here", 0), ("anywhere", 1)]
    assert drawn["layer"][0]["encoding"]["x"]["title"] == ["AP, mean and 95% CI"]


@pytest.mark.parametrize(
    ("ending", "start"),
    [(".html", b"<!DOCTYPE html>"), (".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF")],
)
def test_saved_in_every_format(tmp_path: Path, ending: str, start: bytes) -> None:
    save_chart(interval_chart(comparisons(4)), tmp_path / f"chart{ending}")
    assert (tmp_path / f"chart{ending}").read_bytes().lstrip().startswith(start)


def test_saved_as_json_and_not_as_anything_else(tmp_path: Path) -> None:
    save_chart(interval_chart(comparisons(4)), tmp_path / "chart.json")
    assert json.loads((tmp_path / "chart.json").read_text())["layer"]
    with pytest.raises(InputError, match=r"unknown chart format '\.doc'"):
        save_chart(interval_chart(comparisons(4)), tmp_path / "chart.doc")
