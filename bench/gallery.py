"""Draw the pictures of docs/output.md from simulated data: python -m bench.gallery [folder [.png]]."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from bench.gallery_pages import draw_reports
from shardwise.methods.bootstrap.method import BootstrapFit
from shardwise.planning.plans import Plan, design_curve
from shardwise.plot.fits import density_chart
from shardwise.plot.lab import error_rate_chart, power_chart

PICTURES = Path(__file__).parent.parent / "docs" / "images"


@cache
def collection() -> sw.Collection:
    return sw.simulate.collection(
        topics=40, systems=24, depth=300, corpus=40_000, relevant=60, seed=3
    ).collection()


@cache
def scores(measure: str = "AP") -> xr.DataArray:
    """24 systems on 5 splits of the documents into 3 shards."""
    splits = sw.split(collection(), 3, n_splits=5, seed=7)
    return sw.fill_undefined(sw.score(collection(), [measure], splits=splits), "zero")[measure]


@cache
def whole() -> xr.Dataset:
    return sw.score(collection(), ["AP", "nDCG@20", "P@10"])


@cache
def few() -> xr.DataArray:
    """Every third system of the first split."""
    return scores().isel(split=0, system=slice(0, None, 3))


@cache
def rates() -> dict[float, sw.Comparisons]:
    """Five seeds at each of seven settings against a deterministic system; dearer settings are better."""
    rng = np.random.default_rng(1)
    topics = rng.beta(2, 3, 100)
    found = {}
    for k, rate in enumerate((0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)):
        noise = rng.normal(0, 0.04, 100) + rng.normal(0, 0.006, (5, 1)) + rng.normal(0, 0.03, (5, 100))
        a = xr.DataArray(
            topics - 0.06 / (k + 1) ** 1.5 + noise, dims=("instance", "topic"), name=f"rate {rate:g}"
        )
        found[rate] = sw.compare_instances(a, xr.DataArray(topics, dims=("topic",), name="exhaustive"))
    return found


@cache
def analysis() -> sw.Analysis:
    """Twelve of the systems on the whole collection."""
    return sw.analyze(whole()["AP"].isel(system=slice(0, None, 2)), calibration=0)


@cache
def answers() -> sw.Analysis:
    """Five models with six samples of each answer to 200 questions."""
    rng = np.random.default_rng(4)
    chance = rng.beta(2, 2, (200, 1)) + rng.normal(0, 0.12, (200, 5)) + np.linspace(0.06, -0.06, 5)
    right = (rng.random((200, 5, 6)) < np.clip(chance, 0, 1)[..., None]).astype(float)
    names = ["large-2026", "large-2025", "medium-2026", "medium-2025", "small-2026"]
    table = xr.DataArray(
        right, dims=("question", "model", "sample"), coords={"model": names}, name="accuracy"
    )
    return sw.analyze(table, calibration=0)


@cache
def seeds() -> tuple[xr.DataArray, xr.DataArray]:
    rng = np.random.default_rng(2)
    topics = rng.beta(2, 3, 60)
    noise = rng.normal(0, 0.1, 60) + rng.normal(0, 0.015, (10, 1)) + rng.normal(0, 0.05, (10, 60))
    a = xr.DataArray(topics + 0.03 + noise, dims=("instance", "topic"), name="dense")
    return a, xr.DataArray(topics, dims=("topic",), name="bm25")


def models() -> dict[str, sw.Comparisons]:
    one = scores().isel(split=0)
    first = {"MD1, whole": sw.compare(sw.anova(whole()["AP"], sw.MD1))}
    return first | {model.short: sw.compare(sw.anova(one, model)) for model in (sw.MD2, sw.MD3, sw.MD6)}


def both_claims() -> dict[str, sw.Comparisons]:
    fit = sw.anova(few(), sw.MD6)
    return {"these topics": sw.compare(fit), "topics like these": sw.compare(fit, generalize=("topic",))}


def bootstraps() -> dict[str, BootstrapFit]:
    return {
        "without interaction (MD2)": sw.bootstrap_anova(few(), sw.MD2),
        "with interaction (MD3)": sw.bootstrap_anova(few(), sw.MD3),
    }


def tests() -> dict[str, sw.Comparisons]:
    one = scores().isel(split=0)
    return {
        "t, Holm": sw.paired_tests(one, "t", correction="holm", average=["shard"]),
        "randomised Tukey": sw.paired_tests(one, "tukey", average=["shard"], n_resamples=2000),
        "bootstrap MD3, BH": sw.compare(sw.bootstrap_anova(one, sw.MD3), "bh"),
    }


def density() -> Any:
    fit = sw.bootstrap_anova(few(), sw.MD3)
    ranked = fit.effects.sort_values(ascending=False)
    close = int((-ranked.diff().iloc[1:]).argmin())  # so close that there is something to shade
    return density_chart(fit, *ranked.index[close : close + 2])


def agreement() -> Any:
    above, below = (sw.stability.over_splits(scores(measure), sw.MD3) for measure in ("AP", "P@10"))
    return sw.plot.agreement_chart(above, below, names=("AP", "P@10"))


def error_rates() -> pd.DataFrame:
    """Share of 400 tables without any difference of systems in which a method tells some pair apart."""
    rng = np.random.default_rng(5)
    claims = {"these topics": 0.0, "topics like these": 0.06}  # sd of what a topic gives to a single system
    rows = []
    for claim, spread in claims.items():
        found = {"MD3, Tukey": 0, "MD6, Tukey": 0, "MD6, Tukey, over topics": 0}
        for _ in range(400):
            y = (
                rng.normal(0, 0.2, (30, 1, 1))
                + rng.normal(0, spread, (30, 5, 1))
                + rng.normal(0, 0.05, (30, 5, 3))
            )
            table = xr.DataArray(y, dims=("topic", "system", "shard"))
            six = sw.anova(table, sw.MD6)
            fits = (
                sw.compare(sw.anova(table, sw.MD3)),
                sw.compare(six),
                sw.compare(six, generalize=("topic",)),
            )
            for name, pairs in zip(found, fits, strict=True):
                found[name] += bool(pairs.reject().any())
        for name, count in found.items():
            rate = count / 400
            half = 1.96 * np.sqrt(max(rate * (1 - rate), 1 / 400) / 400)
            limits = {"low": max(rate - half, 0.0), "high": min(rate + half, 1.0), "nominal": 0.05}
            rows.append({"method": name, "claim": claim, "error_rate": "family", "rate": rate} | limits)
    return pd.DataFrame(rows)


def powers() -> pd.DataFrame:
    """Power of the paired t-test by simulation from the scores, for three numbers of topics."""
    frames = []
    for size in np.linspace(0.01, 0.12, 12):
        found = sw.planning.simulated_power(
            whole()["AP"], topics=[25, 50, 100], min_diff=size, systems=2, test="t", repetitions=500, seed=1
        ).table
        names = {"power_low": "low", "power_high": "high"}
        frames.append(
            found.rename(columns=names).assign(
                method=[f"{n} topics" for n in found["topics"]], difference=size
            )
        )
    return pd.concat(frames).sort_values(["topics", "difference"])


def pools() -> Plan:
    return sw.planning.plan_pools(collection(), depths=[10, 20, 50, 100], measure=["AP", "nDCG@20"])


CHARTS: dict[str, Callable[[], Any]] = {
    **{
        f"analysis-{kind}": lambda kind=kind: analysis().plot(kind)
        for kind in ("forest", "ranks", "intervals", "cd", "power", "heatmap", "items")
    },
    "analysis-repeats": lambda: answers().plot("repeats"),
    "analysis-baseline": lambda: analysis().plot("forest", baseline=analysis().systems[4]),
    "intervals": lambda: sw.plot.chart(both_claims(), measure="AP", interval="comparison"),
    "models": lambda: sw.plot.chart(models(), "models", measure="AP"),
    "kinds": lambda: both_claims()["these topics"].plot("kinds", measure="AP"),
    "effects": lambda: sw.plot.chart(bootstraps()),
    "density": density,
    "matrix": lambda: sw.plot.chart(tests(), "matrix"),
    "agreement": agreement,
    "stability": lambda: sw.stability.between_splits(scores(), sw.MD6).plot(),
    "shares": lambda: sw.anova(few(), sw.MD6).plot(),
    "residuals": lambda: sw.anova(few(), sw.MD6).plot("residuals"),
    "p-curves": lambda: sw.plot.chart(both_claims(), "p-values"),
    "settings": lambda: sw.plot.chart(sw.instances.smallest_setting(rates(), 0.02), measure="nDCG@10"),
    "equivalence": lambda: sw.equivalence(
        sw.compare(sw.anova(few().isel(system=slice(0, 5)), sw.MD6)), 0.03
    ).plot(measure="AP"),
    "instances": lambda: sw.compare_instances(*seeds()).plot("difference", margin=0.02, measure="nDCG@10"),
    "p-spread": lambda: sw.plot.p_spread_chart(sw.instances.p_value_spread(*seeds(), seed=1)),
    "components": lambda: sw.planning.variance_components(*seeds()).plot("instances"),
    "variances": lambda: sw.plot.variance_chart(
        pd.DataFrame(
            {
                method: {name: float(sw.planning.variance(whole(), method, measure=name)) for name in whole()}
                for method in ("percentile95", "one-way", "two-way", "residual")
            }
        )
    ),
    "topics": lambda: sw.plot.topics_chart(
        design_curve({"AP": 0.053, "nERR": 0.1208}, systems=range(2, 101, 2))
    ),
    "reach": lambda: sw.planning.variance(whole()["AP"]).plot(),
    "pools": lambda: pools().plot(),
    "power": lambda: sw.planning.simulated_power(
        whole()["AP"], topics=[20, 40, 60, 80, 120], min_diff=0.06, systems=5, repetitions=1000, seed=1
    ).plot(),
    "ranking": lambda: sw.planning.generalizability(whole()["AP"]).plot(),
    "error-rates": lambda: error_rate_chart(error_rates()),
    "power-curves": lambda: power_chart(powers(), measure="AP"),
    "reversals": lambda: sw.holdout.split_half(
        whole()["AP"], ["t none", "t holm", "max-t"], repeats=100
    ).plot(),
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    ending = sys.argv[2] if len(sys.argv) > 2 else ".svg"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        sw.plot.save_chart(draw(), folder / f"chart-{name}{ending}")
        print(name, flush=True)
    draw_reports(folder)


if __name__ == "__main__":
    main()
