"""Ferro & Sanderson (2019) on other runs: ANOVA models of topics, systems and shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np

import shardwise as sw
from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd, xr
from shardwise.papers.claims import CannotSayError, Figures, Parts, divide, make_claims, spread_over_splits
from shardwise.papers.exhibit import Exhibit, Frames, Replication, join_printed, read_printed
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    find_whole,
    gather_scores,
    join_rows,
    replicate_paper,
)
from shardwise.papers.shard_fits import (
    HSD,
    ModelFits,
    correlate_ranks,
    find_cuts,
    fit_models,
    measure_sem,
    read_tables,
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
KEYS = ["measure", "shards", "model"]


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
    own_sizes: ClassVar[frozenset[tuple[int, int]]] = frozenset(((129, 50), (104, 50), (72, 50)))
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
            splits = max(self.samples, self.claim_splits)
            facts["splits"] = f"{self.samples} of each number of shards, verdicts {splits}, seed {self.seed}"
            facts["undefined scores"] = "left out" if self.fill == LEAVE else str(self.fill)
        printed = (
            f"Table 1 for T08 (8256 pairs), Table 2 for {TRACKS.get(source.scores.sizes['system'], 'T08')}"
        )
        return {**facts, "in brackets": f"printed by Ferro & Sanderson, {printed}"}

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Fit the whole collection, then each number of shards."""
        steps: dict[str, Step] = {"whole": partial(self._fit_whole, source.scores)}
        if source.collection is not None:
            # more shards than documents are refused before any step is kept
            sw.split(source.collection, max(self.shards), corpus=self.corpus, unlisted="add")
        for count in self._list_counts(source):
            steps[f"{count}-shards"] = partial(self._fit_shards, source, count)
        return steps

    def _list_counts(self, source: PaperData) -> tuple[int, ...]:
        """Return the numbers of shards: those of the paper, that of the caller's shards, or none."""
        if source.sharded is not None:
            return (int(source.sharded.sizes["shard"]),)
        return () if source.collection is None else tuple(self.shards)

    def measure_figures(self, source: PaperData) -> Figures:
        """Measure pairs, ω², top group, widths and τ on the whole collection and on shards, for all claims."""
        figures = Figures(self.explain_absence(source))
        kept = np.flatnonzero(find_whole(source.scores)[0])
        if len(kept) < 2 or self.fill == LEAVE:
            figures.reason = "verdicts need scores without gaps"
            return figures
        weights = self.resample_topics(len(kept))
        reference = {}
        for measure, values in source.scores.data_vars.items():
            table = values.transpose("topic", "system").to_numpy()[None, kept, :, None]
            fits = fit_models(table, weights, [WHOLE])
            reference[measure] = fits.means[:, 0]
            measure_models(figures, str(measure), table, weights, fits, self.alpha)
        first = source.first
        for count in self._list_counts(source):
            scores = self._score_shards(source, count, max(self.claim_splits, self.samples))
            for measure in map(str, scores.data_vars):
                if measure != first and abs(count - FIGURE_4_SHARDS) > min(
                    abs(n - FIGURE_4_SHARDS) for n in self._list_counts(source)
                ):
                    continue
                filled = sw.fill_undefined(scores[measure], self.fill)
                tables = read_tables(filled)[:, kept]
                fits = fit_models(tables, weights, MODELS)
                figures["tau", measure, count] = correlate_ranks(fits.means, reference[measure])
                if measure == first:
                    measure_models(figures, measure, tables, weights, fits, self.alpha)
                    continue
                for model in DRAWN[1:]:
                    figures["width", measure, count, model] = fits.find_difference(
                        model, HSD._replace(alpha=self.alpha)
                    )
        return figures

    def read_figures(self) -> Figures:
        """Return what Table 1 prints of T08 and Table 2 of three tracks."""
        figures = Figures("F19 does not print it", sorted(TRACKS.values()))
        names = {"pairs": "significant", "omega": "omega_sq", "top": "top_group"}
        printed = read_printed("f19-table-1").assign(track="T08")
        for name, column in names.items():
            figures.read_rows(printed, name, KEYS, "track", column)
        two = read_printed("f19-table-2")
        figures.read_rows(two, "tau", KEYS[:2], "collection", "tau")
        return figures.read_rows(two, "width", KEYS, "collection", "width")

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

    def _score_shards(self, source: PaperData, shards: int, splits: int) -> xr.Dataset:
        """Score every measure on splits into so many shards, or return the shards that the caller has."""
        if source.sharded is not None:
            return source.sharded
        assert source.collection is not None, "only then there are shards"
        how = {"n_splits": splits, "seed": self.seed, "corpus": self.corpus, "unlisted": "add"}
        return sw.score(
            source.collection, list(self.measures), sw.split(source.collection, shards, **how), jobs=self.jobs
        )

    def _fit_shards(self, source: PaperData, shards: int) -> dict[str, Rows]:
        """Fit all models to every split of one number of shards: rows of both tables, intervals of the first split."""
        scores, whole = self._score_shards(source, shards, self.samples), source.scores
        rows, intervals, steadiness = [], [], []
        for measure in map(str, scores.data_vars):
            key: dict[str, Any] = {"measure": measure, "shards": shards}
            filled = scores[measure] if self.fill == LEAVE else sw.fill_undefined(scores[measure], self.fill)
            # rankings of each split against that of the whole collection
            means = whole[measure].mean("topic").to_series()
            by_split = filled.mean(("topic", "shard"))
            rankings = [by_split.isel(split=k, drop=True).to_series() for k in range(filled.sizes["split"])]
            taus = np.array([sw.rankings.kendall_tau(ranking, means) for ranking in rankings])
            first = filled.isel(split=0, drop=True)
            for model in MODELS:
                each = sw.stability.over_splits(filled, model, "hsd")
                fit = sw.anova(first, model)
                rows.append({**key, **summarize_fit(fit, each[0], self.alpha), "tau": taus[0]})
                if model in DRAWN:
                    kinds = KINDS if model == "MD6" else KINDS[:1]
                    intervals.append(list_intervals(each[0], self.alpha, kinds).assign(**key, model=model))
                if len(each) > 1:
                    steadiness.append({**key, "model": model, **summarize_splits(each, taus, self.alpha)})
        return {"table_1": rows, "table_2": steadiness, "intervals": intervals}

    def _choose_shards(self, table: pd.DataFrame, wanted: int) -> int:
        """Return the number of shards, of those there are, nearest to a figure's."""
        return int(min(set(table["shards"]) - {1}, key=lambda count: abs(count - wanted)))

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 1 and 2 and draw Figures 1, 3, 4 and 5."""
        first, table = source.first, frames["table_1"]
        words = {"measure": first, "alpha": self.alpha, "samples": self.samples}
        has_shards = bool((table["shards"] > 1).any())
        counts = sorted({self._choose_shards(table, n) for n in TABLE_1_SHARDS}) if has_shards else [1]
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
        only: dict[str, Sequence[Any]] = {"measure": (first,)}
        shares = self._scale_counts(source, max(TRACKS))
        yield self._show("Table 1", titled, words=words, summary=shown, only=only, **shares)
        if has_shards:
            changes = compute_changes(printed)
            both = join_printed(compute_changes(table), changes, [*KEYS, "versus"], self.tag)
            only = {"measure": (first,), "shards": counts}
            yield self._show("Table 1, percentage rows", both, words=words, only=only)
        if "table_2" in frames and len(frames["table_2"]):
            # Table 2 stands beside the printed track that has as many runs
            runs = source.scores.sizes["system"] if source.scores.sizes["system"] in TRACKS else max(TRACKS)
            like, shares = {"collection": TRACKS[runs]}, self._scale_counts(source, runs)
            only = {"measure": (first,), "model": ("MD3", "MD6")}
            yield self._show("Table 2", frames["table_2"], words=words, like=like, only=only, **shares)
        # the studentized range for the paper's numbers of systems and for those of the data
        q = np.linspace(0.0, 8.0, 161)
        rows = []
        for r, error_df in (
            *RANGES,
            (
                source.scores.sizes["system"],
                (source.scores.sizes["topic"] - 1) * (source.scores.sizes["system"] - 1),
            ),
        ):
            critical = float(studentized_range.isf(self.alpha, r, error_df))
            label = f"{r} systems, {error_df} df: Q = {critical:.3f}"
            cdf = 1.0 - studentized_range.sf(q, r, error_df)
            rows.append(pd.DataFrame({"q": q, "cdf": cdf, "distribution": label}))
        yield self._show("Figure 1", join_rows(rows), words=words, rules=(1.0 - self.alpha,))
        # intervals of all systems: by kind (Figure 3), by model (4) and by number of shards (5)
        lines = frames["intervals"]
        bands = lines[lines["measure"] == first]
        whole_rows, last = bands[bands["model"] == WHOLE], bands[bands["model"] == "MD6"]
        panels = [whole_rows.assign(panel="whole collection, MD1")]
        if len(last):
            three = self._choose_shards(table, FIGURE_3_SHARDS)
            panels.append(last[last["shards"] == three].assign(panel=f"{three} shards, MD6"))
        yield self._show("Figure 3", join_rows(panels), words={"measure": first})
        if not len(last):
            return
        ten = self._choose_shards(table, FIGURE_4_SHARDS)
        tukey = lines[lines["kind"] == "tukey"]
        titles = {name: _format_tau(table, name, ten, name) for name in dict.fromkeys(tukey["measure"])}
        four = tukey[tukey["shards"].isin([1, ten])].assign(panel=lambda f: f["measure"].map(titles))
        yield self._show("Figure 4", four, words={"shards": ten})
        narrow = tukey[(tukey["measure"] == first) & tukey["model"].isin([WHOLE, "MD6"])]
        five = [
            narrow[narrow["shards"].isin([1, count])].assign(panel=_format_tau(table, first, count))
            for count in sorted(set(table["shards"]) - {1})
        ]
        yield self._show("Figure 5", join_rows(five), words={"measure": first})


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


def measure_models(
    figures: Figures, measure: str, tables: Floats, weights: Floats, fits: ModelFits, alpha: float
) -> None:
    """Add what Tables 1 and 2 and Figures 3 to 5 show of one measure and number of shards."""
    shards = tables.shape[3]
    models = (WHOLE,) if shards == 1 else MODELS
    rule = HSD._replace(alpha=alpha)
    counts = find_cuts(fits, [(model, rule) for model in models])[0]
    figures["sem", measure, shards] = measure_sem(tables, weights, alpha)
    for model in models:
        df = fits.count_df(model)
        spread = np.sqrt(fits.mean_square(model) / fits.cells)
        figures["pairs", measure, shards, model] = counts[model, rule]
        figures["omega", measure, shards, model] = fits.measure_omega(model)
        figures["top", measure, shards, model] = fits.count_top(model, rule)
        figures["width", measure, shards, model] = fits.find_difference(model, rule)
        figures["anova", measure, shards, model] = 2.0 * float(student_critical(alpha, float(df))) * spread


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


# Claims, of the first measure as Tables 1 and 2 are of AP alone. A part is named by what it compares.

LADDER = (("MD2", "MD3"), ("MD3", "MD6"))


def _near(figures: Figures, name: str, wanted: Sequence[int]) -> tuple[str, list[int]]:
    """Return the first measure of a figure and its numbers of shards nearest to those of a table."""
    measure = figures.list_levels(name)[0]
    counts = [n for n in figures.list_levels(name, 2) if n > 1]
    if not counts:
        raise CannotSayError(figures.reason)
    return measure, sorted({min(counts, key=lambda n: abs(n - number)) for number in wanted})


def compare_whole(figures: Figures, name: str, models: Sequence[str], sign: float) -> Parts:
    """Return by how much models on shards exceed MD1 on the whole collection."""
    measure, counts = _near(figures, name, TABLE_1_SHARDS)
    whole = figures[name, measure, 1, WHOLE]
    return {
        f"{model} against MD1, {n} shards": sign * (figures[name, measure, n, model] - whole)
        for n in counts
        for model in models
    }


def compare_models(figures: Figures, name: str) -> Parts:
    """Return by how much each of MD2, MD3 and MD6 is above the one before."""
    measure, counts = _near(figures, name, TABLE_1_SHARDS)
    return {
        f"{large} less {small}, {n} shards": figures[name, measure, n, large]
        - figures[name, measure, n, small]
        for n in counts
        for small, large in LADDER
    }


def weigh_shard_terms(figures: Figures) -> Parts:
    """Return the share of pairs by which MD4 and MD5 differ from MD3."""
    measure, counts = _near(figures, "pairs", TABLE_1_SHARDS)
    return {
        f"{model} against MD3, {n} shards": np.abs(
            divide(figures["pairs", measure, n, model], figures["pairs", measure, n, "MD3"]) - 1.0
        )
        for n in counts
        for model in ("MD4", "MD5")
    }


def shrink_top_group(figures: Figures) -> Parts:
    """Return by how many systems the top group of MD6 is smaller than that of MD1."""
    parts = compare_whole(figures, "top", ("MD6",), -1.0)
    if figures["top", figures.list_levels("top")[0], 1, WHOLE][0, 0] == 1:
        raise CannotSayError("MD1 has a top group of one system already")
    return parts


def rank_first(figures: Figures) -> Parts:
    """Return τ of the ranking on shards with that on the whole collection, for every number of shards."""
    measure, counts = _near(figures, "tau", COUNTS)
    return {f"τ, {n} shards": figures["tau", measure, n] for n in counts}


def rank_measures(figures: Figures) -> Parts:
    """Return the third largest τ of four measures (Figure 4)."""
    measures = figures.list_levels("tau")
    if len(measures) < len(MEASURES):
        raise CannotSayError("there are fewer than four measures")
    _, (ten,) = _near(figures, "tau", (FIGURE_4_SHARDS,))
    every = np.stack([figures["tau", measure, ten] for measure in measures[: len(MEASURES)]])
    return {f"third largest τ of four measures, {ten} shards": np.sort(every, axis=0)[1]}


def narrow_models(figures: Figures) -> Parts:
    """Return by how much Tukey's intervals shrink from model to model, for all measures (Figure 4)."""
    _, (ten,) = _near(figures, "width", (FIGURE_4_SHARDS,))
    return {
        f"{measure}, {large} to {small}": figures["width", measure, 1 if large == WHOLE else ten, large]
        - figures["width", measure, ten, small]
        for measure in figures.list_levels("width")
        for large, small in pairwise(DRAWN)
    }


def narrow_shards(figures: Figures) -> Parts:
    """Return by how much MD6's intervals shrink from the fewest to the most shards (Figure 5)."""
    measure, counts = _near(figures, "width", COUNTS)
    few, most = _ends(counts)
    ends = [figures["width", measure, n, "MD6"] for n in (few, most)]
    return {f"{few} to {most} shards": ends[0] - ends[1]}


def _ends(counts: Sequence[int]) -> tuple[int, int]:
    if len(counts) < 2:
        raise CannotSayError("there is only one number of shards")
    return counts[0], counts[-1]


def compare_sem(figures: Figures) -> Parts:
    """Return the widths of Tukey's and ANOVA's intervals in units of those of the standard error (Figure 3b)."""
    measure, (three,) = _near(figures, "sem", (FIGURE_3_SHARDS,))
    sem = figures["sem", measure, three]
    return {
        f"{kind}, {three} shards": divide(figures[name, measure, three, "MD6"], sem)
        for kind, name in (("Tukey", "width"), ("ANOVA", "anova"))
    }


def resemble_sem(figures: Figures) -> Parts:
    """Return how much nearer Tukey's intervals are to those of the standard error than ANOVA's (Figure 3a)."""
    measure = figures.list_levels("sem")[0]
    sem = figures["sem", measure, 1]
    far = np.abs(np.log(divide(figures["anova", measure, 1, WHOLE], sem)))
    return {
        "ANOVA less Tukey, logarithm": far - np.abs(np.log(divide(figures["width", measure, 1, WHOLE], sem)))
    }


def _gain(figures: Figures, model: str, few: int, more: int) -> Floats:
    """Return the relative gain in pairs from fewer to more shards."""
    measure = figures.list_levels("pairs")[0]
    return divide(figures["pairs", measure, more, model], figures["pairs", measure, few, model]) - 1.0


def add_shards(figures: Figures) -> Parts:
    """Return the gain in pairs from the fewest to the most shards of Table 1, by model."""
    few, most = _ends(_near(figures, "pairs", TABLE_1_SHARDS)[1])
    return {f"{model}, {few} to {most} shards": _gain(figures, model, few, most) for model in MODELS}


def limit_gain(figures: Figures) -> Parts:
    """Return by how much MD2 gains more from the first step to more shards than from the second."""
    counts = _near(figures, "pairs", TABLE_1_SHARDS)[1]
    if len(counts) < 3:
        raise CannotSayError("there are fewer than three numbers of shards")
    few, some, most = counts
    gain = _gain(figures, "MD2", few, some) - _gain(figures, "MD2", some, most)
    return {f"MD2, {few} to {some} less {some} to {most}": gain}


def compare_sensitivity(figures: Figures) -> Parts:
    """Return by how much the pairs of MD2 change more with the number of shards than those of MD6."""
    few, most = _ends(_near(figures, "pairs", TABLE_1_SHARDS)[1])
    small, large = (np.abs(_gain(figures, model, few, most)) for model in ("MD2", "MD6"))
    return {f"MD2 less MD6, {few} to {most} shards": small - large}


def vary_splits(figures: Figures) -> Parts:
    """Return the standard deviation of MD6's pairs over the splits, in units of their mean."""
    measure, counts = _near(figures, "pairs", TABLE_1_SHARDS)
    parts = {}
    for n in counts:
        pairs = figures["pairs", measure, n, "MD6"]
        if pairs.shape[1] < 3 or figures.labels:
            raise CannotSayError("there are fewer than three splits")
        each = [pairs, *(np.delete(pairs, k, axis=1) for k in range(pairs.shape[1]))]
        spread = np.stack([divide(some.std(axis=1, ddof=1), some.mean(axis=1)) for some in each], axis=1)
        parts[f"sd over splits, {n} shards"] = spread_over_splits(spread[:, 0], spread[:, 1:])
    return parts


F19.claims = make_claims(
    "F19",
    {
        "more pairs with shards": partial(compare_whole, name="pairs", models=MODELS, sign=1.0),
        "order of models": partial(compare_models, name="pairs"),
        "shard terms add nothing": weigh_shard_terms,
        "more shards, more pairs": add_shards,
        "limited gain from more shards": limit_gain,
        "larger models less sensitive": compare_sensitivity,
        "ω² falls with shards": partial(compare_whole, name="omega", models=("MD2",), sign=-1.0),
        "ω² rises with the model": partial(compare_models, name="omega"),
        "smaller top group": shrink_top_group,
        "same ranking": rank_first,
        "same ranking in three of four measures": rank_measures,
        "narrower intervals by model": narrow_models,
        "Tukey near SEM on the whole corpus": resemble_sem,
        "Tukey below SEM": compare_sem,
        "narrower intervals by shards": narrow_shards,
        "steady over samples": vary_splits,
    },
)
