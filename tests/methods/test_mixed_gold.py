"""Mixed models against lme4 and lmerTest (tests/gold/mixed_lme4.R and its output)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from shardwise.core.arrays import Floats
from shardwise.methods.mixed import reml
from shardwise.methods.mixed.fit import MixedFit, mixed
from shardwise.methods.mixed.reml import fixed_covariance

GOLD = Path(__file__).parent.parent / "gold"
FITS = pd.read_csv(GOLD / "mixed_fits.csv", index_col="case")
PAIRS = pd.read_csv(GOLD / "mixed_pairs.csv")
CASES = {  # as in mixed_lme4.R: L, M, N, nested, standard deviations, seed, holes
    "crossed": (2, 6, 12, False, (0.2, 0.1, 0.03, 0.08), 11, ""),
    "nested": (3, 5, 10, True, (0.2, 0.1, 0.03, 0.08), 12, ""),
    "unbalanced": (4, 6, 14, True, (0.2, 0.1, 0.04, 0.08), 13, "unequal"),
    "lost": (3, 6, 14, False, (0.2, 0.1, 0.04, 0.08), 14, "lost"),
    "singular": (2, 4, 10, True, (0.2, 0.1, 0.0, 0.08), 16, ""),
    "singular_unbalanced": (4, 6, 14, True, (0.2, 0.1, 0.0, 0.08), 18, "unequal"),
    "large": (10, 10, 200, True, (0.2, 0.1, 0.02, 0.08), 19, ""),
}


def draws(n: int, seed: int) -> Floats:
    """Sums of four numbers of the minimal standard generator, with variance 1."""
    x, out = seed, np.empty(n)
    for k in range(n):
        total = 0.0
        for _ in range(4):
            x = 16807 * x % 2147483647
            total += x / 2147483647
        out[k] = total - 2
    return np.asarray(out * np.sqrt(3))


@cache
def simulated(case: str) -> xr.DataArray:
    ll, m, n, nested, sd, seed, holes = CASES[case]
    own = ll * m if nested else m
    z = draws(n + ll * n + own + ll * m * n, seed)
    t, st, i, e = np.split(z, np.cumsum([n, ll * n, own]))
    y = 0.4 + 0.01 * np.arange(ll)[:, None, None] + sd[0] * t + sd[1] * st.reshape(ll, 1, n)
    y = y + sd[2] * i.reshape(ll if nested else 1, m, 1) + sd[3] * e.reshape(ll, m, n)
    at_l, at_m, at_n = np.indices(y.shape)
    if holes:
        y[(7 * at_l + 3 * at_m + 5 * at_n) % 11 == 0] = np.nan
    if holes == "unequal":
        y[at_m >= 3 + at_l] = np.nan
    return xr.DataArray(y, dims=("system", "instance", "topic"))


@cache
def fitted(case: str) -> MixedFit:
    return mixed(simulated(case), "nested" if CASES[case][3] else "crossed")


def tolerance(case: str) -> float:
    """On the large data lme4's optimiser stops 1.1e-6 short of the closed form, where the criterion is flat."""
    return 2e-6 if case == "large" else 1e-6


@pytest.mark.parametrize("case", CASES)
def test_likelihood_and_variances_equal_lme4(case: str) -> None:
    fit, gold = fitted(case), FITS.loc[case]
    assert fit.n == gold["n"]
    assert fit.criterion == pytest.approx(gold["criterion"], rel=1e-9)
    assert fit.aic == pytest.approx(gold["aic"], rel=1e-9)
    assert fit.bic == pytest.approx(gold["bic"], rel=1e-9)
    for name in ("topic", "system:topic", "instance", "residual"):
        assert fit.variance_components[name] == pytest.approx(
            gold[name.replace(":", "_")], rel=tolerance(case), abs=1e-11
        )
    assert bool(fit.singular) == bool(gold["singular"])
    assert fit.convergence.converged


@pytest.mark.parametrize("case", CASES)
def test_differences_equal_lmertest(case: str) -> None:
    fit = fitted(case)
    for row in PAIRS[PAIRS["case"] == case].itertuples():
        a, b = int(row.a), int(row.b)
        assert fit.values[a] == pytest.approx(row.mean_a, rel=1e-6)
        assert fit.values[a] - fit.values[b] == pytest.approx(row.difference, rel=1e-6)
        assert np.sqrt(fit.difference_variance[a, b]) == pytest.approx(row.se, rel=1e-6)
        assert fit.satterthwaite[a, b] == pytest.approx(row.df, rel=tolerance(case))
        assert fit.satterthwaite[b, a] == pytest.approx(fit.satterthwaite[a, b])


@pytest.mark.parametrize("case", ["crossed", "nested", "unbalanced", "lost"])
def test_kenward_roger_df(case: str) -> None:
    fit = fitted(case)
    # where scores are missing, pbkrtest also inflates the covariance matrix, which moves its df a little
    tolerance = 1e-6 if fit.balanced is not None else 2e-3
    for row in PAIRS[PAIRS["case"] == case].itertuples():
        assert fit.kenward_roger[int(row.a), int(row.b)] == pytest.approx(row.kr_df, rel=tolerance)


@pytest.mark.parametrize(("name", "response", "factors"), [
    ("penicillin", "diameter", ("plate", "sample")),  # crossed
    ("pastes", "strength", ("batch", "sample")),  # nested
])  # fmt: skip
def test_classic_data(name: str, response: str, factors: tuple[str, ...]) -> None:
    frame, gold = pd.read_csv(GOLD / f"mixed_{name}.csv"), pd.read_csv(GOLD / "mixed_classic.csv")
    gold = gold[gold["case"] == name].set_index("group")
    codes = [pd.factorize(frame[factor])[0].astype(np.int64) for factor in factors]
    y = frame[response].to_numpy(dtype=float)
    data = reml.prepare_problem(y, np.ones((len(y), 1)), codes)
    state, record = reml.maximise_likelihood(data)
    sigma2 = state.q / (data.n - 1)
    phi, _ = fixed_covariance(data, state, sigma2)
    assert record.converged
    assert reml.profiled_deviance(data, state) == pytest.approx(gold["criterion"].iloc[0], rel=1e-9)
    for factor, gamma in zip(factors, state.gamma, strict=True):
        assert gamma * sigma2 == pytest.approx(gold.loc[factor, "variance"], rel=1e-6)
    assert sigma2 == pytest.approx(gold.loc["Residual", "variance"], rel=1e-6)
    assert (state.k @ state.h)[-1] == pytest.approx(gold["mean"].iloc[0], rel=1e-9)
    assert np.sqrt(phi[0, 0]) == pytest.approx(gold["se"].iloc[0], rel=1e-6)


@pytest.mark.parametrize(("name", "response", "factors"), [
    ("penicillin", "diameter", ("plate", "sample")),
    ("pastes", "strength", ("batch", "sample")),
])  # fmt: skip
def test_digits_do_not_depend_on_rounding(name: str, response: str, factors: tuple[str, ...]) -> None:
    """A unit of the scores, which changes rounding alone, changes no ratio of variances."""
    frame = pd.read_csv(GOLD / f"mixed_{name}.csv")
    codes = [pd.factorize(frame[factor])[0].astype(np.int64) for factor in factors]
    y = frame[response].to_numpy(dtype=float)
    ratios = []
    for unit in (1.0, 0.1, 0.3, 0.7, 1.1, 1.9, 3.0, 7.7, 13.0, 100.0):
        data = reml.prepare_problem(unit * y, np.ones((len(y), 1)), codes)
        ratios.append(reml.maximise_likelihood(data)[0].gamma)
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[0], np.shape(ratios)), rtol=1e-8)


@pytest.mark.parametrize("case", ["crossed", "nested", "singular"])
def test_closed_form_equals_profiled_likelihood(case: str) -> None:
    fit = fitted(case)
    data = fit.data
    problem = reml.prepare_problem(
        data.y - data.y.mean(),
        np.eye(len(fit.systems))[data.system],
        (data.topic, data.system_topic, data.instance),
    )
    state, _ = reml.maximise_likelihood(problem)
    assert -2 * fit.log_likelihood == pytest.approx(reml.profiled_deviance(problem, state), rel=1e-11)
    sigma2 = state.q / (problem.n - problem.p)
    variances = [*(state.gamma * sigma2), sigma2]
    np.testing.assert_allclose(list(fit.variance_components.values()), variances, rtol=1e-7, atol=1e-12)
