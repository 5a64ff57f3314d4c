"""Voorhees, Samarov & Soboroff (2017) on other runs: replicates from random parts of the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
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
    describe_left_out,
    gather_scores,
    join_rows,
    replicate_paper,
    score_covered,
)

MEASURES = ("AP", "P@10")
SAMPLED = "xinfAP"
"""V17 §4 says infAP, and means the extended one of a pool sampled by strata."""
COUNTS = (2, 3, 5)
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
BEST, SECOND = 0, 1

ABOUT_TESTS = (
    "V17's t-test is called paired, but its counts are those of an unpaired one: 409 and 310 of TREC-3's AP, 4164 and "
    "3437 of TREC-8's AP, 4317 and 3695 of its P@10 come out exactly. Its randomization test is one-sided, for the run "
    "with the better mean. Rows of parts apply to exactly these topics, rows of tests to new topics like these: more "
    "pairs is not more power."
)
ABOUT_WIDTHS = (
    "Width: a share αk/(2N) is dropped at either end, as V17 describes it. Width_percent: that many percent, as in the "
    "code of Faggioli & Ferro, whose widths are near those that V17 printed. Min and max need --resamples."
)
ABOUT_RELATED = (
    "V17 §6 found that a model of related runs alone (within) misses pairs that a model of all runs (across) finds, "
    "and hardly ever the reverse. Lost: pairs that only across finds; gained: pairs that only the row finds. Confined: "
    "a model of all runs with the correction confined to related pairs."
)


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
        own = [decisions[name] for name in widths["condition"]]
        figures = {
            "related_pairs": [len(decisions)] * len(own),
            "same": [int((across == each).sum()) for each in own],
            "lost": [int(((across != 0) & (each == 0)).sum()) for each in own],
            "gained": [int(((across == 0) & (each != 0)).sum()) for each in own],
        }
        return {"related": widths.assign(**{name: np.array(n, float) for name, n in figures.items()})}

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 1 to 6 and draw Figures 2 to 7."""
        like = choose_collection(source.scores)
        has_parts = "widths" in frames
        sizes = ("width_percent", "least", "largest") if self.n_resamples is not None else ("width_percent",)
        if has_parts:
            printed = read_printed("v17-table-3", collection=like)
            printed = printed.assign(width_percent=printed["width"])
            three = join_printed(frames["widths"], printed, ["measure", "shards", "model"], self.tag)
            three = three.sort_values(["measure", "shards", "model"], kind="stable", ignore_index=True)
            first = three[three["shards"] == 3].drop(columns="shards").reset_index(drop=True)
            shape = Shape(rows=("measure",), columns=("model",), values=("width", *sizes))
            yield Exhibit("Table 1", "interval widths of the system effects, 3 parts", first, shape=shape)
        keys = ["measure", "test", "alpha"]
        four = join_printed(frames["counts"], read_counts("v17-table-4", like), keys, self.tag)
        tests = [T_TEST, RANDOMIZATION, "3 parts"]
        two = four[(four["alpha"] == ALPHAS[0]) & four["test"].isin(tests)].drop(columns="alpha")
        shape = Shape(rows=("measure", "test"), values=("pairs", "share"))
        two = two.sort_values("measure", kind="stable", ignore_index=True)
        yield Exhibit("Table 2", "significant pairs at .05 by three tests", two, shape=shape)
        if has_parts:
            left_out = describe_left_out(frames, source.topics)
            shape = Shape(rows=("measure", "shards"), columns=("model",), values=("width", *sizes))
            title = "interval widths by number of parts"
            yield Exhibit("Table 3", title, three, (ABOUT_WIDTHS, *left_out), shape=shape)
        shape = Shape(rows=("test",), columns=("measure", "alpha"), values=("pairs",))
        yield Exhibit("Table 4", "significant pairs by each test", four, (ABOUT_TESTS,), shape=shape)
        if not has_parts:
            return
        keys = ["measure", "splits", "alpha"]
        five = join_printed(frames["divided"], read_counts("v17-table-5", like), keys, self.tag)
        shape = Shape(rows=("splits",), columns=("measure", "alpha"), values=("pairs",))
        yield Exhibit("Table 5", "pairs by how the splits are divided over them", five, shape=shape)
        if "related" in frames:
            printed = read_printed("v17-table-6", collection=like)
            six = join_printed(frames["related"], printed, ["condition"], self.tag)
            values = (*MODELS, "related_pairs", "same", "lost", "gained")
            shape = Shape(rows=("condition",), values=values)
            title = "related runs by a model of all runs (across) or of their own (within)"
            yield Exhibit("Table 6", title, six, (ABOUT_RELATED,), shape=shape)
        # Figures 2 to 6, and Figure 7 summed up
        three = frames["effects"][frames["effects"]["shards"] == 3]
        form = Form(
            x="rank", y="estimate", band=("lower", "upper"), titles=("system, best first", "system effect"),
            panel="measure", series="model", rules=(0.0,),
        )  # fmt: skip
        title = "intervals of the system effects without (MD2) and with (MD3) interactions, 3 parts"
        yield Exhibit("Figure 2", title, three, form=form)
        densities = frames["densities"][frames["densities"]["shards"] == 3]
        form = Form(
            x="value", y="density", titles=("system effect", "density"), series="system", panel="measure"
        )
        yield Exhibit(
            "Figure 3", "bootstrap distributions of the two best runs, 3 parts", densities, form=form
        )
        yield draw_by_tests(
            "Figure 4", frames["decisions"], source.scores, (T_TEST, RANDOMIZATION, "3 parts")
        )
        yield draw_by_tests(
            "Figure 5", frames["decisions"], source.scores, (RANDOMIZATION, "2 parts", "3 parts")
        )
        form = Form(
            x="rank", y="other", titles=("run", "run"), series="splits", panel="measure", mark="point"
        )
        squares = frames["squares"].sort_values(
            "splits", key=lambda column: column.map(lambda text: int(text.split(":")[0])), kind="stable"
        )
        title = "pairs that the splits are divided over, by splits against the others"
        yield Exhibit("Figure 6", title, squares, form=form)
        final = frames["final"]
        rows = [
            {"measure": measure, "pairs": len(part), "different": int(part["differ"].sum()),
             "largest p of a different pair": float(part.loc[part["differ"], "p_adjusted"].max())}
            for measure, part in final.groupby("measure", sort=False)
        ]  # fmt: skip
        shape = Shape(rows=("measure",), values=("pairs", "different", "largest p of a different pair"))
        title = f"multiple-partition inference: pairs that all {self.n_splits} splits call different at .05"
        yield Exhibit("Figure 7", title, final, shape=shape, summary=pd.DataFrame(rows))


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


def draw_by_tests(label: str, decisions: pd.DataFrame, scores: xr.Dataset, tests: Sequence[str]) -> Exhibit:
    """Draw pairs by which tests find them, at the ranks of the two runs by their means."""
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
    form = Form(
        x="rank", y="other", titles=("better run", "worse run"), series="tests", panel="measure", mark="point"
    )
    note = "Pairs that all of these tests find are left out; pairs that none finds are blank."
    title = f"pairs by the tests that find them: {', '.join(tests)}"
    return Exhibit(label, title, join_rows(frames), (note,), form)


# Claims


def _index_counts(frames: Computed, alpha: float) -> Any:
    """Return measures × tests of the number of significant pairs."""
    rows = frames["counts"]
    return rows[rows["alpha"] == alpha].pivot(index="measure", columns="test", values="pairs")


def check_halving(frames: Computed) -> Evidence:
    """Check that with two parts the interaction about halves the intervals, and narrows them with any number."""
    table = frames["widths"].pivot(index=["measure", "shards"], columns="model", values="width")
    ratio = table[MODELS[1]] / table[MODELS[0]]
    two = ratio.xs(2, level="shards")
    numbers = ", ".join(f"{r:.2f} ({m}, {n} parts)" for (m, n), r in ratio.items())
    return Evidence(bool((two <= 0.6).all() and (ratio < 1.0).all()), f"width ratios {numbers}")


def check_fewer_parts(frames: Computed) -> Evidence:
    """Check that fewer parts give narrower intervals for the first measure, with interactions."""
    rows = frames["widths"]
    first = rows["measure"].iloc[0]
    widths = (
        rows[(rows["measure"] == first) & (rows["model"] == MODELS[1])]
        .set_index("shards")["width"]
        .sort_index()
    )
    numbers = ", ".join(f"{w:.4f} ({n} parts)" for n, w in widths.items())
    return Evidence(bool(widths.iloc[0] < widths.iloc[1:].min()), f"{first}: {numbers}")


def check_test_order(frames: Computed) -> Evidence:
    """Check that t finds fewest pairs, then randomization, then parts, for every measure."""
    table = _index_counts(frames, ALPHAS[0])
    order = (T_TEST, RANDOMIZATION, "3 parts")
    texts = [f"{m} {' < '.join(f'{r[t]:.0f}' for t in order)}" for m, r in table.iterrows()]
    holds = all(r[a] < r[b] for _, r in table.iterrows() for a, b in pairwise(order))
    return Evidence(holds, f"t, randomization, 3 parts: {'; '.join(texts)}")


def check_t_below_randomization(frames: Computed) -> Evidence:
    """Check that the t-test finds far fewer pairs than the randomization test."""
    table = _index_counts(frames, ALPHAS[0])
    texts = [f"{m} {r[T_TEST]:.0f} against {r[RANDOMIZATION]:.0f}" for m, r in table.iterrows()]
    return Evidence(bool((table[T_TEST] < table[RANDOMIZATION]).all()), "; ".join(texts))


def check_two_parts(frames: Computed) -> Evidence:
    """Check that two parts find at least as many pairs as three."""
    table = _index_counts(frames, ALPHAS[0])
    texts = [f"{m} {r['2 parts']:.0f} against {r['3 parts']:.0f}" for m, r in table.iterrows()]
    return Evidence(bool((table["2 parts"] >= table["3 parts"]).all()), "; ".join(texts))


def check_unanimity(frames: Computed) -> Evidence:
    """Check that even unanimous splits find more pairs than randomization and t."""
    table = _index_counts(frames, ALPHAS[0])
    holds = (table[MULTIPLE] > table[RANDOMIZATION]) & (table[MULTIPLE] > table[T_TEST])
    texts = [
        f"{m} {r[MULTIPLE]:.0f} of {r['2 parts, mean of splits']:.0f} remain; randomization {r[RANDOMIZATION]:.0f}"
        for m, r in table.iterrows()
    ]
    return Evidence(bool(holds.all()), "; ".join(texts))


def check_levels(frames: Computed) -> Evidence:
    """Check that going from .05 to .01 costs parts a smaller share of pairs than tests."""
    wide, narrow = (_index_counts(frames, alpha) for alpha in ALPHAS)
    loss = 1.0 - narrow / wide.clip(lower=1.0)
    parts, tests = loss[["2 parts", "3 parts"]].max(axis=1), loss[[T_TEST, RANDOMIZATION]].min(axis=1)
    texts = [f"{m} {100 * parts[m]:.1f}% against {100 * tests[m]:.1f}%" for m in loss.index]
    return Evidence(bool((parts < tests).all()), "; ".join(texts))


def _list_divided(frames: Computed) -> Any:
    rows = frames["divided"]
    return rows[(rows["splits"] == "divided") & (rows["alpha"] == ALPHAS[0])].set_index("measure")["share"]


def check_divided(frames: Computed) -> Evidence:
    """Check that splits are divided over less than 15% of the pairs."""
    share = _list_divided(frames)
    return Evidence(bool((share < 0.15).all()), ", ".join(f"{m} {100 * s:.1f}%" for m, s in share.items()))


def check_precision_divided(frames: Computed) -> Evidence:
    """Check that splits are divided over more pairs by P@10 than by AP."""
    share = _list_divided(frames)
    if not {"AP", "P@10"} <= set(share.index):
        return Evidence(None, "AP and P@10 are not both there")
    return Evidence(
        bool(share["P@10"] > share["AP"]), f"P@10 {100 * share['P@10']:.1f}%, AP {100 * share['AP']:.1f}%"
    )


def check_within_narrower(frames: Computed) -> Evidence:
    """Check that a model of related runs alone has narrower intervals."""
    table = frames["related"].set_index("condition")
    texts = [f"{m} {table.loc['within', m]:.4f} against {table.loc['across', m]:.4f}" for m in MODELS]
    holds = all(table.loc["within", m] < table.loc["across", m] for m in MODELS)
    return Evidence(holds, "; ".join(texts))


def check_within_loses(frames: Computed) -> Evidence:
    """Check that decisions differ by pairs lost, not gained."""
    row = frames["related"].set_index("condition").loc["within"]
    same, total, lost, gained = (int(row[name]) for name in ("same", "related_pairs", "lost", "gained"))
    numbers = f"{same} of {total} alike, {lost} lost, {gained} gained"
    if lost == gained == 0:
        return Evidence(None, f"{numbers}: no decision differs")
    return Evidence(lost > gained, numbers)


V17.claims = make_claims(
    "V17",
    {
        "intervals halve": check_halving,
        "fewer parts, narrower intervals": check_fewer_parts,
        "t finds fewest": check_t_below_randomization,
        "parts find more": check_test_order,
        "two parts suffice": check_two_parts,
        "unanimity costs little": check_unanimity,
        "levels matter less": check_levels,
        "splits mostly agree": check_divided,
        "P@10 more divided than AP": check_precision_divided,
        "related runs, narrower intervals": check_within_narrower,
        "related runs, fewer pairs": check_within_loses,
    },
)
