"""Faggioli & Ferro (2021) on other runs: bootstrap against classic ANOVA, over splits and fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, pairwise
from typing import Any, ClassVar

import numpy as np
import xarray as xr

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.papers.exhibit import (
    Computed,
    Evidence,
    Exhibit,
    Frames,
    Replication,
    Shape,
    join_printed,
    make_claims,
    read_printed,
)
from shardwise.papers.experiment import (
    NO_DOCUMENTS,
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    describe_left_out,
    gather_scores,
    replicate_paper,
    score_covered,
)

MEASURES = ("AP", "P@10")
COUNTS = (2, 3, 5)
FILL_COUNTS = (5, 10, 25)
"""The paper has 5; not every collection has an undefined cell there."""
METHODS_SHARDS = 5
WITHOUT, WITH = "MD2", "MD3"
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
KEYS = ["shards", "measure", "model"]

ABOUT_WIDTHS = (
    "As from infinitely many bootstrap samples all systems share one distribution, so that the widest and the "
    "narrowest interval are equal; min and max need --resamples 10000."
)
ABOUT_TRIM = (
    "FF21 treats αk/(2N) as the number of estimates to drop at either end; its public code drops that many percent, "
    "two or three of 10,000. So read (percent) intervals are about 1.75 times as wide as with V17's share, and the "
    "widths that V17 printed are 1.65 to 1.81 times those of FF21; dropping a count makes them 1.8 to 1.9 times as "
    "wide. FF21 calls its modified intervals closer to V17's, and replicating the intervals an open issue."
)
ABOUT_TABLE_4 = (
    "Pairs whose intervals do not overlap, by the widths that V17 printed for TREC-3; for other runs these widths mean "
    "little. The CSV file has the pairs by our own widths too."
)
ABOUT_TABLE_5 = (
    "The bootstrap is two-tailed in the authors' code. What Table 5 prints as bANOVA(BH) compares raw p-values with "
    "alpha (bANOVA(raw) here): Tables 6 to 8 imply 6752 to 6822, 7198 to 7205 and 7549 to 7553 pairs where Table 5 "
    "prints 6866.6, 7231.8 and 7563.4. Off the diagonal: pairs that the row finds and the column does not."
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
    least: ClassVar[Mapping[str, int]] = {"samples": 2}

    measures: Sequence[str] = MEASURES
    shards: Sequence[int] = COUNTS
    fill_shards: Sequence[int] = FILL_COUNTS
    samples: int = 5
    alpha: float = 0.05
    corpus: Any = None
    n_resamples: int | None = None

    def gather_data(self, data: Any) -> PaperData:
        """Take runs and judgments; a table of scores has no documents to divide."""
        if not isinstance(data, sw.Collection):
            raise InputError(
                f"{NO_DOCUMENTS}, and all tables of FF21 are of shards", remedy="give a qrels file and runs"
            )
        return gather_scores(data, self.measures, self.jobs, complete=False)

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
        assert runs is not None, "refused before"
        # more shards than documents are refused before any step is kept
        sw.split(runs, max((*self.shards, *self.fill_shards)), corpus=self.corpus, unlisted="add")
        steps: dict[str, Step] = {f"widths-{n}": partial(self._measure_widths, runs, n) for n in self.shards}
        steps |= {f"methods-{model}": partial(self._compare_approaches, runs, model) for model in MODELS}
        for shards in self.fill_shards:
            for model in MODELS[1:]:
                steps[f"fills-{shards}-{model}"] = partial(self._compare_fills, runs, shards, model)
        return steps

    @property
    def _drawing(self) -> dict[str, Any]:
        """How splits are drawn."""
        return {"n_splits": self.samples, "seed": self.seed, "corpus": self.corpus}

    def _score_even(self, runs: sw.Collection, shards: int) -> xr.DataArray:
        """Score the first measure on even splits, undefined cells included."""
        splits = sw.split(runs, shards, kind="even", unlisted="add", **self._drawing)
        return sw.score(runs, [self.measures[0]], splits, jobs=self.jobs)[self.measures[0]]

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

    def _compare_approaches(self, runs: sw.Collection, model: str) -> dict[str, Rows]:
        """Count what each approach finds beyond the others, and how steady it is (Tables 5 and 6)."""
        scores = sw.fill_undefined(self._score_even(runs, METHODS_SHARDS), "zero")
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

    def _compare_fills(self, runs: sw.Collection, shards: int, model: str) -> dict[str, Rows]:
        """Count disagreements between ways to fill undefined scores (Tables 7 and 8)."""
        scores = self._score_even(runs, shards)
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

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 1 to 8."""
        left_out = describe_left_out(frames, source.topics)
        both = join_printed(frames["widths"], read_printed("ff21-tables-1-2"), [*KEYS, "tails"], self.tag)
        # without drawn samples the widths of all systems are equal
        drawn = self.n_resamples is not None
        sizes = SIZES if drawn else SIZES[:1]
        for number, words in ((1, "one-tailed"), (2, "two-tailed")):
            rows = both[both["tails"] == number].drop(columns="tails").reset_index(drop=True)
            shape = Shape(rows=("shards", "measure"), columns=("model",), values=(*sizes, "significant"))
            notes = (*(() if drawn else (ABOUT_WIDTHS,)), *left_out) if number == 1 else ()
            title = f"interval widths and significant pairs, {words} bootstrap"
            yield Exhibit(f"Table {number}", title, rows, notes, shape=shape)
        trims = frames["trims"]
        shown = int(trims["shards"].iloc[(trims["shards"] - 3).abs().argmin()])
        part = trims[trims["shards"] == shown].drop(columns="shards").reset_index(drop=True)
        three = join_printed(
            part, read_printed("ff21-table-3"), ["measure", "model", "trim", "sample"], self.tag
        )
        shape = Shape(
            rows=("sample", "measure"), columns=("model",), values=sizes, only={"trim": ("percent",)}
        )
        title = f"widths with αk/(2N) percent dropped at either end, {shown} shards"
        yield Exhibit("Table 3", title, three, (ABOUT_TRIM,), shape=shape)
        apart = join_printed(frames["apart"], read_printed("ff21-table-4"), [*KEYS, "widths"], self.tag)
        names = [n for n in ("V17 mean", "V17 min", "V17 max") if n in set(apart["widths"])]
        names = names or list(TRIMS)
        shape = Shape(
            rows=("shards", "measure"), columns=("model", "widths"), values=("significant",),
            only={"widths": names},
        )  # fmt: skip
        yield Exhibit("Table 4", "pairs whose intervals do not overlap", apart, (ABOUT_TABLE_4,), shape=shape)
        five = join_printed(
            frames["methods"], read_printed("ff21-table-5"), ["model", "approach", "other"], self.tag
        )
        shape = Shape(
            rows=("model", "approach"), columns=("other",), values=("pairs",), halves={"pairs": "half_width"}
        )
        title = f"pairs found by each approach and beyond others, {METHODS_SHARDS} shards, {self.measures[0]}"
        yield Exhibit("Table 5", title, five, (ABOUT_TABLE_5,), shape=shape)
        six = join_printed(frames["steady"], read_printed("ff21-table-6"), ["model", "approach"], self.tag)
        shape = Shape(
            rows=("model", "approach"),
            values=("PAA", "PPA", "AD"),
            halves={"PAA": "PAA_half", "PPA": "PPA_half"},
        )
        title = "agreement between splits on what differs (PAA) and on what does not (PPA)"
        yield Exhibit("Table 6", title, six, shape=shape)
        for number, model in ((7, WITH), (8, "MD6")):
            if f"fills-{model}" in frames:
                keys = ["shards", "model", "approach", "fill", "other"]
                rows = join_printed(frames[f"fills-{model}"], read_printed("ff21-tables-7-8"), keys, self.tag)
                # at the fewest shards that leave cells undefined
                undefined = rows[rows["undefined"] > 0]["shards"]
                shown = int(undefined.min()) if len(undefined) else min(self.fill_shards)
                cells = rows.groupby("shards")["undefined"].first()
                listed = ", ".join(f"{n} ({s} shards)" for s, n in cells.items())
                note = f"Undefined topic–shard cells of all splits: {listed}."
                shape = Shape(
                    rows=("approach", "fill"), columns=("other",), values=("PD",), halves={"PD": "half_width"},
                    only={"shards": (shown,)},
                )  # fmt: skip
                title = (
                    f"passive disagreements between fills, {model}, {shown} shards; same fill: between splits"
                )
                yield Exhibit(f"Table {number}", title, rows, (note,), shape=shape)


def ff21(data: sw.Collection, **choices: Any) -> Replication:
    """Make the tables of Faggioli & Ferro (2021) from other runs, with verdicts on its claims.

    Parameters
    ----------
    data : Collection
        Runs and judgments, as `read_collection` returns them.
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


def _index_pairs(frames: Computed) -> Any:
    return frames["methods"].set_index(["model", "approach", "other"])["pairs"]


def _check_inclusion(frames: Computed, small: str, large: str) -> Evidence:
    """Check that the larger approach finds all that the smaller one finds."""
    pairs = _index_pairs(frames)
    outside = {}
    for model in MODELS:
        both = pairs[model, large, large] - pairs[model, large, small]
        outside[model] = round(pairs[model, small, small] - both, 6) + 0.0
    numbers = ", ".join(f"{n:.1f} ({model})" for model, n in outside.items())
    return Evidence(max(outside.values()) < 1e-9, f"pairs of {small} that {large} does not find: {numbers}")


def check_bootstrap_most(frames: Computed) -> Evidence:
    """Check that bANOVA finds most pairs and HSD fewest."""
    pairs = _index_pairs(frames)
    ladders = {m: [pairs[m, a, a] for a in (HSD, T_BH, BOOT)] for m in MODELS}
    numbers = "; ".join(f"{m} {' < '.join(f'{n:.0f}' for n in ladder)}" for m, ladder in ladders.items())
    return Evidence(
        all(a < b for ladder in ladders.values() for a, b in pairwise(ladder)),
        f"HSD, t, bootstrap: {numbers}",
    )


def check_models(frames: Computed) -> Evidence:
    """Check that every approach finds more pairs with larger models."""
    pairs = _index_pairs(frames)
    ladders = {a: [pairs[m, a, a] for m in MODELS] for a in (BOOT, T_BH, HSD)}
    numbers = "; ".join(f"{a} {' → '.join(f'{n:.0f}' for n in ladder)}" for a, ladder in ladders.items())
    return Evidence(all(x < y for ladder in ladders.values() for x, y in pairwise(ladder)), numbers)


def check_correction(frames: Computed) -> Evidence:
    """Check that the correction adds more pairs than the bootstrap."""
    pairs = _index_pairs(frames)
    gains = {m: (pairs[m, T_BH, HSD], pairs[m, BOOT, T_BH]) for m in MODELS}
    numbers = "; ".join(f"{m} +{by:.0f} by BH, +{boot:.0f} by bootstrap" for m, (by, boot) in gains.items())
    return Evidence(all(by > boot for by, boot in gains.values()), numbers)


def _pivot_steady(frames: Computed, figure: str) -> Any:
    rows = frames["steady"]
    return (
        rows[rows["approach"] != RAW]
        .pivot(index="model", columns="approach", values=figure)
        .loc[list(MODELS)]
    )


def check_active(frames: Computed) -> Evidence:
    """Check that PAA is high, and close between approaches."""
    table = _pivot_steady(frames, "PAA")
    low, high = float(table.min().min()), float(table.max().max())
    return Evidence(low > 0.95 and high - low < 0.02, f"PAA {low:.3f} to {high:.3f}")


def check_hsd_steadiest(frames: Computed) -> Evidence:
    """Check that PPA is highest for HSD and lowest for the bootstrap, in every model."""
    table = _pivot_steady(frames, "PPA")
    ordered = (table[HSD] > table[T_BH]) & (table[T_BH] > table[BOOT])
    numbers = "; ".join(f"{m} {r[HSD]:.3f} > {r[T_BH]:.3f} > {r[BOOT]:.3f}" for m, r in table.iterrows())
    return Evidence(bool(ordered.all()), f"HSD, t, bootstrap: {numbers}")


def check_passive_falls(frames: Computed) -> Evidence:
    """Check that PPA falls from MD2 to MD3 to MD6 for every approach."""
    table = _pivot_steady(frames, "PPA")
    numbers = "; ".join(f"{a} {' → '.join(f'{v:.3f}' for v in table[a])}" for a in table.columns)
    return Evidence(all(y < x for a in table.columns for x, y in pairwise(table[a])), numbers)


def check_no_conflict(frames: Computed) -> Evidence:
    """Check that no two splits prefer different systems of a pair significantly."""
    conflicts = float(frames["steady"]["AD"].max())
    return Evidence(conflicts == 0.0, f"active disagreements: at most {conflicts:g}")


def check_fills_md6(frames: Computed) -> Evidence:
    """Check that under MD6 no fill changes any decision."""
    rows = frames["fills-MD6"].query("undefined > 0 and fill != other")
    if rows.empty:
        return Evidence(None, "every topic has relevant documents in every shard")
    counts = f"{rows['undefined'].max()} undefined cells"
    return Evidence(bool((rows["PD"] == 0).all()), f"at most {rows['PD'].max():g} pairs, {counts}")


def check_fills_bootstrap(frames: Computed) -> Evidence:
    """Check that under MD3 the bootstrap depends less on the fill than HSD does."""
    rows = frames["fills-MD3"].query("undefined > 0 and fill != other")
    if rows.empty:
        return Evidence(None, "every topic has relevant documents in every shard")
    means = rows.groupby(["shards", "approach"])["PD"].mean().unstack("approach")
    numbers = "; ".join(f"{n} shards: {r[BOOT]:.1f} against {r[HSD]:.1f}" for n, r in means.iterrows())
    return Evidence(bool((means[BOOT] < means[HSD]).all()), f"mean PD, bootstrap against HSD: {numbers}")


def check_interaction_narrows(frames: Computed) -> Evidence:
    """Check that the topic:system interaction makes bootstrap intervals narrower and finds more pairs."""
    table = frames["widths"].query("tails == 1").pivot(index=["shards", "measure"], columns="model")
    narrower = (table["width"][WITH] < table["width"][WITHOUT]).all()
    more = (table["significant"][WITH] > table["significant"][WITHOUT]).all()
    ratio = table["width"][WITH] / table["width"][WITHOUT]
    return Evidence(
        bool(narrower and more), f"widths {ratio.min():.2f} to {ratio.max():.2f} of those without it"
    )


FF21.claims = make_claims(
    "FF21",
    {
        "HSD within t with BH": partial(_check_inclusion, small=HSD, large=T_BH),
        "t with BH within the bootstrap": partial(_check_inclusion, small=T_BH, large=BOOT),
        "bANOVA finds most": check_bootstrap_most,
        "larger models find more": check_models,
        "correction outweighs bootstrap": check_correction,
        "PAA high and alike": check_active,
        "HSD steadiest": check_hsd_steadiest,
        "PPA falls with the model": check_passive_falls,
        "no active disagreement": check_no_conflict,
        "MD6 independent of fills": check_fills_md6,
        "bootstrap depends less on fills": check_fills_bootstrap,
        "interaction narrows intervals": check_interaction_narrows,
    },
)
