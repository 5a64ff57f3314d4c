"""Draw the figures of J15 §5 from the kept scores, and say which sample rate will do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import xarray as xr
from selective_search import analysis, figures

import shardwise as sw
from run import ROOT, SCORES
from shardwise.plot.saving import save_chart
from shardwise.plot.theme import Chart


def main() -> int:
    """Draw all figures and print the answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", type=Path, nargs="?", default=SCORES, help="what run.py wrote")
    parser.add_argument("--margin", type=float, default=0.01, help="the loss that matters")
    parser.add_argument("--pools", type=int, default=50, help="random pools of instances a size and rate")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20, 50], help="of the pools")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--format", choices=["png", "svg", "pdf", "html", "json"], default="png")
    parser.add_argument("--summary", type=Path, default=Path(__file__).parent / "summary.csv")
    asked = parser.parse_args()
    if not asked.scores.is_file():
        print(f"{asked.scores}: is not there; make it with run.py", file=sys.stderr)
        return 2
    try:
        _report(asked)
    except sw.InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _report(asked: argparse.Namespace) -> None:
    scores, margin = xr.load_dataset(asked.scores, engine="h5netcdf"), asked.margin
    table = analysis.summary(scores, margin)
    table.to_csv(asked.summary, index=False, float_format="%.5g")
    asked.images.mkdir(parents=True, exist_ok=True)
    for name, draw in _charts(scores, table, margin, asked.sizes, asked.pools).items():
        path = asked.images / f"case-study-{name}.{asked.format}"
        save_chart(draw(), path)
        print(path, flush=True)
    shown = ["measure", "rate", "difference", "lower", "upper", "p", "verdict", "seeds_worse"]
    print(table[shown].round(4).to_string(index=False))
    for measure, series in analysis.answers(scores, margin).items():
        print(f"{measure}: {series}")


def _charts(
    scores: xr.Dataset, table: pd.DataFrame, margin: float, sizes: list[int], pools: int
) -> dict[str, Callable[[], Chart]]:
    singles = analysis.single_tests(scores, margin)
    pooled = analysis.pooled_tests(scores, sizes, pools)
    names = dict(analysis.rates(scores))
    middle = list(names)[len(names) // 2]
    first = analysis.measures(scores)[0]
    chosen = {measure: series.smallest for measure, series in analysis.answers(scores, margin).items()}
    multiple = ["mixed, J15", "bootstrap of means", "bootstrap, J15"]
    return {
        "06-instances": lambda: figures.instance_means(scores),
        "07-single-tests": lambda: figures.single_findings(singles),
        "08-topics": lambda: figures.topic_spread(scores, analysis.measures(scores)[-1], names[middle]),
        "09-pools": lambda: figures.pool_spread(pooled, first, list(names)[-4:]),
        "10-power": lambda: figures.power_curves(pooled),
        "11-agreement": lambda: figures.agreement(pooled, "unified", multiple),
        "12-loss": lambda: figures.loss(table, margin),
        "13-rates": lambda: figures.between_rates(scores, margin),
        "single-seeds": lambda: figures.first_choices(
            analysis.first_without_loss(singles), chosen, list(names)
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
