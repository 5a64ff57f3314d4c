"""Kenward and Roger's standard errors and degrees of freedom against pbkrtest (tests/gold/kenward_roger.R)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from instance_results import gold_scores as scores
from shardwise.methods.mixed.fit import MixedFit, mixed

GOLD = pd.read_csv(Path(__file__).parent.parent / "gold" / "kenward_roger.csv")
CASES = {  # as in kenward_roger.R: systems, instances, topics, standard deviations, seed, scores beyond are missing
    "few_topics": (3, 4, 5, (0.2, 0.1, 0.04, 0.08), 21, 0.2),
    "few_instances": (2, 3, 8, (0.2, 0.1, 0.08, 0.08), 22, 0.3),
    "noisy": (3, 3, 6, (0.2, 0.05, 0.1, 0.1), 23, 0.0),
    "sparse": (2, 4, 7, (0.1, 0.1, 0.1, 0.05), 25, -0.2),
    "uneven": (3, 4, 6, (0.2, 0.1, 0.0, 0.1), 26, 0.0),
    "more": (4, 5, 20, (0.2, 0.1, 0.04, 0.08), 24, 0.5),
}


@pytest.fixture(scope="module", params=CASES)
def both(request: pytest.FixtureRequest) -> tuple[MixedFit, pd.DataFrame]:
    return mixed(scores(*CASES[request.param])), GOLD[GOLD["case"] == request.param]


def test_errors_and_df_equal_pbkrtest(both: tuple[MixedFit, pd.DataFrame]) -> None:
    """lme4 stops its optimiser within 2e-8 of these variances."""
    fit, gold = both
    a, b = gold["a"].to_numpy(), gold["b"].to_numpy()
    assert fit.n == gold["n"].iloc[0]
    np.testing.assert_allclose(np.sqrt(fit.difference_variance[a, b]), gold["se"], rtol=1e-7)
    np.testing.assert_allclose(np.sqrt(fit.small_sample_variance[a, b]), gold["kr_se"], rtol=1e-7)
    np.testing.assert_allclose(fit.kenward_roger[a, b], gold["kr_df"], rtol=1e-7)
    assert bool(fit.singular) == bool(gold["singular"].iloc[0])


def test_the_correction_is_as_large_as_the_docs_say() -> None:
    """docs/repeats.md: up to 6 % on these designs."""
    assert (GOLD["kr_se"] / GOLD["se"]).max() == pytest.approx(1.06, abs=0.005)


def test_estimates_take_the_error_that_belongs_to_their_df(both: tuple[MixedFit, pd.DataFrame]) -> None:
    fit, _ = both
    corrected = fit.estimates(df="kenward-roger").variance
    plain = fit.estimates(df="satterthwaite").variance
    np.testing.assert_array_equal(corrected, fit.small_sample_variance)
    np.testing.assert_array_equal(plain, fit.difference_variance)
    usual = fit.estimates().variance
    np.testing.assert_array_equal(usual, corrected if fit.singular else plain)


def test_complete_data_need_no_correction() -> None:
    """One score more or less: the general fit of all but one has next to none."""
    whole = scores(2, 4, 12, (0.2, 0.1, 0.05, 0.08), 27)
    fit = mixed(whole)
    np.testing.assert_array_equal(fit.small_sample_variance, fit.difference_variance)
    whole[0, 0, 0] = np.nan
    nearly = mixed(whole)
    assert nearly.small_sample_variance[0, 1] >= nearly.difference_variance[0, 1]
    assert nearly.small_sample_variance[0, 1] == pytest.approx(nearly.difference_variance[0, 1], rel=1e-3)
