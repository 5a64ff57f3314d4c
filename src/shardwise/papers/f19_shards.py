"""Ferro & Sanderson (2019) on other runs: ANOVA models of topics, systems and shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.papers.exhibit import (
    Computed,
    Evidence,
    Exhibit,
    Form,
    Frames,
    Replication,
    Shape,
    join_printed,
    make_claims,
    read_printed,
)
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    gather_scores,
    join_rows,
    replicate_paper,
)
from shardwise.stats import studentized_range
from shardwise.stats.student import student_critical

MEASURES = ("AP", "P@10", "RBP(p=0.8)", "nDCG(base=10)")
"""F19 §8."""
COUNTS = (2, 3, 4, 5, 10, 25, 50)
WHOLE = "MD1"
MODELS = ("MD2", "MD3", "MD4", "MD5", "MD6")
DRAWN = ("MD1", "MD2", "MD3", "MD6")
"""Models of Figure 4."""
KINDS = ("tukey", "anova", "sem")
"""Intervals of equations 3, 5 and 4."""
TABLE_1_SHARDS = (2, 5, 10)
FIGURE_3_SHARDS, FIGURE_4_SHARDS = 3, 10
RANGES = ((5, 100), (5, 500), (25, 100), (25, 500), (75, 100), (75, 500))
"""Systems and error degrees of freedom of Figure 1."""
TRACKS = {129: "T08", 104: "T09", 72: "T27"}
"""Printed tracks by their number of runs."""
FIGURES = ("omega_sq", "significant", "not_significant", "top_group")
LEAVE = "leave"
RANKS = "system, best first"
KEYS = ["measure", "shards", "model"]

ABOUT_CHANGES = (
    "Two printed percentages do not follow from the printed counts: MD6 over MD5, significant pairs, is given as "
    "+15.84 (2 shards) and +25.43 (10 shards), while 5889/5173 and 5947/4818 give +13.84 and +23.43."
)
ABOUT_TABLE_2 = (
    "F19 says that its Table 2 is of MD6. Table 1 has 5889, 5935 and 5947 significant pairs under MD6 for 2, 5 and 10 "
    "shards, Table 2 has 5142, 5051 and 5009, close to MD3 to MD5 in Table 1 (5173 to 5180, 5129 to 5140, 4818 to "
    "4833). Both MD3 and MD6 are therefore shown. Its last column is called the share of pairs that all samples find; "
    "5142.2 / 8256 = .6228 shows that it is significant pairs over all pairs. The CSV file has both."
)


@dataclass(frozen=True, kw_only=True)
class F19(PaperExperiment):
    """Experiment of Ferro & Sanderson (2019): Tables 1 and 2, Figures 1, 3, 4 and 5.

    A table of scores has no documents to divide: it gives Figure 1, the MD1 row of Table 1 and half of Figure 3.
    Of TREC-8's AP that row is the printed one.

    Parameters
    ----------
    measures : sequence of str
        Measures of Tables 1 and 2 and Figure 4; verdicts and Figures 3 and 5 use the first.
    shards : sequence of int
        Numbers of shards; the figures show those nearest to the paper's.
    samples : int
        Splits of each number of shards; Table 1 and the figures show the first.
    alpha : float
        Level of significance; that of the intervals is 1 - alpha.
    fill : str or float
        Value of undefined scores, as for `fill_undefined`; ``"leave"`` leaves them out, by least squares.
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents, as for `split`.
    """

    tag: ClassVar[str] = "F19"
    title: ClassVar[str] = "ANOVA models of topics, systems and shards"
    least: ClassVar[Mapping[str, int]] = {"samples": 2}

    measures: Sequence[str] = MEASURES
    shards: Sequence[int] = COUNTS
    samples: int = 10
    alpha: float = 0.05
    fill: str | float = "zero"
    corpus: Any = None

    def __post_init__(self) -> None:
        """Refuse options that have no meaning."""
        super().__post_init__()
        counts = tuple(dict.fromkeys(validate_count(count, "shards", least=2) for count in self.shards))
        object.__setattr__(self, "shards", counts)

    def gather_data(self, data: Any) -> PaperData:
        """Score the whole collection, or take a table; gaps are left to least squares."""
        if isinstance(data, sw.Collection) and not self.shards:
            raise InputError("no number of shards was given", remedy="name one, such as 5")
        source = gather_scores(data, self.measures, self.jobs, complete=False)
        gaps = sum(int(table.isnull().sum()) for table in source.scores.data_vars.values())
        if not gaps or source.collection is not None:
            return source
        note = f"{format_count(gaps, 'score')} missing and left out: MD1 is fitted by least squares to the others."
        return replace(source, notes=(*source.notes, note))

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State measures, splits, level and where printed numbers come from."""
        facts = {"measures": ", ".join(map(str, source.scores.data_vars)), "level": f"{self.alpha:g}"}
        if source.collection is not None:
            facts["splits"] = f"{self.samples} of each number of shards, seed {self.seed}"
            facts["undefined scores"] = "left out" if self.fill == LEAVE else str(self.fill)
        printed = f"Table 1 for T08 (8256 pairs), Table 2 for {TRACKS.get(source.systems, 'T08')}"
        return {**facts, "in brackets": f"printed by Ferro & Sanderson, {printed}"}

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Fit the whole collection, then each number of shards."""
        steps: dict[str, Step] = {"whole": partial(self._fit_whole, source.scores)}
        if source.collection is not None:
            # more shards than documents are refused before any step is kept
            sw.split(source.collection, max(self.shards), corpus=self.corpus, unlisted="add")
            for count in self.shards:
                steps[f"{count}-shards"] = partial(self._fit_shards, source.collection, count, source.scores)
        return steps

    def _fit_whole(self, scores: xr.Dataset) -> dict[str, Rows]:
        """Fit MD1 to the whole collection: a row of Table 1 and the intervals of each measure."""
        rows, intervals = [], []
        for measure, values in scores.data_vars.items():
            key: dict[str, Any] = {"measure": str(measure), "shards": 1}
            fit = sw.anova(values, WHOLE)
            pairs = sw.compare(fit, "hsd")
            rows.append({**key, **summarize_fit(fit, pairs, self.alpha)})
            intervals.append(list_intervals(pairs, self.alpha, KINDS).assign(**key, model=WHOLE))
        return {"table_1": rows, "intervals": intervals}

    def _fit_shards(self, runs: sw.Collection, shards: int, whole: xr.Dataset) -> dict[str, Rows]:
        """Fit all models to every split of one number of shards: rows of both tables, intervals of the first split."""
        splits = sw.split(
            runs, shards, n_splits=self.samples, seed=self.seed, corpus=self.corpus, unlisted="add"
        )
        scores = sw.score(runs, list(self.measures), splits, jobs=self.jobs)
        rows, intervals, steadiness = [], [], []
        for measure in map(str, scores.data_vars):
            key: dict[str, Any] = {"measure": measure, "shards": shards}
            filled = scores[measure] if self.fill == LEAVE else sw.fill_undefined(scores[measure], self.fill)
            # rankings of each split against that of the whole collection
            means = whole[measure].mean("topic").to_series()
            by_split = filled.mean(("topic", "shard"))
            rankings = [by_split.isel(split=k, drop=True).to_series() for k in range(self.samples)]
            taus = np.array([sw.rankings.kendall_tau(ranking, means) for ranking in rankings])
            first = filled.isel(split=0, drop=True)
            for model in MODELS:
                each = sw.stability.over_splits(filled, model, "hsd")
                fit = sw.anova(first, model)
                rows.append({**key, **summarize_fit(fit, each[0], self.alpha), "tau": taus[0]})
                if model in DRAWN:
                    kinds = KINDS if model == "MD6" else KINDS[:1]
                    intervals.append(list_intervals(each[0], self.alpha, kinds).assign(**key, model=model))
                steadiness.append({**key, "model": model, **summarize_splits(each, taus, self.alpha)})
        return {"table_1": rows, "table_2": steadiness, "intervals": intervals}

    def _choose_shards(self, wanted: int) -> int:
        """Return the number of shards, of those there are, nearest to a figure's."""
        return min(self.shards, key=lambda count: abs(count - wanted))

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 1 and 2 and draw Figures 1, 3, 4 and 5."""
        first, table = source.first, frames["table_1"]
        counts = sorted({self._choose_shards(n) for n in TABLE_1_SHARDS}) if "table_2" in frames else [1]
        tau = {count: _format_tau(table, first, count) for count in counts}
        printed = read_printed("f19-table-1")
        titled = join_printed(table, printed, KEYS, self.tag)
        # MD1 has no shards: its row stands in every column of the table, as in print
        shown = pd.concat(
            [
                titled[titled["model"].eq(WHOLE) | titled["shards"].eq(n)].assign(columns=tau[n])
                for n in counts
            ]
        )
        shape = Shape(rows=("model",), columns=("columns",), values=FIGURES, only={"measure": (first,)})
        label = f"models compared, {first}, one split of each number of shards"
        yield Exhibit("Table 1", label, titled, shape=shape, summary=shown)
        if "table_2" in frames:
            changes = compute_changes(printed)
            both = join_printed(compute_changes(table), changes, [*KEYS, "versus"], self.tag)
            shape = Shape(
                rows=("model", "versus"),
                columns=("shards",),
                values=("% omega_sq", "% significant", "% top_group"),
                only={"measure": (first,), "shards": counts},
            )
            label = f"change from each smaller model in percent, {first}"
            yield Exhibit("Table 1, percentage rows", label, both, (ABOUT_CHANGES,), shape=shape)
            # Table 2 stands beside the printed track that has as many runs
            printed = read_printed("f19-table-2", collection=TRACKS.get(source.systems, "T08"))
            joined = join_printed(frames["table_2"], printed, KEYS, self.tag)
            shape = Shape(
                rows=("shards",),
                columns=("model",),
                values=("tau", "width", "significant", "share"),
                halves={"significant": "significant_half"},
                only={"measure": (source.first,), "model": ("MD3", "MD6")},
            )
            title = f"steadiness over {self.samples} splits of each number of shards, {source.first}"
            yield Exhibit("Table 2", title, joined, (ABOUT_TABLE_2,), shape=shape)
        # the studentized range for the paper's numbers of systems and for those of the data
        q = np.linspace(0.0, 8.0, 161)
        rows = []
        for r, error_df in (*RANGES, (source.systems, (source.topics - 1) * (source.systems - 1))):
            critical = float(studentized_range.isf(self.alpha, r, error_df))
            label = f"{r} systems, {error_df} df: Q = {critical:.3f}"
            cdf = 1.0 - studentized_range.sf(q, r, error_df)
            rows.append(pd.DataFrame({"q": q, "cdf": cdf, "distribution": label}))
        titles, rules = ("studentized range", "probability"), (1.0 - self.alpha,)
        form = Form(x="q", y="cdf", titles=titles, series="distribution", rules=rules)
        title = f"studentized range and its critical value at {self.alpha:g}; the last distribution is that of MD1 here"
        yield Exhibit("Figure 1", title, join_rows(rows), form=form)
        yield from self._draw_bands(frames["intervals"], table, first)

    def _draw_bands(self, lines: pd.DataFrame, table: pd.DataFrame, first: str) -> Iterator[Exhibit]:
        """Draw the intervals of all systems: by kind (Figure 3), by model (4) and by number of shards (5)."""
        common: dict[str, Any] = {"x": "rank", "y": "estimate", "band": ("lower", "upper"), "panel": "panel"}
        rows = lines[lines["measure"] == first]
        whole_rows, last = rows[rows["model"] == WHOLE], rows[rows["model"] == "MD6"]
        panels = [whole_rows.assign(panel="whole collection, MD1")]
        if len(last):
            three = self._choose_shards(FIGURE_3_SHARDS)
            panels.append(last[last["shards"] == three].assign(panel=f"{three} shards, MD6"))
        form = Form(**common, titles=(RANKS, first), series="kind")
        title = "three kinds of intervals: Tukey (eq. 3), SEM (eq. 4), ANOVA (eq. 5)"
        yield Exhibit("Figure 3", title, join_rows(panels), form=form)
        if not len(last):
            return
        ten = self._choose_shards(FIGURE_4_SHARDS)
        tukey = lines[lines["kind"] == "tukey"]
        titles = {name: _format_tau(table, name, ten, name) for name in dict.fromkeys(tukey["measure"])}
        four = tukey[tukey["shards"].isin([1, ten])].assign(panel=lambda f: f["measure"].map(titles))
        form = Form(**common, titles=(RANKS, "mean"), series="model")
        yield Exhibit("Figure 4", f"Tukey intervals by model, {ten} shards", four, form=form)
        narrow = tukey[(tukey["measure"] == first) & tukey["model"].isin([WHOLE, "MD6"])]
        five = [
            narrow[narrow["shards"].isin([1, count])].assign(panel=_format_tau(table, first, count))
            for count in self.shards
        ]
        form = Form(**common, titles=(RANKS, first), series="model")
        title = "Tukey intervals of MD1 and MD6 by number of shards"
        yield Exhibit("Figure 5", title, join_rows(five), form=form)


def f19(data: Any, **choices: Any) -> Replication:
    """Make the tables and figures of Ferro & Sanderson (2019) from other runs, with verdicts on its claims.

    Parameters
    ----------
    data : object
        Runs and judgments, as `read_collection` returns them; or any topic × system table that `as_scores` takes.
    **choices : object
        Fields of `F19`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        Verdicts, tables and figures.

    >>> rng = np.random.default_rng(1)
    >>> scores = pd.DataFrame(rng.normal([0.2, 0.3, 0.32], 0.05, (30, 3)), columns=["x", "y", "z"])
    >>> f19(scores)["Table 1"].data[["model", "significant", "not_significant", "top_group"]]
      model  significant  not_significant  top_group
    0   MD1            2                1          2
    """
    return replicate_paper(F19, data, **choices)


def summarize_fit(fit: Any, pairs: sw.Comparisons, alpha: float) -> dict[str, Any]:
    """Return effect size, significant pairs and size of the top group of one model (F19 Table 1)."""
    significant = int(pairs.reject(alpha).sum())
    return {
        "model": fit.model.name,
        "omega_sq": float(fit.table["omega_sq"].loc["system"]),
        "significant": significant,
        "not_significant": len(pairs) - significant,
        "top_group": len(pairs.best(alpha)),
    }


def list_intervals(pairs: sw.Comparisons, alpha: float, kinds: Sequence[str]) -> pd.DataFrame:
    """Return the means of the systems, best first, with intervals of one or more kinds."""
    frames = [
        pairs.intervals(1.0 - alpha, kind)
        .reset_index()
        .assign(kind=kind, rank=lambda f: np.arange(1, len(f) + 1))
        for kind in kinds
    ]
    return join_rows(frames)


def summarize_splits(each: Sequence[sw.Comparisons], taus: Floats, alpha: float) -> dict[str, Any]:
    """Return how much the figures of a model vary from split to split (F19 Table 2)."""
    figures = sw.stability.summary_over_splits(each, alpha=alpha)
    mean, half = figures["mean"], figures["half_width"]
    common = int(mean["common"])
    return {
        "tau": float(taus.mean()),
        "tau_half": float(student_critical(0.05, len(taus) - 1.0) * taus.std(ddof=1) / np.sqrt(len(taus))),
        "width": mean["interval_width"],
        "width_half": half["interval_width"],
        "significant": mean["significant"],
        "significant_half": half["significant"],
        "share": mean["significant"] / len(each[0]),
        "common": common,
        "share_common": common / max(mean["significant"], 1.0),
    }


def compute_changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by how many percent each model differs from each smaller one (percentage rows of F19 Table 1).

    >>> print(compute_changes(read_printed("f19-table-1")).query("shards == 2").head(1).to_string(index=False))
    measure  shards model versus  % omega_sq  % significant  % not_significant  % top_group
         AP       2   MD2    MD1  -12.302681      18.813906         -13.325057   -42.857143
    """
    changes = []
    for (measure, shards), part in rows[rows["model"] != WHOLE].groupby(["measure", "shards"], sort=False):
        base = rows[(rows["model"] == WHOLE) & (rows["measure"] == measure)]
        ladder = pd.concat([base, part]).set_index("model")[list(FIGURES)]
        for smaller, larger in combinations(ladder.index, 2):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = ladder.loc[larger].to_numpy(float) / ladder.loc[smaller].to_numpy(float)
            values = {f"% {name}": 100.0 * (value - 1.0) for name, value in zip(FIGURES, ratio, strict=True)}
            changes.append(
                {"measure": measure, "shards": shards, "model": larger, "versus": smaller, **values}
            )
    columns = ["measure", "shards", "model", "versus", *(f"% {name}" for name in FIGURES)]
    frame = pd.DataFrame(changes, columns=columns)
    return frame.sort_values(["measure", "shards", "model"], kind="stable", ignore_index=True)


def _format_tau(table: pd.DataFrame, measure: str, shards: int, text: str = "") -> str:
    """Return the title of a panel: shards or measure, and τ with the whole collection."""
    name = text or ("whole collection" if shards == 1 else f"{shards} shards")
    if "tau" not in table:
        return name
    values = table.loc[(table["measure"] == measure) & (table["shards"] == shards), "tau"].dropna()
    return f"{name}, τ = {values.iloc[0]:.3f}" if len(values) else name


# Claims: each check reads the rows of the first measure, as Tables 1 and 2 of the paper are of AP alone.


def _pivot_first(frame: Any, figure: str) -> Any:
    """Return shards × models of one figure of the first measure.

    Where there is MD1, it is Table 1: MD1 fills its column, and the numbers of shards are those nearest to print.
    """
    rows = frame[frame["measure"] == frame["measure"].iloc[0]]
    table = rows.pivot(index="shards", columns="model", values=figure)
    if WHOLE not in table:
        return table
    table[WHOLE] = table.loc[1, WHOLE]
    counts = list(table.index.drop(1))
    return table.loc[sorted({min(counts, key=lambda n: abs(n - wanted)) for wanted in TABLE_1_SHARDS})]


def _describe_models(table: Any, models: Sequence[str], form: str = ".0f") -> str:
    """Return the figures of some models at the smallest and the largest number of shards."""
    ends = [table.index.min(), table.index.max()]
    parts = [
        f"{' → '.join(f'{table.loc[n, m]:{form}}' for m in models)} at {n} shards"
        for n in dict.fromkeys(ends)
    ]
    return f"{' → '.join(models)}: {'; '.join(parts)}"


def check_more_pairs(frames: Computed) -> Evidence:
    """Check that every model on shards finds more pairs than MD1."""
    table = _pivot_first(frames["table_1"], "significant")
    least = table[list(MODELS)].min().min()
    numbers = (
        f"MD1 {table[WHOLE].iloc[0]:.0f}; with shards {least:.0f} to {table[list(MODELS)].max().max():.0f}"
    )
    return Evidence(bool(least > table[WHOLE].iloc[0]), numbers)


def check_model_order(frames: Computed) -> Evidence:
    """Check that pairs increase from MD2 to MD3 to MD6."""
    table = _pivot_first(frames["table_1"], "significant")
    rising = all((table[b] > table[a]).all() for a, b in pairwise(("MD2", "MD3", "MD6")))
    return Evidence(rising, _describe_models(table, ("MD2", "MD3", "MD6")))


def check_shard_terms(frames: Computed) -> Evidence:
    """Check that MD4 and MD5 change less than a tenth of what MD6 adds to MD3."""
    table = _pivot_first(frames["table_1"], "significant")
    change = table[["MD4", "MD5"]].sub(table["MD3"], axis=0).abs().max(axis=1)
    gain = table["MD6"] - table["MD3"]
    numbers = "; ".join(
        f"{c:.0f} against {g:.0f} ({n} shards)" for n, c, g in zip(table.index, change, gain, strict=True)
    )
    return Evidence(bool((change < gain / 10.0).all()), f"largest change against MD6's gain: {numbers}")


def check_omega_order(frames: Computed) -> Evidence:
    """Check that ω² of systems increases from MD2 to MD3 to MD6."""
    table = _pivot_first(frames["table_1"], "omega_sq")
    rising = all((table[b] > table[a]).all() for a, b in pairwise(("MD2", "MD3", "MD6")))
    return Evidence(rising, _describe_models(table, ("MD2", "MD3", "MD6"), ".3f"))


def check_omega_drop(frames: Computed) -> Evidence:
    """Check that ω² falls from MD1 to MD2."""
    table = _pivot_first(frames["table_1"], "omega_sq")
    return Evidence(bool((table["MD2"] < table[WHOLE]).all()), _describe_models(table, (WHOLE, "MD2"), ".3f"))


def check_top_group(frames: Computed) -> Evidence:
    """Check that the top group of MD6 is smaller than that of MD1."""
    table = _pivot_first(frames["table_1"], "top_group")
    numbers = _describe_models(table, (WHOLE, "MD6"))
    if table[WHOLE].iloc[0] == 1:
        return Evidence(None, "MD1 has a top group of one system already")
    return Evidence(bool((table["MD6"] < table[WHOLE]).all()), numbers)


def check_tau(frames: Computed) -> Evidence:
    """Check that the ranking on shards has τ above 0.9 with that of the whole collection."""
    table = _pivot_first(frames["table_2"], "tau")["MD6"]
    numbers = ", ".join(f"{value:.3f} ({shards} shards)" for shards, value in table.items())
    return Evidence(bool((table > 0.9).all()), numbers)


def check_interval_order(frames: Computed) -> Evidence:
    """Check that Tukey's intervals shrink from MD1 to MD2 to MD3 to MD6 in every measure (Figure 4)."""
    rows = frames["intervals"].query("kind == 'tukey'").assign(width=lambda f: f["upper"] - f["lower"])
    widths = rows.groupby(["measure", "shards", "model"])["width"].mean()
    shards = widths.index.get_level_values("shards")
    wanted = min(set(shards) - {1}, key=lambda count: abs(count - FIGURE_4_SHARDS))
    texts, holds = [], True
    for measure in dict.fromkeys(rows["measure"]):
        ladder = [widths[measure, 1 if model == WHOLE else wanted, model] for model in DRAWN]
        holds &= all(b < a for a, b in pairwise(ladder))
        texts.append(f"{measure} {' > '.join(f'{w:.3f}' for w in ladder)}")
    return Evidence(holds, f"{wanted} shards: {'; '.join(texts)}")


def check_sem(frames: Computed) -> Evidence:
    """Check that with shards Tukey's intervals are narrower than those of the standard error (Figure 3)."""
    rows = frames["intervals"]
    rows = rows[rows["measure"] == rows["measure"].iloc[0]].assign(width=lambda f: f["upper"] - f["lower"])
    widths = rows[rows["model"] == "MD6"].groupby(["shards", "kind"])["width"].mean().unstack("kind")
    shards = min(widths.index, key=lambda count: abs(count - FIGURE_3_SHARDS))
    tukey, sem = widths.loc[shards, "tukey"], widths.loc[shards, "sem"]
    return Evidence(bool(tukey < sem), f"{shards} shards: Tukey {tukey:.4f}, SEM {sem:.4f}")


def check_narrowing(frames: Computed) -> Evidence:
    """Check that MD6's intervals are narrower with the most shards than with the fewest (Figure 5)."""
    widths = _pivot_first(frames["table_2"], "width")["MD6"]
    if len(widths) < 2:
        return Evidence(None, "only one number of shards")
    numbers = ", ".join(f"{value:.4f} ({shards} shards)" for shards, value in widths.items())
    return Evidence(bool(widths.iloc[-1] < widths.iloc[0]), numbers)


def check_sampling(frames: Computed) -> Evidence:
    """Check that MD6's pairs vary little between samples of shards."""
    pairs = _pivot_first(frames["table_2"], "significant")["MD6"]
    half = _pivot_first(frames["table_2"], "significant_half")["MD6"]
    share = (half / pairs.clip(lower=1)).max()
    return Evidence(bool(share <= 0.03), f"half width at most {100 * share:.1f}% of the mean")


F19.claims = make_claims(
    "F19",
    {
        "more pairs with shards": check_more_pairs,
        "order of models": check_model_order,
        "shard terms add nothing": check_shard_terms,
        "ω² falls with shards": check_omega_drop,
        "ω² rises with the model": check_omega_order,
        "smaller top group": check_top_group,
        "same ranking": check_tau,
        "narrower intervals by model": check_interval_order,
        "Tukey below SEM": check_sem,
        "narrower intervals by shards": check_narrowing,
        "steady over samples": check_sampling,
    },
)
