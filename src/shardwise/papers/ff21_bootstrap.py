"""Faggioli & Ferro (2021) on other runs: bootstrap against classic ANOVA, over splits and fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Any, ClassVar

import numpy as np

import shardwise as sw
from shardwise.core.arrays import Floats
from shardwise.core.libraries import xr
from shardwise.papers.claims import CannotSayError, Figures, Parts, compare, divide, list_parts, make_claims
from shardwise.papers.exhibit import Exhibit, Frames, Replication, read_printed
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    describe_left_out,
    gather_scores,
    replicate_paper,
    score_covered,
)
from shardwise.papers.shard_fits import Rule, compare_splits, find_cuts, fit_models, read_signs, read_tables

MEASURES = ("AP", "P@10")
COUNTS = (2, 3, 5)
FILL_COUNTS = (5, 10, 25)
"""The paper has 5; not every collection has an undefined cell there."""
METHODS_SHARDS = 5
WHOLE, WITHOUT, WITH = "MD1", "MD2", "MD3"
"""Without and with the topic:system interaction; FF21 calls them MD1 and MD2."""
MODELS = (WITHOUT, WITH, "MD6")
DISTRIBUTION: dict[str, Any] = {"null": "marginal", "density": "kde"}
RAW, BOOT, T_BH, HSD = "bANOVA(raw)", "bANOVA(BH)", "tANOVA(BH)", "tANOVA(HSD)"
BOOTSTRAP = {"fit": "bootstrap", "tails": 2, **DISTRIBUTION}
"""Two tails and a kernel density, as in the authors' code."""
APPROACHES: Mapping[str, Mapping[str, Any]] = {
    RAW: {**BOOTSTRAP, "method": "none"},
    BOOT: {**BOOTSTRAP, "method": "bh"},
    T_BH: {"method": "bh"},
    HSD: {"method": "hsd"},
}
FILLS = ("zero", "lq", "mean", "one")
"""FF21 §3.3."""
TRIMS = ("share", "percent", "count")
"""How αk/(2N) is read: Tables 3 and 4."""
SIZES = ("width", "least", "largest")
RULES = {HSD: Rule("hsd"), T_BH: Rule("t"), BOOT: Rule("bootstrap", smooth=True)}
TAILS = {tails: Rule("bootstrap", tails=tails) for tails in (1, 2)}

ABOUT_WIDTHS = (
    "As from infinitely many bootstrap samples all systems share one distribution, so that the widest and the "
    "narrowest interval are equal; min and max need --resamples 10000."
)


@dataclass(frozen=True, kw_only=True)
class FF21(PaperExperiment):
    """Experiment of Faggioli & Ferro (2021): Tables 1 to 8.

    Parameters
    ----------
    measures : sequence of str
        Measures of Tables 1 to 4; Tables 5 to 8 use the first.
    shards : sequence of int
        Numbers of shards of Tables 1 to 4, drawn until every topic has a relevant document in each; topics that no
        draw covers are left out and named.
    fill_shards : sequence of int
        Numbers of shards of Tables 7 and 8.
    samples : int
        Splits of each kind.
    alpha : float
        Level of significance; that of the intervals is 1 - alpha.
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents, as for `split`.
    n_resamples : int, optional
        Bootstrap samples of Tables 1 to 4 (the paper has 10,000); as from infinitely many, if None.
    """

    tag: ClassVar[str] = "FF21"
    title: ClassVar[str] = "bootstrap and classic ANOVA over splits and fills"
    own_sizes: ClassVar[frozenset[tuple[int, int]]] = frozenset(((40, 50), (129, 50)))
    least: ClassVar[Mapping[str, int]] = {"samples": 2}

    measures: Sequence[str] = MEASURES
    shards: Sequence[int] = COUNTS
    fill_shards: Sequence[int] = FILL_COUNTS
    samples: int = 5
    alpha: float = 0.05
    corpus: Any = None
    n_resamples: int | None = None

    def gather_data(self, data: Any) -> PaperData:
        """Take runs and judgments, or a table of scores, on shards or not."""
        return gather_scores(data, self.measures, self.jobs, complete=not isinstance(data, sw.Collection))

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State measures, splits, level and where printed numbers come from."""
        drawn = self.n_resamples is not None
        return {
            "measures": ", ".join(self.measures),
            "splits": f"{self.samples} of each kind, seed {self.seed}",
            "bootstrap": f"{self.n_resamples} samples" if drawn else "as from infinitely many samples",
            "level": f"{self.alpha:g}",
            "models": "FF21's MD1, MD2 and MD3 are F19's MD2, MD3 and MD6, the names used here",
            "in brackets": "printed by Faggioli & Ferro: Tables 1 to 4 TREC-3 (780 pairs), 5 to 8 TREC-8 (8256)",
        }

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Measure widths by number of shards, then approaches and fills by model."""
        runs = source.collection
        models = MODELS if source.has_shards else (WHOLE,)
        steps: dict[str, Step] = {}
        if runs is not None:
            # more shards than documents are refused before any step is kept
            sw.split(runs, max((*self.shards, *self.fill_shards)), corpus=self.corpus, unlisted="add")
            steps = {f"widths-{n}": partial(self._measure_widths, runs, n) for n in self.shards}
        steps |= {f"methods-{model}": partial(self._compare_approaches, source, model) for model in models}
        for shards in self.fill_shards if runs is not None else ():
            for model in MODELS[1:]:
                steps[f"fills-{shards}-{model}"] = partial(self._compare_fills, source, shards, model)
        return steps

    @property
    def _drawing(self) -> dict[str, Any]:
        """How splits are drawn."""
        return {"n_splits": self.samples, "seed": self.seed, "corpus": self.corpus}

    def _score_even(self, source: PaperData, shards: int, splits: int) -> xr.DataArray:
        """Score the first measure on even splits, undefined cells included; or return the scores of a table."""
        if source.sharded is not None:
            return source.sharded[source.first]
        if source.collection is None:
            return source.scores[source.first].expand_dims("split")
        how = {**self._drawing, "n_splits": splits, "kind": "even", "unlisted": "add"}
        made = sw.split(source.collection, shards, **how)
        return sw.score(source.collection, [self.measures[0]], made, jobs=self.jobs)[source.first]

    def _measure_widths(self, runs: sw.Collection, shards: int) -> dict[str, Rows]:
        """Measure the widths of the intervals and count pairs (Tables 1 to 4), on splits that cover every topic."""
        scores, left_out = score_covered(runs, shards, self.measures, "even", jobs=self.jobs, **self._drawing)
        drawn: dict[str, Any] = {"n_resamples": self.n_resamples, "jobs": self.jobs}
        widths, trims, apart = [], [], []
        for measure in map(str, scores.data_vars):
            for model in (WITHOUT, WITH):
                tables = [scores[measure].isel(split=i) for i in range(self.samples)]
                fits = [
                    sw.bootstrap_anova(table, model, seed=self.seed + i, **drawn)
                    for i, table in enumerate(tables)
                ]
                key = {"shards": shards, "measure": measure, "model": model}
                # Tables 1 and 2: both numbers of tails
                for tails in (1, 2):
                    pairs = [
                        sw.compare(fit, "bh", tails=tails, **DISTRIBUTION).reject(self.alpha).sum()
                        for fit in fits
                    ]
                    sizes = np.mean([measure_extent(fit, self.alpha, tails, "share") for fit in fits], axis=0)
                    row = dict(zip(SIZES, sizes.tolist(), strict=True))
                    widths.append({**key, "tails": tails, **row, "significant": float(np.mean(pairs))})
                # Table 3: what is dropped at either end; Table 4: pairs beyond these widths, and beyond V17's
                for trim in TRIMS:
                    each = np.array([measure_extent(fit, self.alpha, 1, trim) for fit in fits])
                    for i, sizes in enumerate([*each, each.mean(axis=0)]):
                        row = dict(zip(SIZES, sizes.tolist(), strict=True))
                        sample = str(i + 1) if i < len(each) else "avg"
                        trims.append({**key, "trim": trim, "sample": sample, **row})
                    apart.append({**key, "widths": trim, "significant": count_apart(fits, each[:, 0])})
                for given in read_printed("v17-table-3", collection="TREC-3", **key).to_dict("records"):
                    for name, size in (("V17 mean", "width"), ("V17 min", "least"), ("V17 max", "largest")):
                        beyond = count_apart(fits, np.full(len(fits), given[size]))
                        apart.append({**key, "widths": name, "significant": beyond})
        return {"widths": widths, "trims": trims, "apart": apart, "left_out": left_out}

    def _compare_approaches(self, source: PaperData, model: str) -> dict[str, Rows]:
        """Count what each approach finds beyond the others, and how steady it is (Tables 5 and 6)."""
        scores = sw.fill_undefined(self._score_even(source, METHODS_SHARDS, self.samples), "zero")
        table = sw.stability.between_methods(scores, model, APPROACHES, alpha=self.alpha)
        methods, steady = [], []
        for a, b in combinations_with_replacement(APPROACHES, 2):
            cell = table.sel(approach=a, other=b)
            mean, half = (cell[name].to_series() for name in ("mean", "half_width"))
            if a == b:
                pairs, width = (
                    float(table[n].sel(approach=a)) for n in ("significant", "significant_half_width")
                )
                share = pairs / table.attrs["pairs"]
                figures = {name: float(mean[name]) for name in ("PAA", "PPA", "AD")}
                halves = {f"{name}_half": float(half[name]) for name in ("PAA", "PPA")}
                steady.append({"model": model, "approach": a, **figures, **halves})
            else:
                pairs, width, share = float(mean["extra"]), float(half["extra"]), np.nan
            row = {"model": model, "approach": a, "other": b}
            methods.append({**row, "pairs": pairs, "half_width": width, "share": share})
        return {"methods": methods, "steady": steady}

    def _compare_fills(self, source: PaperData, shards: int, model: str) -> dict[str, Rows]:
        """Count disagreements between ways to fill undefined scores (Tables 7 and 8)."""
        scores = self._score_even(source, shards, self.samples)
        undefined = int(np.isnan(scores.isel(system=0)).sum())
        rows = []
        for approach in (HSD, BOOT):
            table = sw.stability.between_fills(scores, model, alpha=self.alpha, **APPROACHES[approach])
            for a, b in combinations_with_replacement(FILLS, 2):
                cell = table.sel(fill=a, other=b, figure="PD")
                key = {"shards": shards, "undefined": undefined, "model": model, "approach": approach}
                figures = {"PD": float(cell["mean"]), "half_width": float(cell["half_width"])}
                rows.append({**key, "fill": a, "other": b, **figures})
        return {f"fills-{model}": rows}

    def measure_figures(self, source: PaperData) -> Figures:
        """Measure pairs and agreement of all approaches, widths, and what fills change."""
        figures = Figures(self.explain_absence(source))
        splits = max(self.claim_splits, self.samples)
        scores = self._score_even(source, METHODS_SHARDS, splits)
        models = MODELS if "shard" in scores.dims else (WHOLE,)
        weights = self.resample_topics(scores.sizes["topic"])
        fits = fit_models(read_tables(sw.fill_undefined(scores, "zero")), weights, models)
        rules = self._set_level(RULES)
        keys = [(model, rule) for model in models for rule in rules.values()]
        pairs, cuts = find_cuts(fits, keys)
        for model in models:
            for name, rule in rules.items():
                figures["pairs", model, name] = pairs[model, rule]
                if fits.means.shape[1] > 1:
                    for figure, values in compare_splits(fits, cuts[model, rule]).items():
                        figures[figure, model, name] = values
            for small, large in ((HSD, T_BH), (T_BH, BOOT)):
                # pairs found by both are those beyond the larger of two differences
                excess = pairs[model, rules[small]] - pairs[model, rules[large]]
                within = cuts[model, rules[small]] >= cuts[model, rules[large]]
                figures["outside", model, small, large] = np.where(within, 0.0, np.maximum(excess, 0.0))
        if source.collection is not None:
            self._measure_intervals(figures, source, splits)
            for shards in self.fill_shards:
                scores = self._score_even(source, shards, splits)
                if bool(scores.isnull().any()):
                    self._measure_fills(figures, scores, weights)
                    return figures
            figures.reason = "every topic has relevant documents in every shard"
        return figures

    def _set_level(self, rules: Mapping[Any, Rule]) -> dict[Any, Rule]:
        """Return rules at the level of this experiment."""
        return {name: rule._replace(alpha=self.alpha) for name, rule in rules.items()}

    def _measure_intervals(self, figures: Figures, source: PaperData, splits: int) -> None:
        """Add widths and pairs of Tables 1 and 2."""
        assert source.collection is not None, "asked before"
        tails = self._set_level(TAILS)
        for shards in self.shards:
            how = {**self._drawing, "n_splits": splits}
            scores, _ = score_covered(source.collection, shards, self.measures, "even", jobs=self.jobs, **how)
            weights = self.resample_topics(scores.sizes["topic"])
            for measure, values in scores.data_vars.items():
                fits = fit_models(read_tables(values), weights, (WITHOUT, WITH))
                keys = [(model, rule) for model in (WITHOUT, WITH) for rule in tails.values()]
                pairs = find_cuts(fits, keys)[0]
                for model, rule in keys:
                    figures["found", str(measure), shards, model, rule.tails] = pairs[model, rule]
                for model in (WITHOUT, WITH):
                    width = fits.trim_width(model, pairs[model, tails[1]], alpha=self.alpha)
                    figures["width", str(measure), shards, model] = width

    def _measure_fills(self, figures: Figures, scores: xr.DataArray, weights: Floats) -> None:
        """Add how many decisions depend on the fill, and between splits for each fill (Tables 7 and 8)."""
        rules = self._set_level({name: RULES[name] for name in (HSD, BOOT)})
        keys = [(model, rule) for model in MODELS[1:] for rule in rules.values()]
        signs: dict[tuple[str, str, str], list[Any]] = {}
        for fill in FILLS:
            fits = fit_models(read_tables(sw.fill_undefined(scores, fill)), weights, MODELS[1:])
            cuts = find_cuts(fits, keys)[1]
            for model in MODELS[1:]:
                for name, rule in rules.items():
                    cut = cuts[model, rule]
                    figures["PD", model, name, fill, fill] = compare_splits(fits, cut)["PD"]
                    each = [read_signs(m, c).astype(np.int8) for m, c in zip(fits.means, cut, strict=True)]
                    signs[model, name, fill] = each
        for model in MODELS[1:]:
            for name in rules:
                for a, b in combinations(FILLS, 2):
                    two = zip(signs[model, name, a], signs[model, name, b], strict=True)
                    figures["PD", model, name, a, b] = np.stack(
                        [(x != y).sum(axis=1) for x, y in two]
                    ).astype(float)

    def read_figures(self) -> Figures:
        """Return what Tables 1, 2 and 5 to 8 print, and what V17 prints of TREC-3."""
        figures = Figures("FF21 does not print it")
        five = read_printed("ff21-table-5").replace(RAW, BOOT)
        diagonal = five[five["approach"] == five["other"]]
        figures.read_rows(diagonal, "pairs", ["model", "approach"], "", "pairs")
        extra = five.set_index(["model", "approach", "other"])["pairs"]
        for model in MODELS:
            for small, large in ((HSD, T_BH), (T_BH, BOOT)):
                both = extra[model, large, large] - extra[model, large, small]
                figures["outside", model, small, large] = np.array(
                    [[round(extra[model, small, small] - both, 6)]]
                )
        six = read_printed("ff21-table-6").assign(AD=0.0)
        for name in ("PAA", "PPA", "AD"):
            figures.read_rows(six, name, ["model", "approach"], "", name)
        figures.read_rows(
            read_printed("ff21-tables-7-8"), "PD", ["model", "approach", "fill", "other"], "", "PD"
        )
        both = read_printed("ff21-tables-1-2")
        figures.read_rows(both, "found", ["measure", "shards", "model", "tails"], "", "significant")
        figures.read_rows(both[both["tails"] == 1], "width", ["measure", "shards", "model"], "", "width")
        theirs = read_printed("v17-table-4", collection="TREC-3", alpha=0.05)
        theirs = theirs[theirs["test"].isin(["2 parts", "3 parts"])]
        theirs = theirs.assign(shards=theirs["test"].str[0].astype(int), model=WITH)
        return figures.read_rows(theirs, "V17", ["measure", "shards", "model"], "", "pairs")

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 1 to 8."""
        if "widths" in frames:
            left_out = describe_left_out(frames, source.scores.sizes["topic"])
            shares = self._scale_counts(source, 40)
            # without drawn samples the widths of all systems are equal
            drawn = self.n_resamples is not None
            sizes = SIZES if drawn else SIZES[:1]
            for tails, part in frames["widths"].groupby("tails"):
                rows = part.drop(columns="tails").reset_index(drop=True)
                notes = (*(() if drawn else (ABOUT_WIDTHS,)), *left_out) if tails == 1 else ()
                values, like = (*sizes, "significant"), {"tails": tails}
                yield self._show(f"Table {tails}", rows, notes, like=like, values=values, **shares)
            trims = frames["trims"]
            shown = int(trims["shards"].iloc[(trims["shards"] - 3).abs().argmin()])
            part = trims[trims["shards"] == shown].drop(columns="shards").reset_index(drop=True)
            yield self._show("Table 3", part, words={"shards": shown}, values=sizes)
            apart = frames["apart"]
            names = [n for n in ("V17 mean", "V17 min", "V17 max") if n in set(apart["widths"])]
            yield self._show("Table 4", apart, only={"widths": names or TRIMS}, **shares)
        shards = f"{METHODS_SHARDS} shards" if source.collection is not None else "the shards of the table"
        shards = shards if source.has_shards else "whole collection"
        words, shares = {"shards": shards, "measure": source.first}, self._scale_counts(source, 129)
        yield self._show("Table 5", frames["methods"], words=words, **shares)
        if frames["steady"]["PAA"].notna().any():
            yield self._show("Table 6", frames["steady"])
        for number, model in ((7, WITH), (8, "MD6")):
            if f"fills-{model}" in frames:
                rows = frames[f"fills-{model}"]
                # at the fewest shards that leave cells undefined
                undefined = rows[rows["undefined"] > 0]["shards"]
                shown = int(undefined.min()) if len(undefined) else min(self.fill_shards)
                cells = rows.groupby("shards")["undefined"].first()
                listed = ", ".join(f"{n} ({s} shards)" for s, n in cells.items())
                words, only = {"shards": str(shown), "undefined": listed}, {"shards": (shown,)}
                yield self._show(f"Table {number}", rows, words=words, only=only, **shares)


def ff21(data: Any, **choices: Any) -> Replication:
    """Make the tables of Faggioli & Ferro (2021) from other runs, with verdicts on its claims.

    Parameters
    ----------
    data : object
        Runs and judgments, as `read_collection` returns them; or any table that `as_scores` takes, on shards or not.
    **choices : object
        Fields of `FF21`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        Verdicts and tables.
    """
    return replicate_paper(FF21, data, **choices)


def measure_extent(fit: Any, alpha: float, tails: int, trim: str) -> tuple[float, float, float]:
    """Return the mean, least and largest width of the systems' intervals."""
    frame = fit.intervals(1.0 - alpha, tails=tails, trim=trim)
    width = (frame["upper"] - frame["lower"]).to_numpy()
    return float(width.mean()), float(width.min()), float(width.max())


def count_apart(fits: Sequence[Any], widths: Any) -> float:
    """Return the mean number of pairs whose effects are further apart than the intervals are wide."""
    counts = []
    for fit, width in zip(fits, widths, strict=True):
        effects = fit.effects.to_numpy()
        a, b = np.triu_indices(len(effects), 1)
        counts.append(int((np.abs(effects[a] - effects[b]) > width).sum()))
    return float(np.mean(counts))


# Claims


def _compare_steps(figures: Figures, ladder: Sequence[str], name: str) -> Parts:
    """Return by how much a figure grows from approach to approach, under every model."""
    return {
        f"{model}, {large} less {small}": figures[name, model, large] - figures[name, model, small]
        for model in figures.list_levels(name)
        for small, large in pairwise(ladder)
    }


def weigh_correction(figures: Figures) -> Parts:
    """Return by how many pairs the correction adds more than the bootstrap."""
    return {
        model: 2.0 * figures["pairs", model, T_BH]
        - figures["pairs", model, HSD]
        - figures["pairs", model, BOOT]
        for model in figures.list_levels("pairs")
    }


def spread_paa(figures: Figures) -> Parts:
    """Return how far the approaches' PAA lie apart, by model."""
    return {model: np.ptp([figures["PAA", model, rule] for rule in RULES], axis=0) for model in MODELS}


def change_by_fill(figures: Figures) -> Parts:
    """Return how many decisions of MD6 depend on the fill."""
    return {
        f"{approach}, {a} against {b}": figures["PD", "MD6", approach, a, b]
        for approach in (HSD, BOOT)
        for a, b in combinations(FILLS, 2)
    }


def depend_on_fill(figures: Figures) -> Parts:
    """Return by how many decisions HSD depends more on the fill than the bootstrap, mean of all fills, MD3."""
    means = [
        np.mean([figures["PD", WITH, approach, a, b] for a, b in combinations(FILLS, 2)], axis=0)
        for approach in (HSD, BOOT)
    ]
    return {f"{HSD} less {BOOT}": means[0] - means[1]}


def narrow_interaction(figures: Figures) -> Parts:
    """Return by what share the interaction narrows intervals, and how many pairs it adds."""
    parts = {}
    for measure in figures.list_levels("width"):
        for n in figures.list_levels("width", 2):
            if ("width", measure, n, WITH) in figures:
                ratio = divide(figures["width", measure, n, WITH], figures["width", measure, n, WITHOUT])
                parts[f"{measure}, {n} shards, width saved"] = 1.0 - ratio
                parts[f"{measure}, {n} shards, pairs added"] = (
                    figures["found", measure, n, WITH, 1] - figures["found", measure, n, WITHOUT, 1]
                )
    return parts


def approach_print(figures: Figures) -> Parts:
    """Return by how many pairs two tails are nearer to what V17 prints than one tail; of TREC-3 alone."""
    parts = {}
    for (_, *key), theirs in [(key, values) for key, values in figures.items() if key[0] == "V17"]:
        one_tailed, two_tailed = (np.abs(figures["found", *key, tails] - theirs) for tails in (1, 2))
        parts[f"{key[0]}, {key[1]} shards"] = one_tailed - two_tailed
    if not parts:
        raise CannotSayError("V17 prints pairs of TREC-3, TREC-8 and Terabyte alone")
    return parts


STEPS = [((large, rule), (small, rule)) for rule in RULES for small, large in pairwise(MODELS)]
ENDS = [((MODELS[-1], rule), (MODELS[0], rule)) for rule in RULES]
FF21.claims = make_claims(
    "FF21",
    {
        "two tails nearer to print": approach_print,
        "interaction narrows intervals": narrow_interaction,
        "HSD within t with BH": partial(list_parts, name="outside", only=(HSD, T_BH)),
        "t with BH within the bootstrap": partial(list_parts, name="outside", only=(T_BH, BOOT)),
        "bANOVA finds most": partial(_compare_steps, ladder=(HSD, T_BH, BOOT), name="pairs"),
        "larger models find more": partial(compare, steps=[(("pairs", *a), ("pairs", *b)) for a, b in STEPS]),
        "correction outweighs bootstrap": weigh_correction,
        "PAA high": partial(list_parts, name="PAA"),
        "PAA alike": spread_paa,
        "PAA rises with the model": partial(compare, steps=[(("PAA", *a), ("PAA", *b)) for a, b in ENDS]),
        "HSD steadiest": partial(_compare_steps, ladder=(BOOT, T_BH, HSD), name="PPA"),
        "PPA falls with the model": partial(compare, steps=[(("PPA", *b), ("PPA", *a)) for a, b in STEPS]),
        "no active disagreement": partial(list_parts, name="AD"),
        "MD6 independent of fills": change_by_fill,
        "bootstrap depends less on fills": depend_on_fill,
        "disagreement grows with the fill": partial(
            compare,
            steps=[[("PD", WITH, rule, *2 * (fill,)) for fill in ("one", "zero")] for rule in (HSD, BOOT)],
        ),
    },
)
