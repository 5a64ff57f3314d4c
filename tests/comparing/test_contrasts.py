"""Contrasts of groups of systems against emmeans and multcomp, and three-way probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
import xarray as xr

import shardwise as sw
from shardwise.comparing.contrasts import compare_groups, parse_contrast
from shardwise.core.errors import InputError

GOLD = Path(__file__).parents[1] / "gold"


def read_pairs(method: str = "MD1 hsd topic") -> sw.Comparisons:
    return sw.compare(sw.read_scores(GOLD / "contrasts_scores.csv"), method)


def test_contrasts_agree_with_emmeans_and_multcomp() -> None:
    gold = pd.read_csv(GOLD / "contrasts_emmeans.csv").set_index("contrast")
    # systems a to f are models x, y and z with prompts p and q
    groups = {
        "abc vs def": (list("abc"), list("def")),
        "a vs bf": (["a"], ["b", "f"]),
        "model: x vs y": {"a": 0.5, "b": 0.5, "c": -0.5, "d": -0.5},
        "model × prompt: x vs y, p vs q": {"a": 1.0, "b": -1.0, "c": -1.0, "d": 1.0},
        "trend": {"a": -0.25, "b": -0.25, "e": 0.25, "f": 0.25},
    }
    table = read_pairs().contrasts(groups).table.set_index("contrast")
    for column in ("estimate", "se", "df", "p"):
        np.testing.assert_allclose(table[column], gold.loc[table.index, column], rtol=1e-6)
    # both integrate a multivariate t distribution by samples
    np.testing.assert_allclose(table["p_adjusted"], gold.loc[table.index, "p_adjusted"], atol=4e-3)
    for column in ("lower", "upper"):
        np.testing.assert_allclose(table[column], gold.loc[table.index, column], atol=5e-4)


def test_a_pair_is_a_contrast() -> None:
    pairs = read_pairs("t none")
    row = pairs.to_frame().iloc[0]
    table = compare_groups(pairs, {"pair": ([row["a"]], [row["b"]])}).table.iloc[0]
    assert table["estimate"] == pytest.approx(row["difference"])
    assert table["se"] == pytest.approx(row["se"])
    # the fewest degrees of freedom of any pair, which here are those of all
    assert table["p"] == pytest.approx(row["p"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a b c", "does not name two groups"),
        ("x: a vs g", "unknown system 'g'"),
        ("x: a vs a", "without a common system"),
    ],
)
def test_contrasts_that_are_refused(text: str, problem: str) -> None:
    pairs = read_pairs()
    with pytest.raises(InputError, match=problem):
        compare_groups(pairs, dict([parse_contrast(text, pairs.names)]))


def test_weights_that_are_refused() -> None:
    with pytest.raises(InputError, match=r"add up to 0\.5"):
        compare_groups(read_pairs(), {"x": {"a": 1.0, "b": -0.5}})


def test_three_ways_are_shares_of_the_confidence_distribution() -> None:
    pairs = read_pairs("t holm")
    shares = pairs.probabilities(0.02)
    np.testing.assert_allclose(shares[["better", "equal", "worse"]].sum(axis=1), 1.0)
    row, first = shares.iloc[0], pairs.to_frame().iloc[0]
    distribution = scipy.stats.t(df=first["df"], loc=first["difference"], scale=first["se"])
    assert row["better"] == pytest.approx(distribution.sf(0.02))
    assert row["worse"] == pytest.approx(distribution.cdf(-0.02))
    # the posterior of the Bayesian t-test under a flat prior, drawn
    y = sw.read_scores(GOLD / "contrasts_scores.csv")
    d = (y.sel(system=first["a"]) - y.sel(system=first["b"])).to_numpy()
    rng = np.random.default_rng(1)
    sigma = np.sqrt((len(d) - 1) * d.var(ddof=1) / rng.chisquare(len(d) - 1, 200_000))
    drawn = rng.normal(d.mean(), sigma / np.sqrt(len(d)))
    assert row["better"] == pytest.approx((drawn > 0.02).mean(), abs=5e-3)
    with pytest.raises(InputError, match="no confidence distribution"):
        read_pairs("wilcoxon holm").probabilities(0.02)
    votes = sw.compare(GOLD / "votes.csv", n_resamples=99).probabilities(0.1)
    assert ((votes["equal"] > 0.0) & (votes["equal"] < 1.0)).all()


def test_resampled_contrasts_have_the_variance_of_their_own_values_and_are_corrected_together() -> None:
    y = np.random.default_rng(9).normal(size=(25, 4)) * [1.0, 1.0, 2.0, 3.0] + [0.0, 0.2, 0.4, 1.0]
    scores = xr.DataArray(y, dims=("topic", "system"), coords={"system": list("abcd")})
    groups = {"first": (["a", "b"], ["c", "d"]), "second": (["a"], ["b"]), "third": (["c"], ["d"])}
    pairs = sw.compare(scores)
    table = pairs.contrasts(groups).table.set_index("contrast")
    values = {"first": y[:, :2].mean(axis=1) - y[:, 2:].mean(axis=1), "second": y[:, 0] - y[:, 1]}
    for name, own in values.items():
        assert table.loc[name, "se"] == pytest.approx(own.std(ddof=1) / 5.0)
        alone = pairs.contrasts({name: groups[name]}).table.iloc[0]
        assert alone["p_adjusted"] == pytest.approx(alone["p"])
    # the most significant of three pays for all of them, the least for itself
    order = table.sort_values("p")
    assert order["p_adjusted"].iloc[0] > 1.5 * order["p"].iloc[0]
    assert order["p_adjusted"].is_monotonic_increasing
