"""Faggioli & Ferro (2021) on anybody's runs: bootstrap against classic ANOVA, over splits and fills."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, get_args

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.compare import compare
from shardwise.comparing.stability import FF21, POLICIES, stability_of_fills, stability_of_methods
from shardwise.core.arguments import Progress, validate_count, validate_level
from shardwise.io.collection import Collection
from shardwise.methods.bootstrap.fit import BootstrapFit, Trim, bootstrap_anova
from shardwise.papers import published_ff21 as printed
from shardwise.papers.exhibit import Exhibit, Replication, beside
from shardwise.papers.published_v17 import TABLE_3 as V17_WIDTHS
from shardwise.papers.steps import Frames, Step, key_of, run_steps
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import Corpus, split

PAPER = "FF21"
TITLE = "bootstrap and classic ANOVA over splits and fills"
MEASURES = ("AP", "P@10")
COUNTS = (2, 3, 5)
FILL_COUNTS = (5, 10, 25)  # the paper has 5; not every collection has an undefined cell there
METHODS_SHARDS = 5
WITHOUT, WITH = "MD2", "MD3"  # the topic:system interaction; FF21 calls them MD1 and MD2
MODELS = (WITHOUT, WITH, "MD6")
LAW: dict[str, Any] = {"null": "marginal", "density": "kde"}
APPROACHES: Mapping[str, Mapping[str, Any]] = {
    "bANOVA(raw)": {**FF21["bANOVA(BH)"], "method": "none"},
    **FF21,
}
PUBLISHED = ("bANOVA(raw)", "tANOVA(BH)", "tANOVA(HSD)")  # the order of Table 5

ABOUT_WIDTHS = (
    "Without drawn resamples all systems share one law, so that the widest and the narrowest interval are alike; ask "
    "for 10,000 resamples to see them differ as in print."
)
ABOUT_TRIM = (
    "FF21 says that it drops αk/(2N) estimates at either end; its public code drops that many percent, two or three of "
    "10,000. Read so (trim percent) the intervals are about 1.75 times as wide as with V17's share, and the widths "
    "that V17 printed are 1.65 to 1.81 times those of FF21; dropping a count makes them 1.8 to 1.9 times as wide."
)
ABOUT_TABLE_4 = (
    "Pairs whose intervals do not overlap. The rows 'V17 mean', 'V17 min' and 'V17 max' take the widths that V17 "
    "printed for TREC-3, as FF21 did; they mean little for other runs."
)
ABOUT_TABLE_5 = (
    "The bootstrap is two-tailed in the authors' code. What Table 5 prints as bANOVA(BH) compares raw p-values with "
    "alpha (bANOVA(raw) here), as the agreement figures of Tables 6 to 8 show: they imply 6752 to 6822, 7198 to 7205 "
    "and 7549 to 7553 pairs where Table 5 prints 6866.6, 7231.8 and 7563.4. Rows with two different approaches count "
    "the pairs that the first finds and the other does not."
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all steps are told."""

    measures: tuple[str, ...]
    samples: int
    alpha: float
    corpus: Corpus | None
    seed: int
    n_resamples: int | None
    jobs: int | None

    def sharded(self, runs: Collection, shards: int, kind: str, measures: Sequence[str]) -> xr.Dataset:
        drawn = {"n_splits": self.samples, "seed": self.seed, "corpus": self.corpus, "unlisted": "add"}
        made = split(runs, shards, kind=kind, **drawn)  # type: ignore[arg-type]
        return score(runs, list(measures), made, jobs=self.jobs)


def ff21(
    data: Collection,
    *,
    measures: Sequence[str] = MEASURES,
    shards: Sequence[int] = COUNTS,
    fill_shards: Sequence[int] = FILL_COUNTS,
    samples: int = 5,
    alpha: float = 0.05,
    corpus: Corpus | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    executor: Executor | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Replication:
    """Make Tables 1 to 8 of Faggioli & Ferro (2021) of other runs.

    Parameters
    ----------
    data : Collection
        Runs and judgments, as `read_collection` returns them.
    measures : sequence of str
        Measures of Tables 1 to 4; Tables 5 to 8 have the first.
    shards : sequence of int
        Numbers of shards of Tables 1 to 4, drawn until every topic has a relevant document in each.
    fill_shards : sequence of int
        Numbers of shards of Tables 7 and 8.
    samples : int
        Splits of each kind.
    alpha : float
        Level of significance; that of the intervals is 1 - alpha.
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents, as for `split`.
    n_resamples : int, optional
        Bootstrap resamples of Tables 1 to 4 (the paper has 10,000); as from infinitely many, if None.
    seed : int
        Seed of splits and resamples.
    jobs : int, optional
        Number of threads; all processors, if None.
    executor : Executor, optional
        An executor of concurrent.futures that makes the steps side by side; one after another here, if None.
    folder : str or path, optional
        Where finished steps are kept, so that the same call takes up there after it was stopped; nowhere, if None.
    progress : callable, optional
        Called with (steps done, steps in all).

    Returns
    -------
    Replication
        Tables and verdicts on the claims of the paper.
    """
    plan = _Plan(
        tuple(measures), validate_count(samples, "samples", least=2), validate_level(alpha), corpus,
        validate_count(seed, "seed", least=0), n_resamples, jobs,
    )  # fmt: skip
    steps: dict[str, Step] = {f"widths-{s}": partial(_widths, data, s, plan) for s in shards}
    steps |= {f"methods-{model}": partial(_methods, data, model, plan) for model in MODELS}
    steps |= {
        f"fills-{s}-{model}": partial(_fills, data, s, model, plan)
        for s in fill_shards
        for model in MODELS[1:]
    }
    choices = {"measures": plan.measures, "samples": samples, "alpha": alpha, "corpus": corpus,
               "n_resamples": n_resamples, "seed": seed}  # fmt: skip
    frames = run_steps(steps, key_of(PAPER, data, **choices), folder, progress, executor)
    facts = {
        "data": str(data).splitlines()[0],
        "measures": ", ".join(plan.measures),
        "splits": f"{samples} of each kind, seed {seed}",
        "bootstrap": "as from infinitely many resamples"
        if n_resamples is None
        else f"{n_resamples} resamples",
        "level": f"{alpha:g}",
        "columns _FF21": "printed by Faggioli & Ferro: Tables 1 to 4 of TREC-3 (780 pairs), 5 to 8 of TREC-8 (8256)",
        "models": "FF21's MD1, MD2 and MD3 are F19's MD2, MD3 and MD6, and have these names here",
    }
    return Replication(PAPER, TITLE, tuple(_exhibits(frames)), facts)


def _widths(runs: Collection, shards: int, plan: _Plan) -> Frames:
    """Widths of the intervals and pairs found (Tables 1 to 4), on splits that cover every topic."""
    scores = plan.sharded(runs, shards, "covered", plan.measures)
    found, trims, apart = [], [], []
    for measure in map(str, scores.data_vars):
        for model in (WITHOUT, WITH):
            fits = [
                bootstrap_anova(scores[measure].isel(split=i), model, n_resamples=plan.n_resamples,
                                seed=plan.seed + i, jobs=plan.jobs)
                for i in range(plan.samples)
            ]  # fmt: skip
            here = {"shards": shards, "measure": measure, "model": model}
            for tails in (1, 2):
                counts = [
                    int(compare(fit, "bh", tails=tails, **LAW).reject(plan.alpha).sum()) for fit in fits
                ]
                sizes = np.mean([_extent(fit, plan.alpha, tails, "share") for fit in fits], axis=0)
                row = dict(zip(("width", "least", "largest"), sizes.tolist(), strict=True))
                found.append({**here, "tails": tails, **row, "significant": float(np.mean(counts))})
            for trim in get_args(Trim):
                sizes = np.array([_extent(fit, plan.alpha, 1, trim) for fit in fits])
                for i, each in enumerate([*sizes, sizes.mean(axis=0)]):
                    row = dict(zip(("width", "least", "largest"), each.tolist(), strict=True))
                    sample = str(i + 1) if i < len(sizes) else "avg"
                    trims.append({**here, "trim": trim, "sample": sample, **row})
                apart.append({**here, "widths": trim, **_beyond(fits, sizes[:, 0])})
            for name, width in _v17(shards, measure, model).items():
                apart.append({**here, "widths": name, **_beyond(fits, np.full(len(fits), width))})
    return {"widths": pd.DataFrame(found), "trims": pd.DataFrame(trims), "apart": pd.DataFrame(apart)}


def _extent(fit: BootstrapFit, alpha: float, tails: int, trim: str) -> tuple[float, float, float]:
    """Mean, least and largest width of the systems' intervals."""
    frame = fit.intervals(1.0 - alpha, tails=tails, trim=trim)  # type: ignore[arg-type]
    width = (frame["upper"] - frame["lower"]).to_numpy()
    return float(width.mean()), float(width.min()), float(width.max())


def _beyond(fits: Sequence[BootstrapFit], widths: Any) -> dict[str, float]:
    """Pairs whose effects are further apart than the intervals are wide."""
    counts = []
    for fit, width in zip(fits, widths, strict=True):
        effects = fit.effects.to_numpy()
        a, b = np.triu_indices(len(effects), 1)
        counts.append(int((np.abs(effects[a] - effects[b]) > width).sum()))
    return {"significant": float(np.mean(counts))}


def _v17(shards: int, measure: str, model: str) -> dict[str, float]:
    """Widths that V17 printed for TREC-3."""
    for row in V17_WIDTHS:
        same = (row["collection"], row["shards"], row["measure"], row["model"])
        if same == ("TREC-3", shards, measure, model):
            return {"V17 mean": row["width"], "V17 min": row["least"], "V17 max": row["largest"]}
    return {}


def _methods(runs: Collection, model: str, plan: _Plan) -> Frames:
    """What each approach finds beyond the others, and how steady it is (Tables 5 and 6)."""
    first = plan.measures[0]
    scores = fill_undefined(plan.sharded(runs, METHODS_SHARDS, "even", [first])[first], "zero")
    table = stability_of_methods(scores, model, APPROACHES, alpha=plan.alpha)
    found, steady = [], []
    for a, b in combinations_with_replacement(APPROACHES, 2):
        cell = table.sel(approach=a, other=b)
        own = {"pairs": float(table["significant"].sel(approach=a)),
               "half_width": float(table["significant_half_width"].sel(approach=a))}  # fmt: skip
        more = {"pairs": float(cell["mean"].sel(figure="extra")),
                "half_width": float(cell["half_width"].sel(figure="extra"))}  # fmt: skip
        share = {"share": own["pairs"] / table.attrs["pairs"]} if a == b else {"share": np.nan}
        found.append({"model": model, "approach": a, "other": b, **(own if a == b else more), **share})
        if a == b:
            figures = {name: float(cell["mean"].sel(figure=name)) for name in ("PAA", "PPA", "AD")}
            halves = {f"{name}_half": float(cell["half_width"].sel(figure=name)) for name in ("PAA", "PPA")}
            steady.append({"model": model, "approach": a, **figures, **halves})
    return {"methods": pd.DataFrame(found), "steady": pd.DataFrame(steady)}


def _fills(runs: Collection, shards: int, model: str, plan: _Plan) -> Frames:
    """Disagreements between ways to fill undefined scores (Tables 7 and 8)."""
    first = plan.measures[0]
    scores = plan.sharded(runs, shards, "even", [first])[first]
    undefined = int(np.isnan(scores.isel(system=0)).sum())
    rows = []
    for approach in ("tANOVA(HSD)", "bANOVA(BH)"):
        table = stability_of_fills(scores, model, alpha=plan.alpha, **FF21[approach])
        for a, b in combinations_with_replacement(POLICIES, 2):
            cell = table.sel(fill=a, other=b, figure="PD")
            here = {
                "shards": shards,
                "undefined": undefined,
                "model": model,
                "approach": approach,
                "fill": a,
                "other": b,
            }
            rows.append({**here, "PD": float(cell["mean"]), "half_width": float(cell["half_width"])})
    return {f"fills-{model}": pd.DataFrame(rows)}


def _exhibits(frames: Frames) -> Iterator[Exhibit]:
    widths, keys = frames["widths"], ["shards", "measure", "model"]
    both = beside(widths, printed.TABLES_1_2, [*keys, "tails"], PAPER)
    for number, words in ((1, "one-tailed"), (2, "two-tailed")):
        rows = both[both["tails"] == number].drop(columns="tails").reset_index(drop=True)
        title = f"interval widths and pairs found, {words} bootstrap"
        yield Exhibit(f"Table {number}", title, rows, (ABOUT_WIDTHS,) if number == 1 else ())
    trims = frames["trims"]
    shown = int(trims["shards"].iloc[(trims["shards"] - 3).abs().argmin()])  # FF21 has 3
    part = trims[trims["shards"] == shown].drop(columns="shards").reset_index(drop=True)
    average = [{**row, "sample": "avg"} for row in printed.TABLE_3]
    three = beside(part, average, ["measure", "model", "trim", "sample"], PAPER)
    yield Exhibit("Table 3", f"widths by what is dropped at either end, {shown} shards", three, (ABOUT_TRIM,))
    yield Exhibit(
        "Table 4", "pairs told apart by intervals that do not overlap", frames["apart"], (ABOUT_TABLE_4,)
    )
    five = beside(frames["methods"], printed.TABLE_5, ["model", "approach", "other"], PAPER)
    yield Exhibit(
        "Table 5",
        f"pairs found by each approach and beyond others, {METHODS_SHARDS} shards",
        five,
        (ABOUT_TABLE_5,),
    )
    six = beside(frames["steady"], printed.TABLE_6, ["model", "approach"], PAPER)
    yield Exhibit("Table 6", "agreement between splits on what differs (PAA) and on what does not (PPA)", six)
    for number, model in ((7, WITH), (8, "MD6")):
        if f"fills-{model}" in frames:
            keys = ["shards", "model", "approach", "fill", "other"]
            rows = beside(frames[f"fills-{model}"], printed.TABLES_7_8, keys, PAPER)
            title = f"passive disagreements between fills, {model}; same fill: between splits"
            yield Exhibit(f"Table {number}", title, rows)
