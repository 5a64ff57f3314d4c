"""The matrix of pairs: one cell a pair, coloured by who finds a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from report_pages import HOSTILE, simulated
from shardwise.compare.comparisons import compare
from shardwise.errors import InputError
from shardwise.model.anova import anova
from shardwise.model.terms import MD6
from shardwise.plot.intervals import interval_chart, save_chart
from shardwise.plot.matrix import matrix_chart


def test_two_claims_make_four_kinds() -> None:
    fit = anova(simulated(12), MD6)
    here, like = compare(fit), compare(fit, generalize=("topic",))
    drawn = matrix_chart({"here": here, "like": like}).to_dict()
    (rows,) = drawn["datasets"].values()
    both = here.reject() & like.reject()
    expected = [
        "both" if b else "only here" if h else "none" for b, h in zip(both, here.reject(), strict=True)
    ]
    assert [row["kind"] for row in rows] == expected
    assert [row["a"] for row in rows] == here.to_frame()["a"].tolist()
    assert drawn["encoding"]["color"]["scale"]["domain"] == ["both", "only here", "only like", "none"]


def test_one_comparison_and_many_systems() -> None:
    pairs = compare(anova(simulated(150, topics=4, shards=2), MD6))
    drawn = matrix_chart(pairs).to_dict()
    (rows,) = drawn["datasets"].values()
    assert len(rows) == 150 * 149 // 2
    assert sum(row["kind"] == "told apart" for row in rows) == int(pairs.reject().sum())


def test_refusals() -> None:
    fit = anova(simulated(4), MD6)
    pairs = compare(fit)
    with pytest.raises(InputError, match="do not fit into one square"):
        matrix_chart({"a": pairs, "b": pairs, "c": pairs})
    with pytest.raises(InputError, match="not of the same pairs"):
        matrix_chart({"a": pairs, "b": compare(fit, only=["run000", "run001"])})


@pytest.mark.parametrize("draw", [matrix_chart, interval_chart])
def test_hostile_names_are_drawn(tmp_path: Path, draw: object) -> None:
    """A control character in a name once ended the whole process."""
    pairs = compare(anova(simulated(len(HOSTILE), names=HOSTILE), MD6))
    save_chart(draw(pairs), tmp_path / "chart.svg")  # type: ignore[operator]
    text = (tmp_path / "chart.svg").read_text()
    assert "<script" not in text
    assert "\x1b" not in text
