"""One gate for scores: every kind of table gives every function the same result, or the same refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from shardwise.core.scores import as_scores

TOPICS, SYSTEMS = 12, 4
RNG = np.random.default_rng(5)
VALUES = np.clip(
    RNG.normal(0.4, 0.15, (TOPICS, 1)) + RNG.normal([0.0, 0.05, 0.1, 0.2], 0.06, (TOPICS, 4)), 0, 1
)
NAMES = ["s0", "s1", "s2", "s3"]
QUERIES = [f"q{k}" for k in range(TOPICS)]


VALUES.flags.writeable = False  # all tests share them


def array() -> xr.DataArray:
    return xr.DataArray(
        VALUES, dims=("topic", "system"), coords={"topic": QUERIES, "system": NAMES}, name="AP"
    )


def wide() -> pd.DataFrame:
    return pd.DataFrame(VALUES, index=pd.Index(QUERIES, name="topic"), columns=NAMES)


def long() -> pd.DataFrame:
    return wide().reset_index().melt("topic", var_name="system", value_name="AP")


def polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def arrow(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


KINDS: dict[str, Callable[[Path], Any]] = {
    "DataArray": lambda folder: array(),
    "turned": lambda folder: array().T,
    "Dataset": lambda folder: array().to_dataset(),
    "wide": lambda folder: wide(),
    "wide, named column": lambda folder: wide().reset_index(),
    "long": lambda folder: long(),
    "polars": lambda folder: polars(long()),
    "Arrow": lambda folder: arrow(wide().reset_index()),
    "ndarray": lambda folder: VALUES,
    "list": lambda folder: VALUES.tolist(),
    "dictionary": lambda folder: {
        name: dict(zip(QUERIES, VALUES[:, k], strict=True)) for k, name in enumerate(NAMES)
    },
    "path": lambda folder: _written(folder),
    "paths": lambda folder: _one_file_a_system(folder),
    "JSON lines": lambda folder: _lines(folder),
    "own headers": lambda folder: long().rename(columns={"topic": "question", "system": "model", "AP": "score"}),
    "rows": lambda folder: long().to_dict("records"),
    "pytrec_eval": lambda folder: {
        name: {q: {"map": VALUES[k, s]} for k, q in enumerate(QUERIES)} for s, name in enumerate(NAMES)
    },
    "ir_measures": lambda folder: {name: _metrics(s) for s, name in enumerate(NAMES)},
    "pt.Experiment": lambda folder: long().rename(columns={"system": "name", "topic": "qid", "AP": "value"}).assign(
        measure="map"
    ),
}  # fmt: skip


def _one_file_a_system(folder: Path) -> list[Path]:
    for name, part in long().groupby("system"):
        part.drop(columns="system").to_csv(folder / f"{name}.csv", index=False)
    return [folder / f"{name}.csv" for name in NAMES]


def _lines(folder: Path) -> Path:
    path = folder / "scores.jsonl"
    long().to_json(path, orient="records", lines=True, double_precision=15)
    return path


def _metrics(system: int) -> list[Any]:
    import ir_measures

    measure = ir_measures.AP
    return [ir_measures.Metric(q, measure, VALUES[k, system]) for k, q in enumerate(QUERIES)]


def _ranx_runs() -> list[Any]:
    run = pytest.importorskip("ranx").Run
    found = []
    for s, name in enumerate(NAMES):
        one = run({q: {"d": 1.0} for q in QUERIES}, name=name)
        one.scores["map"] = {q: VALUES[k, s] for k, q in enumerate(QUERIES)}
        found.append(one)
    return found


def _written(folder: Path) -> Path:
    path = folder / "scores.csv"
    long().to_csv(path, index=False)
    return path


def pairs(found: sw.Comparisons) -> Any:
    return found.to_frame()[["difference", "p", "p_adjusted"]].to_numpy()


def _of_one(found: Any) -> float:
    """The only estimate of a Dataset of one measure."""
    return float(next(iter(found.values())) if isinstance(found, dict) else found)


RTOL = {"JSON lines": 1e-9}  # written with fifteen decimal places


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "as_scores": lambda x: sw.as_scores(x).values,
    "anova": lambda x: sw.anova(x, sw.MD1).table["ss"].to_numpy(),
    "bootstrap_anova": lambda x: sw.bootstrap_anova(x, sw.MD1).intervals().to_numpy(),
    "compare": lambda x: pairs(sw.compare(x, "moderated bh")),
    "compare by ANOVA": lambda x: pairs(sw.compare(x, "MD1 hsd topic")),
    "paired_tests": lambda x: pairs(sw.paired_tests(x, "wilcoxon")),
    "analyze": lambda x: pairs(sw.analyze(x, n_resamples=99).comparisons),
    "calibrate": lambda x: sw.calibrate(
        x, ["t holm"], nulls=["flip"], repetitions=20, planted=False
    ).table["rate"].to_numpy(),
    "planning.variance": lambda x: _of_one(sw.planning.variance(x)),
    "planning.generalizability": lambda x: sw.planning.generalizability(x).erho_sq(),
    "planning.simulated_power": lambda x: sw.planning.simulated_power(
        x, topics=[8], min_diff=0.1, repetitions=20
    ).table["power"].to_numpy(),
    "holdout.split_half": lambda x: sw.holdout.split_half(x, "t holm", repeats=5).table["agreement"].to_numpy(),
    "simulate.scores": lambda x: sw.simulate.scores(x, margins="beta", seed=3).to_numpy(),
    "fill_undefined": lambda x: sw.as_scores(sw.fill_undefined(x, "zero")).values,
}  # fmt: skip


LONG = {"simulate.scores", "calibrate", "stability.within_across"}  # the function itself, not the gate


def marked(functions: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in functions]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every kind once for all functions, which leave it as it is."""
    folder = tmp_path_factory.mktemp("kinds")
    return {kind: make(folder) for kind, make in KINDS.items()}


@pytest.mark.parametrize("function", marked(FUNCTIONS))
def test_every_table_gives_the_same_result(function: str, tables: dict[str, Any]) -> None:
    wanted = FUNCTIONS[function](array())
    for kind, table in tables.items():
        np.testing.assert_allclose(
            FUNCTIONS[function](table), wanted, rtol=RTOL.get(kind, 1e-12), err_msg=kind
        )


@pytest.mark.full
def test_runs_of_ranx_give_the_same_result() -> None:
    """It compiles for a quarter of a minute; what its runs hold is checked without that in `test_objects.py`."""
    runs = _ranx_runs()
    for name, function in FUNCTIONS.items():
        np.testing.assert_allclose(function(runs), function(array()), rtol=1e-12, err_msg=name)


BAD: dict[str, tuple[Any, str]] = {
    "a number": (3.0, "holds no scores"),
    "three dimensions": (np.zeros((3, 3, 3)), "3 dimensions does not say"),
    "words": (np.array([["a", "b"], ["c", "d"]]), "other than numbers|holds no scores"),
    "no systems": (xr.DataArray(np.zeros(3), dims=("topic",)), "no system"),
    "infinite": (xr.DataArray([[0.1, np.inf], [0.2, 0.3]], dims=("topic", "system")), "infinite"),
    "two measures": (xr.Dataset({"AP": array(), "P": array()}), "2 measures"),
    "twins": (array().assign_coords(system=["a", "a", "b", "c"]), "two systems are named 'a'"),
    "nothing": ({}, "no systems"),
}


# models of any dimensions, and estimates measure by measure
TAKES_MORE = {
    "no systems": ("anova", "bootstrap_anova"),
    "twins": ("anova",),
    "two measures": ("planning.variance", "fill_undefined"),
}


@pytest.mark.parametrize("bad", BAD)
def test_every_function_refuses_alike(bad: str) -> None:
    data, words = BAD[bad]
    said = set()
    for name, call in FUNCTIONS.items():
        if name in TAKES_MORE.get(bad, ()):
            continue
        with pytest.raises(sw.InputError, match=words) as refusal:
            call(data)
        said.add(str(refusal.value))
    assert len(said) == 1


def layered(third: str, *, splits: int = 0) -> xr.DataArray:
    """Scores of topics by systems by shards or instances, perhaps of several splits."""
    shape = (max(splits, 1), TOPICS, SYSTEMS, 3)
    noise = np.random.default_rng(6).normal(0.0, 0.05, shape)
    levels = ["0", "1", "2"]
    found = xr.DataArray(
        np.clip(VALUES[None, :, :, None] + noise, 0, 1),
        dims=("split", "topic", "system", third),
        coords={"split": range(shape[0]), "topic": QUERIES, "system": NAMES, third: levels},
        name="AP",
    )
    return found if splits else found.isel(split=0, drop=True)


def with_holes() -> xr.DataArray:
    found = layered("shard", splits=2)
    found[0, 3, :, 1] = found[1, 5, :, 0] = np.nan  # no relevant documents there
    return found


LAYERED: dict[str, Callable[[xr.DataArray, Path], Any]] = {
    "turned": lambda scores, folder: scores.T,
    "Dataset": lambda scores, folder: scores.to_dataset(),
    "long": lambda scores, folder: scores.to_dataframe().reset_index(),
    "polars": lambda scores, folder: polars(scores.to_dataframe().reset_index()),
    "path": lambda scores, folder: _as_csv(scores, folder),
}


def _as_csv(scores: xr.DataArray, folder: Path) -> Path:
    path = folder / "layered.csv"
    scores.to_dataframe().reset_index().to_csv(path, index=False)
    return path


TWO = {"hsd": {"method": "hsd"}, "bh of topics": {"method": "bh", "generalize": sw.Claim("topic")}}
ON_SPLITS: dict[str, Callable[[Any], Any]] = {
    "stability.over_splits": lambda x: [pairs(one) for one in sw.stability.over_splits(x, sw.MD6)],
    "stability.between_splits": lambda x: sw.stability.between_splits(x, "MD3", "bh").mean().to_numpy(),
    "stability.between_fills": lambda x: sw.stability.between_fills(
        x, "MD4", policies=("zero", "mean")
    )["mean"].to_numpy(),
    "stability.between_methods": lambda x: sw.stability.between_methods(x, "MD6", TWO)["mean"].to_numpy(),
}  # fmt: skip
ON_LAYERS: dict[str, tuple[Callable[[], xr.DataArray], Callable[[Any], Any]]] = {
    **{name: (with_holes if "fills" in name else lambda: layered("shard", splits=2), call)
       for name, call in ON_SPLITS.items()},
    "stability.within_across": (lambda: layered("shard"), lambda x: sw.stability.within_across(
        x, {"best": ["s2", "s3"], "worst": ["s1", "s0"]}, null="marginal", tails=1, generalize="these"
    ).widths.to_numpy()),
    "mixed": (lambda: layered("instance"), lambda x: pairs(sw.compare(sw.mixed(x), "holm"))),
    "compare": (lambda: layered("instance"), lambda x: pairs(sw.compare(x, "unified holm"))),
    "instances.flag_deterministic": (
        lambda: layered("instance"),
        lambda x: sw.as_scores(sw.instances.flag_deterministic(x, ["s1"])).to_xarray().transpose(
            "topic", "system", "instance").where(lambda y: ~y["deterministic"], -1.0).to_numpy(),
    ),
    "simulate.scores": (lambda: layered("instance"), lambda x: sw.simulate.scores(x, seed=2).to_numpy()),
}  # fmt: skip


@pytest.mark.parametrize("function", marked(ON_LAYERS))
def test_every_table_with_a_third_dimension_gives_the_same_result(function: str, tmp_path: Path) -> None:
    scores, call = ON_LAYERS[function]
    wanted = call(scores())
    assert np.isfinite(wanted).any()
    for kind, make in LAYERED.items():
        np.testing.assert_allclose(call(make(scores(), tmp_path)), wanted, rtol=1e-9, err_msg=kind)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (3.0, "holds no scores"),
        (layered("shard"), "no dimension split"),
        (layered("shard", splits=2) / 0.0, "infinite"),
        (xr.Dataset({"AP": layered("shard", splits=2), "P": layered("shard", splits=2)}), "2 measures"),
    ],
    ids=["a number", "no splits", "infinite", "two measures"],
)
def test_every_function_of_splits_refuses_alike(data: Any, words: str) -> None:
    said = set()
    for call in ON_SPLITS.values():
        with pytest.raises(sw.InputError, match=words) as refusal:
            call(data)
        said.add(str(refusal.value))
    assert len(said) == 1


def test_a_claim_is_a_claim_its_name_or_the_words_of_the_user() -> None:
    seeds = layered("instance").rename(topic="question", system="model", instance="seed")
    fit = sw.mixed(seeds)
    assert fit.claim == "new questions like these 12, any seed (3 seen of each model)"
    for claim in (sw.Claim("topic", "instance"), "topic+instance", "questions, seed", ("topic", "instance")):
        assert sw.compare(fit, "holm", generalize=claim).claim == fit.claim
    shards = layered("shard", splits=2).rename(topic="question")
    said = {
        sw.stability.over_splits(shards, "MD6", generalize=claim)[0].claim
        for claim in (sw.Claim("topic", "shard"), "topic+shard", "questions+shards", ("shard", "topic"))
    }
    assert said == {"new questions like these 12, any shard (3 seen)"}


def test_a_formula_over_splits_may_use_the_words_of_the_user() -> None:
    shards = layered("shard", splits=2)
    ours = sw.stability.over_splits(shards, "topic*system")
    users = sw.stability.over_splits(shards.rename(topic="question"), "question*system")
    for one, other in zip(ours, users, strict=True):
        np.testing.assert_allclose(pairs(one), pairs(other), rtol=1e-12)


def test_words_of_the_user_are_kept() -> None:
    table = array().rename(topic="question", system="model")
    found = sw.as_scores(table)
    assert found.dims == ("topic", "system")
    assert found.nouns == {"topic": "question", "system": "model"}
    assert sw.compare(table, "t holm").claim == "new questions like these 12"
    assert "4 models" in str(sw.compare(table, "t holm"))


def test_undefined_is_not_missing() -> None:
    shards = xr.DataArray(np.tile(VALUES[:, :, None], (1, 1, 3)), dims=("topic", "system", "shard"))
    shards[2, :, 1] = np.nan  # no relevant documents there
    shards[5, 1, 0] = np.nan  # a score that somebody lost
    assert int(as_scores(shards).find_undefined().sum()) == SYSTEMS
    assert int(as_scores(shards).find_missing().sum()) == 1
    plain = array().copy()
    plain[3] = np.nan
    assert int(as_scores(plain).find_undefined().sum()) == 0
    assert int(as_scores(plain).find_missing().sum()) == SYSTEMS
    seeds = shards.rename(shard="instance")
    assert int(as_scores(seeds).find_undefined().sum()) == 0
