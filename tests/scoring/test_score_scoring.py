"""The labelled tensor: shape, names, NaN where it belongs, the same whatever the number of workers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from collections_for_tests import Qrels, Run, collection_of, die
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.trec.conventions import PRESETS
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined

MEASURES = ["AP", "P@5", "nDCG(base=10)", "Bpref", "NumRet"]


@pytest.fixture(scope="module")
def collection() -> Collection:
    """12 topics, the last of them without a relevant document; system c retrieved nothing for topic 3."""
    rng = np.random.default_rng(5)
    docs = [f"doc{i:03d}" for i in range(200)]
    qrels: Qrels = {}
    runs: dict[str, Run] = {"a": {}, "b": {}, "c": {}}
    for topic in map(str, range(1, 13)):
        pool = rng.permutation(docs)[:40]
        grades = np.zeros(40, int) if topic == "12" else np.append(2, rng.integers(0, 3, 39))
        qrels[topic] = {str(d): int(g) for d, g in zip(pool, grades, strict=True)}
        for run in runs.values():
            run[topic] = {str(d): 100.0 - i for i, d in enumerate(rng.permutation(docs)[:60])}
    runs["c"]["3"] = {}
    return replace(collection_of(runs, qrels), notes=("3 runs", "system names from run tags"))


def test_whole_collection(collection: Collection) -> None:
    scores = score(collection, MEASURES)
    assert list(scores.data_vars) == MEASURES
    assert scores["AP"].dims == ("topic", "system")
    assert scores["AP"].sel(topic="3", system="c") == 0.0
    # the whole collection follows trec_eval: a topic without relevant documents counts 0
    assert (scores["AP"].sel(topic="12") == 0).all()
    assert scores["AP"].attrs["undefined"] == 0
    assert scores["NumRet"].attrs["undefined"] == 0
    assert scores["NumRet"].sel(topic="12", system="a") == 60
    assert scores["AP"].attrs["long_name"].startswith("average precision")
    assert scores.attrs["notes"] == "3 runs; system names from run tags"
    assert scores.attrs["conventions"].startswith("Conventions: default (ties in single precision")
    undefined = score(replace(collection, conventions=PRESETS["undefined"]), "AP")["AP"]
    assert undefined.attrs["undefined"] == int(undefined.isnull().sum()) == 3
    assert undefined.sel(topic="12").isnull().all()


def test_topics_that_a_run_lacks_have_no_score_where_they_are_left_out(collection: Collection) -> None:
    scores = score(replace(collection, conventions=PRESETS["trec_eval-10"]), ["AP", "NumRet"])
    gaps = scores["AP"].isnull()
    assert int(gaps.sum()) == 1
    assert bool(gaps.sel(topic="3", system="c"))
    assert scores["AP"].dims == ("topic", "system")
    assert (scores["AP"].sel(topic="12") == 0).all()
    others = score(collection, "AP")["AP"]
    np.testing.assert_array_equal(scores["AP"].where(~gaps, 0.0), others)


def test_all_shards_of_all_splits(collection: Collection) -> None:
    splits = die(collection, 4, n_splits=3, seed=11)
    scores = score(collection, MEASURES, splits)
    assert scores["AP"].dims == ("split", "topic", "system", "shard")
    assert scores["AP"].shape == (3, 12, 3, 4)
    assert list(scores["shard"].values) == ["s0", "s1", "s2", "s3"]
    assert list(scores["split"].values) == [0, 1, 2]
    assert (scores.attrs["split_kind"], scores.attrs["split_seed"]) == ("die", 11)
    # retrieved documents are shared out among the shards, none lost
    whole = score(collection, "NumRet")["NumRet"]
    assert (scores["NumRet"].sum("shard") == whole).all()
    undefined = np.isnan(scores["AP"])
    assert (undefined.all("system") == undefined.any("system")).all()
    assert scores["AP"].attrs["undefined"] == int(undefined.sum())


def test_one_shard_is_the_whole(collection: Collection) -> None:
    sharded = score(collection, MEASURES, die(collection, 1))
    whole = score(collection, MEASURES, no_relevant="undefined")
    xr.testing.assert_equal(sharded.isel(split=0, shard=0, drop=True), whole.drop_attrs())


@pytest.mark.parametrize("jobs", [2, 3, 16])
def test_workers_change_nothing(collection: Collection, jobs: int) -> None:
    splits = die(collection, 5, n_splits=4)
    alone = score(collection, MEASURES, splits, jobs=1)
    assert score(collection, MEASURES, splits, jobs=jobs).identical(alone)


def test_order_of_measures_changes_nothing(collection: Collection) -> None:
    splits = die(collection, 3)
    backwards = score(collection, MEASURES[::-1], splits)
    for measure in MEASURES:
        xr.testing.assert_identical(backwards[measure], score(collection, measure, splits)[measure])


def test_same_measure_twice_is_scored_once(collection: Collection) -> None:
    assert list(score(collection, ["AP", "map", "P_5"]).data_vars) == ["AP", "P@5"]


def test_read_only_arrays_are_fine(collection: Collection) -> None:
    frozen = replace(collection, docs=collection.docs.copy(), grades=collection.grades.copy())
    frozen.docs.flags.writeable = False
    frozen.grades.flags.writeable = False
    assert score(frozen, MEASURES).identical(score(collection, MEASURES))


def test_progress_counts_up(collection: Collection) -> None:
    seen: list[tuple[int, int]] = []
    score(collection, "AP", die(collection, 2, 5), progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for _, total in seen} == {len(seen)}


def test_topics_without_relevant_documents(collection: Collection) -> None:
    splits = die(collection, 3)
    zero = score(collection, ["AP", "NumRet"], splits, no_relevant="zero")
    assert (zero["AP"].sel(topic="12") == 0).all()
    assert zero["AP"].attrs["zeroed_topics"] == 1
    assert zero["NumRet"].sel(topic="12").sum() == 180
    drop = score(collection, ["AP", "NumRet"], splits, no_relevant="drop")
    assert "12" not in drop["topic"].values
    assert drop.attrs["dropped_topics"] == "12"
    with pytest.raises(InputError, match="1 topic without a relevant document for AP: 12; leave them out"):
        score(collection, ["NumRet", "AP"], splits, no_relevant="refuse")
    assert score(collection, "NumRet", no_relevant="refuse")["NumRet"].notnull().all()
    # a threshold above all grades leaves no topic relevant
    assert score(collection, "AP(rel=3)", no_relevant="undefined")["AP(rel=3)"].isnull().all()
    assert (score(collection, "AP(rel=3)")["AP(rel=3)"] == 0).all()


def test_errors_teach(collection: Collection) -> None:
    splits = die(collection, 3)
    fewer = replace(splits, shards=splits.shards[:, :5], name_starts=splits.name_starts[:6])
    with pytest.raises(InputError, match="documents of the collection in no shard"):
        score(collection, "AP", fewer)
    with pytest.raises(InputError, match="outside 0 to 1"):
        score(collection, "AP", replace(splits, n_shards=2))
    with pytest.raises(InputError, match="0 jobs: give a whole number, 1 or more"):
        score(collection, "AP", jobs=0)
    with pytest.raises(InputError, match="no measure was given"):
        score(collection, [])
    with pytest.raises(InputError, match="'ignore'; choose one of zero, undefined, drop, refuse"):
        score(collection, "AP", no_relevant="ignore")  # type: ignore[arg-type]
    wrong = replace(collection, grades=np.full_like(collection.grades, 1))
    with pytest.raises(InputError, match=r"grades of system 'a' on topic '\d+' are not those"):
        score(wrong, "AP")


# --- undefined scores ----------------------------------------------------------------------------------------


@pytest.fixture
def gaps() -> xr.Dataset:
    rng = np.random.default_rng(2)
    ap, p = rng.random((2, 3, 4, 2)), rng.random((2, 3, 4, 2))
    ap[0, 1, :, 0] = np.nan
    p[1, 2, :, 1] = np.nan
    dims = ("split", "topic", "system", "shard")
    return xr.Dataset({"AP": (dims, ap), "P@10": (dims, p)}, coords={"topic": ["1", "2", "3"]})


@pytest.mark.parametrize(("policy", "value"), [("zero", 0.0), ("one", 1.0), (0.25, 0.25), (-1, -1.0)])
def test_fill_with_a_constant(gaps: xr.Dataset, policy: str | float, value: float) -> None:
    filled = fill_undefined(gaps, policy)
    assert (filled["AP"].isel(split=0, topic=1, shard=0) == value).all()
    assert filled["AP"].attrs["filled"] == 4
    assert filled["P@10"].attrs["fill_policy"] == str(policy)
    xr.testing.assert_equal(filled.where(gaps.notnull()), gaps)
    assert gaps["AP"].isnull().sum() == 4, "the input is left alone"


def test_fill_with_mean_and_lower_quartile_of_the_split(gaps: xr.Dataset) -> None:
    split = gaps["AP"].isel(split=0).values
    defined = np.sort(split[~np.isnan(split)])
    mean, lq = fill_undefined(gaps, "mean"), fill_undefined(gaps["AP"], "lq")
    np.testing.assert_allclose(mean["AP"].isel(split=0, topic=1, shard=0), defined.mean(), rtol=1e-15)
    # MATLAB's prctile puts the k-th of n sorted values at (k - 1/2)/n; for n = 20 a quarter lies between 5 and 6
    assert len(defined) == 20
    np.testing.assert_allclose(lq.isel(split=0, topic=1, shard=0), (defined[4] + defined[5]) / 2, rtol=1e-15)
    assert lq.name == "AP"


def test_drop_topics(gaps: xr.Dataset) -> None:
    kept = fill_undefined(gaps, "drop")
    assert list(kept["topic"].values) == ["1"]
    assert kept["AP"].attrs["dropped"] == 2
    assert list(fill_undefined(gaps["AP"], "drop")["topic"].values) == ["1", "3"]


def test_fill_whole_scores_without_splits(collection: Collection) -> None:
    ap = score(collection, "AP", no_relevant="undefined")["AP"]
    filled = fill_undefined(ap, "mean")
    np.testing.assert_allclose(filled.sel(topic="12"), np.nanmean(ap.values))
    assert (filled.attrs["filled"], filled.attrs["missing"]) == (3, 0)


@pytest.mark.parametrize("policy", ["zero", "one", "lq", "mean"])
def test_missing_scores_are_never_filled_by_a_rule(gaps: xr.Dataset, policy: str) -> None:
    ap = gaps["AP"].copy()
    ap[1, 0, 2, 1] = np.nan  # one system only
    filled = fill_undefined(ap, policy)
    assert np.isnan(filled[1, 0, 2, 1])
    assert filled.isnull().sum() == 1
    assert (filled.attrs["filled"], filled.attrs["missing"]) == (4, 1)
    named = fill_undefined(ap, 0.5)
    assert named[1, 0, 2, 1] == 0.5
    assert not named.isnull().any()
    assert (named.attrs["filled"], named.attrs["missing"]) == (5, 0)


@pytest.mark.parametrize("dims", [("topic", "system"), ("topic", "system", "instance")])
def test_empty_cells_of_tables_and_instances_are_missing(dims: tuple[str, ...]) -> None:
    values = np.full((2, 2, 2)[: len(dims)], 0.5)
    values[1] = np.nan
    table = xr.DataArray(values, dims=dims)
    for policy in ("zero", "mean", "drop"):
        done = fill_undefined(table, policy)
        np.testing.assert_array_equal(done, table)
        assert done.dims == dims
        assert done.attrs["missing"] == values[1].size
    assert fill_undefined(table, 0).isnull().sum() == 0


def test_a_topic_that_lacks_a_score_is_not_dropped_as_undefined(gaps: xr.Dataset) -> None:
    ap = gaps["AP"].copy()
    ap[0, 0, 1, 0] = np.nan
    kept = fill_undefined(ap, "drop")
    assert list(kept["topic"].values) == ["1", "3"]
    assert kept.attrs["missing"] == 1


def test_bad_policies(gaps: xr.Dataset) -> None:
    with pytest.raises(
        InputError, match=r"no policy 'median'.*choose zero, one, lq, mean, drop, or a number"
    ):
        fill_undefined(gaps, "median")
    with pytest.raises(InputError, match="not a finite number"):
        fill_undefined(gaps, float("nan"))
    with pytest.raises(InputError, match="no defined score"):
        fill_undefined(gaps["AP"] * np.nan, "mean")
    with pytest.raises(InputError, match="dropping leaves none"):
        fill_undefined(gaps["AP"] * np.nan, "drop")
    with pytest.raises(InputError, match="but no topic"):
        fill_undefined(gaps["AP"].isel(topic=0), "drop")
