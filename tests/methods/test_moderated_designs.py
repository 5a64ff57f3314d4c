"""The moderated test on shards, instances, cells and tables with holes, against plain numpy and the other fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from procedure_tables import labelled
from shardwise.comparing.compare import compare
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.model import MD6
from shardwise.methods.anova.fit import anova
from shardwise.methods.moderated.draws import draw_noise
from shardwise.methods.moderated.method import gram_statistics, normal_limit, resample_topics
from shardwise.methods.moderated.statistics import (
    Noise,
    cell_residuals,
    cell_statistics,
    moderated_statistics,
    of_instances,
    of_shards,
    of_shards_with_gaps,
    pairs_of,
    run_stratified,
)
from shardwise.methods.moments.gram import compute_gram
from shardwise.methods.repeats.unified import complete_moments, instance_spread, run_unified
from shardwise.stats.balanced import Decomposition, all_terms, decompose
from shardwise.stats.moderation import PRIOR_DF as D0
from shardwise.stats.resampling import below, chi_squared, key_of, normal, start, topic_counts


def md6(y: Floats) -> Decomposition:
    dims = ("topic", "system", "shard")
    found = decompose(y, dims, all_terms(dims))
    assert found is not None
    return found


def table(seed: int, topics: int, systems: int) -> Floats:
    """Systems with variances of their own, skewed."""
    g = np.random.default_rng(seed)
    return np.asarray(0.4 + np.linspace(0.02, 0.1, systems) * g.gumbel(size=(topics, systems)))


def slow_noisy(y: Floats, noise: Noise, seed: int, count: int) -> Floats:
    """(B, P) t* with chance effects, from the same random numbers."""
    topics, systems = y.shape
    ia, ib = pairs_of(systems)
    z = y - y.mean(axis=0)
    out = []
    for i in range(count):
        state = np.empty(1, dtype=np.uint64)
        start(key_of(seed), i, state)
        rows = [below(topics, state) for _ in range(topics)]
        effect, variance = np.zeros(systems), np.zeros(systems)
        draw_noise(noise, state, effect, variance)
        d = z[rows][:, ia] - z[rows][:, ib]
        s2 = d.var(axis=0, ddof=1)
        v = ((topics - 1) * s2 + D0 * s2.mean()) / (topics - 1 + D0) / topics + variance[ia] + variance[ib]
        out.append((d.mean(axis=0) + effect[ia] - effect[ib]) / np.sqrt(v))
    return np.array(out)


def test_chance_effects_by_hand() -> None:
    g = np.random.default_rng(1)
    y = table(7, 12, 4)[:, :, None] + 0.05 * g.normal(size=(12, 4, 5)) + 0.1 * g.normal(size=(1, 4, 5))
    noise = of_shards(md6(y))
    x = y.mean(axis=-1)
    found = moderated_statistics(x, noise=noise)
    fast = resample_topics(x, *pairs_of(4), found, key_of(2), 300, noise=noise)
    star = slow_noisy(x, noise, 2, 300)
    np.testing.assert_allclose(np.sqrt(fast.maxima), np.sort(np.abs(star).max(axis=1)), rtol=1e-10)


def with_holes(seed: int, topics: int = 15, systems: int = 5, share: float = 0.15) -> Floats:
    y = table(seed, topics, systems)
    y[np.random.default_rng(seed + 1).random(y.shape) < share] = np.nan
    return y


def slow_incomplete(y: Floats, d0: float) -> Floats:
    """(P,) t on the topics that both systems of a pair have; the pairs may have been centred."""
    n = (~np.isnan(y)).sum(axis=0)
    ss = np.nansum((y - np.nanmean(y, axis=0)) ** 2, axis=0)
    common = (ss / (n - 1)).mean()
    v = (ss + d0 * common) / (n - 1 + d0)
    return np.asarray(np.nanmean(y, axis=0) / np.sqrt(v / n))


@pytest.mark.parametrize("d0", [0.0, D0, 1e9])
def test_missing_scores_by_hand(d0: float) -> None:
    y = with_holes(3)
    ia, ib = pairs_of(5)
    d = y[:, ia] - y[:, ib]
    found = moderated_statistics(y, d0=d0)
    np.testing.assert_allclose(found.t, slow_incomplete(d, d0), rtol=1e-12)
    counts = topic_counts(15, key_of(4), 0, 300).astype(int)
    d = d - np.nanmean(d, axis=0)
    star = np.array([slow_incomplete(np.repeat(d, w, axis=0), d0) for w in counts])
    fast = resample_topics(y, ia, ib, found, key_of(4), 300)
    np.testing.assert_allclose(np.sqrt(fast.maxima), np.sort(np.abs(star).max(axis=1)), rtol=1e-10)
    falling = np.argsort(-np.abs(found.t))
    later = np.maximum.accumulate(np.abs(star[:, falling[::-1]]), axis=1)[:, ::-1]
    reached = (1 + (later >= np.abs(found.t[falling]) * (1 - 1e-9)).sum(axis=0)) / 301
    np.testing.assert_array_equal(fast.p_adjusted[falling], np.maximum.accumulate(reached))


def test_the_normal_limit_by_hand() -> None:
    """Normal means with the covariances of the systems over topics, against the variances of the table."""
    y = table(9, 40, 5)
    ia, ib = pairs_of(5)
    moments = compute_gram(y.T)
    found = gram_statistics(moments, ia, ib)
    values, vectors = np.linalg.eigh(np.cov(y.T) / len(y))
    root = (vectors * np.sqrt(values)) @ vectors.T
    normals = np.empty((300, 5))
    for i in range(300):
        state = np.empty(1, dtype=np.uint64)
        start(key_of(6), i, state)
        normals[i] = [normal(state) for _ in range(5)]
    means = normals @ root
    star = (means[:, ia] - means[:, ib]) / found.se
    fast = normal_limit(moments, ia, ib, found, key_of(6), 300)
    np.testing.assert_allclose(np.sqrt(fast.maxima), np.sort(np.abs(star).max(axis=1)), rtol=1e-9)


def test_topics_that_nobody_has_are_as_if_they_had_never_been() -> None:
    y = table(5, 12, 4)
    holes = np.insert(y, [3, 7], np.nan, axis=0)
    whole, left = moderated_statistics(y), moderated_statistics(holes)
    for name in ("t", "p", "df", "moderated"):
        np.testing.assert_allclose(getattr(left, name), getattr(whole, name), rtol=1e-12)
    a, b = (
        resample_topics(y, *pairs_of(4), whole, key_of(1), 99),
        resample_topics(holes, *pairs_of(4), left, key_of(1), 99),
    )
    np.testing.assert_array_equal(a.p_adjusted, b.p_adjusted)


def test_pairs_without_a_common_topic_are_not_compared() -> None:
    y = table(6, 12, 4)
    y[:6, 0], y[6:, 1] = np.nan, np.nan
    found = moderated_statistics(y)
    joint = resample_topics(y, *pairs_of(4), found, key_of(1), 99)
    assert np.isnan([found.t[0], found.p[0], joint.p_adjusted[0]]).all()
    assert np.isfinite(joint.p_adjusted[1:]).all()


def test_cells_by_hand() -> None:
    g = np.random.default_rng(3)
    y = g.normal(size=(6, 4, 3)) + np.arange(4)[:, None]
    ia, ib = pairs_of(4)
    found = cell_statistics(y)
    e = cell_residuals(y)
    s2 = ((e[:, ia] - e[:, ib]) ** 2).sum(axis=0) / 10
    v = (10 * s2 + D0 * s2.mean()) / (10 + D0)
    mean = y.mean(axis=(0, 2))
    np.testing.assert_allclose(found.t, (mean[ia] - mean[ib]) / np.sqrt(v / 18), rtol=1e-12)


def with_common_gaps(shape: tuple[int, int, int], share: float, seed: int) -> Floats:
    """Scores of topics, systems and shards, some cells of which no system has."""
    g = np.random.default_rng(seed)
    y = g.normal(size=shape) + g.normal(size=(shape[0], 1, 1)) + np.arange(shape[1])[:, None]
    y[np.broadcast_to(g.random((shape[0], 1, shape[2])) < share, shape)] = np.nan
    return np.asarray(y)


def test_cells_that_no_system_has_by_least_squares() -> None:
    """The differences of two systems on the cells there are, by topic and shard, with numpy's least squares."""
    y = with_common_gaps((8, 4, 5), 0.2, 4)
    topic, shard = np.nonzero(np.isfinite(y[:, 0]))
    design = np.column_stack([topic[:, None] == range(8), shard[:, None] == range(1, 5)]).astype(float)
    mean = np.r_[np.full(8, 1 / 8), np.full(4, 1 / 5)]  # of all cells of the full table
    ia, ib = pairs_of(4)
    found, s2 = cell_statistics(y), []
    nu = len(topic) - 12
    for k in range(6):
        d = y[topic, ia[k], shard] - y[topic, ib[k], shard]
        beta, (rss,), *_ = np.linalg.lstsq(design, d)
        s2.append(rss / nu)
        assert found.difference[k] == pytest.approx(mean @ beta, rel=1e-10)
    v = (nu * np.array(s2) + D0 * np.mean(s2)) / (nu + D0)
    unit = mean @ np.linalg.inv(design.T @ design) @ mean
    np.testing.assert_allclose(found.se, np.sqrt(v * unit), rtol=1e-10)
    np.testing.assert_allclose(found.df, nu + D0)
    both = cell_statistics(np.stack([y, y + 1.0]))  # tables of a batch are fitted one by one
    np.testing.assert_allclose(both.t[1], found.t, rtol=1e-9)


def test_the_variance_with_gaps_is_right_on_average() -> None:
    """Quadratic forms of independent effects have the mean of their values for each effect alone: no simulation."""
    gaps = with_common_gaps((6, 3, 4), 0.3, 7)
    there = np.isfinite(gaps[:, 0])
    sizes = {"topic": (6, 3, 1), "shard": (1, 3, 4), "error": (6, 3, 4)}
    variances = {"topic": 0.7, "shard": 1.9, "error": 0.4}
    expected, true = np.zeros(3), np.zeros(3)
    for name, shape in sizes.items():
        for one in np.eye(int(np.prod(shape))):
            y = np.where(there[:, None], np.broadcast_to(one.reshape(shape), (6, 3, 4)), np.nan)
            noise = of_shards_with_gaps(y)
            found = moderated_statistics(np.nanmean(y, axis=2), d0=0.0)
            expected += variances[name] * (found.own / 6 + 2 * ((noise.upper - noise.lower) / noise.size)[0])
            true += variances[name] * found.difference**2
    np.testing.assert_allclose(expected, true, rtol=1e-9)


def test_without_gaps_the_noise_is_that_of_full_tables() -> None:
    y = with_common_gaps((9, 4, 3), 0.0, 2)
    for one, other in zip(of_shards_with_gaps(y)[:5], of_shards(md6(y))[:5], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("method", ["moderated", "moderated topic+shard", "moderated holm these"])
def test_shards_that_no_system_has_are_left_out(method: str) -> None:
    scores = labelled(with_common_gaps((12, 4, 5), 0.2, 5), "topic", "system", "shard")
    found = compare(scores, method, n_resamples=199)
    frame = found.to_frame().set_index(["a", "b"])
    means = scores.mean("shard").mean("topic")  # xarray leaves out what is missing
    if "these" not in method:
        for (a, b), row in frame.iterrows():
            assert row["difference"] == pytest.approx(float(means.sel(system=a) - means.sel(system=b)))
    assert np.isfinite(frame["p_adjusted"]).all()
    assert found.estimates.values[0] - found.estimates.values[1] == pytest.approx(found.difference[0])
    scores[3, 1, np.flatnonzero(np.isfinite(scores[3, 1]))[0]] = np.nan  # of one system only
    if method == "moderated":
        assert np.isfinite(compare(scores, method, n_resamples=199).p_adjusted).all()
    else:
        with pytest.raises(InputError, match=r"only what all systems lack.*MD6 holm"):
            compare(scores, method)


def test_splits_with_undefined_cells_are_averaged() -> None:
    """Each split is fitted by itself; the mean over splits has their differences."""
    scores = labelled(
        np.stack([with_common_gaps((12, 4, 5), 0.2, 5), with_common_gaps((12, 4, 5), 0.2, 6)]),
        "split", "topic", "system", "shard",
    )  # fmt: skip
    found = compare(scores, "mean moderated holm these")
    each = [compare(scores.isel(split=i), "moderated holm these").estimates for i in range(2)]
    means = np.mean([[dict(zip(e.labels, e.values, strict=True))[n] for n in "0123"] for e in each], axis=0)
    names = {name: float(mean) for name, mean in zip("0123", means, strict=True)}
    for row in found.to_frame().to_dict("records"):
        assert row["difference"] == pytest.approx(names[row["a"]] - names[row["b"]])
        assert np.isfinite(row["se"])
    both = compare(scores, "moderated topic+shard", n_resamples=199)
    assert np.isfinite(both.p_adjusted).all()


def test_strata_by_hand() -> None:
    y = np.random.default_rng(5).normal(size=(2, 8, 3, 4))
    difference, se, df = run_stratified(y)
    e = cell_residuals(y[1]).reshape(8, 4, 3)
    d = e[..., 0] - e[..., 2]
    s2 = (d**2).sum(axis=1) * 8 / 7 / 3
    np.testing.assert_allclose(difference[1, 1], (y[1, :, 0] - y[1, :, 2]).mean(), rtol=1e-12)
    np.testing.assert_allclose(se[1, 1], np.sqrt(s2.sum() / 4) / 8, rtol=1e-12)
    np.testing.assert_allclose(df[1, 1], min(21, s2.sum() ** 2 / ((s2**2).sum() / 5)), rtol=1e-12)
    # with one variance for all topics it is that of MD6
    np.testing.assert_allclose(se[1] ** 2, cell_statistics(y[1], d0=0.0).se ** 2, rtol=1e-12)


@pytest.mark.parametrize("df", [1.0, 4.0, 36.0])
def test_distributions_of_the_random_numbers(df: float) -> None:
    state = np.empty(1, dtype=np.uint64)
    start(key_of(1), 0, state)
    normals = [normal(state) for _ in range(20_000)]
    squares = [chi_squared(df, state) for _ in range(20_000)]
    assert stats.kstest(normals, stats.norm.cdf).pvalue > 1e-4
    assert stats.kstest(squares, stats.chi2(df).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(normals, squares)[0, 1]) < 0.03


def test_chance_effects_of_shards_make_the_error_term_of_md6() -> None:
    g = np.random.default_rng(2)
    y = g.normal(size=(12, 4, 5)) + g.normal(size=(1, 4, 5)) + g.normal(size=(12, 4, 1))
    fit = compare(anova(labelled(y, "topic", "system", "shard"), MD6), generalize=("topic", "shard"))
    found = moderated_statistics(y.mean(axis=-1), d0=np.inf, noise=of_shards(md6(y)))
    np.testing.assert_allclose(found.se**2, 2 * fit.estimates.variance, rtol=1e-12)


def test_instances_make_the_unified_test() -> None:
    g = np.random.default_rng(3)
    y = g.normal(size=(2, 20, 3, 4)) + np.array([0.0, 1.0, 2.0])[:, None] * g.normal(size=(2, 1, 3, 4))
    y[:, :, 0] = y[:, :, 0, :1]  # deterministic
    y[:, :, 1, 3:] = np.nan
    spread = instance_spread(y)
    means, (ia, ib) = np.nanmean(y, axis=-1), pairs_of(3)
    found = moderated_statistics(means, d0=0.0, noise=of_instances(spread))
    difference, se, _ = run_unified(complete_moments(means, ia, ib), spread, ia, ib)
    np.testing.assert_allclose(found.difference, difference, rtol=1e-12)
    np.testing.assert_allclose(found.se, se, rtol=1e-12)
    one = moderated_statistics(means[1], d0=0.0, noise=of_instances(spread).select_part(1))
    np.testing.assert_array_equal(one.se, found.se[1])


@pytest.mark.parametrize("instances", [2, 3, 5])
def test_critical_values_are_those_of_cochran_and_cox(instances: int) -> None:
    """By scipy, from the two parts of the variance: topics, and the systems' instances put together."""
    g = np.random.default_rng(instances)
    y = g.normal(size=(20, 2, instances)) + np.array([3.0, 0.3])[:, None] * g.normal(size=(1, 2, instances))
    spread = instance_spread(y[None])
    found = moderated_statistics(y.mean(axis=-1), d0=0.0, noise=of_instances(spread).select_part(0))
    topics = np.diff(y.mean(axis=-1), axis=1).var(ddof=1) / 20
    own = np.maximum((spread.ms_instance - spread.ms_error)[0], 0.0) / (20 * instances)
    few = own.sum() ** 2 / (own**2 / (instances - 1)).sum()
    share = (own.sum() / (topics + own.sum())) ** min(few / 2, 1)
    wanted = (1 - share) * stats.t.isf(0.025, 19) + share * stats.t.isf(0.025, few)
    assert stats.t.isf(0.025, found.df[0]) == pytest.approx(wanted)
    satterthwaite = (topics + own.sum()) ** 2 / (topics**2 / 19 + (own**2 / (instances - 1)).sum())
    assert found.drawn_df[0] == pytest.approx(satterthwaite)
    assert found.drawn.t[0] * found.care[0] == pytest.approx(found.t[0])


def test_missing_scores_and_chance_effects_do_not_go_together() -> None:
    y = with_holes(1)
    noise = of_shards(md6(np.random.default_rng(1).normal(size=(15, 5, 3))))
    with pytest.raises(InputError, match="need full tables"):
        resample_topics(y, *pairs_of(5), moderated_statistics(y), key_of(1), 9, noise=noise)
