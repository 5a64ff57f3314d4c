"""shardwise stability: would other shards have led to the same conclusions?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import xarray as xr

from shardwise.cli import inputs
from shardwise.cli.analyzing import READ
from shardwise.cli.cluster import on_cluster
from shardwise.cli.output import emit_table, show_progress
from shardwise.cli.parsing import Options
from shardwise.comparing.over_splits import (
    agreement_over_splits,
    found_over_splits,
    over_splits,
    summary_over_splits,
)
from shardwise.comparing.stability import stability_of, stability_of_fills, stability_of_methods
from shardwise.core.arguments import lend_executor, validate_choice
from shardwise.core.errors import InputError
from shardwise.scoring.scoring import score
from shardwise.stats.corrections import check_correction

MEANINGS = {
    "AA": "pairs where both splits find the same system better",
    "AD": "pairs where they find opposite systems better",
    "PA": "pairs where neither finds a difference",
    "PD": "pairs where only one does",
    "PAA": "agreement on differences, 2AA/(2AA+PD)",
    "PPA": "agreement on no difference, 2PA/(2PA+PD)",
}
MODELS = ("MD2", "MD3", "MD4", "MD5", "MD6")
TABLES = ("agreement", "summary", "found", "divided", "models", "methods", "fills")


def compare_splits(options: Options) -> None:
    """Compare the systems on each split and print how far the splits agree."""
    # What cannot be done is refused before the long work.
    words = inputs.parse_bootstrap(options.method)
    validate_choice(options.table, "table", TABLES)
    parsed = inputs.parse_model(options.model)
    if options.cluster is not None and options.resamples is None:
        raise InputError(
            "a cluster has no effect without bootstrap samples",
            remedy="remove --jobs, or add --method bootstrap --resamples 10000",
        )
    method = words["correction"] if words else check_correction(options.method or "hsd")
    inputs.parse_fill(options.fill)
    read = inputs.InputReader(options).check().one_measure().read_input()
    scores, gaps = inputs.fill_gaps(
        inputs.pick_measure(read), "leave" if options.table == "fills" else options.fill
    )
    how: dict[str, Any] = {}
    if words:
        how = {"fit": "bootstrap", "n_resamples": options.resamples, "seed": options.seed}
        how |= {name: words[name] for name in READ if name in words}
    how["generalize"] = inputs.parse_dimensions(options.generalize)
    how |= {"only": options.only or None, "baseline": next(iter(options.baseline), None)}
    alpha = options.alpha
    facts: dict[str, Any] = {"alpha": alpha, "splits": scores.sizes.get("split", 1)}
    with (
        on_cluster(options.cluster, options.quiet) as executor,
        lend_executor(executor),
        show_progress("comparing splits", options.quiet) as bar,
    ):
        if options.table in SIDE_BY_SIDE:
            frame = SIDE_BY_SIDE[options.table](scores, parsed, method, alpha, bar, how)
            title = f"{facts['splits']} splits at {alpha:g}: {options.table} side by side"
        else:
            comparisons = over_splits(scores, parsed, method, progress=bar, **how)
            result = stability_of(comparisons, alpha=alpha)
            title, facts["claim"] = str(result).splitlines()[0], comparisons[0].claim
            frame = result.mean().reset_index()
            frame["meaning"] = frame["figure"].map(MEANINGS)
            if options.table == "summary":
                frame = summary_over_splits(comparisons, _mean_on_whole(read), alpha=alpha).reset_index(
                    names="figure"
                )
            elif options.table == "found":
                frame = found_over_splits(comparisons, (alpha,)).reset_index()
            elif options.table == "divided":
                frame = agreement_over_splits(comparisons, (alpha,))[alpha].reset_index()
    emit_table(frame, options, title=title, notes=(*read.notes, *gaps), facts=facts)


def _mean_on_whole(read: inputs.Read) -> xr.DataArray | None:
    """Means of the systems on the whole collection, where there are runs to score."""
    if read.collection is None:
        return None
    measure = next(iter(read.scores.data_vars))
    return score(read.collection, [str(measure)])[measure].mean("topic")


def _tabulate_models(
    scores: Any, _: Any, method: str, alpha: float, __: Any, how: dict[str, Any]
) -> pd.DataFrame:
    """Pairs found, widths and agreement under each model."""
    rows = []
    for model in MODELS:
        comparisons = over_splits(scores, model, method, **how)
        figures = {
            **summary_over_splits(comparisons, alpha=alpha)["mean"],
            **stability_of(comparisons, alpha=alpha).mean()["mean"],
        }
        rows.append({"model": model, **figures})
    return pd.DataFrame(rows)


def _tabulate_methods(
    scores: Any, model: Any, _: str, alpha: float, bar: Any, __: dict[str, Any]
) -> pd.DataFrame:
    """FF21's three approaches: pairs found, agreement, and what each finds beyond the others."""
    table = stability_of_methods(scores, model, alpha=alpha, progress=bar)
    rows = []
    for name in map(str, table["approach"].values):
        figures_of = table.sel(approach=name)
        figures = {f: float(figures_of["mean"].sel(other=name, figure=f)) for f in ("PAA", "PPA", "AD")}
        beyond = {
            f"beyond {other}": float(figures_of["mean"].sel(other=other, figure="extra"))
            for other in map(str, table["other"].values)
            if other != name
        }
        rows.append({"approach": name, "significant": float(figures_of["significant"]), **figures, **beyond})
    return pd.DataFrame(rows)


def _tabulate_fills(
    scores: Any, model: Any, method: str, alpha: float, bar: Any, how: dict[str, Any]
) -> pd.DataFrame:
    """Passive disagreements between fills; on the diagonal between splits."""
    table = stability_of_fills(scores, model, method, alpha=alpha, progress=bar, **how)
    square = table["mean"].sel(figure="PD").to_pandas()
    return square.assign(significant=table["significant"].to_numpy()).reset_index()


SIDE_BY_SIDE: dict[str, Callable[..., pd.DataFrame]] = {
    "models": _tabulate_models,
    "methods": _tabulate_methods,
    "fills": _tabulate_fills,
}
