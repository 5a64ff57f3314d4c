"""The simulations of J15, figures 2, 3 and 4, through their presets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import instance_results as tests
from instance_results import compare_instances
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.lab.scenarios.j15 import draw_parameters, expected_score, j15_scenario
from shardwise.methods.mixed import balanced


def single_tests(y: Floats) -> Floats:
    """(tables, M) p-values of paired t-tests of each instance against the deterministic system."""
    z = (y[:, :, 0] - y[:, :, 1]).transpose(0, 2, 1)
    mean, se, _ = tests.paired_t(z)
    return tests.t_p(mean, se, z.shape[-1] - 1.0)


def test_single_p_values_are_those_of_scipy() -> None:
    y = j15_scenario("figure-2", mu=0.3, sigma=0.2, instances=5).draw(0, 2, 1)
    wanted = [[stats.ttest_rel(t[:, 0, m], t[:, 1, m]).pvalue for m in range(5)] for t in y]
    assert single_tests(y) == pytest.approx(np.array(wanted))


@pytest.mark.parametrize(("mu", "sigma"), [(0.5, 0.0), (0.2, 0.1), (0.9, 0.5), (0.0, 1.0)])
def test_expected_scores_by_double_integral(mu: float, sigma: float) -> None:
    def length(i: float) -> float:
        return float(integrate.quad(lambda t: np.sqrt((t * t + i * i) / 2), 0, 1)[0])

    if sigma == 0:
        wanted = length(mu)
    else:
        distribution = stats.norm(mu, sigma)
        inner = integrate.quad(lambda i: length(i) * distribution.pdf(i), 0, 1)[0]
        wanted = inner + length(0) * distribution.cdf(0) + length(1) * distribution.sf(1)
    assert float(expected_score(mu, sigma)) == pytest.approx(wanted, abs=1e-5)
    made = j15_scenario("figure-2", mu=mu, sigma=sigma, instances=40)
    assert made.truth[0] == pytest.approx(wanted, abs=1e-5)
    means = made.draw(0, 300, 2).mean(axis=(1, 3))
    error = (means.mean(axis=0) - made.truth) / (means.std(axis=0) / np.sqrt(300))
    assert np.abs(error).max() < 4.5


def test_figure_2_conclusions_contradict_each_other_the_more_instances_vary() -> None:
    """All instances agree without variation; with it a share of them contradicts the rest."""
    contradicted = []
    for sigma in (0.0, 0.05, 0.15, 0.3):
        share = (single_tests(j15_scenario("figure-2", mu=0.2, sigma=sigma).draw(0, 200, 2)) <= 0.05).mean(
            axis=1
        )
        contradicted.append(np.minimum(share, 1 - share).mean())
    assert contradicted[0] == 0.0
    assert np.all(np.diff(contradicted) > 0.01), contradicted
    assert contradicted[-1] > 0.15


def share_significant(mu: float, sigma: float) -> float:
    """A cell of figure 2: share of significant tests over 100 instances, mean of 100 repetitions."""
    return float((single_tests(j15_scenario("figure-2", mu=mu, sigma=sigma).draw(0, 100, 7)) <= 0.05).mean())


def test_figure_2_valley_and_hills() -> None:
    """With little variation few tests are significant at μ = .5, more on both sides, by the power of the t-test."""
    grid = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    share = np.array([share_significant(mu, 0.02) for mu in grid])
    assert share[0] > share[1] > share[2] < share[3] <= share[4], share
    assert share[2] < 0.15
    assert share[4] > 0.97
    u, critical = np.linspace(0, 1, 20001), stats.t.isf(0.025, 49)
    for mu, found in zip(grid, share, strict=True):
        y = np.sqrt((u**2 + mu**2) / 2)
        shift = abs(y.mean() - 0.5) / np.sqrt((y.var() + 1 / 12) / 50)
        power = stats.nct.sf(critical, 49, shift) + stats.nct.cdf(-critical, 49, shift)
        # a table is nearly one decision, as instances hardly vary; scores are not normal, hence .02 more
        assert found == pytest.approx(power, abs=4 * np.sqrt(max(power * (1 - power), 0.01) / 100) + 0.02)


def test_figure_2_variation_levels_hills_and_valley() -> None:
    """A larger σ takes significance from the hill on the left and fills the valley, so that single tests disagree.

    J15 §1 says that the majority of tests with μ below .5 are then not significant. So it is for μ from .3 to .5
    and σ = .2, but not for smaller μ, nor for σ above .3, where the cap sends most instances to 0 or 1.
    """
    for mu, sign in ((0.0, -1), (0.5, 1)):
        share = [share_significant(mu, sigma) for sigma in (0.02, 0.1, 0.2)]
        assert np.all(sign * np.diff(share) > 0), share
    assert all(share_significant(mu, 0.2) < 0.5 for mu in (0.3, 0.4, 0.5))
    assert all(share_significant(mu, 0.6) > 0.5 for mu in (0.0, 0.3, 0.5))


@pytest.mark.parametrize("n", [50, 400, 800, 3000])
def test_figure_3_intervals_fit_within_delta_as_topics_are_added(n: int) -> None:
    """Share of 95 % intervals inside ±.01, against its exact probability."""
    sigma, delta, tables = 0.1, 0.01, 400
    y = j15_scenario("figure-3", sigma=sigma, topics=n).draw(0, tables, 3)
    z = y[:, :, 0] - y[:, :, 1]
    half = stats.t.isf(0.025, n - 1) * z.std(axis=1, ddof=1) / np.sqrt(n)
    inside = (np.abs(z.mean(axis=1)) + half < delta).mean()
    covers = (np.abs(z.mean(axis=1)) < half).mean()
    assert covers == pytest.approx(0.95, abs=4.5 * np.sqrt(0.95 * 0.05 / tables))

    def given_spread(q: float) -> float:
        room = delta - stats.t.isf(0.025, n - 1) * sigma * np.sqrt(q / (n - 1)) / np.sqrt(n)
        return float(stats.chi2.pdf(q, n - 1) * max(0.0, 2 * stats.norm.cdf(room * np.sqrt(n) / sigma) - 1))

    width = 8 * np.sqrt(2 * n)
    exact = integrate.quad(given_spread, max(0.0, n - width), n + width, points=[n - 1], limit=200)[0]
    assert inside == pytest.approx(exact, abs=4.5 * np.sqrt(exact * (1 - exact) / tables) + 1e-6)
    assert (exact < 1e-3) == (n <= 50)
    assert (exact > 0.99) == (n >= 3000)


@pytest.mark.calibration
def test_figure_4_the_two_tests_agree(repetitions: float) -> None:
    """Over random μ and σ (500 tables; 5,000, as in the paper, at full length) the p-values lie on the diagonal."""
    size = int(500 * repetitions)
    y = j15_scenario("figure-4").draw(0, size, 4).transpose(0, 2, 3, 1)  # table, system, instance, topic
    fit = balanced.restricted_maximum(balanced.split_lines(y, "crossed"))
    difference = fit.lines.means[:, 0] - fit.lines.means[:, 1]
    mixed = tests.t_p(difference, np.sqrt(fit.difference_variance), y[0].size - 1.0)
    z = y[:, 0] - y[:, 1]
    t = tests.paired_t(z.mean(axis=1))[2]
    boot = np.array([tests.bootstrap_p(one, np.repeat(x, 100), 20, 1) for one, x in zip(z, t, strict=True)])
    assert np.corrcoef(boot, mixed)[0, 1] > 0.99
    assert np.abs(boot - mixed).mean() < 0.02
    assert ((boot <= 0.05) == (mixed <= 0.05)).mean() > 0.95
    assert 0.2 < (mixed <= 0.05).mean() < 0.9  # both conclusions occur, so there is something to agree on


def test_figure_4_draws_mean_and_variance_uniformly() -> None:
    made = j15_scenario("figure-4")
    mu, sigma = draw_parameters(made, 0, 2000, 5)
    for drawn in (mu, sigma**2):
        assert stats.kstest(drawn, "uniform").pvalue > 1e-4
    assert np.isnan(made.truth[0])
    assert np.array_equal(draw_parameters(made, 7, 1, 5)[0], mu[7:8])
    assert np.array_equal(made.draw(3, 2, 5), made.draw(0, 5, 5)[3:])


def test_tables_fit_the_rest_of_the_package() -> None:
    y = j15_scenario("figure-2", mu=0.9, sigma=0.05).draw(0, 1, 2)[0]
    random, fixed = pd.DataFrame(y[:, 0]), pd.Series(y[:, 1, 0])
    assert compare_instances(random, fixed).p < 0.01
    equal = j15_scenario("figure-3", sigma=0.2, topics=30).draw(0, 1, 0)[0]
    assert (equal[:, 0] - equal[:, 1]).std() == pytest.approx(0.2, rel=0.6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"figure": "figure-5"}, "unknown simulation 'figure-5'"),
        ({"figure": "figure-3", "mu": 0.5}, "has no mu"),
        ({"figure": "figure-2", "sigma": -1.0}, "not a standard deviation"),
        ({"figure": "figure-2", "instances": 1}, "1 instances: give a whole number, 2 or more"),
    ],
)
def test_wrong_simulations_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        j15_scenario(**arguments)
