"""Ferro & Sanderson (2019) on anybody's runs: ANOVA models of topics, systems and shards."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.rankings import kendall_tau
from shardwise.comparing.split_tables import half_width
from shardwise.core.arguments import Progress, validate_count, validate_level
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.model import NAMED
from shardwise.core.scores import as_scores
from shardwise.io.collection import Collection
from shardwise.methods.anova.fit import AnovaFit, anova
from shardwise.methods.tables import SHARDS, Tables
from shardwise.papers import published_f19 as printed
from shardwise.papers.exhibit import Exhibit, Form, Replication, beside
from shardwise.papers.steps import Frames, Step, key_of, run_steps
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import Corpus, split
from shardwise.stats import studentized_range

PAPER = "F19"
TITLE = "ANOVA models of topics, systems and shards"
MEASURES = ("AP", "P@10", "RBP(p=0.8)", "nDCG(base=10)")  # F19 §8
COUNTS = (2, 3, 4, 5, 10, 25, 50)
WHOLE = "MD1"
MODELS = ("MD2", "MD3", "MD4", "MD5", "MD6")
DRAWN = ("MD1", "MD2", "MD3", "MD6")  # F19 Fig. 4
KINDS = ("tukey", "anova", "sem")  # F19 eq. 3, 5, 4
FIGURE_3, FIGURE_4 = 3, 10  # shards there
RANGES = ((5, 100), (5, 500), (25, 100), (25, 500), (75, 100), (75, 500))  # F19 Fig. 1: systems, error df
RANKS = "system, best first"

ABOUT_CHANGES = (
    "Two printed percentages do not follow from the printed counts: MD6 over MD5, significant pairs, is given as "
    "+15.84 (2 shards) and +25.43 (10 shards), while 5889/5173 and 5947/4818 make +13.84 and +23.43."
)
ABOUT_TABLE_2 = (
    "F19 says that its Table 2 is of MD6. It cannot be: Table 1 has 5889, 5935 and 5947 significant pairs under MD6 "
    "for 2, 5 and 10 shards, Table 2 has 5142, 5051 and 5009, near what Table 1 has for MD3 to MD5 (5173 to 5180, "
    "5129 to 5140 and 4818 to 4833). Hence all models here. Its last column is called the share of pairs that all "
    "samples find; 5142.2 / 8256 = .6228 shows that it is significant pairs over all pairs. Both are given."
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all steps are told."""

    alpha: float
    samples: int
    seed: int
    fill: str | float
    corpus: Corpus | None
    jobs: int | None
    measures: tuple[str, ...]
    shards: tuple[int, ...]

    def nearest(self, wanted: int) -> int:
        """The number of shards, of those there are, that a figure is drawn for."""
        return min(self.shards, key=lambda count: abs(count - wanted))


def f19(
    data: Collection | Any,
    *,
    measures: Sequence[str] = MEASURES,
    shards: Sequence[int] = COUNTS,
    samples: int = 10,
    alpha: float = 0.05,
    fill: str | float = "zero",
    corpus: Corpus | None = None,
    seed: int = 0,
    jobs: int | None = None,
    executor: Executor | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Replication:
    """Make Tables 1 and 2 and Figures 1, 3, 4 and 5 of Ferro & Sanderson (2019) of other runs.

    A table of scores has no documents to divide: it gives Figure 1, the whole collection's row of Table 1 and its half
    of Figure 3. Of TREC-8's AP that row is the printed one.

    Parameters
    ----------
    data : Collection or object
        Runs and judgments, as `read_collection` returns them; or any topic × system table that `as_scores` takes.
    measures : sequence of str
        Measures of Tables 1 and 2 and Figure 4; Figures 3 and 5 have the first.
    shards : sequence of int
        Numbers of shards; the figures have those nearest to the paper's.
    samples : int
        Splits of each number of shards; Table 1 and the figures have the first.
    alpha : float
        Level of significance; that of the intervals is 1 - alpha.
    fill : str or float
        What undefined scores become, as for `fill_undefined`.
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents, as for `split`.
    seed : int
        Seed of the splits.
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
        Tables, figures and verdicts on the claims of the paper.

    >>> rng = np.random.default_rng(1)
    >>> scores = pd.DataFrame(rng.normal([0.2, 0.3, 0.32], 0.05, (30, 3)), columns=["x", "y", "z"])
    >>> f19(scores)["Table 1"].data[["model", "significant", "not_significant", "top_group"]]
      model  significant  not_significant  top_group
    0   MD1            2                1          2
    """
    plan = _Plan(
        validate_level(alpha), validate_count(samples, "samples", least=2),
        validate_count(seed, "seed", least=0), fill, corpus, jobs,
        tuple(measures), tuple(dict.fromkeys(validate_count(count, "shards", least=2) for count in shards)),
    )  # fmt: skip
    if isinstance(data, Collection):
        if not plan.shards:
            raise InputError("no number of shards was given", remedy="name one, such as 5")
        source: Collection | xr.Dataset = data
        found = score(data, list(plan.measures), jobs=jobs)
        said, made = (
            str(data).splitlines()[0],
            {"splits": f"{plan.samples} of each number of shards, seed {seed}"},
        )
        steps = {f"{count}-shards": partial(_sharded, data, count, found, plan) for count in plan.shards}
    else:
        table = as_scores(data, only=True)
        source = found = table.rename(str(table.name or "score")).to_dataset(promote_attrs=False)
        said, made = (
            f"{format_count(table.sizes['system'], 'system')}, {format_count(table.sizes['topic'], 'topic')}",
            {},
        )
        made["not made"] = (
            "Table 2, Figures 4 and 5 and all rows with shards: a table of scores has no documents to divide"
        )
        steps = {}
    everything: dict[str, Step] = {"whole": partial(_unsharded, found, plan), **steps}
    choices = {"measures": plan.measures, "shards": plan.shards, "samples": samples, "alpha": alpha, "fill": fill,
               "corpus": corpus, "seed": seed}  # fmt: skip
    frames = run_steps(everything, key_of(PAPER, source, **choices), folder, progress, executor)
    facts = {"data": said, "measures": ", ".join(map(str, found.data_vars)), **made,
             "level": f"{alpha:g}", "undefined scores": str(fill),
             "columns _F19": "printed by Ferro & Sanderson for TREC-8: 129 runs, 50 topics, 8256 pairs"}  # fmt: skip
    return Replication(PAPER, TITLE, tuple(_exhibits(frames, plan, found)), facts)


def _unsharded(scores: xr.Dataset, plan: _Plan) -> Frames:
    """The whole collection under MD1."""
    rows, lines = [], []
    for measure, values in scores.data_vars.items():
        fit, pairs = _fitted(values, WHOLE)
        rows.append({"measure": str(measure), "shards": 1, **_row(fit, pairs, plan.alpha)})
        lines.append(_lines(pairs, plan.alpha, KINDS).assign(measure=str(measure), shards=1, model=WHOLE))
    return {"table_1": pd.DataFrame(rows), "intervals": pd.concat(lines, ignore_index=True)}


def _sharded(runs: Collection, shards: int, whole_scores: xr.Dataset, plan: _Plan) -> Frames:
    """One number of shards: all models on the first split, and how steady they are over all splits."""
    made = split(runs, shards, n_splits=plan.samples, seed=plan.seed, corpus=plan.corpus, unlisted="add")
    scores = score(runs, list(plan.measures), made, jobs=plan.jobs)
    rows, lines, steady = [], [], []
    for measure in map(str, scores.data_vars):
        here: dict[str, Any] = {"measure": measure, "shards": shards}
        filled = fill_undefined(scores[measure], plan.fill)
        means = whole_scores[measure].mean("topic").to_numpy()
        by_split = filled.transpose("split", "system", ...).mean(("topic", "shard")).to_numpy()
        taus = [kendall_tau(one, means) for one in by_split]
        for model in MODELS:
            fit, pairs = _fitted(filled.isel(split=0, drop=True), model)
            rows.append({**here, **_row(fit, pairs, plan.alpha), "tau": taus[0]})
            if model in DRAWN:
                kinds = KINDS if model == "MD6" else KINDS[:1]
                lines.append(_lines(pairs, plan.alpha, kinds).assign(**here, model=model))
        steady += [{**here, **row} for row in _steady(filled, np.array(taus), plan.alpha)]
    together = {"table_1": pd.DataFrame(rows), "table_2": pd.DataFrame(steady)}
    return {**together, "intervals": pd.concat(lines, ignore_index=True)}


def _fitted(scores: xr.DataArray, model: str) -> tuple[AnovaFit, Comparisons]:
    fit = anova(scores, model)
    return fit, compare(fit, "hsd")


def _row(fit: AnovaFit, pairs: Comparisons, alpha: float) -> dict[str, Any]:
    """Effect size and pairs told apart by one model (F19 Table 1)."""
    found = int(pairs.reject(alpha).sum())
    return {
        "model": fit.model.name,
        "omega_sq": float(fit.table["omega_sq"].loc["system"]),
        "significant": found,
        "not_significant": len(pairs) - found,
        "top_group": len(pairs.best(alpha)),
    }


def _lines(pairs: Comparisons, alpha: float, kinds: Sequence[str]) -> pd.DataFrame:
    """Means of the systems, best first, with intervals of one or more kinds."""
    frames = [
        pairs.intervals(1.0 - alpha, kind)
        .reset_index()
        .assign(kind=kind, rank=lambda f: np.arange(1, len(f) + 1))
        for kind in kinds
    ]
    return pd.concat(frames, ignore_index=True)


def _steady(scores: xr.DataArray, taus: Floats, alpha: float) -> Iterator[dict[str, Any]]:
    """How much the figures of each model move from split to split (F19 Table 2)."""
    tables = Tables(np.asarray(scores.transpose("split", *SHARDS).to_numpy(), np.float64), SHARDS)
    a, b = tables.pairs
    for model in MODELS:
        parts = tables.decomposition(NAMED[model])
        ms_error = parts.ss_error / parts.df_error
        q = float(studentized_range.isf(alpha, tables.systems, parts.df_error))
        widths = q * np.sqrt(
            ms_error / tables.size("topic", "shard")
        )  # F19 eq. 1: what two systems must differ by
        means = parts.means()
        difference = means[:, a] - means[:, b]
        signs = np.where(np.abs(difference) >= widths[:, None], np.sign(difference), 0.0)
        found = (signs != 0.0).sum(axis=1)
        common = int(((signs == signs[0]) & (signs != 0.0)).all(axis=0).sum())
        row: dict[str, Any] = {"model": model}
        for name, values in (("tau", taus), ("width", widths), ("significant", found.astype(float))):
            row |= {name: float(values.mean()), f"{name}_half": half_width(values)}
        pairs = signs.shape[1]
        yield row | {
            "share": row["significant"] / pairs,
            "common": common,
            "share_common": common / max(row["significant"], 1.0),
        }


def _changes(rows: pd.DataFrame) -> pd.DataFrame:
    """By how many percent each model differs from each smaller one (the percentage rows of F19 Table 1).

    >>> from shardwise.papers.published_f19 import TABLE_1
    >>> print(_changes(pd.DataFrame(TABLE_1)).query("shards == 2").head(1).to_string(index=False))
    measure  shards model versus  % omega_sq  % significant  % not_significant  % top_group
         AP       2   MD2    MD1  -12.302681      18.813906         -13.325057   -42.857143
    """
    made = []
    for (measure, shards), part in rows[rows["model"] != WHOLE].groupby(["measure", "shards"], sort=False):
        base = rows[(rows["model"] == WHOLE) & (rows["measure"] == measure)]
        ladder = pd.concat([base, part]).set_index("model")[list(printed.FIGURES)]
        for smaller, larger in combinations(ladder.index, 2):
            with np.errstate(divide="ignore", invalid="ignore"):
                change = 100.0 * (
                    ladder.loc[larger].to_numpy(float) / ladder.loc[smaller].to_numpy(float) - 1.0
                )
            values = {f"% {name}": value for name, value in zip(printed.FIGURES, change, strict=True)}
            made.append({"measure": measure, "shards": shards, "model": larger, "versus": smaller, **values})
    columns = ["measure", "shards", "model", "versus", *(f"% {name}" for name in printed.FIGURES)]
    frame = pd.DataFrame(made, columns=columns)
    return frame.sort_values(["measure", "shards", "model"], kind="stable", ignore_index=True)


def _exhibits(frames: Frames, plan: _Plan, scores: xr.Dataset) -> Iterator[Exhibit]:
    first, keys = str(next(iter(scores.data_vars))), ["measure", "shards", "model"]
    table = frames["table_1"]
    yield Exhibit(
        "Table 1",
        "models compared, one split of each number of shards",
        beside(table, printed.TABLE_1, keys, PAPER),
    )
    if "table_2" in frames:
        changes = _changes(pd.DataFrame(printed.TABLE_1))
        both = beside(_changes(table), changes, [*keys, "versus"], PAPER)
        yield Exhibit(
            "Table 1, percentage rows", "changes in percent from each smaller model", both, (ABOUT_CHANGES,)
        )
        title = f"steadiness over {plan.samples} splits of each number of shards"
        steady = beside(frames["table_2"], printed.TABLE_2, keys, PAPER)
        yield Exhibit("Table 2", title, steady, (ABOUT_TABLE_2,))
    systems, topics = scores.sizes["system"], scores.sizes["topic"]
    yield _ranges(systems, (topics - 1) * (systems - 1), plan.alpha)
    yield from _bands(frames["intervals"], plan, first)


def _ranges(systems: int, df: int, alpha: float) -> Exhibit:
    """The studentized range for the paper's numbers of systems and for those of the data."""
    q = np.linspace(0.0, 8.0, 161)
    rows = []
    for r, own in (*RANGES, (systems, df)):
        critical = float(studentized_range.isf(alpha, r, own))
        label = f"{r} systems, {own} df: Q = {critical:.3f}"
        rows.append(pd.DataFrame({"q": q, "cdf": 1.0 - studentized_range.sf(q, r, own), "law": label}))
    form = Form(x="q", y="cdf", titles=("studentized range", "probability"), series="law")
    title = (
        f"studentized range and what it exceeds with probability {alpha:g}; the last law is that of MD1 here"
    )
    return Exhibit("Figure 1", title, pd.concat(rows, ignore_index=True), form=form)


def _bands(lines: pd.DataFrame, plan: _Plan, first: str) -> Iterator[Exhibit]:
    common: dict[str, Any] = {"x": "rank", "y": "estimate", "band": ("lower", "upper"), "panel": "panel"}
    own = lines[lines["measure"] == first]
    whole_rows, last = own[own["model"] == WHOLE], own[own["model"] == "MD6"]
    three, ten = (plan.nearest(n) if len(last) else 0 for n in (FIGURE_3, FIGURE_4))
    left = whole_rows.assign(panel="whole collection, MD1")
    right = last[last["shards"] == three].assign(panel=f"{three} shards, MD6")
    form = Form(**common, titles=(RANKS, first), series="kind")
    data = pd.concat([left, right], ignore_index=True)
    yield Exhibit(
        "Figure 3", "three kinds of intervals: Tukey (eq. 3), SEM (eq. 4), ANOVA (eq. 5)", data, form=form
    )
    if not len(last):
        return
    tukey = lines[lines["kind"] == "tukey"]
    four = tukey[tukey["shards"].isin([1, ten])].assign(panel=lambda f: f["measure"])
    form = Form(**common, titles=(RANKS, "mean"), series="model")
    yield Exhibit("Figure 4", f"Tukey intervals by model, {ten} shards", four, form=form)
    narrow = tukey[(tukey["measure"] == first) & tukey["model"].isin([WHOLE, "MD6"])]
    five = [
        narrow[narrow["shards"].isin([1, count])].assign(panel=f"{count} shards") for count in plan.shards
    ]
    form = Form(**common, titles=(RANKS, first), series="model")
    data = pd.concat(five, ignore_index=True)
    yield Exhibit("Figure 5", "Tukey intervals of MD1 and MD6 by number of shards", data, form=form)
