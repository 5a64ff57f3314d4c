"""Remarks come beyond their limits, and not at them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from shardwise.analysis.diagnostics import (
    FANNING,
    FEW_TOPICS,
    HEAVY,
    MANY_FILLED,
    SKEWED,
    UNEVEN,
    Residuals,
    check_residuals,
    check_scores,
    residual_figures,
)
from shardwise.core.model import MD1
from shardwise.core.scores import Scores, as_scores
from shardwise.methods.anova.fit import anova
from shardwise.methods.names import parse_procedure

FAIR = Residuals(0.0, 0.0, 0.0, least_sd=1.0, most_sd=1.0, least="a", most="b")


def list_kinds(residuals: Residuals) -> list[str]:
    return [remark.kind for remark in check_residuals(residuals, parse_procedure("t holm"), {})]


@pytest.mark.parametrize(
    ("figure", "limit", "kind"),
    [
        ("skewness", SKEWED, "non-normal residuals"),
        ("skewness", -SKEWED, "non-normal residuals"),
        ("kurtosis", HEAVY, "non-normal residuals"),
        ("most_sd", UNEVEN, "unequal variances"),
        ("fanning", FANNING, "variance grows with score"),
        ("fanning", -FANNING, "variance grows with score"),
    ],
)
def test_residuals_are_remarked_on_beyond_a_limit(figure: str, limit: float, kind: str) -> None:
    assert list_kinds(replace(FAIR, **{figure: limit})) == []
    assert list_kinds(replace(FAIR, **{figure: float(np.nextafter(limit, np.sign(limit) * np.inf))})) == [
        kind
    ]


def test_a_system_without_residuals_has_no_ratio() -> None:
    assert np.isnan(replace(FAIR, least_sd=0.0).ratio)
    assert list_kinds(replace(FAIR, least_sd=0.0)) == []


def make_table(topics: int) -> Scores:
    values = np.random.default_rng(1).normal(size=(topics, 3))
    return as_scores(xr.DataArray(values, dims=("topic", "system"), coords={"system": list("abc")}))


def test_few_topics_are_fewer_than_the_limit() -> None:
    for topics, kinds in ((FEW_TOPICS, []), (FEW_TOPICS - 1, ["few topics"])):
        assert [remark.kind for remark in check_scores(make_table(topics), 0, "", 1, {})] == kinds


def test_many_undefined_scores_are_more_than_the_limit() -> None:
    cells = 1000
    limit = round(MANY_FILLED * cells)
    for filled, policy, kind in (
        (1, "zero", "undefined scores"),
        (limit, "zero", "undefined scores"),
        (limit + 1, "zero", "many undefined scores"),
        (limit + 1, "drop", "undefined scores"),
    ):
        (remark,) = check_scores(make_table(FEW_TOPICS), filled, policy, cells, {})
        assert (remark.kind, remark.warning) == (kind, kind.startswith("many"))


def test_a_topic_on_which_nobody_differs_is_counted() -> None:
    table = make_table(FEW_TOPICS)
    values = table.values.copy()
    values[3] = 0.5
    values[4] = [0.5, 0.5, np.nextafter(0.5, 1.0)]
    (remark,) = check_scores(table.with_values(values), 0, "", 1, {})
    assert (remark.kind, remark.facts["topics"]) == ("uninformative topics", 1)


def test_a_perfect_fit_has_no_shape() -> None:
    """Neither residuals that are all 0 nor fitted scores that are all alike have a skewness."""
    additive = xr.DataArray(np.add.outer(np.arange(8.0), [0.0, 1.0]), dims=("topic", "system"))
    flat = xr.DataArray(np.tile([[1.0, -1.0], [-1.0, 1.0]], (4, 1)), dims=("topic", "system"))
    for table in (additive, flat):
        figures = residual_figures(anova(table, MD1))
        assert (figures.skewness, figures.kurtosis, figures.fanning) == (0.0, 0.0, 0.0)
