"""Voorhees, Samarov & Soboroff (2017) on anybody's runs: replicates from random parts of the documents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.compare import compare, paired_tests
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.over_splits import over_splits, unanimous
from shardwise.comparing.split_tables import agreement_matrix, agreement_over_splits, found_over_splits
from shardwise.comparing.within_across import within_across
from shardwise.core.arguments import Progress, validate_count
from shardwise.core.claim import format_count
from shardwise.core.scores import as_scores
from shardwise.io.collection import Collection
from shardwise.methods.bootstrap.fit import bootstrap_anova
from shardwise.papers import published_v17 as printed
from shardwise.papers.exhibit import Exhibit, Form, Replication, beside
from shardwise.papers.steps import Frames, Step, key_of, run_steps
from shardwise.scoring.scoring import score
from shardwise.sharding.split import Corpus, split

PAPER = "V17"
TITLE = "replicates from random parts of the documents"
MEASURES = ("AP", "P@10")
COUNTS = (2, 3, 5)
SPLITS = 11
ALPHAS = printed.ALPHAS
MODELS = ("MD2", "MD3")  # without and with the topic:system interaction, V17 eq. 2 and 3
LAW: dict[str, Any] = {"null": "marginal", "tails": 1}  # V17 Fig. 3
TESTS: Mapping[str, Mapping[str, str]] = {
    "unpaired t": {"test": "unpaired-t"},
    "paired t": {"test": "t"},
    "randomization, one-sided": {"test": "randomization", "alternative": "greater"},
    "randomization": {"test": "randomization"},
}
BEST, SECOND = 0, 1

ABOUT_TESTS = (
    "V17's t-test is called paired, but its counts are those of an unpaired one: 409 and 310 of TREC-3's AP, 4164 and "
    "3437 of TREC-8's AP, 4317 and 3695 of its P@10 come out exactly. Its randomization test is one-sided, for the run "
    "with the better mean: that gives about 620 and 547 on the public table of TREC-3, 6339 and 5569 on that of "
    "TREC-8, where two-sided it is about 595 and 516, and 5995 and 5294. The rows of parts are about these topics, "
    "those of tests about topics like these: more pairs is not more power."
)
ABOUT_WIDTHS = (
    "Width: a share αk/(2N) is dropped at either end, as V17 describes it. Width_percent: that many percent, as in the "
    "code of Faggioli & Ferro, whose widths are near those that V17 printed."
)
ABOUT_RELATED = (
    "V17 §6 found that a model of related runs alone (within) misses what a model of all runs (across) finds, and "
    "hardly ever the reverse. The columns 'lost' and 'gained' count the pairs that only across finds, and those that "
    "only the condition of the row finds. On TREC-COVID's first round it is the reverse: none lost, 15 gained."
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all steps are told."""

    measures: tuple[str, ...]
    n_splits: int
    corpus: Corpus | None
    n_resamples: int
    seed: int
    jobs: int | None

    def parts(self, runs: Collection, shards: int, splits: int) -> xr.Dataset:
        drawn = {"n_splits": splits, "seed": self.seed, "corpus": self.corpus, "unlisted": "add"}
        made = split(runs, shards, kind="covered", **drawn)  # type: ignore[arg-type]
        return score(runs, list(self.measures), made, jobs=self.jobs)


def v17(
    data: Collection | Any,
    *,
    sets: Mapping[str, Sequence[str]] | None = None,
    measures: Sequence[str] | None = None,
    shards: Sequence[int] = COUNTS,
    n_splits: int = SPLITS,
    corpus: Corpus | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    jobs: int | None = None,
    executor: Executor | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Replication:
    """Make Tables 1 to 6 and Figures 2 to 7 of Voorhees, Samarov & Soboroff (2017) of other runs.

    A table of scores has no documents to divide: it gives the rows of the classic tests in Tables 2 and 4. Bootstrap
    laws are as from infinitely many resamples.

    Parameters
    ----------
    data : Collection or object
        Runs and judgments, as `read_collection` returns them; or any topic × system table that `as_scores` takes.
    sets : mapping, optional
        Names of related systems by the name of their set, for Table 6, which is left out without them.
    measures : sequence of str, optional
        Measures; AP and P@10, or xinfAP where the judgments are of a sample of strata, if None.
    shards : sequence of int
        Numbers of parts of Table 3; 2 and 3 are always taken, for the other tables.
    n_splits : int
        Splits into two parts for Tables 4 and 5 and Figures 6 and 7 (J).
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents, as for `split`.
    n_resamples : int
        Resamples of the randomization test.
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
        Tables, figures and verdicts on the claims of the paper.
    """
    made: dict[str, str] = {}
    steps: dict[str, Step] = {}
    wanted = tuple(measures) if measures is not None else _usual(data)
    plan = _Plan(
        wanted,
        validate_count(n_splits, "n_splits", least=2),
        corpus,
        n_resamples,
        validate_count(seed, "seed", least=0),
        jobs,
    )
    if isinstance(data, Collection):
        source: Collection | xr.Dataset = data
        scores = score(data, list(wanted), jobs=jobs)
        said, made["splits"] = str(data).splitlines()[0], f"{n_splits} into two parts, seed {seed}"
        steps |= {f"parts-{s}": partial(_parts, data, s, plan) for s in sorted({2, 3, *shards})}
        steps["multiple"] = partial(_multiple, data, plan)
        if sets is not None:
            steps["related"] = partial(_related, data, sets, plan)
        else:
            made["not made"] = "Table 6, which needs to know which systems are related"
    else:
        table = as_scores(data, only=True)
        source = scores = table.rename(str(table.name or "score")).to_dataset(promote_attrs=False)
        said = (
            f"{format_count(table.sizes['system'], 'system')}, {format_count(table.sizes['topic'], 'topic')}"
        )
        made["not made"] = "all that needs parts: a table of scores has no documents to divide"
    everything: dict[str, Step] = {"tests": partial(_tests, scores, plan), **steps}
    choices = {"measures": wanted, "n_splits": n_splits, "corpus": corpus, "n_resamples": n_resamples, "seed": seed,
               "sets": None if sets is None else {name: list(members) for name, members in sets.items()}}  # fmt: skip
    frames = run_steps(everything, key_of(PAPER, source, **choices), folder, progress, executor)
    like = _like(scores)
    facts = {"data": said, "measures": ", ".join(map(str, scores.data_vars)), **made,
             "columns _V17": f"printed by Voorhees, Samarov & Soboroff for {like}"}  # fmt: skip
    return Replication(PAPER, TITLE, tuple(_exhibits(frames, scores, like)), facts)


def _usual(data: Any) -> tuple[str, ...]:
    return (printed.SAMPLED,) if isinstance(data, Collection) and data.strata is not None else MEASURES


def _like(scores: xr.Dataset) -> str:
    """The collection of the paper that is nearest to these scores."""
    if printed.SAMPLED in scores.data_vars:
        return "Terabyte"
    return "TREC-3" if scores.sizes["system"] == 40 else "TREC-8"


def _tests(scores: xr.Dataset, plan: _Plan) -> Frames:
    """Classic tests of all pairs, uncorrected (Tables 2 and 4, Figures 4 and 5)."""
    found, told = [], []
    for measure, values in scores.data_vars.items():
        for name, options in TESTS.items():
            pairs = paired_tests(values, n_resamples=plan.n_resamples, seed=plan.seed, **options)
            found += _counts(str(measure), name, pairs)
            told.append(_told(str(measure), name, pairs))
    return {"found": pd.DataFrame(found), "told": pd.concat(told, ignore_index=True)}


def _counts(measure: str, name: str, pairs: Comparisons) -> list[dict[str, Any]]:
    counts = [(alpha, int(pairs.reject(alpha).sum())) for alpha in ALPHAS]
    return [
        {"measure": measure, "test": name, "alpha": alpha, "pairs": float(n), "share": n / len(pairs)}
        for alpha, n in counts
    ]


def _told(measure: str, name: str, pairs: Comparisons) -> pd.DataFrame:
    """The pairs told apart, the better system first."""
    frame = pairs.to_frame().loc[pairs.reject(ALPHAS[0]), ["a", "b"]]
    return frame.assign(measure=measure, test=name).reset_index(drop=True)


def _parts(runs: Collection, shards: int, plan: _Plan) -> Frames:
    """One split into so many parts: intervals (Tables 1 and 3, Figure 2) and pairs (Tables 2 and 4)."""
    scores = plan.parts(runs, shards, 1).isel(split=0, drop=True)
    widths, found, told, effects, laws = [], [], [], [], []
    for measure in map(str, scores.data_vars):
        for model in MODELS:
            fit = bootstrap_anova(scores[measure], model)
            frame = fit.intervals(**LAW)
            wide = {trim: fit.intervals(trim=trim, **LAW) for trim in ("share", "percent")}
            size = {trim: float((one["upper"] - one["lower"]).mean()) for trim, one in wide.items()}
            widths.append({"measure": measure, "shards": shards, "model": model, "width": size["share"],
                           "width_percent": size["percent"]})  # fmt: skip
            ordered = frame.sort_values("estimate", ascending=False).reset_index(names="system")
            ranks = np.arange(1, len(ordered) + 1)
            effects.append(ordered.assign(measure=measure, shards=shards, model=model, rank=ranks))
            if model == MODELS[1]:
                pairs = compare(fit, "bh", **LAW)
                found += _counts(measure, f"{shards} parts", pairs)
                told.append(_told(measure, f"{shards} parts", pairs))
                two = ordered["system"].iloc[[BEST, SECOND]].tolist()
                laws.append(fit.curves(two).assign(measure=measure, shards=shards))
    together = {"widths": pd.DataFrame(widths), "found": pd.DataFrame(found)}
    joined = {"told": told, "effects": effects, "laws": laws}
    return {**together, **{name: pd.concat(each, ignore_index=True) for name, each in joined.items()}}


def _multiple(runs: Collection, plan: _Plan) -> Frames:
    """J splits into two parts: what all of them find, and how they are divided (Tables 4 and 5, Figures 6 and 7)."""
    scores = plan.parts(runs, 2, plan.n_splits)
    found, divided, squares, decided = [], [], [], []
    for measure in map(str, scores.data_vars):
        each = over_splits(scores[measure], MODELS[1], "bh", fit="bootstrap", **LAW)
        counts = found_over_splits(each, ALPHAS)
        for alpha, row in counts.iterrows():
            for name, column in (("2 parts, mean of splits", "mean"), ("multiple 2 parts", "unanimous")):
                here = {"measure": measure, "test": name, "alpha": alpha}
                found.append(
                    {**here, "pairs": float(row[column]), "share": float(row[column] / row["pairs"])}
                )
        table = agreement_over_splits(each, ALPHAS)
        for splits, row in table.iterrows():
            for alpha in ALPHAS:
                here = {"measure": measure, "splits": str(splits), "alpha": alpha}
                divided.append(
                    {**here, "pairs": float(row[alpha, "pairs"]), "share": float(row[alpha, "share"])}
                )
        square = agreement_matrix(each, ALPHAS[0]).to_numpy()
        a, b = np.nonzero(np.triu(square, 1))
        against = [f"{int(n)}:{plan.n_splits - int(n)}" for n in square[a, b]]
        squares.append(pd.DataFrame({"measure": measure, "rank": a + 1, "other": b + 1, "splits": against}))
        final = unanimous(each)
        frame = final.to_frame()[["a", "b", "difference", "p_adjusted"]]
        decided.append(frame.assign(measure=measure, differ=final.reject(ALPHAS[0])))
    tables = {"found": pd.DataFrame(found), "divided": pd.DataFrame(divided)}
    return {
        **tables,
        "squares": pd.concat(squares, ignore_index=True),
        "decided": pd.concat(decided, ignore_index=True),
    }


def _related(runs: Collection, sets: Mapping[str, Sequence[str]], plan: _Plan) -> Frames:
    """Related runs by a model of their own or of all (Table 6)."""
    scores = plan.parts(runs, 3, 1).isel(split=0, drop=True)
    result = within_across(scores[plan.measures[0]], sets, MODELS, **LAW)
    own = result.decisions
    widths = result.widths.reset_index()
    lost = {one: int(((own["across"] != 0) & (own[one] == 0)).sum()) for one in widths["condition"]}
    gained = {one: int(((own["across"] == 0) & (own[one] != 0)).sum()) for one in widths["condition"]}
    same = {one: int((own["across"] == own[one]).sum()) for one in widths["condition"]}
    told = {"related_pairs": len(own)} | {
        name: widths["condition"].map(each)
        for name, each in (("same", same), ("lost", lost), ("gained", gained))
    }
    return {"related": widths.assign(**told)}


def _exhibits(frames: Frames, scores: xr.Dataset, like: str) -> Iterator[Exhibit]:
    parts = "widths" in frames
    if parts:
        three = beside(
            frames["widths"], printed.of(printed.TABLE_3, like), ["measure", "shards", "model"], PAPER
        )
        first = three[three["shards"] == 3].drop(columns="shards").reset_index(drop=True)
        yield Exhibit("Table 1", "interval widths of the system effects, 3 parts", first, (ABOUT_WIDTHS,))
    four = beside(frames["found"], printed.of(printed.TABLE_4, like), ["measure", "test", "alpha"], PAPER)
    two = four[
        (four["alpha"] == ALPHAS[0])
        & four["test"].isin(["unpaired t", "randomization, one-sided", "3 parts"])
    ]
    two = two.drop(columns="alpha").reset_index(drop=True)
    yield Exhibit("Table 2", "pairs told apart at .05 by three tests", two, (ABOUT_TESTS,))
    if parts:
        yield Exhibit("Table 3", "interval widths by number of parts", three, (ABOUT_WIDTHS,))
    four = four.sort_values(["measure", "alpha"], ascending=[True, False], kind="stable", ignore_index=True)
    yield Exhibit("Table 4", "pairs told apart by each test", four, (ABOUT_TESTS,))
    if not parts:
        return
    keys = ["measure", "splits", "alpha"]
    five = beside(frames["divided"], printed.of(printed.TABLE_5, like), keys, PAPER)
    yield Exhibit("Table 5", "pairs by how the splits are divided over them", five)
    if "related" in frames:
        six = beside(frames["related"], printed.of(printed.TABLE_6, like), ["condition"], PAPER)
        yield Exhibit(
            "Table 6",
            "related runs by a model of all runs (across) or of their own (within)",
            six,
            (ABOUT_RELATED,),
        )
    yield from _figures(frames, scores)


def _figures(frames: Frames, scores: xr.Dataset) -> Iterator[Exhibit]:
    ranked = {"titles": ("system, best first", "system effect"), "panel": "measure", "series": "model"}
    three = frames["effects"][frames["effects"]["shards"] == 3]
    form = Form(x="rank", y="estimate", band=("lower", "upper"), **ranked)  # type: ignore[arg-type]
    yield Exhibit(
        "Figure 2", "intervals of the system effects without and with interactions, 3 parts", three, form=form
    )
    laws = frames["laws"][frames["laws"]["shards"] == 3]
    form = Form(x="value", y="density", titles=("system effect", "density"), series="system", panel="measure")
    yield Exhibit("Figure 3", "bootstrap laws of the two best runs, 3 parts", laws, form=form)
    note = "Pairs that all of these tests tell apart are left out; those that none does are blank."
    four = ("unpaired t", "randomization, one-sided", "3 parts")
    yield _by_tests("Figure 4", frames["told"], scores, four, note)
    yield _by_tests(
        "Figure 5", frames["told"], scores, ("randomization, one-sided", "2 parts", "3 parts"), note
    )
    form = Form(x="rank", y="other", titles=("run", "run"), series="splits", panel="measure", mark="point")
    squares = frames["squares"].sort_values(
        "splits", key=lambda each: each.map(lambda one: int(one.split(":")[0])), kind="stable"
    )
    yield Exhibit(
        "Figure 6", "pairs that the splits are divided over, by splits against the others", squares, form=form
    )
    title = "what all splits together decide: the largest corrected p-value of each pair, and whether it differs at .05"
    yield Exhibit("Figure 7", title, frames["decided"])


def _by_tests(label: str, told: pd.DataFrame, scores: xr.Dataset, tests: Sequence[str], note: str) -> Exhibit:
    """Pairs by which tests tell them apart, at the ranks of the two runs by their means."""
    frames = []
    for measure, values in scores.data_vars.items():
        order = values.mean("topic").to_series().rank(ascending=False, method="first")
        own = told[(told["measure"] == measure) & told["test"].isin(tests)]
        by = own.groupby(["a", "b"], sort=False)["test"].agg(
            lambda each: " + ".join(t for t in tests if t in set(each))
        )
        frame = by.rename("tests").reset_index()
        frame = frame[frame["tests"] != " + ".join(tests)]
        better, worse = (frame[name].map(order).astype(int) for name in ("a", "b"))
        frames.append(frame.assign(measure=str(measure), rank=better, other=worse))
    data = pd.concat(frames, ignore_index=True)
    form = Form(
        x="rank", y="other", titles=("better run", "worse run"), series="tests", panel="measure", mark="point"
    )
    return Exhibit(label, f"pairs by the tests that tell them apart: {', '.join(tests)}", data, (note,), form)
