"""Judgments spent on topics and depth: every row is the design that its pool asks for, on real runs too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designs import min_diff_at, power_at, width_at
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.lab.simulate_collection import simulate_collection
from shardwise.planning.plans import Plan
from shardwise.planning.pools import plan_pools


def plan_judgments(
    collection: Collection, judgments: float, depths: list[int], *more: Any, **how: Any
) -> Plan:
    return plan_pools(collection, depths, *more, judgments=judgments, **{"systems": 2, **how})


@pytest.fixture(scope="module")
def campaign() -> Collection:
    return simulate_collection(
        topics=25, systems=6, depth=80, corpus=5000, relevant=30, pool_depth=80, seed=6
    ).collection()


def test_every_row_is_what_its_judgments_buy(campaign: Collection) -> None:
    plan = plan_judgments(campaign, 3000, [10, 60], ["AP", "Q@20"], topic_cost=15, systems=5)
    study = plan_pools(campaign, [10, 60], ["AP", "Q@20"], systems=5)
    for name in ("measure", "depth", "pooled", "variance"):
        assert plan.table[name].tolist() == study.table[name].tolist()
    for _, row in plan.table.iterrows():
        n = int(3000 // (row["pooled"] + 15))
        assert row["topics"] == n
        assert row["judgments"] == round(n * row["pooled"])
        how = {"n": n, "variance": row["variance"]}
        assert row["min_diff"] == pytest.approx(min_diff_at(**how, systems=5, method="moderated"))
        assert power_at(**how, min_diff=row["min_diff"], systems=5, method="moderated") == pytest.approx(0.8)
        assert row["min_diff_assured"] >= row["min_diff"]
        assert row["width"] == pytest.approx(width_at(**how))


def test_the_sentence_says_the_best_and_the_worst(campaign: Collection) -> None:
    plan = plan_judgments(campaign, 3000, [10, 60])
    best, worst = plan.best().iloc[0], plan.table.loc[plan.table["min_diff"].idxmax()]
    (said,) = plan.lines
    assert said == (
        f"AP: 3,000 judgments are best spent on {best['topics']} topics judged to depth {best['depth']}"
        f" ({best['pooled']:.0f} documents each): they find a difference of {best['min_diff']:.3f} between two systems"
        f" with power 0.8 at level 0.05; at depth {worst['depth']}, {worst['topics']} topics find"
        f" {worst['min_diff']:.3f}"
    )
    (alone,) = plan_judgments(campaign, 3000, [10], systems=4).lines
    assert alone.endswith("between any two of 4 systems with power 0.8 at level 0.05")


def test_depths_that_are_too_dear_are_left_open_or_refused(campaign: Collection) -> None:
    plan = plan_judgments(campaign, 100, [5, 80])
    assert plan.table["min_diff"].notna().tolist() == [True, False]
    assert plan.lines[0].endswith("at level 0.05")
    with pytest.raises(InputError, match="10 judgments do not pay for 2 topics, which take"):
        plan_judgments(campaign, 10, [5, 80])
    with pytest.raises(InputError, match="topic_cost = -1: it must be 0 or more"):
        plan_judgments(campaign, 100, [5], topic_cost=-1)
    with pytest.raises(InputError, match="still holds the difficulty"):
        plan_judgments(campaign, 1000, [5], variance_method="two-way")


@pytest.mark.slow
def test_shallow_pools_find_smaller_differences_on_robust_2003(data: Path) -> None:
    """S14 §5.4: many topics judged a little are the better bargain."""
    folder = data / "robust2003"
    collection = read_collection(
        sorted(folder.glob("input.*.gz")), folder / "robust03_qrels.txt.gz", missing="drop", names="file"
    )
    plan = plan_judgments(collection, 10_000, [10, 30, 100])
    assert plan.best()["depth"].tolist() == [10]
    assert np.all(np.diff(plan.table["min_diff"]) > 0)
