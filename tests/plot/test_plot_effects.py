"""Bootstrap charts: intervals of V17 Fig. 2, and the shaded p-value of V17 Fig. 3."""

from __future__ import annotations

import numpy as np
import pytest

from chart_rows import rows_with, titles
from report_pages import simulated
from shardwise.core.errors import InputError
from shardwise.core.model import MD2, MD3
from shardwise.methods.bootstrap.method import BootstrapFit, bootstrap_anova
from shardwise.plot.fits import density_chart, effect_chart


@pytest.mark.parametrize("systems", [2, 20, 150])
def test_intervals_with_and_without_interaction(systems: int) -> None:
    scores = simulated(systems, topics=8, shards=2)
    fits = {"without": bootstrap_anova(scores, MD2), "with": bootstrap_anova(scores, MD3)}
    chart = effect_chart(fits)
    rows = max(rows_with(chart, "system", "model", "lower"), key=len)
    for name, fit in fits.items():
        frame = fit.intervals(0.95)
        own = {row["system"]: row for row in rows if row["model"] == name}
        assert [own[system]["lower"] for system in frame.index] == frame["lower"].tolist()
        assert [own[system]["upper"] for system in frame.index] == frame["upper"].tolist()
    domain = chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain == fits["without"].effects.sort_values(ascending=False).index.tolist()


def nearest(fit: BootstrapFit) -> tuple[str, str]:
    """The two neighbours in rank that differ least, better first: their p-value is far from 0."""
    effects = fit.effects.sort_values(ascending=False)
    k = int(np.argmin(-np.diff(effects)))
    return effects.index[k], effects.index[k + 1]


@pytest.mark.parametrize("n_resamples", [None, 2000])
def test_the_shaded_area_is_the_p_value(n_resamples: int | None) -> None:
    fit = bootstrap_anova(simulated(20, topics=20, shards=2), MD3, n_resamples=n_resamples, seed=1)
    better, worse = nearest(fit)
    chart = density_chart(fit, worse, better)
    (tail,) = [rows for rows in rows_with(chart, "value", "density") if "system" not in rows[0]]
    x, y = (np.array([row[name] for row in tail]) for name in ("value", "density"))
    assert x[0] == fit.effects[better]
    p = float(fit.effect_distribution(worse).sf(np.array([fit.effects[better]]))[0])
    assert p > 0.1
    # the curve ends at the upper 1e-4 quantile; a kernel of .22 sd, as 2000 estimates have it, widens the distribution
    # by 2.4 %, which moves a tail by .006 at most
    assert np.trapezoid(y, x) == pytest.approx(p, abs=2e-4 if n_resamples is None else 0.01)
    assert f"p = {p:.3g}" in titles(chart)
    (curves,) = rows_with(chart, "system", "density", "cdf")
    assert {row["system"] for row in curves} == {better, worse}


def test_the_p_value_is_that_of_the_marginal_distribution() -> None:
    fit = bootstrap_anova(simulated(20, topics=20, shards=2), MD3)
    a, b = nearest(fit)
    distribution = fit.measure_pairs(null="marginal", tails=1)
    assert distribution is not None
    p = distribution.p_values(np.array([fit.effects[a] - fit.effects[b]]))[0]
    assert f"p = {p:.3g}" in titles(fit.plot(pair=(a, b)))


def test_refusals() -> None:
    fit = bootstrap_anova(simulated(3, topics=6, shards=2), MD3)
    with pytest.raises(InputError, match="compared with itself"):
        density_chart(fit, "run000", "run000")
    with pytest.raises(InputError, match="are not nested"):
        effect_chart({str(k): fit for k in range(4)})
