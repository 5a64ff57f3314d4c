"""Random factors of any kind against lme4, lmerTest and pbkrtest (tests/gold/factors_lme4.R and its output)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

import shardwise as sw
from shardwise.methods.mixed import reml
from shardwise.methods.mixed.fit import MixedFit
from shardwise.methods.mixed.reml import prepare_problem

GOLD = Path(__file__).parent.parent / "gold"
FITS, PAIRS = pd.read_csv(GOLD / "factors_fits.csv"), pd.read_csv(GOLD / "factors_pairs.csv")
MODELS = {
    "judges": ("topic", "judge", "topic:judge"),
    "prompts": ("topic", "judge", "prompt"),
    "clusters": ("cluster", "topic"),
}


@cache
def scores() -> xr.DataArray:
    frame = pd.read_csv(GOLD / "factors_scores.csv")
    cluster = frame.groupby("topic")["cluster"].first()
    table = frame.set_index(["topic", "system", "judge", "prompt"])["y"].to_xarray()
    return table.assign_coords(cluster=("topic", cluster.loc[table["topic"].values].to_numpy()))


@cache
def fitted(model: str) -> MixedFit:
    return sw.mixed(scores(), random=MODELS[model])


@pytest.mark.parametrize("model", MODELS)
def test_likelihood_and_variances_equal_lme4(model: str) -> None:
    """bobyqa stops where the criterion is flat to 1e-9, which leaves small variances uncertain by some 1e-6."""
    fit, gold = fitted(model), FITS[FITS["model"] == model].set_index("term")
    assert fit.criterion == pytest.approx(gold["criterion"].iloc[0], abs=1e-9)
    assert fit.convergence.converged
    for term, row in gold.iterrows():
        name = "residual" if term == "Residual" else str(term)
        assert fit.variance_components[name] == pytest.approx(row["variance"], rel=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_differences_equal_lmertest_and_pbkrtest(model: str) -> None:
    fit = fitted(model)
    for row in PAIRS[PAIRS["model"] == model].itertuples():
        a, b = int(row.a) - 1, int(row.b) - 1
        assert fit.values[a] - fit.values[b] == pytest.approx(row.difference, rel=1e-6)
        assert np.sqrt(fit.difference_variance[a, b]) == pytest.approx(row.se, rel=1e-6)
        assert fit.satterthwaite[a, b] == pytest.approx(row.df, rel=1e-5)
        assert np.sqrt(fit.small_sample_variance[a, b]) == pytest.approx(row.kr_se, rel=1e-6)
        assert fit.kenward_roger[a, b] == pytest.approx(row.kr_df, rel=1e-5)


def test_claims_and_comparisons() -> None:
    found = sw.compare(fitted("judges"), "holm")
    assert found.claim == "new topics like these 24, any judge (5 seen), exactly these 4 prompts"
    assert found.estimates.error == "topic:system + system:judge + residual, Satterthwaite df"
    gold = PAIRS[PAIRS["model"] == "judges"]
    assert sorted(np.abs(found.difference)) == pytest.approx(sorted(gold["difference"].abs()), rel=1e-4)
    assert "topic:judge" in str(fitted("judges"))
    # five more judges, by the variances found: 2σ²(topic:system)/24 + 2σ²(system:judge)/10 + 2σ²/(24·10)
    parts = fitted("judges").variance_components
    planned, _ = parts.variance_of_difference(("topic", "judge"), {"topic": 24, "judge": 10})
    by_hand = 2 * (parts["topic:system"] / 24 + parts["system:judge"] / 10 + parts["residual"] / 240)
    assert float(planned) == pytest.approx(by_hand)
    question = scores().rename(topic="question", system="model")
    assert sw.mixed(question, random=["question", "judge"]).claim.startswith("new questions like these 24")


@given(st.integers(0, 10_000))
def test_block_elimination_is_the_dense_likelihood(seed: int) -> None:
    """-2 log L and its slopes from the n × n covariance matrix itself."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    item, system, judge = rng.integers(6, size=n), rng.integers(2, size=n), rng.integers(3, size=n)
    system[:2] = (0, 1)
    codes = [np.unique(code, return_inverse=True)[1] for code in (item, item * 2 + system, judge)]
    codes[2][rng.random(n) < 0.2] = -1  # some observations without a judge
    y, gamma = rng.normal(size=n), rng.exponential(size=3)
    x = np.eye(2)[system]
    data = prepare_problem(y, x, codes)
    state = reml.evaluate_likelihood(data, gamma)
    z = [np.equal.outer(code, np.arange(code.max() + 1)).astype(float) for code in codes]
    w = np.eye(n) + sum(g * one @ one.T for g, one in zip(gamma, z, strict=True))
    inverse = linalg.inv(w)
    middle = x.T @ inverse @ x
    p = inverse - inverse @ x @ linalg.solve(middle, x.T @ inverse)
    assert state.q == pytest.approx(y @ p @ y)
    assert state.logs == pytest.approx(np.linalg.slogdet(w)[1] + np.linalg.slogdet(middle)[1])
    slopes = reml.likelihood_slopes(data, state)
    v = [one @ one.T for one in z]
    for j in range(3):
        assert slopes.t[j] == pytest.approx(np.trace(p @ v[j]), abs=1e-9)
        assert slopes.y[j] == pytest.approx(y @ p @ v[j] @ p @ y, abs=1e-9)
        for k in range(3):
            assert slopes.tt[j, k] == pytest.approx(np.trace(p @ v[j] @ p @ v[k]), abs=1e-9)
            assert slopes.yy[j, k] == pytest.approx(y @ p @ v[j] @ p @ v[k] @ p @ y, abs=1e-9)


def test_many_items_are_few_patterns() -> None:
    """The cost of a step goes by patterns of gaps, not by items: 5,000 items with one gap each are 15."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=(5000, 3, 5)) + rng.normal(size=(5000, 1, 1)) + rng.normal(size=(5000, 3, 1))
    y.reshape(5000, 15)[np.arange(5000), rng.integers(15, size=5000)] = np.nan
    item, system, instance = np.nonzero(np.isfinite(y))
    codes = (item, item * 3 + system, system * 5 + instance)
    data = prepare_problem(y[np.isfinite(y)], np.eye(3)[system], codes)
    assert len(data.count) == 15
    assert data.count.sum() == 5000
    fit = sw.mixed(xr.DataArray(y, dims=("topic", "system", "instance")))
    assert fit.variance_components["residual"] == pytest.approx(
        1.0, rel=0.02
    )  # 70,000 scores know it to .5 %


def test_refusals() -> None:
    table = scores()
    with pytest.raises(sw.InputError, match="no factor 'user'"):
        sw.mixed(table, random=["topic", "user"])
    with pytest.raises(sw.InputError, match="takes up every score"):
        sw.mixed(table, random=["topic:system:judge:prompt"])
    with pytest.raises(sw.InputError, match="cannot be random"):
        sw.mixed(table, random=["system"])
    with pytest.raises(sw.InputError, match="one level only"):
        sw.mixed(table.isel(judge=[0]), random=["topic", "judge"])
    with pytest.raises(sw.InputError, match="one and the same"):
        sw.mixed(table.assign_coords(copy=("topic", np.arange(24))), random=["topic", "copy"])
    with pytest.raises(sw.InputError, match="has no effect where random factors"):
        sw.mixed(table, "nested", random=["topic"])
    with pytest.raises(sw.InputError, match="generalises over topics and judges"):
        sw.compare(fitted("judges"), generalize="topic")
