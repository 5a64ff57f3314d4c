"""Voorhees, Samarov & Soboroff (2017) on other runs: replicates from random parts of the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

import shardwise as sw
from shardwise.core.arrays import Floats
from shardwise.core.libraries import pd, xr
from shardwise.papers.claims import (
    CannotSayError,
    Figures,
    Parts,
    compare,
    divide,
    list_parts,
    make_claims,
    spread_over_splits,
)
from shardwise.papers.exhibit import Exhibit, Frames, Replication, join_printed, read_printed
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    describe_left_out,
    gather_scores,
    join_rows,
    replicate_paper,
    score_covered,
)
from shardwise.papers.shard_fits import ModelFits, Rule, compare_splits, find_cuts, fit_models, read_signs
from shardwise.stats.student import student_critical

MEASURES = ("AP", "P@10")
SAMPLED = "xinfAP"
"""V17 §4 says infAP, and means the extended one of a pool sampled by strata."""
COUNTS = (2, 3, 5)
RUNS = {"TREC-3": 40, "TREC-8": 129, "Terabyte": 80}
COLLECTIONS = tuple(RUNS)
SPLITS = 11
RANDOMIZATIONS = 10_000
ALPHAS = (0.05, 0.01)
MODELS = ("MD2", "MD3")
"""Without and with the topic:system interaction, V17 eq. 2 and 3."""
DISTRIBUTION: dict[str, Any] = {"null": "marginal", "tails": 1}
"""V17 Fig. 3."""
TESTS: Mapping[str, Mapping[str, str]] = {
    "unpaired t": {"test": "unpaired-t"},
    "paired t": {"test": "t"},
    "randomization, one-sided": {"test": "randomization", "alternative": "greater"},
    "randomization": {"test": "randomization"},
}
T_TEST, RANDOMIZATION, MULTIPLE = "unpaired t", "randomization, one-sided", "multiple 2 parts"
PARTS = ("2 parts", "3 parts")
BEST, SECOND = 0, 1
SHARES = tuple(Rule("bootstrap", alpha, tails=1) for alpha in ALPHAS)
"""V17's partition method at both levels."""
EXTREME = 5e-7
"""p-values that round to 0 to six decimals (V17 §4)."""
MOST_LEFT_OUT = 0.2
"""Share of the topics; numbers of parts that leave more out have no verdicts."""


@dataclass(frozen=True, kw_only=True)
class V17(PaperExperiment):
    """Experiment of Voorhees, Samarov & Soboroff (2017): Tables 1 to 6 and Figures 2 to 7.

    Documents fall into parts by the roll of a die, as in V17 §2.1. A table of scores has no documents to divide: it
    gives the rows of the classic tests in Tables 2 and 4.

    Parameters
    ----------
    sets : Mapping, optional
        Names of related systems by the name of their set, for Table 6, which needs them.
    measures : sequence of str, optional
        Measures; AP and P@10, or xinfAP where the judgments are of a sample of strata, if None.
    shards : sequence of int
        Numbers of parts of Table 3; 2 and 3 are always taken, for the other tables.
    n_splits : int
        Splits into two parts for Tables 4 and 5 and Figures 6 and 7 (J).
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents, as for `split`.
    n_resamples : int, optional
        Samples of the randomization test and of the bootstrap of Tables 1 and 3, whose least and largest widths need
        them; 10,000 and as from infinitely many, if None.
    """

    tag: ClassVar[str] = "V17"
    title: ClassVar[str] = "replicates from random parts of the documents"
    own_sizes: ClassVar[frozenset[tuple[int, int]]] = frozenset(((40, 50), (129, 50), (80, 50)))
    least: ClassVar[Mapping[str, int]] = {"n_splits": 2}

    sets: Mapping[str, Sequence[str]] | None = None
    measures: Sequence[str] | None = None
    shards: Sequence[int] = COUNTS
    n_splits: int = SPLITS
    corpus: Any = None
    n_resamples: int | None = None

    def gather_data(self, data: Any) -> PaperData:
        """Score the whole collection, or take the complete topics of a table."""
        sampled = isinstance(data, sw.Collection) and data.strata is not None
        return gather_scores(data, self.measures or ((SAMPLED,) if sampled else MEASURES), self.jobs)

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State measures, splits and where printed numbers come from."""
        facts = {"measures": ", ".join(map(str, source.scores.data_vars))}
        if source.collection is not None:
            facts["splits"] = f"{self.n_splits} into two parts by a die, seed {self.seed}"
        like = choose_collection(source.scores)
        return {**facts, "in brackets": f"printed by Voorhees, Samarov & Soboroff for {like}"}

    def explain_absence(self, source: PaperData) -> str:
        """Say what needs documents, or related runs."""
        absence = super().explain_absence(source)
        return absence or ("Table 6 needs to know which systems are related" if self.sets is None else "")

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Run the classic tests, then each number of parts, the splits into two parts, and related runs."""
        steps: dict[str, Step] = {"tests": partial(self._run_tests, source.scores)}
        runs = source.collection
        if runs is None:
            return steps
        measures = tuple(map(str, source.scores.data_vars))
        for count in sorted({2, 3, *self.shards}):
            steps[f"parts-{count}"] = partial(self._fit_parts, runs, measures, count)
        steps["multiple"] = partial(self._combine_splits, runs, measures)
        if self.sets is not None:
            steps["related"] = partial(self._compare_related, runs, measures)
        return steps

    def _score_parts(
        self, runs: sw.Collection, measures: Sequence[str], shards: int, splits: int
    ) -> tuple[xr.Dataset, pd.DataFrame]:
        """Score runs on parts made by a die, topics without relevant documents in some part left out."""
        how = {"n_splits": splits, "seed": self.seed, "corpus": self.corpus, "jobs": self.jobs}
        return score_covered(runs, shards, measures, "die", **how)

    def _run_tests(self, scores: xr.Dataset) -> dict[str, Rows]:
        """Run the classic tests of all pairs, uncorrected (Tables 2 and 4, Figures 4 and 5)."""
        counts, decisions = [], []
        draws = self.n_resamples or RANDOMIZATIONS
        for measure, values in scores.data_vars.items():
            for name, options in TESTS.items():
                pairs = sw.paired_tests(values, n_resamples=draws, seed=self.seed, **options)
                counts += count_pairs(str(measure), name, pairs)
                decisions.append(list_decisions(str(measure), name, pairs))
        return {"counts": counts, "decisions": decisions}

    def _fit_parts(self, runs: sw.Collection, measures: Sequence[str], shards: int) -> dict[str, Rows]:
        """Fit one split into so many parts: intervals (Tables 1 and 3, Figure 2) and pairs (Tables 2 and 4)."""
        scores, left_out = self._score_parts(runs, measures, shards, 1)
        scores = scores.isel(split=0, drop=True)
        widths, counts, decisions, effects, densities = [], [], [], [], []
        for measure in map(str, scores.data_vars):
            key: dict[str, Any] = {"measure": measure, "shards": shards}
            for model in MODELS:
                fit = sw.bootstrap_anova(scores[measure], model)
                widths.append({**key, "model": model, **self._measure_widths(scores[measure], fit, model)})
                frame = fit.intervals(**DISTRIBUTION)
                ordered = frame.sort_values("estimate", ascending=False).reset_index(names="system")
                effects.append(ordered.assign(**key, model=model, rank=np.arange(1, len(ordered) + 1)))
            # of the model with interactions
            pairs = sw.compare(fit, "bh", **DISTRIBUTION)
            counts += count_pairs(measure, f"{shards} parts", pairs)
            decisions.append(list_decisions(measure, f"{shards} parts", pairs))
            densities.append(fit.curves(ordered["system"].iloc[[BEST, SECOND]].tolist()).assign(**key))
        tables: dict[str, Rows] = {"widths": widths, "counts": counts, "left_out": left_out}
        return {**tables, "decisions": decisions, "effects": effects, "densities": densities}

    def _measure_widths(self, scores: xr.DataArray, fit: Any, model: str) -> dict[str, float]:
        """Return the mean width of the intervals, two ways, and the least and largest of a drawn bootstrap."""
        row = {
            "width": float(measure_widths(fit, "share").mean()),
            "width_percent": float(measure_widths(fit, "percent").mean()),
        }
        if self.n_resamples is None:
            return row
        how: dict[str, Any] = {"n_resamples": self.n_resamples, "seed": self.seed, "jobs": self.jobs}
        extent = measure_widths(sw.bootstrap_anova(scores, model, **how), "percent")
        return {**row, "least": float(extent.min()), "largest": float(extent.max())}

    def _combine_splits(self, runs: sw.Collection, measures: Sequence[str]) -> dict[str, Rows]:
        """Compare J splits into two parts: what all of them find, and where they differ (Tables 4, 5, Figures 6, 7)."""
        scores, left_out = self._score_parts(runs, measures, 2, self.n_splits)
        counts, divided, squares, final = [], [], [], []
        for measure in map(str, scores.data_vars):
            key = {"measure": measure}
            each = sw.stability.over_splits(scores[measure], MODELS[1], "bh", fit="bootstrap", **DISTRIBUTION)
            # Table 4: mean over splits, and what all of them find
            for alpha, row in sw.stability.found_over_splits(each, ALPHAS).iterrows():
                for name, column in (("2 parts, mean of splits", "mean"), (MULTIPLE, "unanimous")):
                    figures = {"pairs": float(row[column]), "share": float(row[column] / row["pairs"])}
                    counts.append({**key, "test": name, "alpha": alpha, **figures})
            # Table 5: how splits are divided
            for splits, row in sw.stability.agreement_over_splits(each, ALPHAS).iterrows():
                for alpha in ALPHAS:
                    figures = {"pairs": float(row[alpha, "pairs"]), "share": float(row[alpha, "share"])}
                    divided.append({**key, "splits": str(splits), "alpha": alpha, **figures})
            # Figure 6: the pairs themselves
            square = sw.stability.agreement_matrix(each, ALPHAS[0]).to_numpy()
            a, b = np.nonzero(np.triu(square, 1))
            against = [f"{int(n)}:{self.n_splits - int(n)}" for n in square[a, b]]
            squares.append(pd.DataFrame({**key, "rank": a + 1, "other": b + 1, "splits": against}))
            decision = sw.stability.unanimous(each)
            frame = decision.to_frame()[["a", "b", "difference", "p_adjusted"]]
            final.append(frame.assign(measure=measure, differ=decision.reject(ALPHAS[0])))
        tables: dict[str, Rows] = {"counts": counts, "divided": divided, "left_out": left_out}
        return {**tables, "squares": squares, "final": final}

    def _compare_related(self, runs: sw.Collection, measures: Sequence[str]) -> dict[str, Rows]:
        """Compare related runs by a model of their own and of all (Table 6), by the first measure."""
        scores, _ = self._score_parts(runs, measures[:1], 3, 1)
        first = scores[measures[0]].isel(split=0, drop=True)
        result = sw.stability.within_across(first, self.sets or {}, MODELS, **DISTRIBUTION)
        decisions, widths = result.decisions, result.widths.reset_index()
        across = decisions["across"]
        related = [decisions[name] for name in widths["condition"]]
        figures = {
            "related_pairs": [len(decisions)] * len(related),
            "same": [int((across == each).sum()) for each in related],
            "lost": [int(((across != 0) & (each == 0)).sum()) for each in related],
            "gained": [int(((across == 0) & (each != 0)).sum()) for each in related],
        }
        return {"related": widths.assign(**{name: np.array(n, float) for name, n in figures.items()})}

    def measure_figures(self, source: PaperData) -> Figures:
        """Measure pairs of all tests, widths and agreement of splits, on topics that all numbers of parts cover."""
        figures = Figures(self.explain_absence(source))
        topics = _name_levels(source.scores[source.first], "topic")
        covered: dict[int, xr.Dataset] = {}
        measures = tuple(map(str, source.scores.data_vars))
        kept = set(topics)
        runs = source.collection
        for count in sorted({2, 3, *self.shards}) if runs is not None else ():
            assert runs is not None, "asked before"
            scores, _ = self._score_parts(runs, measures, count, max(self.claim_splits, self.n_splits))
            names = set(_name_levels(scores[measures[0]], "topic")) & kept
            if len(names) >= (1.0 - MOST_LEFT_OUT) * len(topics):
                covered[count], kept = scores, names
        order = [name for name in topics if name in kept]
        weights = self.resample_topics(len(order))
        for measure in measures:
            whole = _read_array(source.scores[measure], order)
            decided, rounded = compare_tests(whole, weights)
            opposed = np.zeros((len(weights), 1))
            for count, scores in covered.items():
                tables = _read_array(scores[measure], order)
                fits = fit_models(tables, weights, MODELS)
                keys = [(MODELS[0], SHARES[0]), *((MODELS[1], rule) for rule in SHARES)]
                pairs, cuts = find_cuts(fits, keys)
                for model in MODELS:
                    width = fits.trim_width(model, pairs[model, SHARES[0]])
                    figures["width", measure, count, model] = width
                if count > 3:
                    continue
                name = f"{count} parts"
                for rule in SHARES:
                    figures["pairs", measure, name, rule.alpha] = pairs[MODELS[1], rule]
                # p-values that round to 0, and pairs of which a test prefers the other run
                scale = fits.find_difference(MODELS[1], SHARES[0])
                least = scale * float(student_critical(2.0 * EXTREME, np.inf))
                extreme, against = np.zeros(least.shape), np.zeros(least.shape)
                for draw, means in enumerate(fits.means):
                    extreme[draw] = np.abs(read_signs(means, least[draw])).mean(axis=1)
                    signs = read_signs(means, cuts[MODELS[1], SHARES[0]][draw])
                    against[draw] = sum(
                        (signs * of_test[0][draw] < 0).sum(axis=1) for of_test in decided.values()
                    )
                figures["extreme", measure, name] = extreme
                opposed = opposed + against
                if count == 2:
                    self._combine_figures(figures, measure, fits, cuts)
            for test, of_test in decided.items():
                for alpha, signs in zip(ALPHAS, of_test, strict=True):
                    figures["pairs", measure, test, alpha] = np.abs(signs).sum(axis=1, keepdims=True)
            figures["extreme", measure, T_TEST] = rounded[T_TEST]
            if covered:
                figures["opposed", measure, "tests"] = opposed
        if self.sets is not None and 3 in covered:
            first = covered[3][measures[0]]
            systems = _name_levels(first, "system")
            relate_figures(figures, _read_array(first, order), weights, systems, self.sets)
        return figures

    def _combine_figures(
        self, figures: Figures, measure: str, fits: ModelFits, cuts: Mapping[Any, Floats]
    ) -> None:
        """Add what J splits find together and where they are divided."""
        count = self.n_splits
        for rule in SHARES:
            agreed, divided = [], []
            for means, cut in zip(fits.means, cuts[MODELS[1], rule], strict=True):
                signs = read_signs(means[:count], cut[:count])
                # of all splits together, then without each of them
                total = np.concatenate([signs.sum(axis=0)[None], signs.sum(axis=0) - signs])
                decided = np.abs(signs)
                active = np.concatenate([decided.sum(axis=0)[None], decided.sum(axis=0) - decided])
                sizes = np.array([count, *[count - 1] * count])[:, None]
                agreed.append((np.abs(total) == sizes).sum(axis=1).astype(float))
                divided.append(((active > 0) & (active < sizes)).mean(axis=1))
            for key, values in (
                (("pairs", measure, MULTIPLE, rule.alpha), agreed),
                (("divided", measure), divided),
            ):
                if rule is SHARES[0] or key[0] == "pairs":
                    table = np.stack(values)
                    figures[key] = spread_over_splits(table[:, 0], table[:, 1:])
        figures["opposed", measure, "splits"] = compare_splits(fits, cuts[MODELS[1], SHARES[0]])["AD"]

    def read_figures(self) -> Figures:
        """Return what Tables 3 to 6 and the text print of three collections."""
        figures = Figures("V17 does not print it", COLLECTIONS)
        figures.read_rows(
            read_printed("v17-table-3"), "width", ["measure", "shards", "model"], "collection", "width"
        )
        figures.read_rows(
            read_printed("v17-table-4"), "pairs", ["measure", "test", "alpha"], "collection", "pairs"
        )
        five = read_printed("v17-table-5")
        five = five[(five["splits"] == "divided") & (five["alpha"] == ALPHAS[0])]
        five = five.assign(share=five["pairs"] / five["all_pairs"])
        figures.read_rows(five, "divided", ["measure"], "collection", "share")
        six = read_printed("v17-table-6").melt(["collection", "condition"], list(MODELS), "model", "width")
        figures.read_rows(six, "related width", ["condition", "model"], "collection", "width")
        # §6: 14 of 17 and 171 of 180 related pairs are decided alike, and all others but one pair are lost
        counts_table = pd.DataFrame(
            {"collection": COLLECTIONS[:2], "same": [14, 171], "lost": [3, 8], "gained": [0, 1]}
        )
        rows = counts_table.melt("collection", var_name="kind", value_name="pairs")
        figures.read_rows(rows, "related", ["kind"], "collection", "pairs")
        # §3.2, §5: no conflict was ever seen
        for between in ("tests", "splits"):
            figures["opposed", "AP", between] = np.zeros((1, len(COLLECTIONS)))
        return figures

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 1 to 6 and draw Figures 2 to 7."""
        like = {"collection": choose_collection(source.scores)}
        has_parts = "widths" in frames
        sizes = ("width_percent", "least", "largest") if self.n_resamples is not None else ("width_percent",)
        if has_parts:
            printed = read_printed("v17-table-3", **like)
            printed = printed.assign(width_percent=printed["width"])
            three = join_printed(frames["widths"], printed, ["measure", "shards", "model"], self.tag)
            three = three.sort_values(["measure", "shards", "model"], kind="stable", ignore_index=True)
            first = three[three["shards"] == 3].drop(columns="shards").reset_index(drop=True)
            yield self._show("Table 1", first, values=("width", *sizes))
        keys = ["measure", "test", "alpha"]
        four = join_printed(frames["counts"], read_counts("v17-table-4", **like), keys, self.tag)
        tests = [T_TEST, RANDOMIZATION, "3 parts"]
        two = four[(four["alpha"] == ALPHAS[0]) & four["test"].isin(tests)].drop(columns="alpha")
        shares = self._scale_counts(source, RUNS[like["collection"]])
        # counts of other runs say nothing; shares stand beside print
        values = ("share",) if shares else ("pairs", "share")
        yield self._show(
            "Table 2", two.sort_values("measure", kind="stable", ignore_index=True), values=values
        )
        if has_parts:
            left_out = describe_left_out(frames, source.scores.sizes["topic"])
            yield self._show("Table 3", three, left_out, values=("width", *sizes))
        yield self._show("Table 4", four, **shares)
        if not has_parts:
            return
        keys = ["measure", "splits", "alpha"]
        five = join_printed(frames["divided"], read_counts("v17-table-5", **like), keys, self.tag)
        yield self._show("Table 5", five, **shares)
        if "related" in frames:
            yield self._show("Table 6", frames["related"], like=like)
        # Figures 2 to 6, and Figure 7 summed up
        for label, name in (("Figure 2", "effects"), ("Figure 3", "densities")):
            yield self._show(label, frames[name][frames[name]["shards"] == 3])
        for label, names in (("Figure 4", tests), ("Figure 5", [RANDOMIZATION, "2 parts", "3 parts"])):
            pairs = list_by_tests(frames["decisions"], source.scores, names)
            yield self._show(label, pairs, words={"tests": ", ".join(names)})
        squares = frames["squares"].sort_values(
            "splits", key=lambda column: column.map(lambda text: int(text.split(":")[0])), kind="stable"
        )
        yield self._show("Figure 6", squares)
        final = frames["final"]
        rows = [
            {"measure": measure, "pairs": len(part), "different": int(part["differ"].sum()),
             "largest p of a different pair": float(part.loc[part["differ"], "p_adjusted"].max())}
            for measure, part in final.groupby("measure", sort=False)
        ]  # fmt: skip
        yield self._show("Figure 7", final, words={"splits": self.n_splits}, summary=pd.DataFrame(rows))


def v17(data: Any, **choices: Any) -> Replication:
    """Make the tables and figures of Voorhees, Samarov & Soboroff (2017) from other runs, with verdicts.

    Parameters
    ----------
    data : object
        Runs and judgments, as `read_collection` returns them; or any topic × system table that `as_scores` takes.
    **choices : object
        Fields of `V17`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        Verdicts, tables and figures.
    """
    return replicate_paper(V17, data, **choices)


def choose_collection(scores: xr.Dataset) -> str:
    """Return the collection of the paper that is nearest to these scores."""
    if SAMPLED in scores.data_vars:
        return "Terabyte"
    return "TREC-3" if scores.sizes["system"] == 40 else "TREC-8"


def read_counts(name: str, collection: str) -> pd.DataFrame:
    """Return pairs that V17 printed for a collection, and their share of all."""
    rows = read_printed(name, collection=collection)
    return rows.assign(share=rows["pairs"] / rows["all_pairs"]).drop(columns="all_pairs")


def _read_array(scores: xr.DataArray, topics: Sequence[str]) -> Floats:
    """Return scores of some topics, (splits, topics, systems, parts) or (topics, systems)."""
    known = _name_levels(scores, "topic")
    dims = [d for d in ("split", "topic", "system", "shard") if d in scores.dims]
    values = scores.transpose(*dims).to_numpy()
    return np.asarray(np.take(values, [known.index(name) for name in topics], axis=dims.index("topic")))


def compare_tests(scores: Floats, weights: Floats) -> tuple[dict[str, tuple[Floats, ...]], dict[str, Floats]]:
    """Return the decisions of V17's t-test and randomization test, the latter at its normal limit, on resamples.

    For each test 1, -1 or 0 by (resamples, pairs) at both levels, and the (resamples, 1) share of p-values that round
    to 0.
    """
    topics, systems = scores.shape
    a, b = np.triu_indices(systems, 1)
    means = weights @ scores / topics
    squares = np.stack([(scores * row[:, None]).T @ scores for row in weights])
    variances = np.diagonal(squares, axis1=1, axis2=2)
    difference = means[:, a] - means[:, b]
    variance = (variances - topics * means**2) / (topics - 1.0) / topics
    # signs of the differences at random: their mean has this variance
    flipped = np.maximum(variances[:, a] + variances[:, b] - 2.0 * squares[:, a, b], 0.0) / topics**2
    spread = {T_TEST: np.maximum(variance[:, a] + variance[:, b], 0.0), RANDOMIZATION: flipped}
    decided, extreme = {}, {}
    for name, squared in spread.items():
        df, tails = (2.0 * topics - 2.0, 1.0) if name == T_TEST else (np.inf, 2.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.nan_to_num(np.abs(difference) / np.sqrt(squared))
        decided[name] = tuple(
            (np.sign(difference) * (size >= float(student_critical(tails * alpha, df)))).astype(np.float32)
            for alpha in ALPHAS
        )
        limit = float(student_critical(tails * EXTREME, df))
        extreme[name] = (size >= limit).mean(axis=1, keepdims=True)
    return decided, extreme


def relate_figures(
    figures: Figures,
    tables: Floats,
    weights: Floats,
    systems: Sequence[str],
    sets: Mapping[str, Sequence[str]],
) -> None:
    """Add widths and decisions of related runs by a model of all runs and of their own (V17 §6)."""
    rules = [(model, SHARES[0]) for model in MODELS]
    fits = fit_models(tables, weights, MODELS)
    pairs, cuts = find_cuts(fits, rules)
    widths: dict[tuple[str, str], list[Floats]] = {}
    counts = {name: np.zeros(cuts[rules[1]].shape) for name in ("same", "lost", "gained")}
    for members in sets.values():
        places = sorted(systems.index(name) for name in dict.fromkeys(members))
        fits_of_part = fit_models(tables[:, :, places], weights, MODELS)
        own_pairs, own_cuts = find_cuts(fits_of_part, rules)
        for key in rules:
            for condition, some, pair_counts in (
                ("across", fits, pairs),
                ("within", fits_of_part, own_pairs),
            ):
                each = [some.trim_width(key[0], pair_counts[key])] * len(places)
                widths.setdefault((condition, key[0]), []).extend(each)
        across = read_signs(fits.means[:, :, places], cuts[rules[1]])
        within = read_signs(fits_of_part.means, own_cuts[rules[1]])
        counts["same"] += (across == within).sum(axis=2)
        counts["lost"] += ((across != 0) & (within == 0)).sum(axis=2)
        counts["gained"] += ((across == 0) & (within != 0)).sum(axis=2)
    for (condition, model), several in widths.items():
        figures["related width", condition, model] = np.mean(several, axis=0)
    for name, decided in counts.items():
        figures["related", name] = decided


def measure_widths(fit: Any, trim: str) -> Any:
    """Return the width of each system's interval."""
    frame = fit.intervals(trim=trim, **DISTRIBUTION)
    return frame["upper"] - frame["lower"]


def count_pairs(measure: str, test: str, pairs: sw.Comparisons) -> list[dict[str, Any]]:
    """Return how many pairs a test finds at each level."""
    counts = [(alpha, int(pairs.reject(alpha).sum())) for alpha in ALPHAS]
    key = {"measure": measure, "test": test}
    return [{**key, "alpha": alpha, "pairs": float(n), "share": n / len(pairs)} for alpha, n in counts]


def list_decisions(measure: str, test: str, pairs: sw.Comparisons) -> pd.DataFrame:
    """Return the significant pairs, the better system first."""
    frame = pairs.to_frame().loc[pairs.reject(ALPHAS[0]), ["a", "b"]]
    return frame.assign(measure=measure, test=test).reset_index(drop=True)


def list_by_tests(decisions: pd.DataFrame, scores: xr.Dataset, tests: Sequence[str]) -> pd.DataFrame:
    """Return pairs by which tests find them, with the ranks of the two runs by their means."""
    frames = []
    for measure, values in scores.data_vars.items():
        order = values.mean("topic").to_series().rank(ascending=False, method="first")
        rows = decisions[(decisions["measure"] == measure) & decisions["test"].isin(tests)]
        by_pair = rows.groupby(["a", "b"], sort=False)["test"].agg(
            lambda names: " + ".join(t for t in tests if t in set(names))
        )
        frame = by_pair.rename("tests").reset_index()
        frame = frame[frame["tests"] != " + ".join(tests)]
        better, worse = (frame[name].map(order).astype(int) for name in ("a", "b"))
        frames.append(frame.assign(measure=str(measure), rank=better, other=worse))
    return join_rows(frames)


# Claims


def _compare(figures: Figures, pairs: Sequence[tuple[str, str]], alpha: float = ALPHAS[0]) -> Parts:
    """Return by how many pairs the first test of each two finds more than the second, for every measure."""
    return {
        f"{measure}, {more} less {fewer}": figures["pairs", measure, more, alpha]
        - figures["pairs", measure, fewer, alpha]
        for measure in figures.list_levels("pairs")
        for more, fewer in pairs
    }


def relate_widths(figures: Figures) -> Parts:
    """Return the widths with interactions in units of those without."""
    measures, counts = figures.list_levels("width"), figures.list_levels("width", 2)
    return {
        f"{measure}, {n} parts": divide(
            figures["width", measure, n, MODELS[1]], figures["width", measure, n, MODELS[0]]
        )
        for measure in measures
        for n in counts
        if ("width", measure, n, MODELS[0]) in figures
    }


def widen_by_parts(figures: Figures) -> Parts:
    """Return by how much intervals of the first measure are wider with more than with two parts."""
    measure = figures.list_levels("width")[0]
    two = figures["width", measure, 2, MODELS[1]]
    return {
        f"{measure}, {n} less 2 parts": figures["width", measure, n, MODELS[1]] - two
        for n in figures.list_levels("width", 2)
        if n > 2
    }


def lose_by_level(figures: Figures) -> Parts:
    """Return by how much smaller the share of pairs is that parts lose from .05 to .01 than that of tests."""
    parts = {}
    for measure in figures.list_levels("pairs"):
        loss = {
            test: 1.0
            - divide(figures["pairs", measure, test, ALPHAS[1]], figures["pairs", measure, test, ALPHAS[0]])
            for test in (T_TEST, RANDOMIZATION, *PARTS)
        }
        for test in (T_TEST, RANDOMIZATION):
            for part in PARTS:
                parts[f"{measure}, {test} less {part}"] = loss[test] - loss[part]
    return parts


def compare_extremes(figures: Figures) -> Parts:
    """Return by how much larger the share of p-values below .0000005 is with parts than by the t-test."""
    return {
        f"{measure}, {part} less t": figures["extreme", measure, part] - figures["extreme", measure, T_TEST]
        for measure in figures.list_levels("extreme")
        for part in PARTS
    }


def decide_alike(figures: Figures) -> Parts:
    """Return the share of related pairs that both models decide alike."""
    total = figures["related", "same"] + figures["related", "lost"] + figures["related", "gained"]
    return {"share alike": divide(figures["related", "same"], total)}


def lose_related(figures: Figures) -> Parts:
    """Return the share of the different decisions in which the model of related runs alone gains a pair."""
    lost, gained = figures["related", "lost"], figures["related", "gained"]
    if not (lost + gained)[0].any():
        raise CannotSayError("no decision differs")
    return {"share gained": divide(gained, lost + gained)}


V17.claims = make_claims(
    "V17",
    {
        "interaction narrows intervals": relate_widths,
        "fewer parts, narrower intervals": widen_by_parts,
        "AP narrower than P@10": partial(
            compare, steps=[[("width", measure, 3, model) for measure in ("P@10", "AP")] for model in MODELS]
        ),
        "t finds fewest": partial(_compare, pairs=((RANDOMIZATION, T_TEST),)),
        "parts find more": partial(_compare, pairs=(("3 parts", RANDOMIZATION), ("2 parts", RANDOMIZATION))),
        "no two tests or splits prefer different runs": partial(list_parts, name="opposed"),
        "two parts suffice": partial(_compare, pairs=(("2 parts", "3 parts"),)),
        "unanimity costs little": partial(_compare, pairs=((MULTIPLE, RANDOMIZATION), (MULTIPLE, T_TEST))),
        "levels matter less": lose_by_level,
        "relatively many extreme p": compare_extremes,
        "splits mostly agree": partial(list_parts, name="divided"),
        "P@10 more divided than AP": partial(compare, steps=[(("divided", "P@10"), ("divided", "AP"))]),
        "related runs, narrower intervals": partial(
            compare,
            steps=[[("related width", way, model) for way in ("across", "within")] for model in MODELS],
        ),
        "related decisions alike": decide_alike,
        "related runs, fewer pairs": lose_related,
    },
)


def _name_levels(scores: Any, dim: str) -> tuple[str, ...]:
    """Return the names of the levels of a dimension."""
    return tuple(map(str, scores.get_index(dim)))
