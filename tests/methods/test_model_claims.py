"""Claims: which error term goes with which claim, and whether its error rates are what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD2, MD3, MD4, MD5, MD6, Model
from shardwise.methods.anova.fit import anova
from shardwise.stats.balanced import error_term

GOLD = Path(__file__).parent.parent / "gold"
DIMS = ("topic", "system", "shard")


@pytest.mark.parametrize(
    ("model", "generalize", "signs"),
    [
        (MD6, (), {"error": 1}),
        (MD3, ("topic",), {"topic:system": 1}),
        (MD4, ("topic",), {"topic:system": 1}),
        (MD5, ("topic",), {"topic:system": 1}),
        (MD6, ("topic",), {"topic:system": 1}),
        (MD6, ("shard",), {"system:shard": 1}),
        (MD5, ("shard",), {"system:shard": 1}),
        (MD6, ("topic", "shard"), {"topic:system": 1, "system:shard": 1, "error": -1}),
    ],
)
def test_error_terms_on_shards(model: Model, generalize: tuple[str, ...], signs: dict[str, int]) -> None:
    assert error_term(model, DIMS, "system", Claim.of(generalize)) == signs


def test_error_terms_of_other_designs() -> None:
    # the residual of a table without replicates is the interaction itself
    assert error_term(MD1, ("topic", "system"), "system", Claim.of(("topic",))) == {"error": 1}
    four = ("topic", "system", "shard", "instance")
    model = Model.parse("topic*system*shard")
    assert error_term(model, four, "system", Claim.of(("topic", "shard"))) == {
        "topic:system": 1,
        "system:shard": 1,
        "topic:system:shard": -1,
    }
    three_random = Model.parse(
        "topic*system*shard + topic*system*user + topic*shard*user + system*shard*user"
    )
    signs = error_term(
        three_random, ("topic", "system", "shard", "user"), "system", Claim("topic", "shard", "user")
    )
    assert sorted(signs.values()) == [-1, -1, -1, 1, 1, 1, 1]
    assert signs["error"] == 1


@pytest.mark.parametrize(
    ("model", "generalize", "message"),
    [
        (
            MD2,
            ("topic",),
            "MD2 does not support a claim about new topics like these.*topic:system.*MD3 to MD6",
        ),
        (MD3, ("shard",), "MD3 does not support.*shards.*system:shard"),
        (MD3, ("topic", "shard"), "error pools system:shard"),
        (MD4, ("topic", "shard"), "system:shard"),
        (MD5, ("topic", "shard"), "use a model with topic:shard"),
        (MD6, ("instance",), "cannot generalise over instance: the scores have only topic, system, shard"),
        (MD6, ("system",), "cannot generalise over system"),
    ],
)
def test_claims_that_a_model_does_not_support(
    model: Model, generalize: tuple[str, ...], message: str
) -> None:
    scores = xr.DataArray(make_generator(1).random((5, 4, 3)), dims=DIMS)
    with pytest.raises(InputError, match=message):
        anova(scores, model).estimates(generalize=generalize)


def test_nothing_to_compare() -> None:
    scores = xr.DataArray(make_generator(1).random((5, 4, 3)), dims=DIMS)
    with pytest.raises(InputError, match="has no system"):
        anova(scores, "topic + shard").estimates()


def test_claims_in_words() -> None:
    shape = {"topic": 50, "system": 129, "shard": 5}
    assert Claim.of(()).sentence(shape) == "exactly these 50 topics and 5 shards"
    assert Claim.of(("topic",)).sentence(shape) == "new topics like these 50, exactly these 5 shards"
    assert Claim.of(("topic", "shard")).sentence(shape) == "new topics like these 50, any shard (5 seen)"
    assert Claim.of(("shard",)).sentence(shape) == "new shards like these 5, exactly these 50 topics"
    assert Claim.of(("topic",)).sentence({"topic": 50, "system": 9}) == "new topics like these 50"
    scores = xr.DataArray(make_generator(1).random((5, 4, 3)), dims=DIMS)
    estimates = anova(scores, MD6).estimates(generalize=("topic",))
    assert estimates.claim == "new topics like these 5, exactly these 3 shards"
    assert estimates.error == "topic:system"
    assert estimates.model == MD6.title


@pytest.mark.parametrize(("name", "generalize"), [("topic", ("topic",)), ("topic+shard", ("topic", "shard"))])
def test_claims_agree_with_mixed_models_in_r(name: str, generalize: tuple[str, ...]) -> None:
    frame = pd.read_csv(GOLD / "anova_scores.csv", dtype={"topic": str, "system": str, "shard": str})
    series = frame[frame["design"] == "claims"].set_index(list(DIMS))["y"]
    estimates = anova(xr.DataArray.from_series(series), MD6).estimates(generalize=generalize)
    row = pd.read_csv(GOLD / "anova_claims.csv").set_index("claim").loc[name]
    # REML is found by iteration; its df rest on numerical second derivatives
    assert np.sqrt(2 * estimates.variance) == pytest.approx(row["se"], rel=1e-6)
    assert estimates.df == pytest.approx(row["df"], rel=1e-3)


def test_topics_by_hand() -> None:
    # averaging over shards first must give the same claim about topics
    scores = xr.DataArray(make_generator(2).random((9, 4, 3)), dims=DIMS)
    whole = anova(scores.mean("shard"), MD1).estimates(generalize=("topic",))
    for model in (MD3, MD4, MD5, MD6):
        sharded = anova(scores, model).estimates(generalize=("topic",))
        assert sharded.variance == pytest.approx(whole.variance)
        assert sharded.df == pytest.approx(whole.df)


def test_a_variance_estimated_below_zero() -> None:
    rng = make_generator(3)
    for _ in range(50):
        scores = xr.DataArray(rng.normal(size=(6, 4, 3)), dims=DIMS)
        fit = anova(scores, MD6)
        ms = fit.table["ms"]
        estimates = fit.estimates(generalize=("topic", "shard"))
        parts = np.array([ms["topic:system"], ms["system:shard"], ms["error"]])
        combined = parts[0] + parts[1] - parts[2]
        assert estimates.variance * 18 == pytest.approx(max(combined, *parts))
        assert ("below zero" in estimates.error) == (combined < parts.max())
        assert estimates.df >= 1


def test_order_and_repeats_in_generalize_are_irrelevant() -> None:
    fit = anova(xr.DataArray(make_generator(1).random((5, 4, 3)), dims=DIMS), MD6)
    one, other = (fit.estimates(generalize=g) for g in (("topic", "shard"), ["shard", "topic", "shard"]))
    assert (one.variance, one.df, one.claim, one.error) == (
        other.variance,
        other.df,
        other.claim,
        other.error,
    )


def test_variances_stay_positive_on_very_incomplete_data() -> None:
    # few topics and near half the rows gone: topic:system alone can then count for more than the whole
    lowest = np.inf
    for seed in range(60):
        rng = make_generator(seed)
        scores = xr.DataArray(rng.normal(size=(4, 3, 3)), dims=DIMS)
        scores = scores.where(xr.DataArray(rng.random((4, 3)) > 0.4, dims=("topic", "shard")))
        try:
            estimates = anova(scores, MD6).estimates(generalize=("topic",))
        except InputError:
            continue
        lowest = min(lowest, estimates.variance)
    assert 0 < lowest < np.inf


def null_scores(
    seed: int, rep: int, shape: tuple[int, int, int], sd: dict[str, float], missing: float = 0.0
) -> xr.DataArray:
    """Scores of equal systems: topics, shards and all interactions drawn anew."""
    t, r, s = shape
    rng = make_generator(seed, rep)
    y = (
        rng.normal(0, 0.2, (t, 1, 1))
        + rng.normal(0, sd["ts"], (t, r, 1))
        + rng.normal(0, 0.1, (t, 1, s))
        + rng.normal(0, sd["sk"], (1, r, s))
        + rng.normal(0, sd["e"], shape)
    )
    scores = xr.DataArray(y, dims=DIMS)
    if missing:
        gone = np.random.default_rng(seed).random((t, s)) < missing
        scores = scores.where(~xr.DataArray(gone, dims=("topic", "shard")))
    return scores


def pair_rates(
    reps: int, shape: tuple[int, int, int], sd: dict[str, float], generalize: tuple[str, ...], missing: float,
    model: Model = MD6,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Per repetition: share of pairs rejected at 5 %, estimated and actual variance of a difference."""
    rejected, estimated, actual = [], [], []
    upper = np.triu_indices(shape[1], 1)
    for rep in range(reps):
        estimates = anova(null_scores(11, rep, shape, sd, missing), model).estimates(generalize=generalize)
        differences = (estimates.values[:, None] - estimates.values[None, :])[upper]
        variances = estimates.variance_of_differences()[upper]
        p = 2 * stats.t.sf(np.abs(differences) / np.sqrt(variances), estimates.test_by_variance(*upper).df)
        rejected.append(np.mean(p <= 0.05))
        estimated.append(variances.mean())
        actual.append(np.mean(differences**2))
    return np.array(rejected), np.array(estimated), np.array(actual)


COMPONENTS = {"topic": {"ts": 0.08, "sk": 0.0, "e": 0.06}, "both": {"ts": 0.08, "sk": 0.05, "e": 0.06}}


@pytest.mark.calibration
@pytest.mark.parametrize("missing", [0.0, 0.25], ids=["full", "rows missing"])
@pytest.mark.parametrize(("scenario", "generalize"), [("topic", ("topic",)), ("both", ("topic", "shard"))])
def test_claims_hold_their_level(
    repetitions: float, missing: float, scenario: str, generalize: tuple[str, ...]
) -> None:
    reps = int(150 * repetitions)
    rejected, estimated, actual = pair_rates(reps, (16, 6, 6), COMPONENTS[scenario], generalize, missing)
    assert abs(rejected.mean() - 0.05) < 4 * rejected.std() / np.sqrt(reps)
    gap = estimated - actual
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(reps)


@pytest.mark.calibration
def test_the_claim_matters(repetitions: float) -> None:
    # taking these topics for all topics: far more than 5 % of equal pairs look different
    reps = int(60 * repetitions)
    rejected, _, _ = pair_rates(reps, (16, 6, 6), COMPONENTS["topic"], (), 0.0)
    assert rejected.mean() > 0.3


@pytest.mark.calibration
def test_fixed_claim_holds_its_level_where_only_error_is_random(repetitions: float) -> None:
    reps = int(200 * repetitions)
    for missing in (0.0, 0.25):
        rejected, _, _ = pair_rates(reps, (8, 6, 4), {"ts": 0.0, "sk": 0.0, "e": 0.06}, (), missing)
        assert abs(rejected.mean() - 0.05) < 4 * rejected.std() / np.sqrt(reps)


@pytest.mark.calibration
def test_topic_claim_of_md3_with_rows_missing_is_not_liberal(repetitions: float) -> None:
    # its error pools what shards do to all systems alike, which can only make it careful
    reps = int(150 * repetitions)
    rejected, _, _ = pair_rates(reps, (16, 6, 6), COMPONENTS["topic"], ("topic",), 0.25, MD3)
    assert rejected.mean() < 0.05 + 4 * rejected.std() / np.sqrt(reps)


def test_claims_on_incomplete_data_reduce_to_those_on_full_data() -> None:
    scores = null_scores(5, 0, (12, 5, 6), COMPONENTS["both"])
    holed = scores.copy()
    holed[3, 2, 1] = np.nan
    for generalize in ((), ("topic",), ("topic", "shard")):
        full, less = (anova(y, MD6).estimates(generalize=generalize) for y in (scores, holed))
        np.testing.assert_allclose(full.variance_of_differences(), less.variance_of_differences(), rtol=0.2)
        np.testing.assert_allclose(full.df, less.df, rtol=0.2)
        assert less.error.endswith("(unbalanced data)")


def test_incomplete_data_whose_terms_cannot_be_told_apart() -> None:
    scores = xr.DataArray(make_generator(5).random((6, 4, 3, 3)), dims=(*DIMS, "instance"))
    scores[0, 0, 0, 0] = np.nan
    fit = anova(scores, "topic*system*shard")
    assert fit.estimates().df == fit.table.at["error", "df"]
    with pytest.raises(
        InputError, match=r"cannot estimate the variance of topic:system separately.*fill what is undefined"
    ):
        fit.estimates(generalize=("topic",))
