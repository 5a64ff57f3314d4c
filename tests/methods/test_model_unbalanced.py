"""Analysis of variance with missing scores: against R and against plain least squares."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.core.arrays import Floats, make_generator
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD2, MD3, MD4, MD5, MD6, Model, Term, format_term
from shardwise.methods.anova.fit import anova

GOLD = Path(__file__).parent.parent / "gold"
DIMS = ("topic", "system", "shard")
CASES = [(d, f"MD{m}") for d in ("rows", "holes") for m in range(2, 7)] + [("gaps", "MD1")]


def gold_scores(design: str) -> xr.DataArray:
    frame = pd.read_csv(GOLD / "anova_scores.csv", dtype={"topic": str, "system": str, "shard": str})
    return xr.DataArray.from_series(frame[frame["design"] == design].set_index(list(DIMS))["y"])


def gold(name: str, design: str, model: str) -> pd.DataFrame:
    frame = pd.read_csv(GOLD / f"anova_{name}.csv")
    return frame[(frame["design"] == design) & (frame["model"] == model)]


@pytest.mark.parametrize(("design", "model"), CASES)
def test_tables_agree_with_r(design: str, model: str) -> None:
    # car::Anova type 3; type 2 for topic and shard where empty topic:shard cells leave no type 3 hypothesis
    fit = anova(gold_scores(design), model)
    peer = gold("tables", design, model).set_index("term")
    assert set(peer.index) == set(fit.table.index) - {"total"}
    for column in ("ss", "df", "F", "p"):
        np.testing.assert_allclose(fit.table.loc[peer.index, column], peer[column], rtol=1e-9)
    assert any("type II for topic, shard" in note for note in fit.notes) == ("car2" in set(peer["source"]))


@pytest.mark.parametrize(("design", "model"), CASES)
def test_adjusted_means_agree_with_emmeans(design: str, model: str) -> None:
    estimates = anova(gold_scores(design), model).estimates()
    variances = estimates.variance_of_differences()
    for row in gold("pairs", design, model).itertuples():
        a, b = estimates.labels.index(str(row.a)), estimates.labels.index(str(row.b))
        assert estimates.values[a] - estimates.values[b] == pytest.approx(row.difference, rel=1e-9)
        assert np.sqrt(variances[a, b]) == pytest.approx(row.se, rel=1e-9)
        assert estimates.df == row.df
        if not np.isnan(float(str(row.mean_a))):  # not estimable where cells of the model are empty
            assert estimates.values[a] == pytest.approx(row.mean_a, rel=1e-9)


def sum_coded(y: Floats, dims: tuple[str, ...], term: Term) -> Floats:
    """Columns of a term in sum-to-zero coding, for the cells that are there."""
    where = np.argwhere(~np.isnan(y))
    columns = np.ones((len(where), 1))
    for d in sorted(term):
        axis = dims.index(d)
        coding = np.vstack([np.eye(y.shape[axis] - 1), -np.ones(y.shape[axis] - 1)])[where[:, axis]]
        columns = (columns[:, :, None] * coding[:, None, :]).reshape(len(where), -1)
    return columns


def plain_fit(y: Floats, dims: tuple[str, ...], terms: list[Term]) -> tuple[Floats, int]:
    """Residuals and rank of least squares on the sum-coded design matrix."""
    values = y[~np.isnan(y)]
    design = np.hstack([np.ones((len(values), 1)), *(sum_coded(y, dims, term) for term in terms)])
    coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=1e-10)
    return values - design @ coefficients, int(rank)


def patterned(seed: int, shape: tuple[int, ...], along: tuple[int, ...], share: float) -> xr.DataArray:
    """Random scores with holes that run through whole dimensions."""
    rng = make_generator(seed)
    mask = rng.random([1 if axis in along else n for axis, n in enumerate(shape)]) < share
    values = rng.normal(0.4, 0.1, shape)
    return xr.DataArray(np.where(np.broadcast_to(mask, shape), np.nan, values), dims=DIMS)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(2, 5), st.integers(2, 5), st.integers(2, 4)),
    st.sampled_from([c for n in range(3) for c in combinations(range(3), n)]),
    st.sampled_from([0.0, 0.15, 0.15]),
    st.sampled_from(
        [MD2, MD3, MD4, MD5, MD6, Model.parse("topic*shard + system"), Model.parse("system*shard")]
    ),
)
def test_any_pattern_agrees_with_plain_least_squares(
    seed: int, shape: tuple[int, int, int], along: tuple[int, ...], share: float, model: Model
) -> None:
    scores = patterned(seed, shape, along, share)
    try:
        fit = anova(scores, model)
    except InputError:
        return
    y = scores.values
    residuals, rank = plain_fit(y, DIMS, list(model.sets))
    assert fit.table.at["error", "df"] == residuals.size - rank
    np.testing.assert_allclose(fit.table.at["error", "ss"], np.sum(residuals**2), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(fit.residuals.values[~np.isnan(y)], residuals, atol=1e-11)
    second = [note for note in fit.notes if note.startswith("type II for")]
    for term in model.sets:
        others = [other for other in model.sets if other != term]
        if second and format_term(term) in second[0].removeprefix("type II for ").split(": empty")[0].split(
            ", "
        ):
            others = [other for other in model.sets if not term <= other]
            larger, high = plain_fit(y, DIMS, [*others, term])
            smaller, low = plain_fit(y, DIMS, others)
            ss, df = np.sum(smaller**2) - np.sum(larger**2), high - low
        else:
            without, low = plain_fit(y, DIMS, others)
            ss, df = np.sum(without**2) - np.sum(residuals**2), rank - low
        assert fit.table.at[format_term(term), "df"] == df
        np.testing.assert_allclose(fit.table.at[format_term(term), "ss"], ss, rtol=1e-8, atol=1e-11)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(), (1,)]), st.sampled_from([MD3, MD5, MD6]))
def test_share_of_random_effects_in_a_mean_square(seed: int, along: tuple[int, ...], model: Model) -> None:
    # trace of Z'(P - P_without)Z, from dense projections
    scores = patterned(seed, (5, 4, 4), along, 0.15)
    try:
        fit = anova(scores, model)
    except InputError:
        return
    if fit.incomplete is None:
        return
    y = scores.values
    there = np.argwhere(~np.isnan(y))

    def projection(terms: list[Term]) -> Floats:
        design = np.hstack([np.ones((len(there), 1)), *(sum_coded(y, DIMS, term) for term in terms)])
        return np.asarray(design @ np.linalg.pinv(design, rcond=1e-10))

    term: Term = frozenset({"topic", "system"})
    gain = projection(list(model.sets)) - projection([other for other in model.sets if other != term])
    cells = there[:, 0] * 4 + there[:, 1]
    indicator = (cells[:, None] == np.arange(20)[None, :]).astype(float)
    expected = np.trace(indicator.T @ gain @ indicator) / np.trace(gain)
    found = fit.incomplete.random_weight(term)
    assert found == pytest.approx(expected, rel=1e-8)


def test_rows_missing_on_a_large_collection() -> None:
    rng = make_generator(3)
    scores = xr.DataArray(rng.random((50, 129, 10)), dims=DIMS)
    missing = xr.DataArray(rng.random((50, 10)) < 0.2, dims=("topic", "shard"))
    fit = anova(scores.where(~missing), MD6)
    rows = int((~missing).sum())
    assert fit.table.at["error", "df"] == 128 * (rows - 50 - 9)
    estimates = fit.estimates()
    assert np.ndim(estimates.variance) == 0
    one, two = scores.where(~missing)[:, 3], scores.where(~missing)[:, 77]
    difference = anova(
        (one - two).expand_dims(dup=["a", "b"]) * xr.DataArray([1.0, 1.0], dims="dup"), "topic + shard"
    )
    assert estimates.values[3] - estimates.values[77] == pytest.approx(difference.grand_mean, rel=1e-9)


@pytest.mark.slow
def test_scattered_holes_on_a_middling_collection() -> None:
    rng = make_generator(4)
    scores = xr.DataArray(rng.random((50, 20, 5)), dims=DIMS).where(rng.random((50, 20, 5)) > 0.05)
    fit = anova(scores, MD6)
    cells = int(scores.notnull().sum())
    assert fit.table.at["error", "df"] == cells - 1 - 49 - 19 - 4 - 49 * 19 - 19 * 4 - 49 * 4
    assert np.shape(fit.estimates().variance) == (20, 20)
    # residuals of least squares are orthogonal to every margin of the model
    for dims in (["topic"], ["system"], ["shard"]):
        np.testing.assert_allclose(fit.residuals.sum(dims), 0.0, atol=1e-9)


def test_parts_of_an_incomplete_fit() -> None:
    scores = gold_scores("rows")
    fit = anova(scores, MD6)
    assert not fit.balanced
    assert fit.notes[0] == "12 of 72 scores are missing and left out: least squares, type III"
    np.testing.assert_array_equal(np.isnan(fit.fitted), np.isnan(scores))
    assert bool(fit.effects["topic:shard"].isnull().all())
    np.testing.assert_allclose(fit.effects["topic:system"].sum("topic"), 0.0, atol=1e-12)
    assert "note: 12 of 72" in str(fit)
    np.testing.assert_array_equal(fit.estimates().own_count, 15)
    np.testing.assert_allclose(fit.estimates().own_sd, scores.std(("topic", "shard"), ddof=1))


def test_effects_of_an_incomplete_fit_rebuild_its_fitted_values() -> None:
    fit = anova(gold_scores("holes"), MD6)
    total = sum(fit.effects.values(), xr.DataArray(fit.grand_mean)).transpose(*fit.scores.dims)
    np.testing.assert_allclose(fit.fitted, total.where(~np.isnan(fit.scores.values)), atol=1e-12)


def test_replicates_that_are_missing_evenly() -> None:
    scores = xr.DataArray(make_generator(2).random((4, 3, 3)), dims=DIMS)
    scores[:, :, 2] = np.nan
    scores[:, :, 1] = np.where(np.eye(4, 3, dtype=bool), np.nan, scores[:, :, 1])
    scores[:, :, 2] = np.where(np.eye(4, 3, dtype=bool), 0.5, np.nan)
    fit = anova(scores, MD3)
    means = scores.mean("shard")
    np.testing.assert_allclose(fit.estimates().values, means.mean("topic"))
    assert fit.table.at["error", "df"] == 12


def test_empty_cells_of_topic_and_system() -> None:
    scores = gold_scores("full").copy()
    scores[2, 1, :] = np.nan
    fit = anova(scores, MD6)
    assert any("type II for topic, system" in note for note in fit.notes)
    with pytest.raises(InputError, match=r"no score for topic 3, system 2.*drop or fill"):
        fit.estimates()
    additive = anova(scores, Model.of("topic", "system", "shard")).estimates()
    assert np.isfinite(additive.variance_of_differences()).all()


def test_systems_that_share_no_topic() -> None:
    scores = xr.DataArray(make_generator(1).random((4, 4)), dims=("topic", "system"))
    scores[:2, 2:] = np.nan
    scores[2:, :2] = np.nan
    fit = anova(scores, MD1)
    assert fit.table.at["system", "df"] == 2
    with pytest.raises(InputError, match="share no levels"):
        fit.estimates()


@pytest.mark.parametrize(("model", "hole"), [(MD2, False), (MD6, False), (MD6, True)])
def test_identical_systems_with_scores_missing(model: Model, hole: bool) -> None:
    scores = xr.DataArray(np.repeat(make_generator(5).random((9, 1, 5)), 7, axis=1), dims=DIMS)
    scores[3, :, 2] = np.nan
    if hole:
        scores[4, 1, 1] = np.nan
    fit = anova(scores, model)
    assert fit.table.at["system", "ss"] == 0.0
    values = fit.estimates().values
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_more_effects_than_scores() -> None:
    scores = xr.DataArray(np.full((3, 3), np.nan), dims=("topic", "system"))
    scores[0, :] = [0.1, 0.2, 0.5]
    scores[1:, 0] = 0.3
    with pytest.raises(InputError, match="leaves nothing for error"):
        anova(scores, MD1)


def test_a_term_that_cannot_be_told_from_the_others() -> None:
    scores = xr.DataArray(make_generator(1).random((2, 2, 3)), dims=DIMS)
    scores[0, 1, :] = np.nan
    with pytest.raises(InputError, match="the scores do not separate topic:system"):
        anova(scores, MD3)
