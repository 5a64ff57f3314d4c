"""TREC-COVID round 1: the papers' settings on real runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from shardwise.comparing.compare import compare
from shardwise.comparing.stability import (
    found_over_splits,
    over_splits,
    stability_of_fills,
    summary_over_splits,
    unanimous,
)
from shardwise.core.model import MD6, Model
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split

pytestmark = pytest.mark.slow  # forty splits of 143 runs

GOLD = Path(__file__).parent.parent / "gold" / "bootstrap_covid.csv"


@pytest.fixture(scope="module")
def runs(data: Path, covid_runs: Path) -> Collection:
    qrels = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    return read_collection(covid_runs, qrels, missing="zero", topics="judged", names="file")


@pytest.fixture(scope="module")
def three_shards(runs: Collection, data: Path) -> xr.DataArray:
    corpus = data / "trec-covid-r1" / "docids.covid.round1.txt.gz"
    splits = split(runs, 3, kind="even", n_splits=40, corpus=_distinct(corpus), unlisted="add")
    return fill_undefined(score(runs, "AP", splits)["AP"], "zero")


def _distinct(corpus: Path) -> list[str]:
    with gzip.open(corpus, "rt") as stream:
        return list(dict.fromkeys(stream.read().splitlines()))  # the list names 33 documents twice


@pytest.mark.parametrize("name", ["MD2", pytest.param("MD3", marks=pytest.mark.full), "MD6"])
def test_splits_bracket_an_independent_run(three_shards: xr.DataArray, name: str) -> None:
    """One run of the authors' recipe on one split, against the default seed.

    Forty splits, because ten are too few to decide: of the seeds 0 to 19, eight miss at least one of the 18 numbers
    with ten splits. Picking a seed under which ten are enough would prove nothing.
    """
    expected = pd.read_csv(GOLD, comment="#", index_col="model").loc[name]
    rows = []
    for i in range(three_shards.sizes["split"]):
        scores = three_shards.isel(split=i)
        fit, boot = anova(scores, Model.parse(name)), bootstrap_anova(scores, Model.parse(name))
        papers = {"null": "marginal", "density": "kde"}
        intervals = boot.intervals()
        rows.append(
            {
                "omega_sq": fit.table["omega_sq"].loc["system"],
                "hsd": compare(fit, "hsd").reject().sum(),
                "bh": compare(fit, "bh").reject().sum(),
                "one": compare(boot, "bh", tails=1, **papers).reject().sum(),
                "two": compare(boot, "bh", tails=2, **papers).reject().sum(),
                "width": (intervals["upper"] - intervals["lower"]).mean(),
            }
        )
    ours = pd.DataFrame(rows)
    for figure in expected.index:
        off = (expected[figure] - ours[figure].mean()) / ours[figure].std()
        assert ours[figure].min() <= expected[figure] <= ours[figure].max(), f"{name} {figure}: {off:.2f} sd"
        assert abs(off) < 2.5, f"{name} {figure}: {off:.2f} sd"


def test_simulation_with_the_papers_settings_agrees_with_the_ideal_distribution(
    three_shards: xr.DataArray,
) -> None:
    scores = three_shards.isel(split=0)
    options = {"null": "marginal", "tails": 1, "density": "kde"}
    drawn = compare(bootstrap_anova(scores, MD6, n_resamples=4000, seed=1), "bh", **options)
    ideal = compare(bootstrap_anova(scores, MD6), "bh", **options)
    assert abs(int(drawn.reject().sum()) - int(ideal.reject().sum())) <= 30  # of 10153
    assert len(ideal) == 10153


@pytest.mark.parametrize("bootstrap", [False, True])
def test_md6_concludes_the_same_whatever_the_fill(runs: Collection, bootstrap: bool) -> None:
    """FF21 Table 8: zeros off the diagonal."""
    splits = split(runs, 10, kind="even", n_splits=3, seed=3)
    scores = score(runs, "AP", splits)["AP"]
    assert np.isnan(scores).any()
    options = (
        {"method": "bh", "fit": "bootstrap", "null": "marginal", "tails": 1}
        if bootstrap
        else {"method": "hsd"}
    )
    table = stability_of_fills(scores, MD6, **options)  # type: ignore[arg-type]
    off = ~np.eye(4, dtype=bool)
    for figure in ("PD", "AD"):
        assert (table["mean"].sel(figure=figure).to_numpy()[off] == 0).all()
    diagonal = np.diag(table["mean"].sel(figure="PD").to_numpy())
    assert np.ptp(diagonal) == 0
    assert diagonal[0] > 0


def test_unanimity_is_stricter_than_any_split_and_rankings_hold(
    runs: Collection, three_shards: xr.DataArray
) -> None:
    found = over_splits(three_shards, "MD3", "bh", fit="bootstrap", null="marginal", tails=1)
    table = found_over_splits(found)
    assert (table["unanimous"] < table["least"]).all()
    assert (table["unanimous"] < table["majority"]).all()
    whole = score(runs, "AP")["AP"].mean("topic")
    summary = summary_over_splits(over_splits(three_shards, MD6), whole)
    assert summary.loc["tau", "mean"] > 0.95
    assert summary.loc["share_common", "mean"] > 0.8
    assert unanimous(found).best()
