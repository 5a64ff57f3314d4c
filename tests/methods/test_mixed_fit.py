"""Mixed models: properties, an independent dense likelihood, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from shardwise.comparing.compare import compare
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.io.instances import flag_deterministic
from shardwise.methods.mixed import balanced
from shardwise.methods.mixed.fit import Observations, mixed
from shardwise.methods.mixed.posterior import posterior


def scores(
    shape: tuple[int, int, int] = (3, 4, 12),
    sd: tuple[float, ...] = (0.2, 0.1, 0.03, 0.08),
    seed: int = 1,
    lost: float = 0.0,
) -> xr.DataArray:
    """Simulated nested instances, a share of the scores lost."""
    ll, m, n = shape
    rng = np.random.default_rng(seed)
    y = (
        0.4
        + sd[0] * rng.normal(size=n)
        + sd[1] * rng.normal(size=(ll, 1, n))
        + sd[2] * rng.normal(size=(ll, m, 1))
    )
    y = y + sd[3] * rng.normal(size=shape)
    y[rng.random(shape) < lost] = np.nan
    y[0, 0, 0] = np.nan if lost else y[0, 0, 0]
    coords: dict[str, Any] = {"system": [f"s{k}" for k in range(ll)], "topic": [f"t{k}" for k in range(n)]}
    return xr.DataArray(y, dims=("system", "instance", "topic"), coords=coords)


def dense_deviance(data: Observations, variances: Floats) -> float:
    """-2 log restricted likelihood by the covariance matrix of all scores, as textbooks write it."""
    n = len(data.y)
    v = variances[-1] * np.eye(n)
    for code, s2 in zip((data.topic, data.system_topic, data.instance), variances[:-1], strict=True):
        v += s2 * ((code[:, None] == code[None, :]) & (code[:, None] >= 0))
    x = np.eye(int(data.system.max()) + 1)[data.system]
    inverse = np.linalg.inv(v)
    xvx = x.T @ inverse @ x
    y = data.y - x @ np.linalg.solve(xvx, x.T @ inverse @ data.y)
    logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(xvx)[1]
    return float(logs + y @ inverse @ y + (n - x.shape[1]) * np.log(2 * np.pi))


@pytest.mark.parametrize("design", ["nested", "crossed"])
@pytest.mark.parametrize("lost", [0.0, 0.15])
def test_likelihood_is_the_textbook_one(design: Any, lost: float) -> None:
    fit = mixed(scores(lost=lost), design)
    best = np.array(list(fit.variance_components.values()))
    assert fit.criterion == pytest.approx(dense_deviance(fit.data, best), abs=1e-8)
    for k, factor in ((0, 1.02), (1, 0.98), (2, 1.05), (3, 1.01)):
        other = best.copy()
        other[k] = other[k] * factor + (1e-6 if best[k] == 0 else 0.0)
        assert dense_deviance(fit.data, other) > fit.criterion


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(k, marks=pytest.mark.full) for k in range(6, 12))]
)
def test_no_random_design_ends_short_of_the_maximum(seed: int) -> None:
    """Against a derivative-free search from several starts, instances often without any variance."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 4)), int(rng.integers(2, 5)), int(rng.integers(3, 8)))
    sd = (*rng.choice([0.0, 0.03, 0.1, 0.3], 3), 0.1)
    fit = mixed(scores(shape, sd, seed=100 + seed, lost=0.1))
    assert fit.balanced is None
    assert fit.convergence.converged
    scale = float(fit.data.y.var())

    def by_root(root: Floats) -> float:
        return dense_deviance(fit.data, scale * np.append(root[:3] ** 2, root[3] ** 2 + 1e-8))

    for start in ([0.3, 0.3, 0.3, 0.5], [0.8, 0.1, 0.05, 0.3]):
        found = optimize.minimize(by_root, np.array(start), method="Nelder-Mead", options={"maxiter": 400})
        assert fit.criterion <= found.fun + 1e-6


@given(st.integers(0, 10_000))
def test_pooling_keeps_the_order_and_the_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = balanced.split_lines(rng.normal(size=(5, 2, 3, 4)), "nested")
    fit = balanced.restricted_maximum(found)
    assert (fit.components >= -1e-15).all()
    np.testing.assert_allclose((found.df * fit.phi).sum(axis=-1), found.ss.sum(axis=-1))
    other = np.sort(fit.phi * 1.01, axis=-1)[..., [3, 2, 2, 0]]  # in order too: T largest, residual smallest
    assert (fit.log_likelihood + 1e-9 >= _likelihood_of(found, other)).all()


def _likelihood_of(found: balanced.Lines, phi: Floats) -> Floats:
    return balanced.BalancedFit(found, phi, np.zeros(phi.shape, dtype=np.int64)).log_likelihood


@pytest.mark.slow
@settings(max_examples=25)
@given(st.floats(-2, 2), st.floats(0.1, 5), st.integers(0, 99))
def test_harder_topics_and_other_units_change_no_comparison(shift: float, unit: float, seed: int) -> None:
    table = scores((2, 3, 6), seed=seed, lost=0.1 if seed % 2 else 0.0)
    try:
        one = mixed(table)
    except InputError:
        return  # a topic lost all its scores
    harder = table + xr.DataArray(np.linspace(0, shift, 6), dims="topic", coords={"topic": table["topic"]})
    for other, factor in ((table * unit, unit), (table + shift, 1.0), (harder, 1.0)):
        two = mixed(other)
        if other is harder and (one.balanced is None or "topic" in one.singular + two.singular):
            continue  # a topic variance of 0 is pooled with system:topic, so topics do tell something then
        np.testing.assert_allclose(np.diff(two.values), factor * np.diff(one.values), rtol=1e-5, atol=1e-7)
        variances = two.difference_variance, factor**2 * one.difference_variance
        np.testing.assert_allclose(*variances, rtol=1e-4, atol=1e-12)


def test_estimates_go_through_the_waist() -> None:
    fit = mixed(scores((5, 4, 20)))
    pairs = compare(fit, "holm")
    assert len(pairs) == 10
    row = pairs.to_frame().iloc[0]
    assert row["se"] == pytest.approx(np.sqrt(fit.difference_variance[0, 1]))
    assert row["df"] == pytest.approx(fit.satterthwaite[0, 1])
    assert "topics like these 20, any instance" in pairs.claim
    assert compare(fit, "hsd", df="paper").to_frame()["df"].iloc[0] == 5 * 4 * 20 - 1
    hole = scores((5, 4, 20), lost=0.1)
    assert compare(mixed(hole), "bh").to_frame()["se"].nunique() > 1


def test_singular_fits_are_told_in_words_and_take_sober_df() -> None:
    fit = next(
        fit
        for seed in range(50)
        if (fit := mixed(scores((2, 3, 10), (0.2, 0.1, 0.0, 0.1), seed=seed))).singular
    )
    assert "system:instance" in fit.singular
    assert "singular fit: the variance of system:instance is estimated as 0" in str(fit)
    assert "Kenward–Roger" in fit.estimates().error
    assert fit.kenward_roger[0, 1] < fit.satterthwaite[0, 1]
    assert posterior(fit, 1000).components_table().loc["system:instance", "upper"] > 0


def test_names_of_components() -> None:
    v = mixed(scores()).variance_components
    assert list(v) == ["topic", "system:topic", "system:instance", "residual"]
    assert v["instance"] == v["system:instance"] == v["instance:system"]
    assert v["topic:system"] == v["system:topic"]
    assert list(mixed(scores(), "crossed").variance_components) == [
        "topic",
        "system:topic",
        "instance",
        "residual",
    ]
    with pytest.raises(InputError, match="unknown variance 'shard'"):
        v["shard"]


def test_deterministic_systems() -> None:
    table = scores((3, 4, 12))
    table[2, 1:] = np.nan
    flagged = flag_deterministic(table, ["s2"])
    nested = mixed(flagged)
    assert nested.instances == (4, 4, 1)
    assert (nested.data.instance[nested.data.system == 2] == -1).all()
    assert "s2 has no instance effect" in str(nested)
    named = mixed(table, deterministic=["s2"])
    assert named.log_likelihood == nested.log_likelihood
    crossed = mixed(flagged, "crossed")  # copied to all instances, as J15 does
    assert crossed.balanced is not None
    assert crossed.n == 3 * 4 * 12
    alone = mixed(table)  # not flagged: its one instance is one of many
    assert "one instance only: s2" in str(alone)
    assert alone.difference_variance[0, 2] > nested.difference_variance[0, 2]


@pytest.mark.parametrize(("change", "message"), [
    (lambda y: y.isel(instance=[0]), "no system has a second instance"),
    (lambda y: y.isel(system=[0]), "1 system and"),
    (lambda y: y.isel(instance=0), "but no instance"),
    (lambda y: y.where(y["system"] != "s1"), "system 's1' has no scores"),
    (lambda y: y.where(y["topic"] != "t3"), "topic 't3' has no scores"),
    (lambda y: y.isel(instance=[0, 0]), "leaves no residual"),
    (lambda y: y.isel(instance=[0, 1]).assign_coords(instance=["a", "a"]), "two instances are named 'a'"),
    (lambda y: y.expand_dims("shard"), "shard is unexpected here"),
    (lambda y: flag_deterministic(y, ["s0"]), "its 4 instances differ"),
    (lambda y: y.where(y["topic"] != "t3", np.inf), "infinite values"),
])  # fmt: skip
def test_refusals(change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mixed(change(scores()))


def test_refused_choices() -> None:
    fit = mixed(scores())
    for call, message in (
        (lambda: mixed(scores(), "both"), "unknown design"),
        (lambda: fit.estimates(df="t"), "unknown df"),
        (lambda: fit.estimates(generalize=("topic",)), "generalises over topics and instances"),
        (lambda: posterior(fit, 1000).components_table(95), "not between 0"),
        (lambda: mixed(scores(), deterministic=["x"]), "unknown system 'x'"),
    ):
        with pytest.raises(InputError, match=message):
            call()  # type: ignore[no-untyped-call]
