"""The matrix of pairs: one cell a pair, coloured by who finds a difference."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import pytest

from chart_rows import Rows, rows_with
from report_pages import HOSTILE, simulated
from shardwise.comparing.compare import compare, paired_tests
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError
from shardwise.core.model import MD6
from shardwise.methods.anova.fit import anova
from shardwise.methods.pairs import Means
from shardwise.plot.matrix import matrix_chart
from shardwise.plot.pairs import interval_chart
from shardwise.plot.saving import save_chart


def cells(chart: alt.LayerChart) -> Rows:
    return max(rows_with(chart, "a", "b", "kind"), key=len)


def test_two_claims_make_four_kinds() -> None:
    fit = anova(simulated(12), MD6)
    here, like = compare(fit), compare(fit, generalize=("topic",))
    drawn = matrix_chart({"here": here, "like": like})
    rows = cells(drawn)
    both = here.reject() & like.reject()
    expected = [
        "both" if b else "only here" if h else "none" for b, h in zip(both, here.reject(), strict=True)
    ]
    assert [row["kind"] for row in rows] == expected
    assert [row["a"] for row in rows] == here.to_frame()["a"].tolist()
    assert [row["difference"] for row in rows] == here.to_frame()["difference"].tolist()
    domain = drawn.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert domain == ["both", "only here", "only like", "none"]


def test_one_comparison_and_many_systems() -> None:
    pairs = compare(anova(simulated(150, topics=4, shards=2), MD6))
    rows = cells(matrix_chart(pairs))
    assert len(rows) == 150 * 149 // 2
    assert sum(row["kind"] == "significant" for row in rows) == int(pairs.reject().sum())


def test_three_methods_are_named_and_five_are_counted() -> None:
    """V17 Fig. 4: which of three tests reject; every pair is in one cell."""
    scores = simulated(12, topics=10, shards=2)
    fit = anova(scores, MD6)
    named = {
        "t": paired_tests(scores, "t", average=["shard"]),
        "hsd": compare(fit),
        "holm": compare(fit, "holm", generalize=("topic",)),
    }
    rows = cells(matrix_chart(named))
    found = {name: {frozenset((a, b)) for a, b in found_pairs(one)} for name, one in named.items()}
    assert len(rows) == 12 * 11 // 2
    words = ("t", "hsd", "holm")
    for row in rows:
        who = [name for name in words if frozenset((row["a"], row["b"])) in found[name]]
        kind = {0: "none", 1: f"only {who[0]}" if who else "", 2: " and ".join(who), 3: "all 3"}[len(who)]
        assert row["kind"] == kind
    five = named | {"bh": compare(fit, "bh"), "scheffe": compare(fit, "scheffe")}
    counted = cells(matrix_chart(five))
    rejected = [{frozenset(pair) for pair in found_pairs(one)} for one in five.values()]
    for row in counted:
        count = sum(frozenset((row["a"], row["b"])) in one for one in rejected)
        assert row["kind"] == (f"{count} of 5" if count else "none")


def test_a_difference_against_the_order_is_below_the_diagonal() -> None:
    first = compare(Means(("x", "y"), np.array([0.30, 0.29]), 0.001, 50.0, "here"), "hsd")
    turned = compare(Means(("x", "y"), np.array([0.10, 0.60]), 0.001, 50.0, "there"), "hsd")
    (row,) = cells(matrix_chart({"first": first, "turned": turned}))
    assert (row["a"], row["b"], row["kind"]) == ("y", "x", "only turned")
    assert row["difference"] == pytest.approx(-0.01)


def found_pairs(pairs: Comparisons) -> list[tuple[str, str]]:
    frame = pairs.to_frame()[pairs.reject()]
    return list(zip(frame["a"], frame["b"], strict=True))


def test_refusals() -> None:
    fit = anova(simulated(4), MD6)
    with pytest.raises(InputError, match="not of the same pairs"):
        matrix_chart({"a": compare(fit), "b": compare(fit, only=["run000", "run001"])})


@pytest.mark.parametrize("draw", [matrix_chart, interval_chart])
def test_hostile_names_are_drawn(tmp_path: Path, draw: object) -> None:
    """A control character in a name once ended the whole process."""
    pairs = compare(anova(simulated(len(HOSTILE), names=HOSTILE), MD6))
    save_chart(draw(pairs), tmp_path / "chart.svg")  # type: ignore[operator]
    text = (tmp_path / "chart.svg").read_text()
    assert "<script" not in text
    assert "\x1b" not in text


def test_against_a_baseline_the_better_system_is_in_the_row() -> None:
    """Some systems are worse than the baseline: the cell is in its row, not in theirs."""
    table = simulated(6, shards=1).isel(shard=0, drop=True)
    pairs = compare(table, baseline="run002")
    (rows,) = rows_with(matrix_chart(pairs), "a", "b", "kind")
    significant = {(row["a"], row["b"]) for row in rows if row["kind"] == "significant"}
    frame = pairs.to_frame()[pairs.reject()]
    expected = {(a, b) if d > 0 else (b, a) for a, b, d in frame[["a", "b", "difference"]].values}
    assert significant == expected
    assert {a for a, _ in significant} & {"run002"}
    assert all(row["difference"] > 0 for row in rows if row["kind"] == "significant")
